import type { ValueKind } from '../model/value-kind.ts';
import { schemaOfKind } from '../serialization/kind-conversions.ts';

/** A JSON Schema (2020-12), as OpenAPI 3.1 has it. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** The keywords of JSON Schema that this folder reads. All others are passed on unchanged. */
export interface KnownSchema {
  readonly $ref?: string;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly examples?: readonly unknown[];
  readonly default?: unknown;
  readonly type?: JsonType | readonly JsonType[];
  readonly format?: string;
  readonly pattern?: string;
  readonly contentEncoding?: string;
  readonly minimum?: number;
  readonly maxLength?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly description?: string;
}

const jsonTypes = ['object', 'array', 'integer', 'number', 'boolean', 'string', 'null'] as const;
export type JsonType = (typeof jsonTypes)[number];

/** One function for each form of a schema. If a schema has several forms, the first in this list counts. */
interface SchemaVisitor<Result> {
  /** Named by the last part of its `$ref`. */
  reference(name: string): Result;
  constant(value: unknown): Result;
  choice(values: readonly unknown[]): Result;
  /** Any of the options; with `oneOf`, exactly one. */
  union(options: readonly JsonSchema[], keyword: 'anyOf' | 'oneOf'): Result;
  /** All of the parts; the last one has the keywords beside `allOf`. */
  intersection(parts: readonly JsonSchema[]): Result;
  typed(types: readonly JsonType[], schema: KnownSchema): Result;
  anything(): Result;
}

export function visitSchema<Result>(schema: JsonSchema, visitor: SchemaVisitor<Result>): Result {
  const known = schema as KnownSchema;
  const { $ref, allOf = [], anyOf = [], oneOf = [], const: constant, enum: values } = known;
  if ($ref !== undefined) return visitor.reference(nameOfRef($ref));
  if (constant !== undefined) return visitor.constant(constant);
  if (values) return visitor.choice(values);
  if (anyOf.length > 0) return visitor.union(anyOf, 'anyOf');
  if (oneOf.length > 0) return visitor.union(oneOf, 'oneOf');
  const types = [known.type].flat().filter((type) => type !== undefined && jsonTypes.includes(type)) as JsonType[];
  if (allOf.length > 0) {
    const { allOf: _, ...rest } = schema;
    return visitor.intersection(types.length > 0 ? [...allOf, rest] : allOf);
  }
  return types.length > 0 ? visitor.typed(types, known) : visitor.anything();
}

/** `Person` of `#/components/schemas/Person`. */
export function nameOfRef(ref: string): string {
  return ref.slice(ref.lastIndexOf('/') + 1);
}

/** Keywords whose values are data, even if they look like schemas. */
const dataKeywords: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'examples']);
/** Keywords whose values are schemas by name. The names can be those of other keywords. */
const namedSchemas: ReadonlySet<string> = new Set([
  ...['properties', 'patternProperties', 'dependentSchemas', 'dependencies'],
  ...['$defs', 'definitions'],
]);

/** The schema with every `$ref` in it replaced. */
export function mapRefs(schema: unknown, replace: (ref: string) => string): unknown {
  if (Array.isArray(schema)) return schema.map((item) => mapRefs(item, replace));
  return mapValues(schema, (value, keyword) => {
    if (keyword === '$ref' && typeof value === 'string') return replace(value);
    if (namedSchemas.has(keyword)) return mapValues(value, (named) => mapRefs(named, replace));
    return dataKeywords.has(keyword) ? value : mapRefs(value, replace);
  });
}

function mapValues(object: unknown, map: (value: unknown, key: string) => unknown): unknown {
  if (typeof object !== 'object' || object === null) return object;
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value, key)]));
}

/** The schema of a column's values in responses or in bodies. */
export function valueSchema(kind: ValueKind, direction: 'read' | 'write'): JsonSchema {
  return schemaOfKind(kind, direction === 'write');
}

export function orNull(schema: JsonSchema): JsonSchema {
  const beside = () => ({ anyOf: [schema, { type: 'null' }] });
  return visitSchema(schema, {
    reference: beside,
    constant: beside,
    choice: (values) => (schema.type === undefined ? beside() : { ...withNullType(schema), enum: [...values, null] }),
    union: (options, keyword) => (keyword === 'anyOf' ? { anyOf: [...options, { type: 'null' }] } : beside()),
    intersection: beside,
    typed: () => withNullType(schema),
    // an empty schema allows null already
    anything: () => schema,
  });
}

function withNullType(schema: JsonSchema): JsonSchema {
  return { ...schema, type: [...new Set([schema.type, 'null'].flat())] };
}

export function anyOf(schemas: readonly JsonSchema[]): JsonSchema {
  return schemas.length === 1 ? (schemas[0] as JsonSchema) : { anyOf: schemas };
}

export function listIf(many: boolean, item: JsonSchema): JsonSchema {
  return many ? { type: 'array', items: item } : item;
}

export function withDescription(schema: JsonSchema, description: string | undefined): JsonSchema {
  return description === undefined ? schema : { ...schema, description };
}

/** An object with these properties and no others. */
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
