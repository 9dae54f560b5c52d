import { type FilterOperator, filterParameter, operatorTraits } from '../declaration/filter-operators.ts';
import type { ListDeclaration, PaginationDeclaration } from '../declaration/types.ts';
import type { FieldPlan } from '../model/field-plan.ts';
import { readableField } from '../model/readable-field.ts';
import { type JsonSchema, valueSchema } from './json-schema.ts';

export function listParameters(
  declared: ListDeclaration,
  { itemsPerPage, maxItemsPerPage, maxOffset }: PaginationDeclaration,
  plan: FieldPlan,
): JsonSchema[] {
  const { filters, search, sort } = declared;
  const lastPage = Math.min(Math.floor(Number.MAX_SAFE_INTEGER / maxItemsPerPage), maxOffset > 0 ? maxOffset + 1 : Infinity);
  const cursor = { type: 'string', format: 'cursor' };
  const size = { type: 'integer', minimum: 1, maximum: maxItemsPerPage, default: itemsPerPage };
  const fields =
    'The fields to return of each item, for example `id,center.name`; others are left out, even if the schema requires them.';
  const orders = { type: 'string', enum: sort.flatMap(({ field }) => [field, `-${field}`]) };
  const order = 'The fields to sort by, each once; `-` means descending.';
  const searched = search?.fields.map(({ field }) => field).join(', ');
  return [
    parameter('page', { type: 'integer', minimum: 1, maximum: lastPage, default: 1 }, 'The number of the page.'),
    parameter('items_per_page', size, 'The number of items per page.'),
    parameter('after', cursor, 'The row before the page, as in the links; requires `page`.'),
    parameter('before', cursor, 'The row after the page, as in the links; requires `page`.'),
    { ...listed('fields', { type: 'string' }, fields), 'x-partial': true },
    ...(sort.length > 0 ? [listed('sort', orders, order, { uniqueItems: true })] : []),
    ...(search ? [parameter('q', { type: 'string' }, `Words to search for in ${searched}.`)] : []),
    ...filters.flatMap(({ field, operators }) => operators.map((operator) => filterParameterOf(field, operator, plan))),
  ];
}

function parameter(name: string, schema: JsonSchema, description: string): JsonSchema {
  return { name, in: 'query', description, schema };
}

/** A parameter of several values. The server accepts commas, as described, and a repeated parameter, as `explode: true` would be. */
export function listed(name: string, items: JsonSchema, description: string, further: JsonSchema = {}): JsonSchema {
  return { ...parameter(name, { type: 'array', items, minItems: 1, ...further }, description), style: 'form', explode: false };
}

function filterParameterOf(field: string, operator: FilterOperator, plan: FieldPlan): JsonSchema {
  const { meaning, operand } = operatorTraits[operator];
  const found = readableField(plan, field)?.field;
  const value: JsonSchema = found?.kind === 'scalar' ? valueSchema(found.value, 'write') : { type: 'string' };
  const schemas = { value, list: value, text: { type: 'string' }, boolean: { type: 'boolean' } } satisfies Record<
    typeof operand,
    JsonSchema
  >;
  const make = operand === 'list' ? listed : parameter;
  return make(filterParameter(field, operator), schemas[operand], `${field} ${meaning}.`);
}
