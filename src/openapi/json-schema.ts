import type { ValueKind } from '../model/value-kind.ts';
import { schemaOfKind } from '../serialization/kind-conversions.ts';

/** A JSON Schema (2020-12), as OpenAPI 3.1 has it. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** The schema of a column's values: as they go out, or as they are taken. */
export function valueSchema(kind: ValueKind, direction: 'read' | 'write'): JsonSchema {
  return schemaOfKind(kind, direction === 'write');
}

/** The schema that takes null as well. */
export function orNull(schema: JsonSchema): JsonSchema {
  const { type, enum: items } = schema as { type?: string | readonly string[]; enum?: readonly unknown[] };
  if (type !== undefined) {
    const types = [...new Set([type, 'null'].flat())];
    return { ...schema, type: types, ...(items && { enum: [...items, null] }) };
  }
  // what takes anything takes null already
  if (Object.keys(schema).every((keyword) => keyword === 'description')) return schema;
  const { anyOf } = schema as { anyOf?: readonly JsonSchema[] };
  return { anyOf: [...(anyOf ?? [schema]), { type: 'null' }] };
}

/** An object that holds these properties and no others. */
export function objectSchema(
  properties: Readonly<Record<string, JsonSchema>>,
  required: readonly string[],
  further: JsonSchema = {},
): JsonSchema {
  return {
    type: 'object',
    ...further,
    properties,
    ...(required.length > 0 && { required: [...required] }),
    additionalProperties: false,
  };
}
