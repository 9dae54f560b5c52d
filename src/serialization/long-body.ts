import { randomUUID } from 'node:crypto';
import { isTurnLong, nextTurn } from '../event-loop.ts';
import { releaseBody } from './body-bytes.ts';

/** Bytes from which a string or a list is decoded separately. */
const longFrom = 262_144;

/** Part of the placeholders for long values; random, so that clients cannot send one. */
const secret = randomUUID();

const decoder = new TextDecoder('utf-8', { fatal: true });
/** For all parts but the beginning of a body. */
const partDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

type Parse = (text: string) => unknown;

/** A long value of a body, and its original text. */
interface LongValue {
  readonly value: unknown;
  readonly text: string;
}

/** The long values of bodies that are in use. */
const longValues = new WeakMap<object, readonly LongValue[]>();

/** The original text of a long value, if it is what `JSON.stringify` would write. The comparison makes no copy. */
export function longJson(body: object, value: unknown): string | undefined {
  const text = longValues.get(body)?.find((one) => one.value === value)?.text;
  return text !== undefined && endOfJson(value, text, 0) === text.length ? text : undefined;
}

/** The index after the JSON of a value, if the text has it at an index; otherwise -1. */
function endOfJson(value: unknown, text: string, at: number): number {
  switch (typeof value) {
    case 'string':
      return needsEscape.test(value) ? -1 : after('"', text, after(value, text, after('"', text, at)));
    case 'number':
    case 'boolean':
      return after(String(value), text, at);
    case 'object':
      if (value === null) return after('null', text, at);
      if ('toJSON' in value) return -1;
      return Array.isArray(value) ? endOfList(value, text, at) : endOfObject(value as Record<string, unknown>, text, at);
    default:
      return -1;
  }
}

function endOfList(items: readonly unknown[], text: string, start: number): number {
  let at = after('[', text, start);
  for (let i = 0; i < items.length && at !== -1; i++) at = endOfJson(items[i], text, i === 0 ? at : after(',', text, at));
  return after(']', text, at);
}

function endOfObject(entries: Record<string, unknown>, text: string, start: number): number {
  let at = after('{', text, start);
  let isFirst = true;
  for (const name of Object.keys(entries)) {
    at = after(':', text, endOfJson(name, text, isFirst ? at : after(',', text, at)));
    at = endOfJson(entries[name], text, at);
    if (at === -1) break;
    isFirst = false;
  }
  return after('}', text, at);
}

/** The index after a part, if the text has it at an index; otherwise -1. */
function after(part: string, text: string, at: number): number {
  return at !== -1 && text.startsWith(part, at) ? at + part.length : -1;
}

/** Parses a body, whose bytes must not be used afterwards. Throws if the body is not UTF-8, or if `parse` throws. */
export function parseBody(bytes: Buffer, parse: Parse): unknown {
  const text = decoder.decode(bytes);
  releaseBody(bytes);
  return parse(text);
}

export function isLongBody({ length }: Buffer): boolean {
  return length > longFrom;
}

/**
 * The same for a long body, in several turns of the event loop; throws `tooDeep` if lists and objects are nested deeper than a
 * number of levels. Parsing copies the text, and writing JSON copies the parsed values, two or three times: garbage that is
 * collected late. So long values are decoded separately. A string without escapes is then a slice of its text, and the text of a
 * list is stored for writing.
 */
export async function parseLongBody(bytes: Buffer, parse: Parse, deepest: number, tooDeep: () => Error, long = longFrom) {
  const scanning = longParts(bytes, long, deepest);
  let step = scanning.next();
  for (; !step.done; step = scanning.next()) if (isTurnLong()) await nextTurn();
  const parts = step.value;
  if (parts === null) throw tooDeep();
  if (isTurnLong()) await nextTurn();
  if (parts.length === 0) return parseBody(bytes, parse);
  const values = new Map<string, LongValue>();
  let text = '';
  let at = 0;
  for (const part of parts) {
    if (isTurnLong()) await nextTurn();
    const name = `${secret} ${values.size}`;
    text += `${(at === 0 ? decoder : partDecoder).decode(bytes.subarray(at, part.start))}"${name}"`;
    const own = partDecoder.decode(bytes.subarray(part.start, part.end));
    // the parser rejects control characters
    const isParsed = part.isList || controlCharacter.test(own);
    values.set(name, { value: isParsed ? parse(own) : own.slice(1, -1), text: own });
    at = part.end;
  }
  text += partDecoder.decode(bytes.subarray(at));
  releaseBody(bytes);
  const body = restored(parse(text), values);
  if (typeof body === 'object' && body !== null) longValues.set(body, [...values.values()]);
  return body;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression looks for these characters
const controlCharacter = /[\0-\x1f]/;
const needsEscape = /["\\]/;

/** Replaces the placeholders by the long values. */
function restored(value: unknown, values: ReadonlyMap<string, LongValue>): unknown {
  if (typeof value === 'string') return values.get(value)?.value ?? value;
  if (typeof value !== 'object' || value === null) return value;
  const parent = value as Record<string, unknown>;
  for (const key of Object.keys(parent)) parent[key] = restored(parent[key], values);
  return parent;
}

/** The position of a long value; `end` is the index after its last byte. */
interface LongPart {
  readonly start: number;
  readonly end: number;
  readonly isList: boolean;
}

/** Bytes of a long body that are read at once. */
const stepLength = 32_768;

/**
 * Long strings without escapes, except names of properties, and long lists. Of nested ones, only the outer. Null if lists and
 * objects are nested too deep; brackets in strings do not count. Yields now and then.
 */
function* longParts(bytes: Buffer, long: number, deepest: number): Generator<undefined, LongPart[] | null> {
  const found: LongPart[] = [];
  let end = stepLength;
  let depth = 0;
  let list: { readonly start: number; readonly depth: number } | null = null;
  for (let i = 0; i < bytes.length; i++) {
    if (i >= end) {
      yield;
      end = i + stepLength;
    }
    const byte = bytes[i] as number;
    switch (byte) {
      case 0x22: {
        const start = i;
        let isPlain = true;
        for (i++; i < bytes.length && bytes[i] !== 0x22; i++) {
          if (i >= end) {
            yield;
            end = i + stepLength;
          }
          if (bytes[i] !== 0x5c) continue;
          isPlain = false;
          i++;
        }
        if (isPlain && list === null && i - start > long && i < bytes.length && !isName(bytes, i + 1))
          found.push({ start, end: i + 1, isList: false });
        break;
      }
      case 0x5b: // [
      case 0x7b: // {
        if (++depth > deepest) return null;
        if (list === null && byte === 0x5b) list = { start: i, depth };
        break;
      case 0x5d:
      case 0x7d:
        if (list?.depth === depth) {
          if (i - list.start > long) found.push({ start: list.start, end: i + 1, isList: true });
          list = null;
        }
        depth--;
    }
  }
  return found;
}

/** Whether a string that ends before an index is the name of a property. */
function isName(bytes: Buffer, index: number): boolean {
  let i = index;
  while (i < bytes.length && (bytes[i] as number) <= 0x20) i++;
  return bytes[i] === 0x3a;
}
