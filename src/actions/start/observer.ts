import type { Guard } from '../../access/guard.ts';
import type { ApiRequest, User } from '../../access/user.ts';
import type { Writer } from '../../database/writer.ts';
import type { ApiDeclaration, HttpMethod } from '../../declaration/types.ts';
import type { RouteRecord } from '../../route/record.ts';
import type { ApiController } from '../controller/api-controller.ts';
import type { ControllerHooks } from '../hooks.ts';

/** Finds the user of a request. */
export type Find = (request: ApiRequest) => User | null | Promise<User | null>;

/**
 * Watches requests to explain them. An application that serves requests has no observer, and its handlers are compiled without
 * any of these calls.
 */
export interface Observer {
  /** Wraps the authentication. */
  authentication(find: Find): Find;
  /** Wraps an access check. */
  guard(guard: Guard): Guard;
  /** The hooks that actions call in place of those of a controller. */
  hooks(api: ApiDeclaration, controller: ApiController): ControllerHooks;
  /** Called in place of the handler of a route, after access was granted; `run` calls the handler. */
  handle(record: RouteRecord, controller: ApiController | null, request: ApiRequest, run: () => unknown): unknown;
  /** The writer of actions, in place of the one that changes rows. */
  writer(): Writer;
  /** Called with the reason why a method of a default action is not compiled, or with null if it is. */
  planned(record: RouteRecord, method: HttpMethod, needsEntity: string | null): void;
  /** Called with every error that an action throws. `isMissing`: the row of the path was not found for the caller. */
  failed(error: unknown, isMissing: boolean): void;
}
