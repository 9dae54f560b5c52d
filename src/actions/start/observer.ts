import type { Guard } from '../../access/guard.ts';
import type { ApiRequest, User } from '../../access/user.ts';
import type { ApiDeclaration } from '../../declaration/types.ts';
import type { RouteRecord } from '../../route/record.ts';
import type { ApiController } from '../api-controller.ts';
import type { ControllerHooks } from '../hooks.ts';

/** Finds out who is calling. */
export type Find = (request: ApiRequest) => User | null | Promise<User | null>;

/**
 * Watches requests on their way, to explain them. An application that serves has none, and is put together as if there were no
 * such thing.
 */
export interface Observer {
  /** What finds out who is calling, watched. */
  authentication(find: Find): Find;
  /** An access check, watched. */
  guard(guard: Guard): Guard;
  /** What actions call in place of the hooks of a controller. */
  hooks(api: ApiDeclaration, controller: ApiController): ControllerHooks;
  /** Is called in place of what handles a route, once access was granted; `run` does it. */
  handle(record: RouteRecord, controller: ApiController | null, request: ApiRequest, run: () => unknown): unknown;
  /** Is told what keeps a read from being compiled, or null where it is. */
  planned(record: RouteRecord, needsEntity: string | null): void;
  /** Is told of whatever an action threw. */
  failed(error: unknown): void;
}
