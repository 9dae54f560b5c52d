import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { JsonSchema } from '../../../src/openapi/json-schema.ts';

export interface Leniency {
  /** Nothing is missed that is not there: for answers of which a caller chose the fields. */
  readonly partial?: boolean;
  /** Texts are read as what the schema asks for: for parameters and headers. */
  readonly texts?: boolean;
}

const strict = makeAjv(false);
const reading = makeAjv(true);
/** By their text: most applications of a test run describe the same refusals. */
const compiled = new Map<string, ValidateFunction>();
const prefix = '#/components/schemas/';

function makeAjv(coerceTypes: boolean): Ajv2020 {
  // most validators look at a few answers: what takes long is to make them
  const quickly = { meta: false, validateSchema: false, inlineRefs: false, code: { optimize: false } };
  const ajv = new Ajv2020({ strict: false, coerceTypes, ...quickly });
  (addFormats as unknown as (of: Ajv2020) => void)(ajv);
  // formats of our own: what they mean is said in words
  ajv.addFormat('decimal', true);
  ajv.addFormat('cursor', true);
  // The application takes no moment after 9999; a row that was written past it is still told, as ISO 8601 has such years.
  const { validate } = ajv.formats['date-time'] as { validate: (text: string) => boolean };
  ajv.addFormat('date-time', { validate: (text: string) => validate(text.replace(/^\+\d{6}/, '2000')) });
  return ajv;
}

/** Named schemas, by what refers to them. */
type Named = Readonly<Record<string, JsonSchema>>;

/** What was found before, so that the text of a schema is written once for each document that has it. */
const found = new WeakMap<Named, Map<string, WeakMap<JsonSchema, ValidateFunction>>>();

/** The validator of a schema that may refer to named ones. */
export function validatorOf(schema: JsonSchema, schemas: Named, leniency: Leniency = {}): ValidateFunction {
  const byLeniency = found.get(schemas) ?? new Map<string, WeakMap<JsonSchema, ValidateFunction>>();
  found.set(schemas, byLeniency);
  const kind = `${leniency.partial ?? false} ${leniency.texts ?? false}`;
  const bySchema = byLeniency.get(kind) ?? new WeakMap<JsonSchema, ValidateFunction>();
  byLeniency.set(kind, bySchema);
  const validate = bySchema.get(schema) ?? compiledOf(schema, schemas, leniency);
  bySchema.set(schema, validate);
  return validate;
}

/** Whether a text, or a list of texts, is what a schema asks for. It is read within an object, as it is changed in its place. */
export function allowsText(schema: JsonSchema, schemas: Named, value: unknown): boolean {
  const holder = holders.get(schema) ?? { allOf: [{ type: 'object', properties: { value: schema } }] };
  holders.set(schema, holder);
  return validatorOf(holder, schemas, { texts: true })({ value }) === true;
}
const holders = new WeakMap<JsonSchema, JsonSchema>();

function compiledOf(schema: JsonSchema, schemas: Named, { partial = false, texts = false }: Leniency): ValidateFunction {
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
  const key = `${partial} ${texts} ${text}`;
  const known = compiled.get(key);
  if (known) return known;
  const whole = JSON.parse(text.replaceAll(`"$ref":"${prefix}`, '"$ref":"#/$defs/'), partial ? lenient : undefined);
  const validate = (texts ? reading : strict).compile(whole);
  compiled.set(key, validate);
  return validate;
}

/** The names of the schemas that a schema refers to, kept because documents repeat themselves. */
const names = new WeakMap<JsonSchema, readonly string[]>();
function namesIn(schema: JsonSchema): readonly string[] {
  let known = names.get(schema);
  if (!known) {
    known = [...JSON.stringify(schema).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)].map(([, name]) => name as string);
    names.set(schema, known);
  }
  return known;
}

function lenient(this: Record<string, unknown>, key: string, value: unknown): unknown {
  if (key === 'required' && Array.isArray(value)) return undefined;
  // without what is required, an object can be of several classes
  if (key === 'oneOf' && Array.isArray(value)) {
    this.anyOf = value;
    return undefined;
  }
  return value;
}
