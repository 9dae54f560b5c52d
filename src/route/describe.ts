import type { HttpMethod } from '../declaration/types.ts';
import { orderRecords } from './order.ts';
import type { RouteRecord } from './record.ts';

/** A route as `declarest routes --json` shows it. */
export interface RouteDescription {
  readonly name: string;
  readonly methods: readonly HttpMethod[];
  readonly path: string;
  readonly requirements: Readonly<Record<string, string>>;
  readonly controller: string;
  readonly handler: string;
  /** The roles of every enabled method; none means public. */
  readonly roles: Readonly<Partial<Record<HttpMethod, readonly string[]>>>;
}

/** Describes the records, in matching order. */
export function describeRecords(records: readonly RouteRecord[]): readonly RouteDescription[] {
  return orderRecords(records).map(({ name, methods, path, requirements, controller, handler, roles }) => ({
    name,
    methods,
    path,
    requirements,
    controller,
    handler,
    roles: Object.fromEntries(methods.map((method) => [method, roles[method] ?? []])),
  }));
}
