import { createHash, hash } from 'node:crypto';
import { nextTurn, turnLength } from './turn.ts';

interface EntityTag {
  readonly weak: boolean;
  /** What stands between the quotes. */
  readonly opaque: string;
}

/** What `If-Match` or `If-None-Match` names: tags, or whatever there is. */
export type NamedTags = readonly EntityTag[] | '*';

/** Hexadecimal digits of a hash. */
const hashDigits = 16;

/**
 * Makes the tags of an application's answers.
 *
 * A tag is of what the caller is sent, byte by byte: format, groups, and what they may see of embedded rows. That of an entity
 * with a version is strong, and begins with what stands for the version. Nobody can tell the version from it: it may be the time
 * of the last change, and outside of what the caller may read.
 */
export class EntityTags {
  readonly #bodies: string;
  readonly #versions: string;

  /** The secret is the same in every process that serves the application. */
  constructor(secret: string) {
    this.#bodies = hash('sha256', `bodies\n${secret}`);
    this.#versions = hash('sha256', `versions\n${secret}`);
  }

  /** The tag of an answer; `mark` is that of its version, or null where there is none. */
  of(body: string, mark: string | null): string {
    return tagFrom(digest(this.#bodies + body), mark);
  }

  /** The same, without taking up the event loop for long if the body is long. */
  ofAny(body: string, mark: string | null): string | Promise<string> {
    return body.length > turnLength ? this.#ofLong(body, mark) : this.of(body, mark);
  }

  async #ofLong(body: string, mark: string | null): Promise<string> {
    const digesting = createHash('sha256').update(this.#bodies);
    for (let start = 0; start < body.length; ) {
      await nextTurn();
      let end = start + turnLength;
      // the halves of a surrogate pair are encoded together
      if (isHighSurrogate(body.charCodeAt(end - 1))) end++;
      digesting.update(body.slice(start, end));
      start = end;
    }
    return tagFrom(digesting.digest('hex').slice(0, hashDigits), mark);
  }

  /** What stands for the version of a row, and for that of no other row. */
  mark(table: string, key: unknown, version: string): string {
    return digest(`${this.#versions}${table}\n${key}\n${version}`);
  }
}

function tagFrom(end: string, mark: string | null): string {
  return mark === null ? `W/"${end}"` : `"${mark}.${end}"`;
}

function isHighSurrogate(unit: number): boolean {
  return (unit & 0xfc00) === 0xd800;
}

/** A part of the hash, from which it cannot be gone on to that of a longer text. */
function digest(text: string): string {
  return hash('sha256', text).slice(0, hashDigits);
}

/** The mark of a version that a tag begins with; null where it is none of a version. */
export function markIn({ opaque, weak }: EntityTag): string | null {
  return !weak && opaque.length === hashDigits + 1 + hashDigits && opaque[hashDigits] === '.'
    ? opaque.slice(0, hashDigits)
    : null;
}

const nextTag = /[ \t]*(?:(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"[ \t]*)?(,|$)/y;

/** Reads `*` or a list of tags (RFC 9110, 8.8.3 and 13.1.1). Null: it is neither. */
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

/** Whether a tag is named, strong and weak ones being the same (RFC 9110, 8.8.3.2). Who names nothing that can be read names none. */
export function namesWeakly(header: string, tag: string): boolean {
  if (header === tag) return true;
  const named = readTags(header);
  if (named === '*') return true;
  const opaque = tag.slice(tag.indexOf('"') + 1, -1);
  return named?.some((each) => each.opaque === opaque) === true;
}

/** Whether a tag is named, both being strong. */
export function namesStrongly(named: NamedTags, tag: string): boolean {
  return named === '*' || named.some(({ opaque, weak }) => !weak && tag === `"${opaque}"`);
}
