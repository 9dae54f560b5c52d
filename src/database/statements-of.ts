/** Called with every statement before it is sent: its text, with a placeholder for each of its parameters. */
export type OnStatement = (sql: string, parameters: readonly unknown[]) => void;

/**
 * Splits a script into statements, for a driver that runs one at a time. A statement ends with a semicolon at the end of a line,
 * outside of literals.
 */
export function statementsOf(sql: string): string[] {
  const statements: string[] = [];
  let current = '';
  for (const line of sql.split('\n')) {
    current += `${line}\n`;
    if (!/;\s*$/.test(line) || current.split("'").length % 2 === 0 || (current.match(/\$\w*\$/g)?.length ?? 0) % 2 === 1)
      continue;
    statements.push(current.trim());
    current = '';
  }
  return [...statements, current.trim()].filter((statement) => statement !== '');
}
