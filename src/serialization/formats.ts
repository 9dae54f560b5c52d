import type { Format } from '../declaration/types.ts';
import { chosenOf, type FieldChoice } from '../model/field-choice.ts';
import { type CsvColumn, columnsOfValues, csvHeader, csvRowWriter } from './csv.ts';
import { xmlDocument } from './xml.ts';

/** What a response of a format says it is. */
export const contentTypes: Readonly<Record<Format, string>> = Object.freeze({
  json: 'application/json; charset=utf-8',
  ndjson: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8; header=present',
  xml: 'application/xml; charset=utf-8',
});

/** Writes JSON in another format; `columns` are those of CSV, where they are known. */
export function rewriteJson(format: Format, json: string, columns: readonly CsvColumn[] | null): string {
  return format === 'json' ? json : writeFormat(format, JSON.parse(json), columns);
}

/**
 * Writes a value of JSON in a format. Where lines are written, a list has one for each of its items and the collection model
 * one for each of its results.
 */
function writeFormat(format: Exclude<Format, 'json'>, value: unknown, columns: readonly CsvColumn[] | null): string {
  switch (format) {
    case 'ndjson':
      return itemsOf(value)
        .map((item) => `${JSON.stringify(item)}\n`)
        .join('');
    case 'csv': {
      const items = itemsOf(value);
      const shown = columns ?? columnsOfValues(items);
      return shown.length === 0 ? '' : csvHeader(shown) + items.map(csvRowWriter(shown)).join('');
    }
    case 'xml':
      return xmlDocument(value);
  }
}

/** Makes what writes an object as a line: of CSV with the columns, or of JSON. */
export function lineOf(columns: readonly CsvColumn[] | null, choice: FieldChoice | null): (value: unknown) => string {
  const row = columns && csvRowWriter(columns);
  return (value) => {
    const json = JSON.stringify(choice ? chosenOf(value, choice) : value);
    return row ? row(JSON.parse(json)) : `${json}\n`;
  };
}

/** What has a line of its own where lines are written. */
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
