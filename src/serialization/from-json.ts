import { int64, isDate, isStorableText } from '../dialect/storable.ts';
import type { KindOf } from '../dialect/value-kind.ts';
import type { Violation, ViolationCode } from '../errors.ts';
import { codePoints } from '../model/identifier.ts';

/** A value read from JSON, or the reason why it was rejected. */
export type Parsed = { readonly value: unknown } | { readonly refused: Omit<Violation, 'propertyPath'> };

export type Parser = (json: unknown) => Parsed;

/** The maximum nesting depth of a value in a JSON column. */
const maxDepth = 100;

/** The maximum number of lists and objects in a value: to copy it, the mapper compares each of them with all the others. */
const maxContainers = 20_000;

const patterns = {
  dateTime: /^(\d{4}-\d{2}-\d{2})T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/,
  integer: /^-?\d{1,19}$/,
  decimal: /^(-?)(\d+)(?:\.(\d+))?$/,
};

export function parseInteger(json: unknown, { max, min }: KindOf<'integer'>): Parsed {
  if (typeof json !== 'number' || !Number.isInteger(json)) return wrongType('an integer');
  return json < min || json > max ? outOfRange(min, max) : { value: json };
}

export function parseEnum(json: unknown, { items }: KindOf<'enum'>): Parsed {
  if (items.includes(json as string | number)) return { value: json };
  return refused(`must be one of: ${items.join(', ')}`, 'enum', { allowed: [...items] });
}

function refused(title: string, code: ViolationCode, parameters: Readonly<Record<string, unknown>> = {}): Parsed {
  return { refused: { title, code, parameters } };
}

export function wrongType(expected: string): Parsed {
  return refused(`must be ${expected}`, 'type', { expected });
}

function outOfRange(min: number | string, max: number | string): Parsed {
  return refused(`must be between ${min} and ${max}`, 'range', { min, max });
}

export function textLike(pattern: RegExp, expected: string, convert: (text: string) => unknown = (text) => text): Parser {
  return (json) => (typeof json === 'string' && pattern.test(json) ? { value: convert(json) } : wrongType(expected));
}

export function parseString(json: unknown, longest: number | null): Parsed {
  if (typeof json !== 'string') return wrongType('a string');
  if (!isStorableText(json)) return refused('must be well-formed text without NUL characters', 'text');
  const isTooLong = longest !== null && json.length > longest && codePoints(json) > longest;
  return isTooLong ? refused(`must not be longer than ${longest} characters`, 'too_long', { max: longest }) : { value: json };
}

export function parseBigint(json: unknown, { as }: KindOf<'bigint'>): Parsed {
  const isInteger =
    typeof json === 'number' ? Number.isSafeInteger(json) : typeof json === 'string' && patterns.integer.test(json);
  if (!isInteger) return wrongType('an integer, as a string if it is beyond 2^53');
  const big = BigInt(json as string | number);
  if (big < int64.min || big > int64.max) return outOfRange(String(int64.min), String(int64.max));
  return { value: as === 'bigint' ? big : as === 'string' ? big.toString() : Number(big) };
}

export function parseDecimal(json: unknown, { precision, scale, as, exact }: KindOf<'decimal'>): Parsed {
  const text = typeof json === 'number' ? String(json) : json;
  const parts = typeof text === 'string' ? patterns.decimal.exec(text) : null;
  if (!parts) return wrongType('a decimal number such as "12.50"');
  const whole = (parts[2] as string).replace(/^0+/, '');
  const fraction = (parts[3] ?? '').replace(/0+$/, '');
  if (fraction.length > scale || whole.length > precision - scale) {
    const title = `must have at most ${precision - scale} digits before and ${scale} after the point`;
    return refused(title, 'range', { precision, scale });
  }
  if (whole.length + fraction.length > exact) return refused(`must have at most ${exact} digits`, 'range', { digits: exact });
  // a number has one form, the one that the database would return
  const sign = whole + fraction === '' ? '' : parts[1];
  const value = `${sign}${whole || '0'}${fraction && `.${fraction}`}`;
  return { value: as === 'number' ? Number(value) : value };
}

/** PostgreSQL stores single precision and rejects numbers beyond it. Rounding here makes the number the same in all databases. */
export function parseReal(json: unknown): Parsed {
  if (typeof json !== 'number' || !Number.isFinite(json)) return wrongType('a number');
  const single = Math.fround(json);
  if (!Number.isFinite(single) || (single === 0 && json !== 0)) {
    return refused('must be within single precision, from 1.4e-45 to 3.4e38', 'range');
  }
  for (let digits = 1; digits < 9; digits++) {
    const shortest = halfEven(single, digits);
    if (isNearest(shortest, single)) return { value: shortest };
  }
  return { value: Number(single.toPrecision(9)) };
}

const singles = new Float32Array(1);
const bits = new Int32Array(singles.buffer);

/** Whether a number is nearer to this single-precision number than to its neighbours. */
function isNearest(value: number, single: number): boolean {
  if (Math.fround(value) !== single) return false;
  return [-1, 1].every((step) => {
    singles[0] = single;
    bits[0] = (bits[0] as number) + step;
    return ((singles[0] as number) + single) / 2 !== value;
  });
}

/** A number rounded to a number of digits. A tie is rounded to the even digit, as in PostgreSQL. */
function halfEven(value: number, digits: number): number {
  const exact = value.toExponential(digits);
  const [, lower, exponent] = /^(.*)5(e.*)$/.exec(exact) ?? [];
  const isBetween = lower !== undefined && Number(exact) === value;
  return Number(isBetween && /[02468]\.?$/.test(lower) ? lower + exponent : value.toExponential(digits - 1));
}

export function parseDateTime(json: unknown, { digits }: KindOf<'datetime'>): Parsed {
  const parts = typeof json === 'string' ? patterns.dateTime.exec(json) : null;
  if (!parts || !isDate(parts[1] as string)) return wrongType('a date and time with its offset, such as "2026-11-15T13:45:00Z"');
  const unit = 10 ** (3 - digits);
  const value = new Date(Math.round(new Date(json as string).getTime() / unit) * unit);
  // an offset or rounding can lead to a year that does not have four digits
  const year = value.getUTCFullYear();
  return year < 1 || year > 9999 ? outOfRange('0001-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z') : { value };
}

export function parseAnything(json: unknown): Parsed {
  const trouble = troubleIn(json, 0, { containers: 0 });
  return trouble ? refused(trouble, 'json') : { value: json };
}

function troubleIn(json: unknown, depth: number, seen: { containers: number }): string | null {
  if (typeof json === 'string') return isStorableText(json) ? null : 'must hold only well-formed text without NUL characters';
  // 1e999 is valid JSON, and is parsed as Infinity
  if (typeof json === 'number' && !Number.isFinite(json)) return 'must hold only numbers within double precision';
  if (json === null || typeof json !== 'object') return null;
  if (++seen.containers > maxContainers) return `must not hold more than ${maxContainers} lists and objects`;
  if (depth >= maxDepth) return `must not be nested deeper than ${maxDepth} levels`;
  for (const key in json) {
    const trouble = troubleIn(key, depth, seen) ?? troubleIn((json as Record<string, unknown>)[key], depth + 1, seen);
    if (trouble) return trouble;
  }
  return null;
}

export function parseList(item: Parser): Parser {
  return (json) => {
    if (!Array.isArray(json)) return wrongType('a list');
    const values: unknown[] = [];
    for (const [position, element] of json.entries()) {
      const parsed = item(element);
      if ('refused' in parsed) return { refused: { ...parsed.refused, title: `item ${position} ${parsed.refused.title}` } };
      values.push(parsed.value);
    }
    return { value: values };
  };
}

/**
 * A custom type of the application rejects a value by throwing. If its values are objects of a class, the model gets such an
 * object.
 */
export function parseCustom(json: unknown, { type, platform }: KindOf<'custom'>): Parsed {
  const anything = parseAnything(json);
  if ('refused' in anything) return anything;
  try {
    const value = type.convertToJSValue(type.convertToDatabaseValue(json, platform, { mode: 'query-data' }), platform);
    return { value: isOfClass(value) ? value : json };
  } catch {
    return wrongType(`a valid ${type.constructor.name.replace(/Type$/, '')}`);
  }
}

function isOfClass(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype !== Object.prototype && prototype !== Array.prototype && prototype !== null;
}
