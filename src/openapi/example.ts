import { type JsonSchema, type JsonType, type KnownSchema, nameOfRef, visitSchema } from './json-schema.ts';

/** The maximum depth of an example. */
const deepest = 30;

type Schemas = Readonly<Record<string, JsonSchema>>;

/**
 * A value that a schema allows, the same each time. A schema that refers to itself ends in an empty list or in null.
 *
 * @param within - the names of the schemas that the value is part of
 */
export function exampleOf(schema: JsonSchema, schemas: Schemas, within: readonly string[] = []): unknown {
  const { $ref, const: constant, default: standard, examples } = schema as KnownSchema;
  if ($ref === undefined && examples?.[0] !== undefined) return examples[0];
  if ($ref === undefined && constant === undefined && standard !== undefined) return standard;
  const firstOf = (options: readonly JsonSchema[]) =>
    exampleOf(options.find((option) => !isWithin(option, within)) ?? (options[0] as JsonSchema), schemas, within);
  return visitSchema(schema, {
    reference(name) {
      const named = schemas[name];
      return named === undefined || within.length > deepest ? null : exampleOf(named, schemas, [...within, name]);
    },
    constant: (value) => value,
    choice: (values) => values[0],
    union: firstOf,
    intersection: firstOf,
    typed(types, known) {
      const type = types.find((one) => one !== 'null') ?? 'null';
      return plainExamples[type](known, schemas, within);
    },
    anything: () => null,
  });
}

function isWithin({ $ref }: KnownSchema, within: readonly string[]): boolean {
  return $ref !== undefined && within.includes(nameOfRef($ref));
}

const plainExamples: Readonly<Record<JsonType, (schema: KnownSchema, schemas: Schemas, within: readonly string[]) => unknown>> = {
  object: ({ properties = {} }, schemas, within) =>
    Object.fromEntries(Object.entries(properties).map(([name, property]) => [name, exampleOf(property, schemas, within)])),
  array: ({ items }, schemas, within) => (items && !isWithin(items, within) ? [exampleOf(items, schemas, within)] : []),
  integer: ({ minimum = 1 }) => Math.max(1, minimum),
  number: () => 1.5,
  boolean: () => true,
  string: textExample,
  null: () => null,
};

const byFormat: Readonly<Record<string, string>> = {
  date: '2026-11-15',
  'date-time': '2026-11-15T13:45:00.000Z',
  uuid: '3f1f9a6e-6f0b-4a43-9d0c-5b8f2f3f7a11',
  'uri-reference': '/api',
  decimal: '1',
};

function textExample({ format = '', pattern, contentEncoding, maxLength = 20 }: KnownSchema): string {
  if (byFormat[format] !== undefined) return byFormat[format];
  if (contentEncoding === 'base64') return 'AQID';
  if (pattern === undefined) return 'text'.slice(0, maxLength);
  return ['13:45:00', '1', 'a', 'text'].find((text) => new RegExp(pattern).test(text)) ?? 'text';
}
