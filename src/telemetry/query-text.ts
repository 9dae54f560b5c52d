/** Everything in a statement that can be a value: texts in each of PostgreSQL's and SQLite's forms, bytes, and numbers. */
const literals =
  /\b[eE]'(?:[^'\\]|\\.|'')*'|(?:\b[xXbBnN])?'(?:[^']|'')*'|(\$(?:[A-Za-z_]\w*)?\$).*?\1|(?<![\w$"`.?])-?\d[\w.]*(?:[eE][+-]?\d+)?|"(?:[^"]|"")*"|`(?:[^`]|``)*`/gs;

/** The most characters of a statement in a span. */
const longest = 4096;

/** A statement with a placeholder for every literal in its text; names in quotes stay. */
export function withPlaceholders(text: string): string {
  const replaced = text.replace(literals, (found) => (found.startsWith('"') || found.startsWith('`') ? found : '?'));
  // an unterminated literal: only the operation is safe to show
  const whole = /['\\]/.test(replaced.replace(/"(?:[^"]|"")*"|`(?:[^`]|``)*`/g, '')) ? operationOf(text) : replaced;
  const short = whole.replace(/\?(?:\s*,\s*\?)+/g, '?, …');
  return short.length > longest ? `${short.slice(0, longest)}…` : short;
}

/** `SELECT`, `INSERT`, `BEGIN`. */
export function operationOf(text: string): string {
  return (/^[\s(]*([a-z]+)/i.exec(text)?.[1] ?? 'SQL').toUpperCase();
}
