import type { JsonSchema } from './json-schema.ts';

/** How deep an example goes, whatever it is of. */
const deepest = 30;

/**
 * A value that a schema allows, the same each time. What refers to itself ends where it may: in an empty list, or in null.
 *
 * @param within - the names of the schemas that the value is part of
 */
export function exampleOf(
  schema: JsonSchema,
  schemas: Readonly<Record<string, JsonSchema>>,
  within: readonly string[] = [],
): unknown {
  const { $ref, anyOf, oneOf, allOf, const: constant, enum: items, examples, default: standard } = schema as Shape;
  if ($ref !== undefined) {
    const name = nameIn($ref);
    const named = schemas[name];
    return named === undefined || within.length > deepest ? null : exampleOf(named, schemas, [...within, name]);
  }
  if (examples?.[0] !== undefined) return examples[0];
  if (constant !== undefined) return constant;
  if (standard !== undefined) return standard;
  if (items) return items[0];
  const options = anyOf ?? oneOf ?? allOf ?? [];
  const chosen = options.find((option) => !isWithin(option, within)) ?? options[0];
  return chosen ? exampleOf(chosen, schemas, within) : plainExample(schema as Shape, schemas, within);
}

function nameIn(ref: string): string {
  return ref.slice('#/components/schemas/'.length);
}

function isWithin({ $ref }: Shape, within: readonly string[]): boolean {
  return $ref !== undefined && within.includes(nameIn($ref));
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

function plainExample(schema: Shape, schemas: Readonly<Record<string, JsonSchema>>, within: readonly string[]): unknown {
  const type = [schema.type].flat().find((one) => one !== 'null');
  switch (type) {
    case 'object': {
      const properties = Object.entries(schema.properties ?? {});
      return Object.fromEntries(properties.map(([name, property]) => [name, exampleOf(property, schemas, within)]));
    }
    case 'array':
      return schema.items && !isWithin(schema.items, within) ? [exampleOf(schema.items, schemas, within)] : [];
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
