/** Converts a column's value to JSON. */
export type Converter = (value: unknown) => unknown;

/** An integer that a number cannot represent exactly becomes a string. */
export function integerToJson(value: unknown): unknown {
  if (value === null || value === undefined) return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}

/** SQLite stores decimals as numbers, without trailing zeros; the column's scale restores them. */
export function decimalToJson(value: unknown, scale: number): unknown {
  if (value === null || value === undefined) return value;
  const text = typeof value === 'number' ? value.toFixed(scale) : withoutExponent(String(value), scale);
  if (scale === 0 || !/^-?\d+(\.\d+)?$/.test(text)) return text;
  const [whole, fraction = ''] = text.split('.');
  return fraction.length >= scale ? text : `${whole}.${fraction.padEnd(scale, '0')}`;
}

/** JavaScript writes very small numbers with an exponent. */
function withoutExponent(text: string, scale: number): string {
  return /e-\d+$/.test(text) ? Number(text).toFixed(scale) : text;
}

/** SQLite stores a date that was set as a `Date` as milliseconds. */
export function dateToJson(value: unknown): unknown {
  if (value instanceof Date) return dateTimeToJson(value)?.slice(0, 10);
  return typeof value === 'number' ? dateTimeToJson(new Date(value))?.slice(0, 10) : value;
}

/** ISO 8601 in UTC; null for an invalid date. */
export function dateTimeToJson(value: Date): string | null {
  const time = value.getTime();
  return Number.isNaN(time) ? null : isoText(time);
}

const dayLength = 24 * 60 * 60 * 1000;

/** The first part of the texts of a day, up to `T`. */
const days = new Map<number, string>();
const maxCachedDays = 5000;

const [twoDigits, threeDigits] = [2, 3].map((length) =>
  Array.from({ length: 10 ** length }, (_, number) => String(number).padStart(length, '0')),
) as [string[], string[]];

/** The same text as `toISOString` of a date, which takes four times as long. */
export function isoText(time: number): string {
  const day = Math.floor(time / dayLength);
  const milliseconds = time - day * dayLength;
  const seconds = Math.floor(milliseconds / 1000);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const clock = `${twoDigits[hours]}:${twoDigits[minutes - 60 * hours]}:${twoDigits[seconds - 60 * minutes]}`;
  return `${days.get(day) ?? dateText(day)}${clock}.${threeDigits[milliseconds - 1000 * seconds]}Z`;
}

function dateText(day: number): string {
  if (days.size >= maxCachedDays) days.clear();
  const text = new Date(day * dayLength).toISOString().slice(0, -'00:00:00.000Z'.length);
  days.set(day, text);
  return text;
}

export function bytesToJson(value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value;
}

/** As the mapper reads it: a text without an offset is in UTC. */
export function dateOf(value: unknown): Date {
  if (typeof value !== 'string') return new Date(Number(value));
  const hasOffset = value.includes('+') || value.lastIndexOf('-') > 10 || value.endsWith('Z');
  return new Date(hasOffset ? value : `${value}Z`);
}

/** As the mapper reads it: a value that is not JSON is a text. SQLite stores a JSON number as a number. */
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
export function bytesOfRow(value: unknown): string {
  return (typeof value === 'string' ? Buffer.from(value.slice(2), 'hex') : Buffer.from(value as Uint8Array)).toString('base64');
}
