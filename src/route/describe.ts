import type { DescribedDeclaration } from '../declaration/types.ts';
import { orderRecords } from './order.ts';
import { isHidden, type RouteRecord } from './record.ts';

/** A route as `declarest routes --json` shows it. A method without roles is public. */
export interface RouteDescription
  extends Pick<RouteRecord, 'name' | 'methods' | 'path' | 'requirements' | 'controller' | 'handler' | 'roles'> {
  /** The declared query parameters of the action. */
  readonly parameters?: readonly string[];
  /** The declared body and result of the handler. */
  readonly body?: string;
  readonly result?: string;
  /** Present if the route is left out of the OpenAPI document. */
  readonly hidden?: true;
}

/** Describes the records, in matching order. */
export function describeRecords(records: readonly RouteRecord[]): readonly RouteDescription[] {
  return orderRecords(records).map(describeRecord);
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
    ...(action && action.parameters.length > 0 && { parameters: action.parameters.map((each) => each.name) }),
    ...(action?.body && { body: describedText(action.body) }),
    ...(action?.result && { result: describedText(action.result) }),
    ...(isHidden(record) && { hidden: true }),
  };
}

function describedText(declared: DescribedDeclaration): string {
  if (declared.kind !== 'model') return 'schema';
  return declared.as === 'one' ? declared.model.name : `${declared.as} of ${declared.model.name}`;
}
