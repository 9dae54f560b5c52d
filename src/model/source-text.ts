/** A key of an object literal, or a member of a class, with the text that belongs to it. */
export interface Member {
  readonly key: string;
  readonly start: number;
  readonly end: number;
}

/**
 * The source text of a module, to find declarations by their names. Only brackets, strings and comments are recognized. That is
 * enough for declarations that are written out; computed ones are not found.
 */
export class SourceText {
  readonly #text: string;
  /** The same text with blank strings and comments; offsets are those of the original. */
  readonly #code: string;
  /** Members by the offset of their bracket: each property of each model in a file is looked up in the same objects. */
  readonly #members = new Map<number, readonly Member[]>();

  constructor(text: string) {
    this.#text = text;
    this.#code = blanked(text);
  }

  lineAt(offset: number): number {
    let line = 1;
    for (let at = this.#text.indexOf('\n'); at !== -1 && at < offset; at = this.#text.indexOf('\n', at + 1)) line++;
    return line;
  }

  textOf({ start, end }: { readonly start: number; readonly end?: number }): string {
    return this.#text.slice(start, end);
  }

  /** The documentation (`/** … *\/`) that ends right before an offset and begins on its own line; null if there is none. */
  docBefore(offset: number): string | null {
    const before = this.#text.slice(0, offset).trimEnd();
    const start = before.endsWith('*/') ? before.lastIndexOf('/*') : -1;
    const isDoc = start !== -1 && before.startsWith('/**', start) && this.#code.slice(start, before.length).trim() === '';
    if (!isDoc || !/(?:^|\n)[ \t]*$/.test(before.slice(0, start))) return null;
    const lines = before
      .slice(start + 3, -2)
      .split('\n')
      .map((line) => line.replace(/^\s*\* ?/, '').trim());
    const tag = lines.findIndex((line) => line.startsWith('@'));
    const description = (tag === -1 ? lines : lines.slice(0, tag)).join('\n').trim();
    return description === '' ? null : description.replace(/(?<!\n)\n(?!\n)/g, ' ').replace(/\{@\w+ ([^}|\s]+)[^}]*\}/g, '$1');
  }

  /** The offset of the first match in code, within a part of it. */
  find(pattern: RegExp, { start = 0, end = this.#code.length }: Partial<Member> = {}): number | null {
    const found = this.#code.slice(start, end).search(pattern);
    return found === -1 ? null : start + found;
  }

  /** The offsets of all brackets that open an object literal after `before`. */
  objects(before: RegExp): number[] {
    const opening = new RegExp(`(?:${before.source})\\{`, 'g');
    return [...this.#code.matchAll(opening)].map(({ 0: found, index }) => index + found.length - 1);
  }

  /** The members of the object literal whose bracket is the first one at or after an offset, in their order. */
  membersAt(offset: number): readonly Member[] {
    const open = this.#code.indexOf('{', offset);
    if (open === -1) return [];
    const known = this.#members.get(open) ?? this.#membersWithin(open);
    this.#members.set(open, known);
    return known;
  }

  #membersWithin(open: number): readonly Member[] {
    const members: Member[] = [];
    let start = open + 1;
    let depth = 1;
    for (let at = open + 1; at < this.#code.length && depth > 0; at++) {
      const character = this.#code[at] as string;
      if ('([{'.includes(character)) depth++;
      if (')]}'.includes(character)) depth--;
      if ((character === ',' && depth === 1) || depth === 0) {
        const member = this.#memberIn(start, at);
        if (member) members.push(member);
        start = at + 1;
      }
    }
    return members;
  }

  #memberIn(from: number, end: number): Member | null {
    const start = from + (/\S/.exec(this.#code.slice(from, end))?.index ?? 0);
    const found = /^(?:async\s+|get\s+|set\s+)?(?:(['"])(?<quoted>[^'"]*)\1|(?<plain>[\w$]+))\s*(?:[:(]|$)/.exec(
      this.#text.slice(start, end),
    );
    const key = found?.groups?.quoted ?? found?.groups?.plain;
    return key === undefined ? null : { key, start, end };
  }
}

const commentsAndLiterals =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|(?<=[(,=:[!&|?{};]\s*)\/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\//g;

/** Blanks comments completely; strings and regular expressions keep their delimiters. */
function blanked(text: string): string {
  return text.replace(commentsAndLiterals, (found) => {
    const blank = (part: string) => part.replace(/[^\n]/g, ' ');
    if (found.startsWith('//') || found.startsWith('/*')) return blank(found);
    return `${found[0]}${blank(found.slice(1, -1))}${found.at(-1)}`;
  });
}
