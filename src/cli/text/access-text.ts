import type { Change, Comparison } from '../../inspect/compare/compare.ts';
import type { AccessMatrix } from '../../inspect/compare/matrix.ts';
import { type AccessRow, accessNotes, accessRows } from './access-rows.ts';
import { aligned, detailLines, type OutputStyle, painter, paintPublic, table, wrapped } from './layout.ts';

const widthElsewhere = 140;

/** The table as text. The fields of a row follow it, on as many lines as they need. */
export function matrixLines(matrix: AccessMatrix, { colour, columns }: OutputStyle): string[] {
  const paint = painter(colour);
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
      ['query', row.questions],
      ['hooks', row.hooks],
    ].flatMap(([name = '', text]) => (text ? detailLines(name, text, { indent, labels: 7, width }) : []));
  return [
    heading,
    ...rows.flatMap((row, index) => [heads[index] as string, ...below(row).map((line) => paintPublic(line, paint))]),
    '',
    ...accessNotes(matrix).flatMap((note) => wrapped(note, width)),
  ];
}

/** The opened and the closed access, each under its declaration. */
export function comparisonLines({ opened, closed }: Comparison, file: string, remedy: string, { colour }: OutputStyle): string[] {
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

/** Changes under the declarations that made them, by file and line. */
export function placedLines(
  changes: readonly Change[],
  place = (text: string) => `  ${text}`,
  item = (text: string) => `    ${text}`,
): string[] {
  const placed = [...Map.groupBy(changes, (change) => change.place ?? 'no longer declared')];
  return placed
    .sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true }))
    .flatMap(([where, those]) => [place(where), ...those.map(({ subject, text }) => item(`${subject} ${text}`))]);
}
