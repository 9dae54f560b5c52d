import { type FilterOperator, filterOperators, filterParameter, plainOperator } from '../declaration/filter-operators.ts';
import { problem } from '../errors.ts';
import { pageParameters } from './page-request.ts';

/** One condition of a request: `lastName[contains]=an`. */
interface WrittenCondition {
  /** The parameter as the request has it. */
  readonly name: string;
  readonly field: string;
  readonly operator: FilterOperator;
  /** Several texts if the request repeats the parameter. */
  readonly value: string | readonly string[];
}

/** Conditions that must all hold. If there are `or` groups, one of them must hold as well. */
export interface WrittenGroup {
  readonly conditions: readonly WrittenCondition[];
  readonly or: readonly WrittenGroup[];
}

export interface ListRequest {
  readonly filter: WrittenGroup;
  /** `-lastName`, `birthdate` */
  readonly sort: readonly string[] | null;
  readonly q: string | null;
  /** `id`, `center.name` */
  readonly fields: readonly string[] | null;
}

export interface ListParameters {
  readonly filters: ReadonlyMap<string, readonly FilterOperator[]>;
  readonly hasSort: boolean;
  readonly hasSearch: boolean;
  /** Whether `fields` chooses fields. */
  readonly hasChoice: boolean;
  readonly maxOrDepth: number;
  readonly maxOrGroups: number;
  /** Further parameters of the list, such as those of its pages. */
  readonly others: readonly string[];
}

/** Parameters of every list, which cannot be names of filters. */
export const reservedParameters: readonly string[] = Object.freeze([...pageParameters, 'fields', 'sort', 'q', 'or']);

/** Names of parameters for a message: `lastName, lastName[contains], sort`. */
function allowedParameters({ filters, hasChoice, hasSearch, hasSort, maxOrDepth, others }: ListParameters): string[] {
  const conditions = [...filters].flatMap(([field, operators]) => operators.map((operator) => filterParameter(field, operator)));
  return [
    ...others,
    ...(hasChoice ? ['fields'] : []),
    ...(hasSort ? ['sort'] : []),
    ...(hasSearch ? ['q'] : []),
    ...conditions,
    ...(filters.size > 0 && maxOrDepth > 0 ? ['or[0][…]'] : []),
  ];
}

/**
 * Reads the list parameters of a request; throws a 400 that states the allowed ones. `isClosed`: unknown parameters are rejected.
 * Otherwise those without brackets are left to the handler.
 */
export function readListRequest(
  query: Readonly<Record<string, unknown>>,
  parameters: ListParameters,
  isClosed = true,
): ListRequest {
  const root = new GroupBuilder();
  const counts = { groups: 0 };
  for (const name in query) {
    if (parameters.others.includes(name) || isOwn(name, parameters)) continue;
    const steps = stepsOf(name);
    const isFilter = steps !== null && (steps[0] === 'or' ? steps.length > 1 : parameters.filters.has(steps[0] as string));
    if (!isFilter || (steps[0] === 'or' && (parameters.filters.size === 0 || parameters.maxOrDepth === 0))) {
      if (isClosed || name.includes('[')) throw unknown(name, parameters);
      continue;
    }
    addCondition(root, name, steps, query[name], parameters, counts);
  }
  return {
    filter: root.build(),
    sort: parameters.hasSort ? itemsOf(query, 'sort') : null,
    q: parameters.hasSearch ? textOf(query, 'q') : null,
    fields: parameters.hasChoice ? itemsOf(query, 'fields') : null,
  };
}

function isOwn(name: string, { hasChoice, hasSearch, hasSort }: ListParameters): boolean {
  return (hasChoice && name === 'fields') || (hasSort && name === 'sort') || (hasSearch && name === 'q');
}

function unknown(name: string, parameters: ListParameters): Error {
  return problem('unknown_parameter', { name, allowed: allowedParameters(parameters).join(', ') });
}

/** `or[0][center.id][in]` → `or`, `0`, `center.id`, `in`; null if the brackets do not match. */
function stepsOf(name: string): string[] | null {
  const parts = /^([^[\]]+)((?:\[[^[\]]*\])*)$/.exec(name);
  if (!parts) return null;
  const inner = parts[2] as string;
  return [parts[1] as string, ...(inner === '' ? [] : inner.slice(1, -1).split(']['))];
}

function addCondition(
  root: GroupBuilder,
  name: string,
  steps: readonly string[],
  value: unknown,
  parameters: ListParameters,
  counts: { groups: number },
): void {
  const { filters, maxOrDepth, maxOrGroups } = parameters;
  let group = root;
  let position = 0;
  for (let depth = 1; steps[position] === 'or' && position + 1 < steps.length; depth++, position += 2) {
    const index = steps[position + 1] as string;
    if (!/^(?:0|[1-9]\d{0,8})$/.test(index)) throw invalid(name, 'must number its groups: or[0][…], or[1][…]');
    if (depth > maxOrDepth)
      throw problem('too_many_groups', { name, expected: `must not nest groups deeper than ${maxOrDepth}` });
    const known = group.groups.get(index);
    if (!known && ++counts.groups > maxOrGroups)
      throw problem('too_many_groups', { name, expected: `exceeds the maximum of ${maxOrGroups} groups` });
    group = known ?? group.add(index);
  }
  const [field, operator = plainOperator, ...further] = steps.slice(position);
  const operators = field === undefined ? undefined : filters.get(field);
  if (field === undefined || !operators) throw unknown(name, parameters);
  if (
    further.length > 0 ||
    !(filterOperators as readonly string[]).includes(operator) ||
    !operators.includes(operator as never)
  ) {
    const allowed = operators.map((known) => prefixed(name, position, filterParameter(field, known))).join(', ');
    throw problem('operator_not_allowed', { name, allowed });
  }
  if (typeof value !== 'string' && !Array.isArray(value)) throw invalid(name, 'must be a text');
  const key = `${field} ${operator}`;
  const other = group.conditions.get(key);
  if (other) throw invalid(name, `must be given once; "${other.name}" means the same`);
  group.conditions.set(key, { name, field, operator: operator as FilterOperator, value });
}

class GroupBuilder {
  readonly conditions = new Map<string, WrittenCondition>();
  readonly groups = new Map<string, GroupBuilder>();

  add(index: string): GroupBuilder {
    const group = new GroupBuilder();
    this.groups.set(index, group);
    return group;
  }

  build(): WrittenGroup {
    return { conditions: [...this.conditions.values()], or: [...this.groups.values()].map((group) => group.build()) };
  }
}

/** A parameter as it would be written in the same group: `or[0][lastName][contains]`. */
function prefixed(name: string, position: number, inner: string): string {
  if (position === 0) return inner;
  const group = (stepsOf(name) as string[]).slice(0, position);
  const [field, ...operator] = stepsOf(inner) as string[];
  return [group[0], ...[...group.slice(1), field, ...operator].map((step) => `[${step}]`)].join('');
}

function textOf(query: Readonly<Record<string, unknown>>, name: string): string | null {
  const value = query[name];
  if (value === undefined) return null;
  if (typeof value !== 'string') throw invalid(name, 'must be given once');
  return value;
}

export function itemsOf(query: Readonly<Record<string, unknown>>, name: string): readonly string[] | null {
  const given = query[name];
  if (given === undefined) return null;
  // `sort=a,b` and `sort=a&sort=b` are the same
  return String(given).split(',');
}

export function invalid(name: string, expected: string): Error {
  return problem('invalid_parameter', { name, expected });
}
