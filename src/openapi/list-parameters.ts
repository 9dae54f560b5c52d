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
  const fields = 'What to show of each item, such as `id,center.name`; of what its schema requires, the rest is left out.';
  const orders = { type: 'string', enum: sort.flatMap(({ field }) => [field, `-${field}`]) };
  const order = 'The order, each field once; `-` is descending.';
  const searched = search?.fields.map(({ field }) => field).join(', ');
  return [
    parameter('page', { type: 'integer', minimum: 1, maximum: lastPage, default: 1 }, 'The number of the page.'),
    parameter('items_per_page', size, 'How many items are on a page.'),
    parameter('after', cursor, 'The row that the page begins after, as links have it; together with `page`.'),
    parameter('before', cursor, 'The row that the page ends before, as links have it; together with `page`.'),
    { ...listed('fields', { type: 'string' }, fields), 'x-partial': true },
    ...(sort.length > 0 ? [listed('sort', orders, order, { uniqueItems: true })] : []),
    ...(search ? [parameter('q', { type: 'string' }, `Words to search for in ${searched}.`)] : []),
    ...filters.flatMap(({ field, operators }) => operators.map((operator) => filterParameterOf(field, operator, plan))),
  ];
}

function parameter(name: string, schema: JsonSchema, description: string): JsonSchema {
  return { name, in: 'query', description, schema };
}

/** A parameter of several values, separated by commas. */
function listed(name: string, items: JsonSchema, description: string, further: JsonSchema = {}): JsonSchema {
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
