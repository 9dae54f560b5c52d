/** The keywords of JSON Schema that the explorer reads. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly contentEncoding?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly discriminator?: { readonly propertyName: string; readonly mapping?: Readonly<Record<string, string>> };
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly description?: string;
  readonly title?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly 'x-model'?: string;
  /** The paths of the parts of a composite key. */
  readonly 'x-key'?: readonly string[];
  /** The role that a caller needs for the field. */
  readonly 'x-role'?: string;
}

/** The named schemas of the document. */
export type Schemas = Readonly<Record<string, Schema>>;

const prefix = '#/components/schemas/';

/** A schema without `$ref`. Keywords beside the reference, such as a description, win. */
export function resolve(schemas: Schemas, schema: Schema): Schema {
  let found = schema;
  for (let depth = 0; depth < 16 && found.$ref !== undefined; depth++) {
    const { $ref, ...beside } = found;
    const target: Schema = $ref.startsWith(prefix) ? (schemas[$ref.slice(prefix.length)] ?? {}) : {};
    found = { ...target, ...beside };
  }
  return found;
}

/** The schemas of which a value matches one, without null. A schema without alternatives is its only option. */
export function optionsOf(schemas: Schemas, schema: Schema): readonly Schema[] {
  const { anyOf, oneOf, ...rest } = resolve(schemas, schema);
  const union = oneOf ?? anyOf;
  if (!union) return rest.type === 'null' ? [] : [rest];
  return union.flatMap((option) => optionsOf(schemas, option));
}

export function isNullable(schemas: Schemas, schema: Schema): boolean {
  const { anyOf, oneOf, type, enum: values, const: constant } = resolve(schemas, schema);
  if ([type].flat().includes('null') || values?.includes(null) || constant === null) return true;
  return (oneOf ?? anyOf ?? []).some((option) => isNullable(schemas, option));
}

/** The JSON types of a schema without null: `['integer', 'string']`. */
export function typesOf({ type }: Schema): readonly string[] {
  return [type].flat().filter((name): name is string => name !== undefined && name !== 'null');
}

/** The properties of an object, those of all its variants included. */
export function propertiesOf(schemas: Schemas, schema: Schema): ReadonlyMap<string, Schema> {
  const found = new Map<string, Schema>();
  for (const option of optionsOf(schemas, schema)) {
    for (const part of [...(option.allOf ?? []).map((each) => resolve(schemas, each)), option])
      for (const [name, property] of Object.entries(part.properties ?? {})) if (!found.has(name)) found.set(name, property);
  }
  return found;
}

/** The models of the values: `Person` and `ThirdParty` for a requestor; none for plain values and embedded objects. */
export function modelsOf(schemas: Schemas, schema: Schema): readonly string[] {
  const resolved = resolve(schemas, schema);
  if (resolved['x-model'] !== undefined) return [resolved['x-model']];
  const union = resolved.oneOf ?? resolved.anyOf ?? [];
  return [...new Set(union.flatMap((option) => modelsOf(schemas, option)))];
}
