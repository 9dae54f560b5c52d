import type { ValueKind } from '../model/value-kind.ts';

/** Turns a column's value into what stands in JSON. */
export function toJson(kind: ValueKind): (value: unknown) => unknown {
  switch (kind.kind) {
    case 'bigint':
      return integerToJson;
    case 'decimal':
      return (value) => decimalToJson(value, kind.scale);
    case 'datetime':
      return (value) => (value instanceof Date ? dateTimeToJson(value) : value);
    case 'date':
      return dateToJson;
    case 'string':
      if (!kind.fixed) return (value) => value;
      return (value) => (typeof value === 'string' ? value.replace(/ +$/, '') : value);
    case 'blob':
      return (value) => (value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value);
    case 'array': {
      const item = toJson(kind.item);
      return (value) => (Array.isArray(value) ? value.map(item) : value);
    }
    case 'custom':
      return (value) => kind.type.toJSON(value, kind.platform);
    default:
      return (value) => value;
  }
}

/** An integer that a number cannot hold exactly is a string. */
export function integerToJson(value: unknown): unknown {
  if (value === null || value === undefined) return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}

/** SQLite keeps decimals as numbers and so forgets their trailing zeros; the column's scale restores them. */
function decimalToJson(value: unknown, scale: number): unknown {
  if (value === null || value === undefined) return value;
  const text = typeof value === 'number' ? value.toFixed(scale) : withoutExponent(String(value), scale);
  if (scale === 0 || !/^-?\d+(\.\d+)?$/.test(text)) return text;
  const [whole, fraction = ''] = text.split('.');
  return fraction.length >= scale ? text : `${whole}.${fraction.padEnd(scale, '0')}`;
}

/** The text of a very small number has an exponent, as JavaScript writes it. */
function withoutExponent(text: string, scale: number): string {
  return /e-\d+$/.test(text) ? Number(text).toFixed(scale) : text;
}

/** SQLite keeps a date that was given as an object as milliseconds. */
export function dateToJson(value: unknown): unknown {
  if (value instanceof Date) return dateTimeToJson(value)?.slice(0, 10);
  return typeof value === 'number' ? dateTimeToJson(new Date(value))?.slice(0, 10) : value;
}

/** ISO 8601 in UTC; a date that is none has no name and is null. */
export function dateTimeToJson(value: Date): string | null {
  return Number.isNaN(value.getTime()) ? null : value.toISOString();
}
