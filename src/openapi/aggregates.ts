import type { AggregateDeclaration, ApiDeclaration, DeclaredGroup, ListDeclaration } from '../declaration/types.ts';
import { type AggregateFunction, periods } from '../declaration/vocabulary.ts';
import type { FieldPlan } from '../model/field-plan.ts';
import { rolesOfPath } from '../model/group-roles.ts';
import { aggregatedPath, readableField } from '../model/readable-field.ts';
import type { ValueKind } from '../model/value-kind.ts';
import { type JsonSchema, objectSchema, orNull, valueSchema } from './json-schema.ts';
import { limitedItems, listed, listParameters } from './list-parameters.ts';
import { withRolesOf } from './roles.ts';

/** The query parameters of the aggregates of a list: what to aggregate, its filters and search, and pages unless `isWhole`. */
export function aggregateParameters(
  list: ListDeclaration,
  api: ApiDeclaration,
  plan: FieldPlan,
  groups: readonly DeclaredGroup[],
  isWhole: boolean,
): JsonSchema[] {
  const { by, maxGroups, of } = list.aggregate as AggregateDeclaration;
  const limits = { ...api.pagination, itemsPerPage: maxGroups, maxItemsPerPage: maxGroups };
  const fields = by.map(({ field }) => field);
  const values = of.flatMap(({ field, functions }) => functions.map((name) => `${field}:${name}`));
  const rolesOf = (name: string) => rolesOfPath(plan, aggregatedPath(plan, name), groups);
  const named = (name: string, options: readonly string[], items: readonly string[], description: string) =>
    options.length === 0
      ? []
      : [limitedItems(listed(name, { type: 'string', enum: [...items] }, description, { uniqueItems: true }), options, rolesOf)];
  const orders = ['count', ...values, ...fields];
  const directions = orders.flatMap((name) => [name, `-${name}`]);
  const others = ['fields', 'after', 'before', ...(isWhole ? ['page', 'items_per_page'] : [])];
  return [
    ...named('by', fields, fields, 'The fields to group by; without it, there is one result for all rows.'),
    ...named('of', values, values, 'The values to compute for each group, besides the number of rows.'),
    ...named('sort', orders, directions, 'The values to sort groups by, or fields of `by`, each once; `-` means descending.'),
    ...listParameters({ ...list, sort: [] }, limits, plan, groups).filter(({ name }) => !others.includes(String(name))),
  ];
}

/** One result: fields that were not asked for are absent. */
export function aggregateResult({ by, of }: AggregateDeclaration, plan: FieldPlan, groups: readonly DeclaredGroup[]): JsonSchema {
  const limited = (field: string, schema: JsonSchema) =>
    withRolesOf(schema, rolesOfPath(plan, aggregatedPath(plan, field), groups));
  const fields = by.map(({ field }) => [field, limited(field, orNull(groupSchema(plan, field)))] as const);
  const values = of.map(({ field, functions }) => {
    const kind = kindAt(plan, field);
    const own = functions.map((name) => [name, orNull(functionSchema(kind, name))] as const);
    return [field, limited(field, objectSchema(Object.fromEntries(own), []))] as const;
  });
  const count = { type: 'integer', minimum: 0, description: 'The number of rows.' };
  return objectSchema({ ...Object.fromEntries(fields), count, ...Object.fromEntries(values) }, ['count']);
}

function groupSchema(plan: FieldPlan, field: string): JsonSchema {
  const isPeriod = !readableField(plan, field) && periods.some((period) => field.endsWith(`:${period}`));
  return isPeriod ? { type: 'string' } : schemaOf(kindAt(plan, field));
}

function functionSchema(kind: ValueKind | null, name: AggregateFunction): JsonSchema {
  if (name === 'avg') return { type: 'number' };
  if (name !== 'sum') return schemaOf(kind);
  // a sum can have more digits than its column
  if (kind?.kind === 'decimal') return { type: 'string', format: 'decimal', pattern: '^-?[0-9]+(\\.[0-9]+)?$' };
  if (kind?.kind === 'integer' || kind?.kind === 'bigint')
    return { type: ['integer', 'string'], pattern: '^-?[0-9]+$', description: 'A string if it is beyond 2^53.' };
  return { type: 'number' };
}

function schemaOf(kind: ValueKind | null): JsonSchema {
  return kind ? valueSchema(kind, 'read') : {};
}

function kindAt(plan: FieldPlan, path: string): ValueKind | null {
  const field = readableField(plan, path)?.field;
  return field?.kind === 'scalar' ? field.value : null;
}
