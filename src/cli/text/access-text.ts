import type { Change, Comparison } from '../../inspect/compare/compare.ts';
import type { AccessMatrix } from '../../inspect/compare/matrix.ts';
import { type AccessRow, accessNotes, accessRows } from './access-rows.ts';
import { aligned, type Paint, painter, paintPublic, table, wrapped } from './layout.ts';

interface Look {
  readonly colour: boolean;
  /** The width of the terminal; null where there is none. */
  readonly columns: number | null;
}

const widthElsewhere = 140;

/** The table for people. What a row reads and writes stands below it, over as many lines as it takes. */
export function matrixLines(matrix: AccessMatrix, { colour, columns }: Look): string[] {
  const rows = accessRows(matrix);
  const wide = [
    ['METHODS', 'PATH', 'ROLES', 'RESTRICTED BY'],
    ...rows.map((row) => [row.methods, row.path, row.roles, row.restricted]),
  ];
  const fits = columns === null || aligned(wide).every((line) => line.length <= columns);
  const [titles = [], ...cells] = fits ? wide : wide.map((row) => row.slice(0, 2));
  const [heading = '', ...heads] = table(titles, cells, colour);
  const indent = Math.max(...wide.map(([methods = '']) => methods.length)) + 2;
  const width = columns ?? widthElsewhere;
  const below = (row: AccessRow) =>
    [
      ...(fits
        ? []
        : [
            ['roles', row.roles],
            ['rows', row.restricted && `restricted by ${row.restricted}`],
          ]),
      ['read', row.read],
      ['write', row.write],
      ['ask', row.questions],
      ['hooks', row.hooks],
    ].flatMap(([name = '', text]) => (text ? detail(name, text, indent, width, painter(colour)) : []));
  return [
    heading,
    ...rows.flatMap((row, index) => [heads[index] as string, ...below(row)]),
    '',
    ...accessNotes(matrix).flatMap((note) => wrapped(note, width)),
  ];
}

function detail(name: string, text: string, indent: number, width: number, paint: Paint): string[] {
  const lines = wrapped(text, width - indent - 7, /(?<=[,;+]) /);
  return lines.map((line, index) => paintPublic(`${' '.repeat(indent)}${(index === 0 ? name : '').padEnd(7)}${line}`, paint));
}

/** What was opened and what was closed, each under the declaration that did it. */
export function comparisonLines({ opened, closed }: Comparison, file: string, remedy: string, { colour }: Look): string[] {
  if (opened.length === 0 && closed.length === 0) return [`nothing was opened or closed since ${file}`];
  const paint = painter(colour);
  return [
    ...(opened.length > 0 ? [paint('red', `opened since ${file}:`), ...placedLines(opened)] : []),
    ...(closed.length > 0 ? [paint('green', `closed since ${file}:`), ...placedLines(closed)] : []),
    opened.length > 0
      ? `if this is meant, save it and have the file reviewed: ${remedy}`
      : `nothing was opened; to keep it so: ${remedy}`,
  ];
}

function placedLines(changes: readonly Change[]): string[] {
  return [...byPlace(changes)].flatMap(([place, those]) => [
    `  ${place}`,
    ...those.map(({ subject, text }) => `    ${subject} ${text}`),
  ]);
}

/** Changes by the declaration that made them, from file to file and line to line. */
export function byPlace(changes: readonly Change[]): ReadonlyMap<string, readonly Change[]> {
  const placed = Map.groupBy(changes, ({ place }) => place ?? 'no longer declared');
  return new Map([...placed].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true })));
}
