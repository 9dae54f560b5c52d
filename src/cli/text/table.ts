import { styleText } from 'node:util';

/** Lines with aligned columns under a heading. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[], colour: boolean): string[] {
  const widths = heading.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] as number))
      .join('  ')
      .trimEnd();
  // Coloured after padding, because escape sequences have a length of their own.
  const title = colour ? paint('bold', line(heading)) : line(heading);
  return [title, ...rows.map(line).map((text) => (colour ? text.replace(/\bPUBLIC\b/g, (word) => paint('yellow', word)) : text))];
}

function paint(format: 'bold' | 'yellow', text: string): string {
  return styleText(format, text, { validateStream: false });
}
