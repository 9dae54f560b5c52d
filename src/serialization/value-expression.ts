import type { ValueKind } from '../model/value-kind.ts';
import { dateToJson, integerToJson, toJson } from './to-json.ts';

/** How values come from the database: PostgreSQL's as text, SQLite's as JavaScript values. */
export type RowFormat = 'text' | 'native';

/** Makes what stands in JSON of a column's value. */
export type Converter = (value: unknown) => unknown;

/** How a writer writes what needs more than a text. */
interface Writing {
  /** The expression for a value of any type. */
  readonly any: (value: string) => string;
  /** The expression for what a function makes of a value. */
  readonly converted: (convert: Converter, value: string) => string;
}

/**
 * The source that writes a column's value that is not null, whatever is written: `h.text` and `h.timestamp` are the writer's own for
 * texts.
 */
export function valueExpression(
  { value: kind, convert }: { readonly value: ValueKind; readonly convert?: Converter },
  value: string,
  format: RowFormat,
  { any, converted }: Writing,
): string {
  if (convert) return converted(convert, value);
  const isText = format === 'text';
  switch (kind.kind) {
    case 'integer':
      return isText ? value : any(value);
    case 'boolean':
      return isText ? `(${value} === 't' ? 'true' : 'false')` : `(${value} ? 'true' : 'false')`;
    case 'string':
      return kind.fixed ? converted(toJson(kind), value) : `h.text(${value})`;
    case 'uuid':
    case 'time':
    case 'interval':
      return `h.text(${value})`;
    case 'date':
      return isText ? `h.text(${value})` : converted(dateToJson, value);
    case 'enum':
      return isText && kind.items.every((item) => typeof item === 'number') ? value : `h.text(${value})`;
    case 'datetime':
      return isText ? `h.timestamp(${value})` : converted(dateOf, value);
    case 'bigint':
      return converted(kind.as === 'number' ? (given) => integerToJson(Number(given)) : integerToJson, value);
    case 'float':
    case 'real':
      return converted(Number, value);
    case 'json':
      return converted(parsedJson, value);
    case 'blob':
      return converted(bytesToJson, value);
    default:
      return converted(toJson(kind), value);
  }
}

/** As the mapper reads it: a text without an offset is in UTC. */
export function dateOf(value: unknown): Date {
  if (typeof value !== 'string') return new Date(Number(value));
  const hasOffset = value.includes('+') || value.lastIndexOf('-') > 10 || value.endsWith('Z');
  return new Date(hasOffset ? value : `${value}Z`);
}

/** As the mapper reads it: what is no JSON is a text. SQLite keeps a JSON number as a number. */
export function parsedJson(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** PostgreSQL writes bytes as `\x6869`. */
function bytesToJson(value: unknown): string {
  return (typeof value === 'string' ? Buffer.from(value.slice(2), 'hex') : Buffer.from(value as Uint8Array)).toString('base64');
}
