import type { Key } from './key.ts';
import { isNullable, modelsOf, optionsOf, resolve, type Schema, type Schemas, typesOf } from './schema.ts';

interface Common {
  readonly name: string;
  readonly required: boolean;
  readonly nullable: boolean;
  readonly description: string | null;
  readonly default: unknown;
  /** The role that a caller needs to write the field; null: none. */
  readonly role: string | null;
}

/** A field of a form. */
export type Field = Common &
  (
    | {
        readonly kind: 'text' | 'long-text' | 'uuid' | 'decimal' | 'time' | 'date' | 'date-time' | 'bytes';
        readonly maxLength: number | null;
      }
    | { readonly kind: 'integer' | 'number'; readonly minimum: number | null; readonly maximum: number | null }
    | { readonly kind: 'big-integer' | 'boolean' | 'json' }
    | { readonly kind: 'choice'; readonly values: readonly unknown[] }
    | { readonly kind: 'constant'; readonly value: unknown }
    | { readonly kind: 'reference'; readonly targets: readonly ReferenceTarget[] }
    | { readonly kind: 'object'; readonly variants: readonly Variant[]; readonly typeKey: string | null }
    | { readonly kind: 'list'; readonly item: Field }
  );

export type FieldOf<Kind extends Field['kind']> = Extract<Field, { readonly kind: Kind }>;

/** A model that a reference can point to. */
export interface ReferenceTarget {
  readonly model: string;
  /** The name of the id in the body. */
  readonly key: string;
  /** The key in rows of the model. */
  readonly parts: Key;
  /** The values of `type`, which several targets need to be told apart. */
  readonly types: readonly string[];
  readonly typed: boolean;
}

/** The fields of an object, or of one of its classes. */
export interface Variant {
  /** The value of the discriminator; null if there is only one class. */
  readonly type: string | null;
  readonly fields: readonly Field[];
}

/** Longer texts, and those without a limit, get a field of several lines. */
const longText = 250;
const deepest = 8;

/** The form of a body. If a list of bodies is allowed as well, the form is that of one. */
export function formOf(schemas: Schemas, body: Schema): Field {
  const { anyOf, oneOf } = resolve(schemas, body);
  const single = (oneOf ?? anyOf ?? []).filter((option) => !typesOf(resolve(schemas, option)).includes('array'));
  const [only] = single;
  return fieldOf(schemas, '', only && single.length === 1 ? only : body, true, 0);
}

export function fieldOf(schemas: Schemas, name: string, schema: Schema, required: boolean, depth: number): Field {
  const whole = resolve(schemas, schema);
  const options = optionsOf(schemas, whole);
  const common: Common = {
    name,
    required,
    // a property that accepts anything accepts null
    nullable: isNullable(schemas, whole) || (name !== '' && isAnything(whole)),
    description: whole.description ?? null,
    default: whole.default ?? options[0]?.default,
    role: schema['x-role'] ?? null,
  };
  const targets = referencesIn(schemas, whole);
  if (targets.length > 0) return { ...common, kind: 'reference', targets };
  const [only] = options;
  if (!only || depth > deepest) return { ...common, kind: 'json' };
  if (options.length > 1) return unionField(schemas, common, whole, options, depth);
  if (only.const !== undefined) return { ...common, kind: 'constant', value: only.const };
  if (only.enum) return { ...common, kind: 'choice', values: only.enum.filter((value) => value !== null) };
  return typedField(schemas, common, only, depth);
}

function isAnything({ anyOf, const: constant, enum: values, oneOf, properties, type }: Schema): boolean {
  return [anyOf, constant, values, oneOf, properties, type].every((keyword) => keyword === undefined);
}

function typedField(schemas: Schemas, common: Common, schema: Schema, depth: number): Field {
  const types = typesOf(schema);
  const { maximum = null, maxLength = null, minimum = null } = schema;
  if (types.includes('string') && types.includes('integer')) return { ...common, kind: 'big-integer' };
  switch (types.length === 1 ? types[0] : undefined) {
    case 'string':
      return { ...common, kind: textKind(schema), maxLength };
    case 'integer':
      return { ...common, kind: 'integer', minimum, maximum };
    case 'number':
      return { ...common, kind: 'number', minimum, maximum };
    case 'boolean':
      return { ...common, kind: 'boolean' };
    case 'array':
      return schema.items
        ? { ...common, kind: 'list', item: fieldOf(schemas, '', schema.items, true, depth + 1) }
        : { ...common, kind: 'json' };
    case 'object':
      return schema.properties
        ? {
            ...common,
            kind: 'object',
            typeKey: null,
            variants: [{ type: null, fields: fieldsOf(schemas, schema, null, depth) }],
          }
        : { ...common, kind: 'json' };
    default:
      return { ...common, kind: 'json' };
  }
}

function textKind({ contentEncoding, format, maxLength, pattern }: Schema) {
  if (contentEncoding !== undefined) return 'bytes' as const;
  if (format === 'date' || format === 'date-time' || format === 'uuid' || format === 'decimal') return format;
  if (pattern === '^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]$') return 'time' as const;
  return maxLength === undefined || maxLength > longText ? ('long-text' as const) : ('text' as const);
}

function unionField(schemas: Schemas, common: Common, whole: Schema, options: readonly Schema[], depth: number): Field {
  if (!options.every(({ properties }) => properties)) return { ...common, kind: 'json' };
  const typeKey = whole.discriminator?.propertyName ?? constantKey(options);
  if (typeKey === null) return { ...common, kind: 'json' };
  const variants = options.map((option) => ({
    type: String(option.properties?.[typeKey]?.const ?? ''),
    fields: fieldsOf(schemas, option, typeKey, depth),
  }));
  return { ...common, kind: 'object', typeKey, variants };
}

/** The property that is a constant in each of the classes. */
function constantKey(options: readonly Schema[]): string | null {
  const keys = Object.entries(options[0]?.properties ?? {}).flatMap(([name, { const: value }]) =>
    value === undefined ? [] : name,
  );
  return keys.find((key) => options.every(({ properties }) => properties?.[key]?.const !== undefined)) ?? null;
}

function fieldsOf(schemas: Schemas, { properties = {}, required = [] }: Schema, typeKey: string | null, depth: number): Field[] {
  return Object.entries(properties)
    .filter(([name]) => name !== typeKey)
    .map(([name, property]) => fieldOf(schemas, name, property, required.includes(name), depth + 1));
}

/** The targets of a reference; none if the schema allows anything else than references. */
function referencesIn(schemas: Schemas, schema: Schema): ReferenceTarget[] {
  const options = optionsOf(schemas, schema);
  const targets = options.flatMap((option) => {
    const composite = option['x-key'];
    const key = composite ? 'id' : Object.keys(option.properties ?? {}).find((name) => name !== 'type');
    const isSmall = composite !== undefined || Object.keys(option.properties ?? {}).length <= 2;
    const isReference = option['x-model'] !== undefined && isSmall && key !== undefined;
    if (!isReference || option.required === undefined || option.properties?.type === undefined) return [];
    const types = (option.properties.type.enum ?? []).map(String);
    return [
      {
        model: modelsOf(schemas, option)[0] ?? '',
        key,
        parts: composite ?? [key],
        types,
        typed: option.required.includes('type'),
      },
    ];
  });
  return targets.length === options.length ? targets : [];
}
