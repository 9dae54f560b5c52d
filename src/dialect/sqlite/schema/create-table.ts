/** Properties of columns and checks, read from the statement that created a table: SQLite has no catalogue of them. */
export interface CreatedTable {
  /** The expressions of generated columns, by lower-case column name. */
  readonly generated: ReadonlyMap<string, string>;
  readonly checks: readonly CreatedCheck[];
}

export interface CreatedCheck {
  readonly name: string | null;
  readonly expression: string;
}

const tokens = /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'(?:[^']|'')*'|"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\]|[\p{L}\p{N}_$]+|[^\s]/gu;

interface Token {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** Reads a `create table` statement. */
export function readCreateTable(sql: string): CreatedTable {
  const all = Array.from(sql.matchAll(tokens), ({ 0: text, index }): Token => ({ text, start: index, end: index + text.length }));
  const significant = all.filter(({ text }) => !text.startsWith('--') && !text.startsWith('/*'));
  const generated = new Map<string, string>();
  const checks: CreatedCheck[] = [];
  for (const part of partsOf(significant)) {
    const column = nameOf(part[0]?.text ?? '');
    part.forEach((token, position) => {
      const word = token.text.toLowerCase();
      if (word !== 'check' && word !== 'as') return;
      const expression = parenthesized(sql, part, position + 1);
      if (expression === null) return;
      if (word === 'as') generated.set(column.toLowerCase(), expression);
      else if (depthAt(part, position) === 0) checks.push({ name: constraintName(part, position), expression });
    });
  }
  return { generated, checks };
}

/** The definitions between the outer parentheses. */
function partsOf(all: readonly Token[]): Token[][] {
  const parts: Token[][] = [];
  let depth = 0;
  for (const token of all) {
    if (token.text === ')') depth -= 1;
    if (depth === 0 && parts.length > 0) break;
    if (depth === 1 && token.text === ',') parts.push([]);
    else if (depth > 0) parts.at(-1)?.push(token);
    if (token.text === '(') depth += 1;
    if (depth === 1 && parts.length === 0) parts.push([]);
  }
  return parts;
}

function depthAt(part: readonly Token[], position: number): number {
  return part.slice(0, position).reduce((depth, { text }) => depth + (text === '(' ? 1 : text === ')' ? -1 : 0), 0);
}

/** The text between the parenthesis at a position and its counterpart. */
function parenthesized(sql: string, part: readonly Token[], position: number): string | null {
  if (part[position]?.text !== '(') return null;
  let depth = 0;
  for (const { start, text } of part.slice(position)) {
    if (text === '(') depth += 1;
    if (text === ')') depth -= 1;
    if (depth === 0) return sql.slice((part[position] as Token).end, start).trim();
  }
  return null;
}

function constraintName(part: readonly Token[], position: number): string | null {
  return part[position - 2]?.text.toLowerCase() === 'constraint' ? nameOf((part[position - 1] as Token).text) : null;
}

function nameOf(text: string): string {
  if (/^\[.*\]$/.test(text)) return text.slice(1, -1);
  const quote = text[0] as string;
  return /^["'`]/.test(text) ? text.slice(1, -1).replaceAll(quote + quote, quote) : text;
}
