import { stripVTControlCharacters, styleText } from 'node:util';

/** How text is shown on an output. */
export interface OutputStyle {
  readonly colour: boolean;
  /** The width of the terminal; null if the output is not a terminal. */
  readonly columns: number | null;
}

/** Styles text, if colours are on. */
export type Paint = (format: 'bold' | 'green' | 'yellow' | 'red' | 'dim', text: string) => string;

export function painter(colour: boolean): Paint {
  return (format, text) => (colour ? styleText(format, text, { validateStream: false }) : text);
}

/** Highlights the word PUBLIC. */
export function paintPublic(text: string, paint: Paint): string {
  return text.replace(/\bPUBLIC\b/g, (word) => paint('yellow', word));
}

export function aligned(rows: readonly (readonly string[])[], indent = ''): string[] {
  const widths = rows.reduce<number[]>((known, row) => row.map((cell, column) => Math.max(known[column] ?? 0, cell.length)), []);
  const padded = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] as number)));
  return padded.map((row) => `${indent}${row.join('  ').trimEnd()}`);
}

export function table(heading: readonly string[], rows: readonly (readonly string[])[], colour: boolean): string[] {
  const paint = painter(colour);
  // padding comes first, because escape sequences count as characters
  const [title = '', ...lines] = aligned([heading, ...rows]);
  return [paint('bold', title), ...lines.map((line) => paintPublic(line, paint))];
}

/** Lines with a label before the first of them. */
export function labelled(label: string, lines: readonly string[], width = 10): string[] {
  return lines.map((line, index) => `${(index === 0 ? label : '').padEnd(width)}${line}`);
}

/** A labelled text below a row, wrapped at the width. */
export function detailLines(
  label: string,
  text: string,
  { indent, labels, width }: { indent: number; labels: number; width: number },
): string[] {
  // after separators, so that names stay whole
  const lines = wrapped(text, width - indent - labels, /(?<=[,;+]) /);
  return labelled(label, lines, labels).map((line) => `${' '.repeat(indent)}${line}`);
}

/** Wraps a text at spaces, or at the matches of `at`. Escape sequences have no width. */
export function wrapped(text: string, width: number, at: RegExp = / /): string[] {
  const lines: string[] = [];
  for (const word of text.split(at)) {
    const last = lines.at(-1);
    if (last !== undefined && visibleLength(last) + 1 + visibleLength(word) <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function visibleLength(text: string): number {
  return stripVTControlCharacters(text).length;
}
