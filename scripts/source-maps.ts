// Makes minified files readable for people who see an error in them: a line for each statement, and a source map that finds the
// line of a source, but not the column, and only where errors can occur. That is a fifth of the usual size.

const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';

interface SourceMap {
  readonly version: number;
  readonly sources: readonly string[];
  readonly mappings: string;
}

/**
 * Breaks code into lines and adapts its source map.
 *
 * @param breaks Where lines begin: positions in the code, in ascending order.
 */
export function withLines(code: string, map: string, breaks: readonly number[]): { code: string; map: string } {
  const { version, sources, mappings } = JSON.parse(map) as SourceMap;
  const lines = breaks.map((start, index) => code.slice(index === 0 ? 0 : breaks[index - 1], start));
  const text = [...lines, code.slice(breaks.at(-1) ?? 0)].join('\n');
  const isOwn = sources.map((source) => !source.includes('node_modules/') && !source.includes('\0'));
  const kept = new Map<number, number>();
  const rows: string[][] = [[]];
  const written = { column: 0, source: 0, line: 0 };
  let [end, begin, before, previous] = [text.indexOf('\n'), 0, 0, ''];
  for (const { position, end: last, source, line } of linesIn(code, mappings)) {
    while (before < breaks.length && (breaks[before] as number) <= position) before++;
    const place = position + before;
    for (; end >= 0 && end < place; end = text.indexOf('\n', begin)) {
      begin = end + 1;
      rows.push([]);
      written.column = 0;
      previous = '';
    }
    if (!isOwn[source] || `${source}:${line}` === previous || !canFail.test(code.slice(position, last).replace(strings, '')))
      continue;
    previous = `${source}:${line}`;
    if (!kept.has(source)) kept.set(source, kept.size);
    const next = { column: place - begin, source: kept.get(source) as number, line };
    const steps = [next.column - written.column, next.source - written.source, next.line - written.line, 0];
    rows.at(-1)?.push(steps.map(encoded).join(''));
    Object.assign(written, next);
  }
  const names = [...kept.keys()].map((index) => sources[index]);
  const mapped = rows.map((row) => row.join(',')).join(';');
  return { code: text, map: JSON.stringify({ version, sources: names, names: [], mappings: mapped }) };
}

/** Code that can be part of a stack: calls, accesses, destructuring, operators that convert, and keywords that run code. */
const canFail = /[.([`+*/%<~&|^-]|(?<!=)>|\}=|\b(?:throw|await|yield|new|of|in|instanceof|extends|delete)\b/;

const strings = /(["'`])(?:\\.|(?!\1|\$\{)[^\\])*\1/g;

/** The parts of a text that belong to one line of a source. */
function* linesIn(code: string, mappings: string): Generator<{ position: number; end: number; source: number; line: number }> {
  let part: { position: number; source: number; line: number } | undefined;
  for (const next of positionsIn(code, mappings)) {
    if (part && part.source === next.source && part.line === next.line) continue;
    if (part) yield { ...part, end: next.position };
    part = next;
  }
  if (part) yield { ...part, end: code.length };
}

/** The mapped positions of a text, in order, with the index and the line of the source. */
function* positionsIn(code: string, mappings: string): Generator<{ position: number; source: number; line: number }> {
  let [start, source, line] = [0, 0, 0];
  for (const row of mappings.split(';')) {
    let column = 0;
    for (const segment of row.split(',')) {
      if (segment === '') continue;
      const [columns = 0, sourceStep = 0, lineStep = 0] = decoded(segment);
      column += columns;
      source += sourceStep;
      line += lineStep;
      yield { position: start + column, source, line };
    }
    start = code.indexOf('\n', start) + 1;
  }
}

/** The numbers of a segment: base 64, five bits a digit, the sign in the lowest bit. */
function decoded(segment: string): number[] {
  const numbers: number[] = [];
  let [value, shift] = [0, 0];
  for (const digit of segment) {
    const bits = digits.indexOf(digit);
    value |= (bits & 31) << shift;
    shift += 5;
    if (bits & 32) continue;
    numbers.push(value & 1 ? -(value >> 1) : value >> 1);
    [value, shift] = [0, 0];
  }
  return numbers;
}

function encoded(number: number): string {
  let rest = number < 0 ? (-number << 1) | 1 : number << 1;
  let text = '';
  do {
    const bits = rest & 31;
    rest >>>= 5;
    text += digits[rest > 0 ? bits | 32 : bits];
  } while (rest > 0);
  return text;
}
