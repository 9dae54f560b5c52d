import { randomUUID } from 'node:crypto';
import { releaseBody } from './body-bytes.ts';

/** Bytes from which on a string or a list is worth being read by itself. */
const longFrom = 262_144;

/** Unknown to whoever sends a body. */
const secret = randomUUID();

const decoder = new TextDecoder('utf-8', { fatal: true });
/** For what is not the beginning of a body. */
const partDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

type Parse = (text: string) => unknown;

/** What was long in a body, and its JSON, where that is the text that was sent. */
interface LongValue {
  readonly value: unknown;
  readonly json: string | undefined;
}

/** What is long in bodies that are being worked on. */
const kept = new WeakMap<object, readonly LongValue[]>();

/** Something long in a body as JSON, if that was sent just as it would be written; this makes no copy. */
export function longJson(body: object, value: unknown): string | undefined {
  return kept.get(body)?.find((one) => one.value === value)?.json;
}

/**
 * Reads a body, which is not to be looked at afterwards. To parse it copies its text, and to write JSON copies what was parsed, two or
 * three times: garbage that is collected late. So what is long is decoded by itself. A string without escapes is part of its
 * text then, and a text that is as it would be written is kept to be written. Fails where the body is no UTF-8, or as `parse` does.
 */
export function parseBody(bytes: Buffer, parse: Parse, long = longFrom): unknown {
  const parts = bytes.length > long ? longParts(bytes, long) : [];
  if (parts.length === 0) {
    const text = decoder.decode(bytes);
    releaseBody(bytes);
    return parse(text);
  }
  const values = new Map<string, LongValue>();
  let text = '';
  let at = 0;
  for (const part of parts) {
    const name = `${secret} ${values.size}`;
    text += `${(at === 0 ? decoder : partDecoder).decode(bytes.subarray(at, part.start))}"${name}"`;
    const json = partDecoder.decode(bytes.subarray(part.start, part.end));
    values.set(name, part.names === null ? stringOf(json, parse) : listOf(json, part.names, parse));
    at = part.end;
  }
  text += partDecoder.decode(bytes.subarray(at));
  releaseBody(bytes);
  const body = restored(parse(text), values);
  if (typeof body === 'object' && body !== null) kept.set(body, [...values.values()]);
  return body;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
const controlCharacter = /[\0-\x1f]/;

function stringOf(json: string, parse: Parse): LongValue {
  // which refuses it
  if (controlCharacter.test(json)) parse(json);
  return { value: json.slice(1, -1), json };
}

function listOf(json: string, names: number, parse: Parse): LongValue {
  const value = parse(json);
  // fewer of them than were sent: one was sent twice
  return { value, json: names === namesIn(value) ? json : undefined };
}

function namesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const items = Object.values(value);
  return items.reduce((sum: number, item) => sum + namesIn(item), Array.isArray(value) ? 0 : items.length);
}

/** Puts what is long where it belongs. */
function restored(value: unknown, values: ReadonlyMap<string, LongValue>): unknown {
  if (typeof value === 'string') return values.get(value)?.value ?? value;
  if (typeof value !== 'object' || value === null) return value;
  const parent = value as Record<string, unknown>;
  for (const key of Object.keys(parent)) parent[key] = restored(parent[key], values);
  return parent;
}

/** Where something long is, from its first byte to after its last. */
interface LongPart {
  readonly start: number;
  readonly end: number;
  /** How many names of properties there are in a list, or NaN where JSON of it would be written in another way; null: a string. */
  readonly names: number | null;
}

/** Long strings without escapes that are no names, and long lists; of those in each other the outer ones. */
function longParts(bytes: Buffer, long: number): LongPart[] {
  const found: LongPart[] = [];
  let nextEscape = indexIn(bytes, 0x5c, 0);
  let depth = 0;
  let list: { readonly start: number; readonly depth: number; names: number } | null = null;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number;
    switch (byte) {
      case 0x22: {
        let close = indexIn(bytes, 0x22, i + 1);
        const isPlain = nextEscape > close;
        while (nextEscape < close) {
          if (nextEscape + 1 === close) close = indexIn(bytes, 0x22, close + 1);
          nextEscape = indexIn(bytes, 0x5c, nextEscape + 2);
        }
        if (list) {
          // names that look like numbers come first when they are written
          if (!isPlain || (isDigit(bytes[i + 1]) && isName(bytes, close + 1))) list.names = Number.NaN;
        } else if (isPlain && close - i > long && !isName(bytes, close + 1)) {
          found.push({ start: i, end: close + 1, names: null });
        }
        i = close;
        break;
      }
      case 0x3a: // :
        if (list) list.names++;
        break;
      case 0x5b: // [
      case 0x7b: // {
        depth++;
        if (list === null && byte === 0x5b) list = { start: i, depth, names: 0 };
        break;
      case 0x5d:
      case 0x7d:
        if (list?.depth === depth) {
          if (i - list.start > long) found.push({ start: list.start, end: i + 1, names: list.names });
          list = null;
        }
        depth--;
        break;
      default:
        if (list === null) break;
        if (byte <= 0x20) list.names = Number.NaN;
        else if (byte === 0x2d || isDigit(byte)) {
          const end = numberEnd(bytes, i);
          if (!isAsWritten(bytes.toString('latin1', i, end))) list.names = Number.NaN;
          i = end - 1;
        }
    }
  }
  return found;
}

/** Where a byte is found first, or the end. */
function indexIn(bytes: Buffer, byte: number, from: number): number {
  const index = bytes.indexOf(byte, from);
  return index === -1 ? bytes.length : index;
}

/** Whether a string that ends before an index is the name of a property. */
function isName(bytes: Buffer, index: number): boolean {
  let i = index;
  while (i < bytes.length && (bytes[i] as number) <= 0x20) i++;
  return bytes[i] === 0x3a;
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

/** After the last byte of a number: digits, `+`, `-`, `.`, `e` and `E`. */
function numberEnd(bytes: Buffer, start: number): number {
  let end = start + 1;
  while (isDigit(bytes[end]) || [0x2b, 0x2d, 0x2e, 0x45, 0x65].includes(bytes[end] as number)) end++;
  return end;
}

function isAsWritten(number: string): boolean {
  return String(Number(number)) === number;
}
