import { isDate } from '../dialect/storable.ts';
import type { KindName, KindOf, ValueKind } from '../dialect/value-kind.ts';
import {
  type Parser,
  parseAnything,
  parseBigint,
  parseCustom,
  parseDateTime,
  parseDecimal,
  parseEnum,
  parseInteger,
  parseList,
  parseReal,
  parseString,
  textLike,
  wrongType,
} from './from-json.ts';
import {
  bytesOfRow,
  bytesToJson,
  type Converter,
  dateOf,
  dateTimeToJson,
  dateToJson,
  decimalToJson,
  integerToJson,
  parsedJson,
} from './to-json.ts';

/** How values come from the database: PostgreSQL's as text, SQLite's as JavaScript values. */
export type RowFormat = 'text' | 'native';

/** How a row writer writes values that are not plain text. */
interface Writing {
  /** The expression for a value of any type. */
  readonly any: (value: string) => string;
  /** The expression for the result of a function on a value. */
  readonly converted: (convert: Converter, value: string) => string;
}

/** How values of a kind of column become JSON and back. */
interface KindConversions<Kind extends ValueKind> {
  /** Creates the parser of a value in a body: it accepts only the right JSON type within the column's limits. */
  readonly parser: (kind: Kind) => Parser;
  /** The JSON value of a text in a URL; undefined if it has none. */
  readonly fromText: (text: string, kind: Kind) => unknown;
  /** Creates the converter from a value of an entity to JSON. */
  readonly toJson: (kind: Kind) => Converter;
  /** The source that writes a value of a row, which is not null. `h.text` and `h.timestamp` are those of the row writer. */
  readonly expression: (value: string, kind: Kind, isText: boolean, writing: Writing) => string;
  /** The JSON Schema (2020-12) of values in bodies (`isWritten`), or in responses. */
  readonly schema: (kind: Kind, isWritten: boolean) => Readonly<Record<string, unknown>>;
}

const asItIs: Converter = (value) => value;
const unchanged = () => asItIs;
const sameText = (text: string) => text;
const textExpression = (value: string) => `h.text(${value})`;
const byToJson = (value: string, kind: ValueKind, _isText: boolean, { converted }: Writing) => converted(toJson(kind), value);

/** Conversions that several kinds share: those that are text everywhere, floating-point numbers, and any JSON. */
const textual = { fromText: sameText, toJson: unchanged, expression: textExpression };
const floating = {
  fromText: numberIn,
  toJson: unchanged,
  expression: (value: string, _kind: ValueKind, _isText: boolean, { converted }: Writing) => converted(Number, value),
};
const anything = { parser: () => parseAnything, fromText: sameText, toJson: unchanged, schema: () => ({}) };

const patterns = {
  uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i,
  time: /^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$/,
  base64: /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/,
};

const longestInterval = 100;

/** Each kind of column in JSON. This is the only such list, so that parsers, writers and schemas of a kind agree. */
const kindConversions: { readonly [Name in KindName]: KindConversions<KindOf<Name>> } = {
  integer: {
    parser: (kind) => (json) => parseInteger(json, kind),
    fromText: (text) => (/^(?:0|-?[1-9]\d{0,15})$/.test(text) ? Number(text) : undefined),
    // a text if the column is wider than the property
    toJson: () => (value) => (typeof value === 'string' ? Number(value) : value),
    expression: (value, _kind, isText, { any }) => (isText ? value : any(value)),
    schema: ({ max, min }, isWritten) => (isWritten ? { type: 'integer', minimum: min, maximum: max } : { type: 'integer' }),
  },
  bigint: {
    parser: (kind) => (json) => parseBigint(json, kind),
    fromText: sameText,
    toJson: () => integerToJson,
    expression: (value, { as }, _isText, { converted }) =>
      converted(as === 'number' ? (given) => integerToJson(Number(given)) : integerToJson, value),
    schema: (_kind, isWritten) => ({
      type: ['integer', 'string'],
      format: 'int64',
      pattern: '^-?[0-9]{1,19}$',
      ...(isWritten && { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }),
      description: 'A string if it is beyond 2^53; from -9223372036854775807 to 9223372036854775807.',
    }),
  },
  decimal: {
    parser: (kind) => (json) => parseDecimal(json, kind),
    fromText: sameText,
    toJson: (kind) => (value) => decimalToJson(value, kind.scale),
    expression: byToJson,
    schema: ({ precision, scale }) => ({ type: 'string', format: 'decimal', pattern: decimalPattern(precision, scale) }),
  },
  float: {
    ...floating,
    parser: () => (json) => (typeof json === 'number' && Number.isFinite(json) ? { value: json } : wrongType('a number')),
    schema: () => ({ type: 'number', format: 'double' }),
  },
  real: { ...floating, parser: () => parseReal, schema: () => ({ type: 'number', format: 'float' }) },
  boolean: {
    parser: () => (json) => (typeof json === 'boolean' ? { value: json } : wrongType('true or false')),
    fromText: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
    toJson: unchanged,
    expression: (value, _kind, isText) => (isText ? `(${value} === 't' ? 'true' : 'false')` : `(${value} ? 'true' : 'false')`),
    schema: () => ({ type: 'boolean' }),
  },
  string: {
    parser: (kind) => (json) => parseString(kind.fixed ? withoutPadding(json) : json, kind.length),
    fromText: sameText,
    toJson: ({ fixed }) => (fixed ? withoutPadding : asItIs),
    expression: (value, kind, _isText, { converted }) => (kind.fixed ? converted(toJson(kind), value) : textExpression(value)),
    schema: ({ length }, isWritten) =>
      isWritten && length !== null ? { type: 'string', maxLength: length } : { type: 'string' },
  },
  uuid: {
    ...textual,
    parser: () => textLike(patterns.uuid, 'a UUID', (text) => text.toLowerCase()),
    schema: () => ({ type: 'string', format: 'uuid' }),
  },
  date: {
    parser: () => (json) =>
      typeof json === 'string' && isDate(json) ? { value: json } : wrongType('a date such as "2026-11-15"'),
    fromText: sameText,
    toJson: () => dateToJson,
    expression: (value, _kind, isText, { converted }) => (isText ? textExpression(value) : converted(dateToJson, value)),
    schema: () => ({ type: 'string', format: 'date' }),
  },
  datetime: {
    parser: (kind) => (json) => parseDateTime(json, kind),
    fromText: (text) => (isDate(text) ? `${text}T00:00:00.000Z` : text),
    toJson: () => (value) => (value instanceof Date ? dateTimeToJson(value) : value),
    expression: (value, _kind, isText, { converted }) => (isText ? `h.timestamp(${value})` : converted(dateOf, value)),
    schema: () => ({ type: 'string', format: 'date-time' }),
  },
  time: {
    ...textual,
    parser: () => textLike(patterns.time, 'a time such as "13:45:00"', (text) => (text.length === 5 ? `${text}:00` : text)),
    schema: () => ({ type: 'string', pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]$' }),
  },
  interval: {
    ...textual,
    parser: () => (json) => parseString(json, longestInterval),
    schema: (_kind, isWritten) => (isWritten ? { type: 'string', maxLength: longestInterval } : { type: 'string' }),
  },
  enum: {
    parser: (kind) => (json) => parseEnum(json, kind),
    fromText: (text, { items }) => items.find((item) => String(item) === text),
    toJson: unchanged,
    expression: (value, { items }, isText) =>
      isText && items.every((item) => typeof item === 'number') ? value : textExpression(value),
    schema: ({ items }) => ({ type: typesOf(items), enum: [...items] }),
  },
  blob: {
    parser: () => textLike(patterns.base64, 'bytes in base64', (text) => Buffer.from(text, 'base64')),
    fromText: sameText,
    toJson: () => bytesToJson,
    expression: (value, _kind, _isText, { converted }) => converted(bytesOfRow, value),
    schema: () => ({ type: 'string', contentEncoding: 'base64' }),
  },
  json: { ...anything, expression: (value, _kind, _isText, { converted }) => converted(parsedJson, value) },
  any: { ...anything, expression: (value, _kind, _isText, { converted }) => converted(asItIs, value) },
  array: {
    parser: ({ item }) => parseList(fromJson(item)),
    fromText: sameText,
    toJson: ({ item }) => {
      const convert = toJson(item);
      return (value) => (Array.isArray(value) ? value.map(convert) : value);
    },
    expression: byToJson,
    schema: ({ item }, isWritten) => ({ type: 'array', items: schemaOfKind(item, isWritten) }),
  },
  custom: {
    ...anything,
    parser: (kind) => (json) => parseCustom(json, kind),
    toJson: (kind) => (value) => kind.type.toJSON(value, kind.platform),
    expression: byToJson,
  },
};

function conversionsOf(kind: ValueKind): KindConversions<ValueKind> {
  return kindConversions[kind.kind] as unknown as KindConversions<ValueKind>;
}

/** Creates the parser of a column's values in bodies: it accepts only the right JSON type within the column's limits. */
export function fromJson(kind: ValueKind): Parser {
  return conversionsOf(kind).parser(kind);
}

/** The JSON value of a text in a URL; undefined if it has none. */
export function jsonOfText(kind: ValueKind, text: string): unknown {
  return conversionsOf(kind).fromText(text, kind);
}

/** Creates the converter from a column's value to JSON. */
export function toJson(kind: ValueKind): Converter {
  return conversionsOf(kind).toJson(kind);
}

/** The source that writes a column's value, which is not null. `convert` replaces the conversion of the kind. */
export function valueExpression(
  { value: kind, convert }: { readonly value: ValueKind; readonly convert?: Converter },
  value: string,
  format: RowFormat,
  writing: Writing,
): string {
  if (convert) return writing.converted(convert, value);
  return conversionsOf(kind).expression(value, kind, format === 'text', writing);
}

/** The JSON Schema (2020-12) of a column's values in bodies (`isWritten`), or in responses. */
export function schemaOfKind(kind: ValueKind, isWritten: boolean): Readonly<Record<string, unknown>> {
  return conversionsOf(kind).schema(kind, isWritten);
}

function numberIn(text: string): number | undefined {
  return /^-?\d{1,400}(?:\.\d{1,400})?(?:[eE][+-]?\d{1,3})?$/.test(text) ? Number(text) : undefined;
}

function withoutPadding(value: unknown): unknown {
  return typeof value === 'string' ? value.replace(/ +$/, '') : value;
}

function typesOf(values: readonly (string | number)[]): string | string[] {
  const types = [...new Set(values.map((value) => typeof value))];
  return types.length === 1 ? (types[0] as string) : types;
}

function decimalPattern(precision: number, scale: number): string {
  const whole = precision - scale;
  return `^-?[0-9]{1,${Math.max(1, whole)}}${scale > 0 ? `(\\.[0-9]{1,${scale}})?` : ''}$`;
}
