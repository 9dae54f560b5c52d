import type { JsonSchema } from './json-schema.ts';

/** How deep an example goes into what refers to itself. */
const deepest = 8;

/** A value that a schema allows, the same each time. */
export function exampleOf(schema: JsonSchema, schemas: Readonly<Record<string, JsonSchema>>, depth = 0): unknown {
  const { $ref, anyOf, oneOf, allOf, const: constant, enum: items, examples, default: standard } = schema as Shape;
  if ($ref !== undefined) {
    const named = schemas[$ref.slice('#/components/schemas/'.length)];
    return named === undefined || depth > deepest ? null : exampleOf(named, schemas, depth + 1);
  }
  if (examples?.[0] !== undefined) return examples[0];
  if (constant !== undefined) return constant;
  if (standard !== undefined) return standard;
  if (items) return items[0];
  const [first] = anyOf ?? oneOf ?? allOf ?? [];
  return first ? exampleOf(first, schemas, depth) : plainExample(schema as Shape, schemas, depth);
}

interface Shape {
  readonly $ref?: string;
  readonly anyOf?: readonly JsonSchema[];
  readonly oneOf?: readonly JsonSchema[];
  readonly allOf?: readonly JsonSchema[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly examples?: readonly unknown[];
  readonly default?: unknown;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly contentEncoding?: string;
  readonly minimum?: number;
  readonly maxLength?: number;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
}

function plainExample(schema: Shape, schemas: Readonly<Record<string, JsonSchema>>, depth: number): unknown {
  const type = [schema.type].flat().find((one) => one !== 'null');
  switch (type) {
    case 'object': {
      const properties = Object.entries(schema.properties ?? {});
      return Object.fromEntries(properties.map(([name, property]) => [name, exampleOf(property, schemas, depth + 1)]));
    }
    case 'array':
      return schema.items && depth <= deepest ? [exampleOf(schema.items, schemas, depth + 1)] : [];
    case 'integer':
      return Math.max(1, schema.minimum ?? 1);
    case 'number':
      return 1.5;
    case 'boolean':
      return true;
    case 'string':
      return textExample(schema);
    default:
      return null;
  }
}

const byFormat: Readonly<Record<string, string>> = {
  date: '2026-11-15',
  'date-time': '2026-11-15T13:45:00.000Z',
  uuid: '3f1f9a6e-6f0b-4a43-9d0c-5b8f2f3f7a11',
  'uri-reference': '/api',
  decimal: '1',
};

function textExample({ format = '', pattern, contentEncoding, maxLength = 20 }: Shape): string {
  if (byFormat[format] !== undefined) return byFormat[format];
  if (contentEncoding === 'base64') return 'AQID';
  if (pattern === undefined) return 'text'.slice(0, maxLength);
  return ['13:45:00', '1', 'a', 'text'].find((text) => new RegExp(pattern).test(text)) ?? 'text';
}
