import type { ValueKind } from '../model/value-kind.ts';

/** A JSON Schema (2020-12), as OpenAPI 3.1 has it. */
export type JsonSchema = { readonly [keyword: string]: unknown };

const int64 = { min: '-9223372036854775807', max: '9223372036854775807' };

/** The schema of a column's values: as they go out, or as they are taken. */
export function valueSchema(kind: ValueKind, direction: 'read' | 'write'): JsonSchema {
  const writing = direction === 'write';
  switch (kind.kind) {
    case 'integer':
      return writing ? { type: 'integer', minimum: kind.min, maximum: kind.max } : { type: 'integer' };
    case 'bigint':
      return {
        type: ['integer', 'string'],
        format: 'int64',
        pattern: '^-?[0-9]{1,19}$',
        ...(writing && { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }),
        description: `A string where it is beyond 2^53; from ${int64.min} to ${int64.max}.`,
      };
    case 'decimal':
      return { type: 'string', format: 'decimal', pattern: decimalPattern(kind.precision, kind.scale) };
    case 'float':
      return { type: 'number', format: 'double' };
    case 'real':
      return { type: 'number', format: 'float' };
    case 'boolean':
      return { type: 'boolean' };
    case 'uuid':
      return { type: 'string', format: 'uuid' };
    case 'date':
      return { type: 'string', format: 'date' };
    case 'datetime':
      return { type: 'string', format: 'date-time' };
    case 'time':
      return { type: 'string', pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]$' };
    case 'interval':
      // as the database gives it: PostgreSQL in its parts
      return writing ? { type: 'string', maxLength: 100 } : { type: ['string', 'object'] };
    case 'blob':
      return { type: 'string', contentEncoding: 'base64' };
    case 'string':
      return writing && kind.length !== null ? { type: 'string', maxLength: kind.length } : { type: 'string' };
    case 'enum':
      return { type: typesOf(kind.items), enum: [...kind.items] };
    case 'array':
      return { type: 'array', items: valueSchema(kind.item, direction) };
    case 'json':
    case 'any':
    case 'custom':
      return {};
  }
}

function typesOf(values: readonly (string | number)[]): string | string[] {
  const types = [...new Set(values.map((value) => typeof value))];
  return types.length === 1 ? (types[0] as string) : types;
}

function decimalPattern(precision: number, scale: number): string {
  const whole = precision - scale;
  return `^-?[0-9]{1,${Math.max(1, whole)}}${scale > 0 ? `(\\.[0-9]{1,${scale}})?` : ''}$`;
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
