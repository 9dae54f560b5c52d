import type { ValueKind } from '../model/value-kind.ts';
import { schemaOfKind } from '../serialization/kind-conversions.ts';
import { type JsonSchema, visitSchema } from './schema-visitor.ts';

export type { JsonSchema };

/** The schema of a column's values: as they go out, or as they are taken. */
export function valueSchema(kind: ValueKind, direction: 'read' | 'write'): JsonSchema {
  return schemaOfKind(kind, direction === 'write');
}

/** The schema that takes null as well. */
export function orNull(schema: JsonSchema): JsonSchema {
  const beside = () => ({ anyOf: [schema, { type: 'null' }] });
  return visitSchema(schema, {
    reference: beside,
    constant: beside,
    choice: (values) => (schema.type === undefined ? beside() : { ...withNullType(schema), enum: [...values, null] }),
    union: (options, keyword) => (keyword === 'anyOf' ? { anyOf: [...options, { type: 'null' }] } : beside()),
    intersection: beside,
    typed: () => withNullType(schema),
    // what takes anything takes null already
    anything: () => schema,
  });
}

function withNullType(schema: JsonSchema): JsonSchema {
  return { ...schema, type: [...new Set([schema.type, 'null'].flat())] };
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
