import type { FieldChoice } from '../model/field-choice.ts';
import type { Field, FieldPlan } from '../model/field-plan.ts';
import { madeNames } from '../model/normalization.ts';

/** The path of a column's value in an object: `['center', 'name']` is the column `center.name`. */
export type CsvColumn = readonly string[];

/**
 * The columns of a field plan, or of its chosen fields. To-one associations and embedded objects are split into the fields of all
 * their classes.
 */
export function csvColumns(plan: FieldPlan, choice: FieldChoice | null = null): readonly CsvColumn[] {
  const columns = new Map<string, CsvColumn>();
  for (const column of pathsOf(plan)) columns.set(JSON.stringify(column), column);
  return [...columns.values()].filter((column) => isChosen(column, choice));
}

function isChosen([name, ...rest]: CsvColumn, choice: FieldChoice | null): boolean {
  if (choice === null || name === undefined) return true;
  const inner = choice.get(name);
  return inner !== undefined && isChosen(rest, inner);
}

function* pathsOf({ normalizations, variants }: FieldPlan): Generator<CsvColumn> {
  for (const [meta, fields] of variants) {
    const normalized = normalizations?.get(meta);
    if (normalized) {
      yield* (madeNames(normalized) ?? [bareColumn]).map((name) => [name]);
      continue;
    }
    for (const field of fields) {
      if (isSplit(field)) for (const path of pathsOf(field.plan)) yield [field.name, ...path];
      else yield [field.name];
    }
  }
}

/** A value that application code makes can have any form, so it has one cell. */
function isSplit(field: Field): field is Extract<Field, { plan: FieldPlan }> {
  if (field.metadata.serializer || field.normalization) return false;
  if (field.kind === 'to-one' && field.plan.normalizations) return false;
  return field.kind === 'to-one' || (field.kind === 'embedded' && !field.array);
}

/** The column of values that are not objects. */
const bareColumn = 'value';

/** The columns of objects without a plan, in the order of their first occurrence. */
export function columnsOfValues(values: readonly unknown[]): readonly CsvColumn[] {
  const columns = new Map<string, CsvColumn>();
  for (const value of values) {
    for (const column of isObject(value) ? valuePaths(value) : [[bareColumn]]) columns.set(JSON.stringify(column), column);
  }
  return [...columns.values()];
}

function* valuePaths(value: object): Generator<CsvColumn> {
  for (const [name, item] of Object.entries(value)) {
    if (isObject(item)) for (const path of valuePaths(item)) yield [name, ...path];
    else yield [name];
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function csvHeader(columns: readonly CsvColumn[]): string {
  return `${columns.map((column) => csvText(column.join('.'))).join(',')}\r\n`;
}

/** Creates the function that writes JSON objects as rows. Other values have one column. */
export function csvRowWriter(columns: readonly CsvColumn[]): (value: unknown) => string {
  return (given) => {
    const value = isObject(given) ? given : { [bareColumn]: given };
    return csvLine(columns.map((column) => csvCell(valueAt(value, column))));
  };
}

/** The same row in pieces, one for each cell. */
export function* csvRowPieces(columns: readonly CsvColumn[], given: unknown): Generator<string, void> {
  const value = isObject(given) ? given : { [bareColumn]: given };
  const [only, ...others] = columns;
  if (only && others.length === 0) {
    yield csvLine([csvCell(valueAt(value, only))]);
    return;
  }
  for (const [i, column] of columns.entries()) {
    if (i > 0) yield ',';
    yield csvCell(valueAt(value, column));
  }
  yield '\r\n';
}

/** A single empty cell is quoted: its line would be empty, and readers skip empty lines. */
export function csvLine(cells: readonly string[]): string {
  return cells.length === 1 && cells[0] === '' ? '""\r\n' : `${cells.join(',')}\r\n`;
}

export function valueAt(value: unknown, path: CsvColumn): unknown {
  let found = value;
  for (const name of path) {
    if (!isObject(found) || !Object.hasOwn(found, name)) return null;
    found = (found as Record<string, unknown>)[name];
  }
  return found;
}

/** A JSON value as a cell: null is empty, a list or an object is JSON. */
export function csvCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return csvText(value);
  if (value instanceof Date) return csvCell(value.toJSON());
  if (typeof value === 'object') return csvText(JSON.stringify(value));
  return typeof value === 'number' && !Number.isFinite(value) ? '' : String(value);
}

/** Characters for which a cell is quoted. */
export const needsQuotes = /[",\r\n]/;
/**
 * The beginning of a formula for spreadsheets, also after characters that they strip or do not show, and after any number of the
 * `'` marks that prevent it. Leading control and formatting characters are always marked: programs differ in which of them they
 * strip.
 */
const mayBeFormula = /^(?:['\s\p{Z}\p{Cc}\p{Cf}\p{DI}]*[=+\-@＝＋－＠]|'*[\p{Cc}\p{Cf}\p{DI}])/u;
const isNumber = /^[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * A text as a cell. If a spreadsheet would run it as a formula, it gets a `'` in front, unless it is a number. An empty text is
 * `""`, to distinguish it from null.
 */
export function csvText(text: string): string {
  if (text === '') return '""';
  const first = text.charCodeAt(0);
  // most texts begin with a letter or digit of ASCII
  const isPlain = first >= 0x30 && first < 0x7f && first !== 0x3d && first !== 0x40;
  const harmless = !isPlain && mayBeFormula.test(text) && !isNumber.test(text) ? `'${text}` : text;
  return needsQuotes.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
