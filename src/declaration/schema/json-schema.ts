import { isContainer, type Key, type ObjectShape, type Shape, type ShapeOf } from '../shape.ts';
import { block, root, routes } from './schema.ts';

type Json = { [key: string]: unknown };

const dialect = 'https://json-schema.org/draft/2020-12/schema';
const placeholder: Json = { $ref: '#/$defs/placeholder' };

/** The JSON Schema (draft 2020-12) of the files in `config/`, for editors. Only `declarest check` checks rules across keys. */
export function jsonSchema(): Json {
  const definitions = new Map<string, Json>();
  const route = schemaOf(routes.of, definitions);
  for (const shape of [root, block]) Object.assign(definitionOf(shape, definitions), { additionalProperties: route });
  const placeholderSchema = { type: 'string', pattern: '%env\\(.+\\)%', description: 'Replaced by an environment variable.' };
  return {
    $schema: dialect,
    title: 'Declarest configuration',
    $ref: '#/$defs/root',
    $defs: Object.fromEntries([...definitions, ['placeholder', placeholderSchema] as const].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

/** The text of `schema/app-main.schema.json`. */
export function jsonSchemaText(): string {
  return `${JSON.stringify(jsonSchema(), null, 2)}\n`;
}

function schemaOf(shape: Shape, definitions: Map<string, Json>): Json {
  switch (shape.kind) {
    case 'boolean':
      return orNull({ anyOf: [{ type: 'boolean' }, placeholder] }, shape.nullable);
    case 'literal': {
      const one = shape.any ? { type: ['string', 'number', 'boolean'] } : { anyOf: [{ type: 'number' }, placeholder] };
      return orNull(shape.several ? { anyOf: [one, { type: 'array', items: one }] } : one, shape.nullable);
    }
    case 'integer':
      return { anyOf: [{ type: 'integer', minimum: shape.min, maximum: shape.max }, placeholder] };
    case 'text':
      return textSchema(shape);
    case 'class':
      return orNull({ type: 'string', minLength: 1 }, shape.nullable);
    case 'any':
      return { type: 'object' };
    case 'described':
      return orNull({ anyOf: [{ type: 'string', minLength: 1 }, { type: 'object' }] }, shape.nullable);
    case 'list':
      return {
        type: 'array',
        items: schemaOf(shape.of, definitions),
        ...(shape.min > 0 && { minItems: shape.min }),
        ...(Number.isFinite(shape.max) && { maxItems: shape.max }),
        ...(shape.unique && { uniqueItems: true }),
      };
    case 'map':
      return {
        type: 'object',
        additionalProperties: orNull(schemaOf(shape.of, definitions), mayBeEmpty(shape.of)),
        ...(shape.min > 0 && { minProperties: shape.min }),
        ...(shape.names && { propertyNames: { pattern: shape.names.source } }),
      };
    case 'object':
      definitionOf(shape, definitions);
      return orNull({ $ref: `#/$defs/${shape.name}` }, shape.nullable);
    case 'either':
      return orNull({ anyOf: shape.options.map((option) => schemaOf(option, definitions)) }, shape.nullable);
  }
}

function textSchema({ values, pattern, nullable }: ShapeOf<'text'>): Json {
  if (values) return orNull({ anyOf: [{ enum: [...values] }, placeholder] }, nullable);
  if (pattern) return orNull({ anyOf: [{ type: 'string', pattern: pattern.source }, placeholder] }, nullable);
  return orNull({ type: 'string' }, nullable);
}

/** The definition of a mapping with fixed keys, made once and named after the shape. */
function definitionOf(shape: ObjectShape, definitions: Map<string, Json>): Json {
  const known = definitions.get(shape.name);
  if (known) return known;
  const definition: Json = {};
  definitions.set(shape.name, definition);
  const names = Object.keys(shape.keys);
  const spelledTwoWays = names.filter((name) => /[-_]/.test(name));
  const required = names.filter((name) => shape.keys[name]?.required);
  // Dashes and underscores are the same; the spelling under `properties` is the one that editors offer.
  const patterns = spelledTwoWays.map((name) => [
    `^${name.replaceAll(/[-_]/g, '[-_]')}$`,
    { $ref: `#/$defs/${shape.name}/properties/${name}` },
  ]);
  return Object.assign(definition, {
    type: 'object',
    properties: Object.fromEntries(Object.entries(shape.keys).map(([name, key]) => [name, keySchema(key, definitions)])),
    ...(patterns.length > 0 && { patternProperties: Object.fromEntries(patterns) }),
    additionalProperties: false,
    ...(required.length > 0 && {
      allOf: required.map((name) => ({ anyOf: spellings(name).map((spelling) => ({ required: [spelling] })) })),
    }),
  });
}

function spellings(name: string): string[] {
  return [...new Set([name, name.replaceAll('-', '_'), name.replaceAll('_', '-')])];
}

function keySchema(key: Key, definitions: Map<string, Json>): Json {
  const empty = !key.required && isContainer(key.shape) && !key.shape.nullable;
  return {
    description: key.defaultNote ? `${key.doc} Default: ${key.defaultNote}.` : key.doc,
    ...orNull(schemaOf(key.shape, definitions), empty),
    ...(key.default !== undefined && { default: key.default }),
  };
}

/** Whether an empty value is allowed as an empty mapping or list of this shape. */
function mayBeEmpty(shape: Shape): boolean {
  if (shape.kind === 'object') return Object.values(shape.keys).every((key) => !key.required);
  return shape.kind === 'list' && shape.min === 0;
}

function orNull(schema: Json, nullable: boolean): Json {
  return nullable ? { anyOf: [schema, { type: 'null' }] } : schema;
}
