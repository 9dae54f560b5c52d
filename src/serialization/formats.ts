import type { Format } from '../declaration/types.ts';
import { nextTurn, turnLength } from '../event-loop.ts';
import { chosenOf, type FieldChoice } from '../model/field-choice.ts';
import { xmlDocument, xmlPieces } from '../response/xml.ts';
import { type CsvColumn, columnsOfValues, csvHeader, csvRowWriter } from './csv.ts';

interface FormatTraits {
  /** The `Content-Type` of responses. */
  readonly contentType: string;
  /** How an export writes the items of a list: as rows with columns, or as objects; null if lists are sent in pages. */
  readonly lines: 'rows' | 'objects' | null;
  /**
   * Writes a JSON value; `columns` are those of rows, if they are known. Formats with lines write a line for each item of a list,
   * and for each result of the collection model. Null: JSON itself.
   */
  readonly write: ((value: unknown, columns: readonly CsvColumn[] | null) => string) | null;
}

/** Every format of responses. */
const formats = {
  json: { contentType: 'application/json; charset=utf-8', lines: null, write: null },
  ndjson: { contentType: 'application/x-ndjson', lines: 'objects', write: ndjsonText },
  csv: { contentType: 'text/csv; charset=utf-8; header=present', lines: 'rows', write: csvFile },
  xml: { contentType: 'application/xml; charset=utf-8', lines: null, write: xmlDocument },
} as const satisfies Readonly<Record<Format, FormatTraits>>;

/** The `Content-Type` of each format. */
export const contentTypes = Object.freeze(
  Object.fromEntries(Object.entries(formats).map(([name, { contentType }]) => [name, contentType])),
) as Readonly<Record<Format, string>>;

/** Formats in which a response has the whole list, not a page. */
export type ExportFormat = {
  [Name in Format]: (typeof formats)[Name]['lines'] extends null ? never : Name;
}[Format];

export function isExport(format: string): format is ExportFormat {
  return Object.hasOwn(formats, format) && formats[format as Format].lines !== null;
}

/** Whether a format has a column for each field. */
export function hasColumns(format: Format): boolean {
  return formats[format].lines === 'rows';
}

/** Writes JSON in another format; `columns` are those of CSV, if they are known. */
export function rewriteJson(format: Format, json: string, columns: readonly CsvColumn[] | null): string {
  const { write }: FormatTraits = formats[format];
  return write ? write(JSON.parse(json), columns) : json;
}

/** The same for a page. A long page is written in several turns of the event loop. */
export function rewritePage(format: Format, json: string): string | Promise<string> {
  return format === 'xml' && json.length > turnLength ? xmlInTurns(JSON.parse(json)) : rewriteJson(format, json, null);
}

async function xmlInTurns(page: Readonly<Record<string, unknown>>): Promise<string> {
  await nextTurn();
  let text = '';
  let paused = 0;
  for (const piece of xmlPieces(page)) {
    text += piece;
    if (text.length - paused <= turnLength) continue;
    paused = text.length;
    await nextTurn();
  }
  return text;
}

function ndjsonText(value: unknown): string {
  return itemsOf(value)
    .map((item) => `${JSON.stringify(item)}\n`)
    .join('');
}

function csvFile(value: unknown, columns: readonly CsvColumn[] | null): string {
  const items = itemsOf(value);
  const shown = columns ?? columnsOfValues(items);
  return shown.length === 0 ? '' : csvHeader(shown) + items.map(csvRowWriter(shown)).join('');
}

/** Creates the function that writes an object as a line: of CSV if there are columns, otherwise of JSON. */
export function lineOf(columns: readonly CsvColumn[] | null, choice: FieldChoice | null): (value: unknown) => string {
  const row = columns && csvRowWriter(columns);
  return (value) => {
    const json = JSON.stringify(choice ? chosenOf(value, choice) : value);
    return row ? row(JSON.parse(json)) : `${json}\n`;
  };
}

/** The values that have a line each in formats with lines. */
export function itemsOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (isCollection(value)) return value.results;
  return [value];
}

function isCollection(value: unknown): value is { readonly results: readonly unknown[] } {
  if (typeof value !== 'object' || value === null) return false;
  const { count, pagination, results } = value as Record<string, unknown>;
  return typeof count === 'number' && typeof pagination === 'object' && Array.isArray(results);
}
