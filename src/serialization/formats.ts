import type { Format } from '../declaration/types.ts';
import { isTurnLong, nextTurn } from '../event-loop.ts';
import { chosenOf, type FieldChoice } from '../model/field-choice.ts';
import { xmlDocument, xmlPieces } from '../response/xml.ts';
import { type CsvColumn, columnsOfValues, csvHeader, csvRowPieces, csvRowWriter } from './csv.ts';

/** Characters of JSON from which it is rewritten in several turns of the event loop. */
const longJson = 65_536;

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

/** The same. Long JSON is rewritten in several turns of the event loop. */
export function rewriteInTurns(format: Format, json: string, columns: readonly CsvColumn[] | null): string | Promise<string> {
  const { write }: FormatTraits = formats[format];
  if (!write || json.length <= longJson) return rewriteJson(format, json, columns);
  return longTurns(format, json, columns);
}

async function longTurns(format: Format, json: string, columns: readonly CsvColumn[] | null): Promise<string> {
  if (isTurnLong()) await nextTurn();
  const value: unknown = JSON.parse(json);
  const pieces = format === 'xml' ? xmlPieces(value) : linePieces(format, value, columns);
  let text = '';
  let part = '';
  for (const piece of pieces) {
    part += piece;
    if (!isTurnLong()) continue;
    text += part;
    part = '';
    await nextTurn();
  }
  return text + part;
}

/** The lines of a format in pieces: of CSV one for each cell. */
function* linePieces(format: Format, value: unknown, columns: readonly CsvColumn[] | null): Generator<string, void> {
  const items = itemsOf(value);
  if (format !== 'csv') {
    for (const item of items) yield ndjsonText([item]);
    return;
  }
  const shown = columns ?? columnsOfValues(items);
  if (shown.length === 0) return;
  yield csvHeader(shown);
  for (const item of items) yield* csvRowPieces(shown, item);
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
