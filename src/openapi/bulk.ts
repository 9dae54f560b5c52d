import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import type { ActionDeclaration, ApiDeclaration, BulkDeclaration, HttpMethod, NestedDeclaration } from '../declaration/types.ts';
import { jsonName, ownProperties } from '../model/field-plan.ts';
import { isComposite, keyKind } from '../model/identifier.ts';
import { pascal } from './english.ts';
import { type JsonSchema, objectSchema, valueSchema } from './json-schema.ts';
import type { Operation } from './operations.ts';
import { groupSuffix } from './roles.ts';
import { bodyGroups, type Schemas } from './schemas/schemas.ts';

/** The declaration of lists, if an operation accepts them. */
export function bulkOf({ isSupplied, method, record: { action } }: Operation): BulkDeclaration | null {
  const { bulk = null } = action ?? {};
  return isSupplied && bulk?.methods.some((each) => each === method) ? bulk : null;
}

/** Whether an operation accepts nothing but lists. */
export function isBulkOnly(operation: Operation): boolean {
  const bulk = bulkOf(operation);
  return bulk !== null && !(operation.method === 'POST' && bulk.single);
}

/** The body of an operation that accepts a list; `single` is that of one row. */
export function bulkBody(operation: Operation, bulk: BulkDeclaration, schemas: Schemas, mapper: Mapper): JsonSchema {
  const { method, record } = operation;
  const meta = operation.meta as EntityMetadata;
  const list = (items: JsonSchema) => ({ type: 'array', items, maxItems: bulk.maxItems });
  if (method === 'POST') {
    const item = createBody(operation, schemas);
    return bulk.single ? { oneOf: [item, list(item)] } : list(item);
  }
  const key = isComposite(meta)
    ? schemas.write.keySchemas(meta)
    : { id: valueSchema(keyKind(meta, mapper.driver.getPlatform()), 'write') };
  const required = Object.keys(key);
  const ids = { ...key, _if_match: { type: 'string', description: 'The `ETag` that the row must still have, or `*`.' } };
  if (method === 'DELETE') return list(schemas.components.add(`${meta.className}DeleteItem`, objectSchema(ids, required)));
  const groups = bodyGroups(record.api as ApiDeclaration, record.action as ActionDeclaration);
  return list(schemas.write.of(meta, 'patch', groups, { suffix: 'PatchItem', required, properties: () => ids }));
}

/** The response to a list. */
export function bulkResult({ meta, record }: Operation, schemas: Schemas): JsonSchema {
  const { className } = meta as EntityMetadata;
  const { read } = (record.action as ActionDeclaration).groups;
  const properties = {
    count: { type: 'integer', minimum: 0, description: 'The number of rows.' },
    results: {
      type: 'array',
      items: schemas.read.of(meta as EntityMetadata, read),
      description: 'The rows, in the order of the request.',
    },
  };
  const names = [className, `${className}${groupSuffix(read, 'read')}`].map((name) => `${name}Rows`);
  return schemas.components.add(names, objectSchema(properties, ['count', 'results']));
}

/** The success of an operation that accepts a list. */
export function bulkSuccess(
  operation: Operation,
  bulk: BulkDeclaration,
  schemas: Schemas,
  answered: (description: string, schema: JsonSchema) => JsonSchema,
): [status: number, described: JsonSchema] {
  const { method } = operation;
  if (method === 'DELETE') return [204, { description: 'The rows were deleted.' }];
  const rows = bulkResult(operation, schemas);
  if (method === 'PATCH') return [200, answered('The changed rows.', rows)];
  const { read } = (operation.record.action as ActionDeclaration).groups;
  const model = schemas.read.of(operation.meta as EntityMetadata, read);
  const both = { oneOf: [model, rows] };
  return [201, bulk.single ? answered('The created entity, or the created rows.', both) : answered('The created rows.', rows)];
}

/** The body that creates a row, together with the rows that the API creates with it. */
export function createBody({ meta, record }: Operation, schemas: Schemas): JsonSchema {
  const api = record.api as ApiDeclaration;
  const { name, nested } = api;
  const groups = bodyGroups(api, record.action as ActionDeclaration);
  if (nested.length === 0) return schemas.write.of(meta as EntityMetadata, 'create', groups);
  const within = (declared: readonly NestedDeclaration[], depth: number) => (owner: EntityMetadata) =>
    Object.fromEntries(
      declared
        .filter(({ names }) => names.length === depth + 1)
        .flatMap(({ maxItems, names, role }): [string, JsonSchema][] => {
          const own = names[depth] as string;
          const property = ownProperties(owner).find((each) => jsonName(each) === own) as EntityProperty | undefined;
          if (!property?.targetMeta) return [];
          const inner = declared.filter((each) => each.names.length > depth + 1 && each.names[depth] === own);
          const items = schemas.write.of(property.targetMeta, 'create', groups, {
            suffix: `In${pascal(name)}Create`,
            without: property.mappedBy,
            properties: within(inner, depth + 1),
          });
          const list = { type: 'array', items, maxItems };
          return [[own, role === null ? list : { ...list, description: `Creates rows. Requires the role ${role}.` }]];
        }),
    );
  return schemas.write.of(meta as EntityMetadata, 'create', groups, { suffix: 'NestedCreate', properties: within(nested, 0) });
}

/** The roles that an operation requires only if its body creates further rows. */
export function nestedRoles({ isSupplied, method, record: { action, api } }: Operation): readonly string[] {
  const creates = isSupplied && action?.kind === 'index' && method === 'POST';
  return creates ? (api?.nested ?? []).flatMap(({ role }) => role ?? []) : [];
}

/** The summary of an operation that accepts nothing but lists. */
export function bulkSummary(method: HttpMethod, many: string): string {
  return `${method === 'POST' ? 'Create' : method === 'PATCH' ? 'Update' : 'Delete'} ${many}`;
}
