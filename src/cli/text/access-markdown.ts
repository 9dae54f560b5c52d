import type { Change, Comparison } from '../../inspect/compare/compare.ts';
import type { AccessMatrix } from '../../inspect/compare/matrix.ts';
import { type AccessRow, accessNotes, accessRows } from './access-rows.ts';
import { placedLines } from './access-text.ts';

/** The table as Markdown, for a pull request. */
export function matrixMarkdown(matrix: AccessMatrix): string {
  const lines = [
    row(['Methods', 'Path', 'Roles', 'Restricted by', 'Reads', 'Writes']),
    row(Array(6).fill('---')),
    ...accessRows(matrix).map(cells).map(row),
    '',
    ...accessNotes(matrix).map((note) => `- ${note}`),
  ];
  return `${lines.join('\n')}\n`;
}

function cells({ hooks, methods, path, questions, read, restricted, roles, write }: AccessRow): string[] {
  const reads = [code(read), code(questions), ...(hooks === '' ? [] : [`(see ${code(hooks)})`])].filter(Boolean).join('<br>');
  return [
    methods.replaceAll(',', ', '),
    code(path),
    roles === 'PUBLIC' ? '**PUBLIC**' : code(roles),
    code(restricted),
    reads,
    code(write),
  ];
}

export function comparisonMarkdown({ closed, opened }: Comparison, file: string, remedy: string): string {
  const lines =
    opened.length === 0 && closed.length === 0
      ? [`Nothing was opened or closed since ${code(file)}.`]
      : [
          ...(opened.length > 0 ? [`**Opened** since ${code(file)}:`, '', ...items(opened), ''] : []),
          ...(closed.length > 0 ? [`**Closed** since ${code(file)}:`, '', ...items(closed), ''] : []),
          `To accept it: ${code(remedy)}`,
        ];
  return `${lines.join('\n')}\n`;
}

function items(changes: readonly Change[]): string[] {
  return placedLines(
    changes,
    (place) => `- ${code(place)}`,
    (change) => `  - ${code(change)}`,
  );
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

/** As code, even if the text has backticks. */
function code(text: string): string {
  if (text === '') return '';
  const fence = '`'.repeat(Math.max(0, ...[...text.matchAll(/`+/g)].map(([run]) => run.length)) + 1);
  return fence.length === 1 ? `\`${text}\`` : `${fence} ${text} ${fence}`;
}
