import type { ParameterDeclaration, ParameterLiteral, ParameterValues } from '../declaration/types.ts';
import type { ValueKind } from '../dialect/value-kind.ts';
import { problem } from '../errors.ts';
import { fromJson, jsonOfText } from './kind-conversions.ts';

/** The maximum length of a value with a pattern: patterns are checked for backtracking up to this length. */
export const longestMatched = 100;

/** The text of a parameter; several texts if the request repeats it. */
export type GivenText = string | readonly string[];

/** Reads the text of one value; undefined if it is not allowed. */
type ReadText = (text: GivenText) => unknown;

/** Reads the declared query parameters of an action. */
export class ParameterReader {
  readonly names: readonly string[];
  readonly #readers: readonly { declared: ParameterDeclaration; read: ReadText; expected: string; fallback: string | null }[];

  constructor(declared: readonly ParameterDeclaration[]) {
    this.names = Object.freeze(declared.map(({ name }) => name));
    this.#readers = declared.map((each) => ({
      declared: each,
      read: textReader(each),
      expected: expectedText(each),
      fallback: each.default === null ? null : textOf(each.default),
    }));
  }

  /** The values of a request. Invalid values return 400 with the allowed ones. */
  read(query: Readonly<Record<string, unknown>>): ParameterValues {
    const values: Record<string, unknown> = Object.create(null);
    for (const { declared, expected, fallback, read } of this.#readers) {
      const { name, required } = declared;
      const text = Object.hasOwn(query, name) ? query[name] : undefined;
      if (text === undefined) {
        if (required) throw problem('invalid_parameter', { name, expected: `is required, as ${expected}` });
        if (fallback !== null) values[name] = read(fallback);
        continue;
      }
      const value = read(text as GivenText);
      if (value === undefined)
        throw problem('invalid_parameter', { name, expected: `must be given ${declared.list ? '' : 'once, '}as ${expected}` });
      values[name] = value;
    }
    return Object.freeze(values) as ParameterValues;
  }

  /** The values of a request without parameters; required parameters have none. */
  defaults(): ParameterValues {
    const given = this.#readers.flatMap(({ declared, fallback, read }) =>
      fallback === null ? [] : [[declared.name, read(fallback)] as const],
    );
    return Object.freeze(Object.assign(Object.create(null), Object.fromEntries(given)));
  }
}

/** Creates the function that reads the text of a parameter, or of each of its items. */
export function textReader(declared: ParameterDeclaration): ReadText {
  const read = valueReader(declared);
  if (!declared.list) return read;
  return (given) => {
    const values = itemsIn(given)?.map(read);
    return values === undefined || values.includes(undefined) ? undefined : Object.freeze(values);
  };
}

function valueReader({ enum: allowed, maximum, minimum, pattern, type }: ParameterDeclaration): ReadText {
  const kind = kindOf(type);
  const parse = fromJson(kind);
  const plain = (text: string): unknown => {
    const json = jsonOfText(kind, text);
    const parsed = parse(json === undefined ? null : json);
    return 'refused' in parsed ? undefined : parsed.value;
  };
  const items = allowed.length > 0 ? new Set(allowed.map((value) => plain(String(value)))) : null;
  const matching = pattern === null ? null : new RegExp(`^(?:${pattern})$`);
  return (text) => {
    if (typeof text !== 'string') return undefined;
    const value = plain(text);
    if (value === undefined || (items && !items.has(value))) return undefined;
    if (typeof value === 'number' && (value < (minimum ?? value) || value > (maximum ?? value))) return undefined;
    return matching && (text.length > longestMatched || !matching.test(text)) ? undefined : value;
  };
}

function kindOf(type: ParameterDeclaration['type']): ValueKind {
  switch (type) {
    case 'integer':
      return { kind: 'integer', min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER };
    case 'number':
      return { kind: 'float' };
    case 'string':
      return { kind: 'string', length: null };
    case 'datetime':
      return { kind: 'datetime', digits: 3 };
    default:
      return { kind: type };
  }
}

const words: Readonly<Record<ParameterDeclaration['type'], string>> = {
  string: 'well-formed text without NUL characters',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  date: 'a date such as "2026-11-15"',
  datetime: 'a date and time with its offset, such as "2026-11-15T13:45:00Z"',
  uuid: 'a UUID',
};

function expectedText({ enum: allowed, list, maximum, minimum, pattern, type }: ParameterDeclaration): string {
  const range = [...(minimum === null ? [] : [`from ${minimum}`]), ...(maximum === null ? [] : [`to ${maximum}`])];
  const plain = pattern === null ? words[type] : `text of at most ${longestMatched} characters that matches ${pattern}`;
  const value = allowed.length > 0 ? `one of: ${allowed.join(', ')}` : [plain, ...range].join(' ');
  return list ? `values separated by commas, each of them ${value}` : value;
}

/** A literal of the declaration, as the text that a request would have. */
function textOf(value: ParameterLiteral | readonly ParameterLiteral[]): string {
  if (!Array.isArray(value)) return String(value);
  return value.map((item) => String(item).replace(/[\\,]/g, '\\$&')).join(',');
}

/**
 * The items of `1,2`, also if the parameter is repeated. A backslash escapes a comma or a backslash in an item; null if anything
 * else follows a backslash.
 */
export function itemsIn(given: GivenText): string[] | null {
  if (typeof given === 'string') return itemsOfText(given);
  const items: string[] = [];
  for (const text of given) {
    const own = itemsOfText(text);
    if (!own) return null;
    items.push(...own);
  }
  return items;
}

function itemsOfText(text: string): string[] | null {
  const items: string[] = [];
  let item = '';
  for (let i = 0; i < text.length; i++) {
    const character = text.charAt(i);
    if (character === ',') {
      items.push(item);
      item = '';
    } else if (character !== '\\') item += character;
    else {
      const next = text.charAt(++i);
      if (next !== ',' && next !== '\\') return null;
      item += next;
    }
  }
  return [...items, item];
}
