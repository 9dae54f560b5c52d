import type { DescribedDeclaration, HttpMethod } from '../declaration/types.ts';
import { orderRecords } from './order.ts';
import { isHidden, type RouteRecord } from './record.ts';

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
  /** What the handler takes and gives, where it was declared. */
  readonly body?: string;
  readonly result?: string;
  /** There where the OpenAPI document says nothing of it. */
  readonly hidden?: true;
}

/** Describes the records, in matching order. */
export function describeRecords(records: readonly RouteRecord[]): readonly RouteDescription[] {
  return orderRecords(records).map((record) => describeRecord(record));
}

function describeRecord(record: RouteRecord): RouteDescription {
  const { action, name, methods, path, requirements, controller, handler, roles } = record;
  return {
    name,
    methods,
    path,
    requirements,
    controller,
    handler,
    roles: Object.fromEntries(methods.map((method) => [method, roles[method] ?? []])),
    ...(action?.body && { body: describedText(action.body) }),
    ...(action?.result && { result: describedText(action.result) }),
    ...(isHidden(record) && { hidden: true }),
  };
}

function describedText(declared: DescribedDeclaration): string {
  if (declared.kind !== 'model') return 'schema';
  return declared.as === 'one' ? declared.model.name : `${declared.as} of ${declared.model.name}`;
}
