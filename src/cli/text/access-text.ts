import { styleText } from 'node:util';
import type { Change, Comparison } from '../../inspect/compare/compare.ts';
import type { AccessMatrix } from '../../inspect/compare/matrix.ts';
import { type AccessRow, accessNotes, accessRows } from './access-rows.ts';
import { table } from './table.ts';

/** How text is to look. */
export interface FindVisible {
  readonly colour: boolean;
  /** The width of the terminal; null where there is none. */
  readonly columns: number | null;
}

const widthElsewhere = 140;

/** The table for people. What a row reads and writes stands below it, over as many lines as it takes. */
export function matrixLines(matrix: AccessMatrix, { colour, columns }: FindVisible): string[] {
  const rows = accessRows(matrix);
  const wide = table(['METHODS', 'PATH', 'ROLES', 'RESTRICTED BY'], rows.map(wideRow), false);
  const fits = columns === null || wide.every((line) => line.length <= columns);
  const heads = fits
    ? table(['METHODS', 'PATH', 'ROLES', 'RESTRICTED BY'], rows.map(wideRow), colour)
    : table(
        ['METHODS', 'PATH'],
        rows.map(({ methods, path }) => [methods, path]),
        colour,
      );
  const indent = Math.max('METHODS'.length, ...rows.map(({ methods }) => methods.length)) + 2;
  const width = columns ?? widthElsewhere;
  const below = (row: AccessRow) =>
    [
      ...(fits ? [] : [['roles', row.roles] as const, ['rows', row.restricted && `restricted by ${row.restricted}`] as const]),
      ['read', row.read] as const,
      ['write', row.write] as const,
      ['ask', row.questions] as const,
      ['hooks', row.hooks] as const,
    ].flatMap(([name, text]) => (text ? detail(name, text, indent, width, colour) : []));
  return [
    heads[0] as string,
    ...rows.flatMap((row, index) => [heads[index + 1] as string, ...below(row)]),
    '',
    ...accessNotes(matrix).flatMap((note) => wrapped(note, width)),
  ];
}

function wideRow({ methods, path, restricted, roles }: AccessRow): string[] {
  return [methods, path, roles, restricted];
}

function detail(name: string, text: string, indent: number, width: number, colour: boolean): string[] {
  const margin = ' '.repeat(indent);
  const lines = wrapped(text, width - indent - 7, /(?<=[,;+]) /).map(
    (line, index) => `${margin}${(index === 0 ? name : '').padEnd(7)}${line}`,
  );
  return colour
    ? lines.map((line) => line.replace(/\bPUBLIC\b/g, (word) => styleText('yellow', word, { validateStream: false })))
    : lines;
}

/** Breaks a text as late as the width permits: a list after its commas, a sentence at its spaces. */
function wrapped(text: string, width: number, at: RegExp = / /): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(at)) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

/** What was opened and what was closed, each under the declaration that did it. */
export function comparisonLines({ opened, closed }: Comparison, file: string, remedy: string, { colour }: FindVisible): string[] {
  if (opened.length === 0 && closed.length === 0) return [`nothing was opened or closed since ${file}`];
  const paint = (format: 'red' | 'green', text: string) => (colour ? styleText(format, text, { validateStream: false }) : text);
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
