import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { JsonSchema } from '../../../src/openapi/json-schema.ts';

export interface Leniency {
  /** No property is required: for responses with selected fields. */
  readonly partial?: boolean;
  /** Properties that need a role are not allowed: for requests of callers whose roles are unknown. */
  readonly roleless?: boolean;
  /** Texts are converted to the types of the schema: for parameters and headers. */
  readonly texts?: boolean;
}

const strict = makeAjv(false);
const reading = makeAjv(true);
/** By their text, because most applications of a test run describe the same errors. */
const compiled = new Map<string, ValidateFunction>();
const prefix = '#/components/schemas/';

function makeAjv(coerceTypes: boolean): Ajv2020 {
  // most validators check few responses, so compiling them takes the most time
  const fastCompilation = { meta: false, validateSchema: false, inlineRefs: false, code: { optimize: false } };
  const ajv = new Ajv2020({ strict: false, coerceTypes, ...fastCompilation });
  (addFormats as unknown as (of: Ajv2020) => void)(ajv);
  // our own formats, which the document defines in words only
  ajv.addFormat('decimal', true);
  ajv.addFormat('cursor', true);
  // The application accepts no time after 9999. It returns one that other code stored, with the six-digit year of ISO 8601.
  const { validate } = ajv.formats['date-time'] as { validate: (text: string) => boolean };
  ajv.addFormat('date-time', { validate: (text: string) => validate(text.replace(/^\+\d{6}/, '2000')) });
  return ajv;
}

/** Named schemas, by the names in references to them. */
type Named = Readonly<Record<string, JsonSchema>>;

/** A cache, so that the text of a schema is generated once for each document. */
const found = new WeakMap<Named, Map<string, WeakMap<JsonSchema, ValidateFunction>>>();

/** The validator of a schema that may refer to named ones. */
export function validatorOf(schema: JsonSchema, schemas: Named, leniency: Leniency = {}): ValidateFunction {
  const byLeniency = found.get(schemas) ?? new Map<string, WeakMap<JsonSchema, ValidateFunction>>();
  found.set(schemas, byLeniency);
  const kind = `${leniency.partial ?? false} ${leniency.roleless ?? false} ${leniency.texts ?? false}`;
  const bySchema = byLeniency.get(kind) ?? new WeakMap<JsonSchema, ValidateFunction>();
  byLeniency.set(kind, bySchema);
  const validate = bySchema.get(schema) ?? compiledOf(schema, schemas, leniency);
  bySchema.set(schema, validate);
  return validate;
}

/** Whether a text, or a list of texts, fits a schema. Ajv converts values in place, so the value must be in an object. */
export function allowsText(schema: JsonSchema, schemas: Named, value: unknown): boolean {
  const holder = holders.get(schema) ?? { allOf: [{ type: 'object', properties: { value: schema } }] };
  holders.set(schema, holder);
  return validatorOf(holder, schemas, { texts: true })({ value }) === true;
}
const holders = new WeakMap<JsonSchema, JsonSchema>();

function compiledOf(schema: JsonSchema, schemas: Named, leniency: Leniency): ValidateFunction {
  const { partial = false, roleless = false, texts = false } = leniency;
  const $defs: Record<string, JsonSchema> = {};
  const open = [schema];
  for (let next = open.pop(); next; next = open.pop()) {
    for (const name of namesIn(next)) {
      const named = schemas[name];
      if (named === undefined || $defs[name]) continue;
      $defs[name] = named;
      open.push(named);
    }
  }
  const text = JSON.stringify({ allOf: [schema], $defs }, (key, value) => (key === 'examples' ? undefined : value));
  const key = `${partial} ${roleless} ${texts} ${text}`;
  const known = compiled.get(key);
  if (known) return known;
  const whole = JSON.parse(
    text.replaceAll(`"$ref":"${prefix}`, '"$ref":"#/$defs/'),
    partial ? lenient : roleless ? withoutRoles : undefined,
  );
  const validate = (texts ? reading : strict).compile(whole);
  compiled.set(key, validate);
  return validate;
}

/** The names of the schemas that a schema refers to, cached because documents use the same schemas repeatedly. */
const names = new WeakMap<JsonSchema, readonly string[]>();
function namesIn(schema: JsonSchema): readonly string[] {
  let known = names.get(schema);
  if (!known) {
    known = [...JSON.stringify(schema).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name as string);
    names.set(schema, known);
  }
  return known;
}

function withoutRoles(_: string, value: unknown): unknown {
  return typeof value === 'object' && value !== null && 'x-role' in value ? false : value;
}

function lenient(this: Record<string, unknown>, key: string, value: unknown): unknown {
  if (key === 'required' && Array.isArray(value)) return undefined;
  // without required properties, an object can match several classes
  if (key === 'oneOf' && Array.isArray(value)) {
    this.anyOf = value;
    return undefined;
  }
  return value;
}
