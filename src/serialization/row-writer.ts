import type { ValueKind } from '../model/value-kind.ts';
import { type RowFormat, valueExpression } from './kind-conversions.ts';
import { dateOf, integerToJson, isoText } from './to-json.ts';

/** The columns of a row for the parts of a JSON object. */
export interface RowObject {
  /** The column that is null if there is no row: the key of a joined table. */
  readonly presence: number | null;
  /** The column with the class of the row, if it can be one of several. */
  readonly discriminator: number | null;
  readonly variants: readonly RowVariant[];
  /** The columns of its key, if the key decides whether the row is visible. */
  readonly keys?: readonly number[];
  /** The table whose rows the statement selects for the object, and their alias; absent if it selects only the key. */
  readonly from?: { readonly table: string; readonly alias: string };
}

export interface RowVariant {
  /** The value of the discriminator; null if there is only one variant. */
  readonly type: string | null;
  readonly fields: readonly RowField[];
  /** The index of the set of visible keys; absent if all rows are visible. */
  readonly seen?: number;
  /** Creates the object for code of the model, if a field needs it. */
  readonly instance?: InstanceMaker;
}

/** Creates an instance of a model from a row. */
type InstanceMaker = (row: unknown[], many: readonly RowsByKey[], context: never) => object | null;

/** Returns the JSON value of a field that code of the model computes. */
export type ReadComputed = (entity: object, seen: readonly VisibleKeys[] | undefined) => unknown;

export type RowField = {
  readonly name: string;
  /** Returns the text that replaces the JSON of the field. */
  readonly normalize?: (json: string) => string;
} & (
  | {
      readonly kind: 'value';
      readonly column: number;
      readonly value: ValueKind;
      /** For columns that only the mapper's own type can read: converts the column's value to JSON. */
      readonly convert?: (value: unknown) => unknown;
    }
  /** Null if all of the columns are null; `columns` is null if the object always exists. */
  | { readonly kind: 'embedded'; readonly columns: readonly number[] | null; readonly fields: readonly RowField[] }
  /** The first of the objects that is present, or null. */
  | { readonly kind: 'to-one'; readonly objects: readonly RowObject[] }
  /** Computed by code of the model. */
  | { readonly kind: 'computed'; readonly read: ReadComputed }
  /** The rows that another statement found for the key in these columns. */
  | { readonly kind: 'to-many'; readonly source: number; readonly columns: readonly number[] }
);

/** The rows of each to-many association, by the key of their owner. */
export type RowsByKey = ReadonlyMap<unknown, readonly unknown[][]>;

/** Keys of rows that a caller can see, as text. */
export type VisibleKeys = ReadonlySet<string>;

/**
 * Writes one row as JSON. `many` has the rows of the to-many associations, `writers` their writers, `seen` the keys of rows that
 * may be embedded, and `context` the data for instances of models.
 */
export type RowWriter = (
  row: unknown[],
  many: readonly RowsByKey[],
  writers: readonly RowWriter[],
  seen?: readonly VisibleKeys[],
  context?: unknown,
) => string;

/** Writes one row like {@link RowWriter}, and yields now and then within long lists of embedded rows. */
export type PacedRowWriter = (
  row: unknown[],
  many: readonly RowsByKey[],
  writers: readonly RowWriter[],
  seen: readonly VisibleKeys[] | undefined,
  context: unknown,
  paced: readonly (PacedRowWriter | null)[],
) => Generator<void, string>;

/**
 * Compiles the function that writes rows of one form directly as JSON.
 *
 * It is generated as source, from positions and the escaped names of fields, never from a value of a row.
 */
export function compileRowWriter(object: RowObject, format: RowFormat): RowWriter {
  const source = new JsonSource(format);
  const main = source.object(object);
  return source.compile(`${source.text}\nreturn ${main};`, helpersOf);
}

/** Compiles the same function with pauses; null if the object has no lists, and so is always written at once. */
export function compilePacedRowWriter(object: RowObject, format: RowFormat): PacedRowWriter | null {
  if (!holdsMany(object)) return null;
  const source = new JsonSource(format, true);
  const main = source.object(object);
  return source.compile(`${source.text}\nreturn ${main};`, helpersOf);
}

/** Whether an object has lists of embedded rows. */
export function holdsMany({ variants }: RowObject): boolean {
  const isMany = (field: RowField): boolean =>
    field.kind === 'to-many' ||
    (field.kind === 'to-one' && field.objects.some(holdsMany)) ||
    (field.kind === 'embedded' && field.fields.some(isMany));
  return variants.some(({ fields }) => fields.some(isMany));
}

/** The source of a row writer, and its constants. */
export class RowSource {
  readonly #format: RowFormat;
  readonly #constants: unknown[] = [];
  /** The helper that writes a value of any type. */
  readonly #any: string;

  constructor(format: RowFormat, any: string) {
    this.#format = format;
    this.#any = any;
  }

  compile<Writer = RowWriter>(text: string, helpers: object): Writer {
    return new Function('h', 'k', text)(helpers, this.#constants) as Writer;
  }

  /** The expression for a value that is known when the source is generated. */
  protected constant(value: unknown): string {
    return `k[${this.#constants.push(value) - 1}]`;
  }

  /** The expression that writes the value of a column, which is not null. */
  protected value(field: Extract<RowField, { kind: 'value' }>): string {
    return valueExpression(field, `r[${field.column}]`, this.#format, {
      any: (given) => `${this.#any}(${given})`,
      converted: (convert, given) => `${this.#any}(${this.constant(convert)}(${given}))`,
    });
  }

  /** The expression for whether all columns are null, which is true without columns; null if it does not depend on columns. */
  protected isEmpty(columns: readonly number[] | null): string | null {
    if (columns?.length === 0) return 'true';
    return columns?.map((column) => `r[${column}] === null`).join(' && ') ?? null;
  }
}

/** Embedded rows that are written between two pauses. */
export const pausedRows = 128;

/** Characters that JSON escapes, and halves of surrogate pairs, which `JSON.stringify` escapes as well. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression looks for these characters
const needsEscape = /["\\\u0000-\u001f\ud800-\udfff]/;

const helpersOf = {
  text: (value: unknown): string => {
    if (typeof value !== 'string') return helpersOf.any(value);
    return needsEscape.test(value) ? JSON.stringify(value) : `"${value}"`;
  },
  // most columns are numbers and dates, and both have a faster way to the same text
  any: (value: unknown): string => {
    if (typeof value === 'number') return Number.isFinite(value) ? `${value}` : 'null';
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'null' : `"${isoText(value.getTime())}"`;
    return JSON.stringify(typeof value === 'bigint' ? integerToJson(value) : value) ?? 'null';
  },
  timestamp: timestampToJson,
  joined,
};

/**
 * A text as one piece. V8 keeps a concatenated text as a tree of its parts until a character is read, and as long as the request
 * lives, the garbage collector would have to follow and move each of them.
 */
export function joined(text: string): string {
  return text.charCodeAt(0) >= 0 ? text : '';
}

/** `2026-11-15 03:29:00.099`, in UTC */
export function timestampToJson(value: string): string {
  if (value.charCodeAt(10) !== 32 || value.charCodeAt(value.length - 1) === 67) return helpersOf.any(dateOf(`${value}Z`));
  const fraction = value.length > 20 ? value.slice(20, 23).padEnd(3, '0') : '000';
  return `"${value.slice(0, 10)}T${value.slice(11, 19)}.${fraction}Z"`;
}

class JsonSource extends RowSource {
  readonly #functions: string[] = [];
  /** Whether the functions are generators. */
  readonly #isPaced: boolean;

  constructor(format: RowFormat, isPaced = false) {
    super(format, 'h.any');
    this.#isPaced = isPaced;
  }

  get text(): string {
    return this.#functions.join('\n');
  }

  /** Adds the function of an object and returns its name. */
  object({ presence, discriminator, keys, variants }: RowObject): string {
    const lines: string[] = [];
    if (presence !== null) lines.push(`if (r[${presence}] === null) return 'null';`);
    for (const { type, fields, instance, seen } of variants) {
      const whole = this.#fields(fields);
      const hidden = seen === undefined ? '' : `if (!s[${seen}].has(${keyExpression(keys)})) return 'null'; `;
      const made = instance ? `const i = ${this.constant(instance)}(r, m, c); ` : '';
      const body = `${hidden}${made}return ${whole};`;
      if (type === null || discriminator === null) lines.push(body);
      else lines.push(`if (String(r[${discriminator}]) === ${JSON.stringify(type)}) { ${body} }`);
    }
    lines.push(`return 'null';`);
    const name = `o${this.#functions.length}`;
    this.#functions.push(`${this.#declaration(name)} {\n  ${lines.join('\n  ')}\n}`);
    return name;
  }

  #declaration(name: string): string {
    return this.#isPaced ? `function* ${name}(r, m, w, s, c, p)` : `function ${name}(r, m, w, s, c)`;
  }

  #call(name: string): string {
    return this.#isPaced ? `(yield* ${name}(r, m, w, s, c, p))` : `${name}(r, m, w, s, c)`;
  }

  #fields(fields: readonly RowField[]): string {
    if (fields.length === 0) return `'{}'`;
    const parts = fields.map(
      (field, index) => `${literal(`${index === 0 ? '{' : ','}${JSON.stringify(field.name)}:`)} + ${this.#field(field)}`,
    );
    return `${parts.join(' + ')} + '}'`;
  }

  #field(field: RowField): string {
    const text = this.#ownField(field);
    return field.normalize ? `${this.constant(field.normalize)}(${text})` : text;
  }

  #ownField(field: RowField): string {
    switch (field.kind) {
      case 'value':
        return `(r[${field.column}] === null ? 'null' : ${this.value(field)})`;
      case 'embedded': {
        const body = this.#fields(field.fields);
        const empty = this.isEmpty(field.columns);
        return empty ? `(${empty} ? 'null' : ${body})` : `(${body})`;
      }
      case 'to-one': {
        const objects = field.objects.map((object) => ({ name: this.object(object), presence: object.presence }));
        const choice = objects.reduceRight(
          (rest, { name, presence }) => `r[${presence}] !== null ? ${this.#call(name)} : ${rest}`,
          `'null'`,
        );
        return `(${choice})`;
      }
      case 'computed':
        return `h.any(${this.constant(field.read)}(i, s))`;
      case 'to-many':
        return this.#many(field.source, field.columns);
    }
  }

  #many(source: number, columns: readonly number[]): string {
    const name = `l${this.#functions.length}`;
    const rows = `const rows = m[${source}].get(${keyExpression(columns)});
  if (rows === undefined) return '[]';
  const write = w[${source}];`;
    this.#functions.push(
      this.#isPaced
        ? `${this.#declaration(name)} {
  ${rows}
  const paced = p[${source}];
  let whole = '';
  let text = '[';
  for (let i = 0; i < rows.length; i++) {
    if (i > 0) text += ',';
    text += paced === null ? write(rows[i], m, w, s, c) : (yield* paced(rows[i], m, w, s, c, p));
    if (i % ${pausedRows} === ${pausedRows - 1}) {
      whole += h.joined(text);
      text = '';
      yield;
    }
  }
  return whole + text + ']';
}`
        : `${this.#declaration(name)} {
  ${rows}
  let text = '[' + write(rows[0], m, w, s, c);
  for (let i = 1; i < rows.length; i++) text += ',' + write(rows[i], m, w, s, c);
  return text + ']';
}`,
    );
    return this.#call(name);
  }
}

/** The expression for the text of the key in columns of a row. */
export function keyExpression(columns: readonly number[] = []): string {
  if (columns.length === 1) return `'' + r[${columns[0]}]`;
  return columns.map((column) => `encodeURIComponent(r[${column}])`).join(" + ',' + ");
}

function literal(text: string): string {
  return JSON.stringify(text)
    .replace(/\u2028/g, '\\u2028')
    .replace(/\u2029/g, '\\u2029');
}
