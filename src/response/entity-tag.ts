import { createHash, hash } from 'node:crypto';
import { nextTurn, turnLength } from '../event-loop.ts';

interface EntityTag {
  readonly weak: boolean;
  /** The text between the quotes. */
  readonly opaque: string;
}

/** The content of `If-Match` or `If-None-Match`: tags, or `*` for any. */
export type NamedTags = readonly EntityTag[] | '*';

/** Hexadecimal digits of a hash that go into a tag. */
const hashDigits = 16;

/**
 * Makes the tags of an application's responses.
 *
 * A tag identifies the body that the caller gets, byte by byte: its format, groups and visible embedded rows. The tag of an
 * entity with a version property is strong, and begins with a hash of the version, the mark. The mark does not reveal the
 * version: that may be the time of the last change, which the caller may not be allowed to read.
 */
export class EntityTags {
  readonly #bodies: string;
  readonly #versions: string;

  /** The secret must be the same in every process that serves the application. */
  constructor(secret: string) {
    this.#bodies = hash('sha256', `bodies\n${secret}`);
    this.#versions = hash('sha256', `versions\n${secret}`);
  }

  /** The tag of a response. `mark` is the mark of its version; null if it has none. */
  of(body: string, mark: string | null): string {
    return tagFrom(digest(this.#bodies + body), mark);
  }

  /** The same, but a long body is hashed in several turns of the event loop. */
  ofAny(body: string, mark: string | null): string | Promise<string> {
    return body.length > turnLength ? this.#ofLong(body, mark) : this.of(body, mark);
  }

  async #ofLong(body: string, mark: string | null): Promise<string> {
    const digesting = createHash('sha256').update(this.#bodies);
    for (let start = 0; start < body.length; ) {
      await nextTurn();
      let end = start + turnLength;
      // the halves of a surrogate pair must be encoded together
      if (isSurrogatePair(body, end - 1)) end++;
      digesting.update(body.slice(start, end));
      start = end;
    }
    return tagFrom(digesting.digest('hex').slice(0, hashDigits), mark);
  }

  /** The hash of a row's version, different for each row. */
  mark(table: string, key: unknown, version: string): string {
    return digest(`${this.#versions}${table}\n${key}\n${version}`);
  }
}

function tagFrom(end: string, mark: string | null): string {
  return mark === null ? `W/"${end}"` : `"${mark}.${end}"`;
}

function isSurrogatePair(text: string, index: number): boolean {
  return (text.codePointAt(index) ?? 0) > 0xffff;
}

/** A truncated hash, which prevents length-extension attacks. */
function digest(text: string): string {
  return hash('sha256', text).slice(0, hashDigits);
}

/** The mark of the version at the start of a tag; null if the tag has none. */
export function markIn({ opaque, weak }: EntityTag): string | null {
  return !weak && opaque.length === hashDigits + 1 + hashDigits && opaque[hashDigits] === '.'
    ? opaque.slice(0, hashDigits)
    : null;
}

const nextTag = /[ \t]*(?:(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*)?(,|$)/y;

/** Reads `*` or a list of tags (RFC 9110, 8.8.3 and 13.1.1); null if the header is neither. */
export function readTags(header: string): NamedTags | null {
  const text = header.trim();
  if (text === '*') return '*';
  const tags: EntityTag[] = [];
  nextTag.lastIndex = 0;
  for (;;) {
    const found = nextTag.exec(text);
    if (!found) return null;
    const [, weak, opaque, end] = found;
    if (opaque !== undefined) tags.push({ weak: weak !== undefined, opaque });
    if (end === '') return tags.length > 0 ? tags : null;
  }
}

/** Whether a header names a tag, by weak comparison (RFC 9110, 8.8.3.2). A header that cannot be read names none. */
export function namesWeakly(header: string, tag: string): boolean {
  if (header === tag) return true;
  const named = readTags(header);
  if (named === '*') return true;
  const opaque = tag.slice(tag.indexOf('"') + 1, -1);
  return named?.some((each) => each.opaque === opaque) === true;
}

/** Whether a tag is among the named ones, by strong comparison: both must be strong. */
export function namesStrongly(named: NamedTags, tag: string): boolean {
  return named === '*' || named.some(({ opaque, weak }) => !weak && tag === `"${opaque}"`);
}
