import { type CharacterSet, complement, digits, lineEnds, spaces, unite, wordCharacters } from './character-set.ts';

/** A regular expression, as far as requirements may use it. */
export type Expression =
  | { readonly type: 'set'; readonly set: CharacterSet }
  | { readonly type: 'sequence'; readonly items: readonly Expression[] }
  | { readonly type: 'choice'; readonly options: readonly Expression[] }
  | { readonly type: 'repeat'; readonly item: Expression; readonly min: number; readonly max: number; readonly lazy: boolean };

/** The reason why an expression cannot be a requirement. */
export class RequirementError extends Error {}

const longest = 1000;

/** Reads a requirement, or throws a {@link RequirementError}. */
export function parseRequirement(source: string): Expression {
  if (source.length > longest) {
    throw new RequirementError(`is longer than ${longest} characters; shorten it, or check the value in the controller`);
  }
  return new Parser(source).parse();
}

const classEscapes: Readonly<Record<string, CharacterSet>> = {
  d: digits,
  D: complement(digits),
  w: wordCharacters,
  W: complement(wordCharacters),
  s: spaces,
  S: complement(spaces),
};
const controlEscapes: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, 0: 0 };

class Parser {
  readonly #source: string;
  #at = 0;
  #depth = 0;
  readonly #groupNames = new Set<string>();

  constructor(source: string) {
    this.#source = source;
  }

  parse(): Expression {
    const expression = this.#choice();
    if (this.#at < this.#source.length) throw this.#invalid('has a ")" without "("; write "\\)" to mean the character');
    return expression;
  }

  #choice(): Expression {
    const options = [this.#sequence()];
    while (this.#take('|')) options.push(this.#sequence());
    return options.length === 1 ? (options[0] as Expression) : { type: 'choice', options };
  }

  #sequence(): Expression {
    const items: Expression[] = [];
    // The whole value has to match, so an anchor at either end of the expression changes nothing and is allowed.
    if (this.#depth === 0) this.#take('^');
    while (this.#at < this.#source.length && this.#peek() !== '|' && this.#peek() !== ')') {
      if (this.#depth === 0 && this.#peek() === '$' && ['|', ''].includes(this.#source.charAt(this.#at + 1))) {
        this.#at++;
        continue;
      }
      items.push(this.#quantified(this.#atom()));
    }
    return items.length === 1 ? (items[0] as Expression) : { type: 'sequence', items };
  }

  #atom(): Expression {
    const character = this.#next();
    switch (character) {
      case '(':
        return this.#group();
      case '[':
        return { type: 'set', set: this.#class() };
      case '.':
        return { type: 'set', set: complement(lineEnds) };
      case '\\':
        return { type: 'set', set: asSet(this.#escape()) };
      case '^':
      case '$':
        throw this.#unsupported(`"${character}" inside the expression`, 'the whole value always has to match');
      case '*':
      case '+':
      case '?':
        throw this.#invalid(`has nothing to repeat before "${character}"; write "\\${character}" to mean the character`);
      case '{':
      case '}':
      case ']':
        throw this.#invalid(`has a lone "${character}"; write "\\${character}" to mean the character`);
      default:
        return { type: 'set', set: asSet(character.charCodeAt(0)) };
    }
  }

  #group(): Expression {
    if (this.#take('?')) {
      const name = /^<([A-Za-z_$][\w$]*)>/.exec(this.#source.slice(this.#at));
      if (name?.[1] !== undefined) {
        if (this.#groupNames.has(name[1])) throw this.#invalid(`has two groups named "${name[1]}"`);
        this.#groupNames.add(name[1]);
        this.#at += name[0].length;
      } else if (!this.#take(':')) {
        if (/^<?[=!]/.test(this.#source.slice(this.#at)))
          throw this.#unsupported('lookahead and lookbehind', 'spell the values out');
        throw this.#invalid('has an unknown kind of group; use "(…)", "(?:…)" or "(?<name>…)"');
      }
    }
    this.#depth++;
    const inner = this.#choice();
    this.#depth--;
    if (!this.#take(')')) throw this.#invalid('has a group that is not closed; add ")"');
    return inner;
  }

  #quantified(item: Expression): Expression {
    const bounds = this.#bounds();
    if (bounds === null) return item;
    const [min, max] = bounds;
    if (max < min) throw this.#invalid(`repeats at least ${min} and at most ${max} times; swap the numbers`);
    const lazy = this.#take('?');
    if (/^[*+?{]/.test(this.#peek())) throw this.#invalid('repeats a repetition; put the inner one into a group');
    return { type: 'repeat', item, min, max, lazy };
  }

  #bounds(): [number, number] | null {
    if (this.#take('*')) return [0, Number.POSITIVE_INFINITY];
    if (this.#take('+')) return [1, Number.POSITIVE_INFINITY];
    if (this.#take('?')) return [0, 1];
    const counted = /^\{(\d+)(,?)(\d*)\}/.exec(this.#source.slice(this.#at));
    if (counted === null || (counted[2] === '' && counted[3] !== '')) return null;
    this.#at += counted[0].length;
    const min = Number(counted[1]);
    if (counted[2] === '') return [min, min];
    return [min, counted[3] === '' ? Number.POSITIVE_INFINITY : Number(counted[3])];
  }

  #class(): CharacterSet {
    const negated = this.#take('^');
    const intervals: (readonly [number, number])[] = [];
    while (!this.#take(']')) {
      const from = this.#classAtom();
      const isRange = this.#peek() === '-' && this.#source.charAt(this.#at + 1) !== ']';
      if (!isRange) {
        intervals.push(...asSet(from));
        continue;
      }
      this.#at++;
      const to = this.#classAtom();
      if (typeof from !== 'number' || typeof to !== 'number') {
        throw this.#invalid('has a range that does not go from one character to another; write "\\-" to mean the character');
      }
      if (to < from) throw this.#invalid('has a range that runs backwards; swap its ends');
      intervals.push([from, to]);
    }
    const set = unite(...intervals);
    return negated ? complement(set) : set;
  }

  #classAtom(): number | CharacterSet {
    if (this.#at >= this.#source.length) throw this.#invalid('has a class that is not closed; add "]"');
    const character = this.#next();
    return character === '\\' ? this.#escape() : character.charCodeAt(0);
  }

  #escape(): number | CharacterSet {
    if (this.#at >= this.#source.length) throw this.#invalid('ends in a lone "\\"');
    const character = this.#next();
    const set = Object.hasOwn(classEscapes, character) ? classEscapes[character] : undefined;
    if (set !== undefined) return set;
    if (character === 'x' || character === 'u') return this.#hexadecimal(character);
    if (/[1-9k]/.test(character)) throw this.#unsupported('backreferences', 'spell the values out');
    if (/[bB]/.test(character)) throw this.#unsupported(`"\\${character}"`, 'spell the values out');
    if (/[pP]/.test(character)) throw this.#unsupported(`"\\${character}"`, 'use a class such as [a-z]');
    if (character === '0' && /\d/.test(this.#peek())) throw this.#unsupported('octal escapes', 'write "\\xHH"');
    const control = Object.hasOwn(controlEscapes, character) ? controlEscapes[character] : undefined;
    if (control !== undefined) return control;
    if (/[A-Za-z]/.test(character)) throw this.#invalid(`has the unknown escape "\\${character}"`);
    return character.charCodeAt(0);
  }

  #hexadecimal(kind: 'x' | 'u'): number {
    const length = kind === 'x' ? 2 : 4;
    const digitsOfIt = this.#source.slice(this.#at, this.#at + length);
    if (digitsOfIt.length < length || /[^\da-f]/i.test(digitsOfIt)) {
      throw this.#invalid(`has "\\${kind}" without ${length} hexadecimal digits after it`);
    }
    this.#at += length;
    return Number.parseInt(digitsOfIt, 16);
  }

  #peek(): string {
    return this.#source.charAt(this.#at);
  }

  #next(): string {
    return this.#source.charAt(this.#at++);
  }

  #take(character: string): boolean {
    if (this.#peek() !== character) return false;
    this.#at++;
    return true;
  }

  #invalid(reason: string): RequirementError {
    return new RequirementError(`is not a valid regular expression: at character ${this.#at} it ${reason}`);
  }

  #unsupported(what: string, remedy: string): RequirementError {
    return new RequirementError(`uses an unsupported feature: ${what}; ${remedy}`);
  }
}

function asSet(atom: number | CharacterSet): CharacterSet {
  return typeof atom === 'number' ? [[atom, atom]] : atom;
}

/** Writes an expression back, without groups that capture and without characters that a router could misread. */
export function writeExpression(expression: Expression): string {
  switch (expression.type) {
    case 'set':
      return writeSet(expression.set);
    case 'sequence':
      return expression.items
        .map((item) => (item.type === 'choice' ? `(?:${writeExpression(item)})` : writeExpression(item)))
        .join('');
    case 'choice':
      return expression.options.map(writeExpression).join('|');
    case 'repeat': {
      const item = writeExpression(expression.item);
      return `${expression.item.type === 'set' ? item : `(?:${item})`}${writeBounds(expression.min, expression.max)}${expression.lazy ? '?' : ''}`;
    }
  }
}

function writeBounds(min: number, max: number): string {
  if (max === Number.POSITIVE_INFINITY) return min === 0 ? '*' : min === 1 ? '+' : `{${min},}`;
  if (min === 0 && max === 1) return '?';
  return min === max ? `{${min}}` : `{${min},${max}}`;
}

function writeSet(set: CharacterSet): string {
  const [first] = set;
  if (first === undefined) return '(?!)';
  if (set.length === 1 && first[0] === first[1]) return writeCharacter(first[0]);
  if (set.length === 1 && first[0] === 0 && first[1] === 0xffff) return '[^]';
  return `[${set.map(([from, to]) => (from === to ? writeCharacter(from) : `${writeCharacter(from)}-${writeCharacter(to)}`)).join('')}]`;
}

function writeCharacter(code: number): string {
  const character = String.fromCharCode(code);
  if (/\w/.test(character)) return character;
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
}
