import { type FilterOperator, filterParameter, operatorTraits } from '../declaration/filter-operators.ts';
import type { DeclaredGroup, ListDeclaration, PaginationDeclaration } from '../declaration/types.ts';
import type { FieldPlan } from '../model/field-plan.ts';
import { rolesOfPath, rolesText } from '../model/group-roles.ts';
import { readableField } from '../model/readable-field.ts';
import { type JsonSchema, valueSchema } from './json-schema.ts';
import { roleNote } from './roles.ts';

export function listParameters(
  declared: ListDeclaration,
  { itemsPerPage, maxItemsPerPage, maxOffset }: PaginationDeclaration,
  plan: FieldPlan,
  groups: readonly DeclaredGroup[] = [],
): JsonSchema[] {
  const rolesOf = (field: string) => rolesOfPath(plan, field, groups);
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
    ...(sort.length > 0
      ? [
          limitedItems(
            listed('sort', orders, order, { uniqueItems: true }),
            sort.map(({ field }) => field),
            rolesOf,
          ),
        ]
      : []),
    ...(search
      ? [
          {
            ...parameter(
              'q',
              { type: 'string' },
              withNotes(
                `Words to search for in ${searched}.`,
                search.fields.map(({ field }) => field),
                rolesOf,
              ),
            ),
            ...limitOfAny(search.fields, rolesOf),
          },
        ]
      : []),
    ...filters.flatMap(({ field, operators }) =>
      operators.map((operator) => limited(filterParameterOf(field, operator, plan), rolesOf(field))),
    ),
  ];
}

type Steps = readonly (readonly string[])[];

/** A parameter that exists only for callers with roles. */
function limited(described: JsonSchema, steps: Steps): JsonSchema {
  if (steps.length === 0) return described;
  return { ...described, description: `${described.description} ${roleNote(steps)}`, 'x-role': rolesText(steps) };
}

/** The role of a parameter that does not exist for callers without access to any of its fields. */
function limitOfAny(fields: readonly { readonly field: string }[], rolesOf: (field: string) => Steps): JsonSchema {
  const needed = fields.map(({ field }) => rolesOf(field));
  if (needed.some((steps) => steps.length === 0)) return {};
  return { 'x-role': [...new Set(needed.map(rolesText))].join(' or ') };
}

/** A parameter of several values, of which some exist only for callers with roles. */
export function limitedItems(described: JsonSchema, names: readonly string[], rolesOf: (name: string) => Steps): JsonSchema {
  const needed = names.map((name) => [name, rolesOf(name)] as const).filter(([, steps]) => steps.length > 0);
  if (needed.length === 0) return described;
  return {
    ...described,
    description: withNotes(String(described.description), names, rolesOf),
    'x-role-of': Object.fromEntries(needed.map(([name, steps]) => [name, rolesText(steps)])),
  };
}

/** A description, and sentences about the fields that need a role. */
function withNotes(description: string, names: readonly string[], rolesOf: (name: string) => Steps): string {
  const notes = names.map((name) => roleNote(rolesOf(name), `\`${name}\` is only`));
  return [description, ...notes.filter((note) => note !== '')].join(' ');
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
