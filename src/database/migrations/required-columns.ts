import type { Column, DatabaseSchema, SchemaDifference } from '@mikro-orm/sql';
import { didYouMean, listed } from '../../declaration/suggest.ts';
import type { Ask } from './decisions.ts';
import { plainName } from './difference.ts';
import { MigrationError } from './migration-error.ts';

/** A column that becomes required, while existing rows may have no value in it. */
export interface RequiredColumn {
  /** The table's name in the schema. */
  readonly table: string;
  readonly label: string;
  readonly column: Column;
  readonly isNew: boolean;
  readonly isReference: boolean;
}

/** An SQL expression for rows without a value. */
export interface Fill {
  readonly required: RequiredColumn;
  readonly value: string;
}

export function requiredIn({ changedTables }: SchemaDifference): RequiredColumn[] {
  return Object.values(changedTables).flatMap(({ addedColumns, changedColumns, name, toTable }) => {
    const references = Object.values(toTable.getForeignKeys()).flatMap(({ columnNames }) => columnNames);
    const describe = (column: Column, isNew: boolean): RequiredColumn => ({
      table: name,
      label: `${plainName(name)}.${column.name}`,
      column,
      isNew,
      isReference: references.includes(column.name),
    });
    const added = Object.values(addedColumns).filter((column) => isRequired(column) && !hasDefault(column));
    const changed = Object.values(changedColumns).filter(
      ({ changedProperties, column }) => changedProperties.has('nullable') && isRequired(column),
    );
    return [...added.map((column) => describe(column, true)), ...changed.map(({ column }) => describe(column, false))];
  });
}

function isRequired({ autoincrement, generated, nullable, primary }: Column): boolean {
  return !nullable && !generated && !autoincrement && !primary;
}

function hasDefault({ default: value }: Column): boolean {
  return value != null && value !== 'null';
}

/** Finds a value for each column: its default, the one of `--fill`, or the input of a person. */
export async function readFills(
  required: readonly RequiredColumn[],
  given: readonly string[],
  ask: Ask | undefined,
): Promise<readonly Fill[]> {
  const values = new Map(given.map((text) => parsed(text, required)));
  const fills: Fill[] = [];
  const missing: RequiredColumn[] = [];
  for (const one of required) {
    const value = values.get(one.label) ?? (hasDefault(one.column) ? (one.column.default as string) : undefined);
    if (value !== undefined) fills.push({ required: one, value });
    else if (ask) fills.push({ required: one, value: await askForValue(one, ask) });
    else missing.push(one);
  }
  if (missing.length > 0) throw new MigrationError(refusal(missing), { isCall: true });
  return fills;
}

function parsed(text: string, required: readonly RequiredColumn[]): [string, string] {
  const [, label = '', value = ''] = /^([^=]+)=(.+)$/s.exec(text) ?? [];
  const wrong = (reason: string) => new MigrationError(`--fill ${text}: ${reason}; nothing was written`, { isCall: true });
  if (label === '') throw wrong("write table.column=SQL, for example person.email=''");
  const labels = required.map((one) => one.label);
  if (!labels.includes(label.trim()))
    throw wrong(`${label} is not a column that becomes required;${didYouMean(label, labels)} such columns: ${listed(labels)}`);
  return [label.trim(), value.trim()];
}

async function askForValue({ isNew, label }: RequiredColumn, ask: Ask): Promise<string> {
  const what = isNew ? 'is new and required' : 'becomes required';
  for (;;) {
    const value = (await ask(`${label} ${what}. Its value in existing rows, as SQL (for example 'unknown' or 0): `)).trim();
    if (value !== '') return value;
  }
}

function refusal(missing: readonly RequiredColumn[]): string {
  const what = missing.map(({ isNew, label }) => `${label} ${isNew ? 'is new and required' : 'becomes required'}`);
  return [
    `${what.join(', ')}, and existing rows may have no value for it. Nothing was written. Add:`,
    ...missing.map(
      ({ label }) => `  --fill "${label}=SQL"  the value for those rows, for example 'unknown', 0 or another column`,
    ),
    'or give the property a default, or make it nullable.',
  ].join('\n');
}

/** A schema in which the columns may be null until they are filled, and dropped columns can still be read for that. */
export function relaxed(schema: DatabaseSchema, before: DatabaseSchema, fills: readonly Fill[]): DatabaseSchema {
  for (const { required } of fills) {
    const table = schema.getTable(required.table);
    const column = table?.getColumn(required.column.name);
    if (!table || !column) continue;
    column.nullable = true;
    const gone =
      before
        .getTable(required.table)
        ?.getColumns()
        .filter(({ name }) => !table.hasColumn(name)) ?? [];
    for (const old of gone) table.addColumn(old);
  }
  return schema;
}

/** A value for a column whose own values were dropped; null if every value would be wrong. */
export function neutralValue(
  { column: { default: value, enumItems, type }, isReference }: RequiredColumn,
  timeValue: string,
): string | null {
  if (value != null && value !== 'null') return value;
  if (isReference) return null;
  if (enumItems?.[0] !== undefined) return `'${enumItems[0].replaceAll("'", "''")}'`;
  const known: readonly (readonly [RegExp, string])[] = [
    [/\[\]$/, "'{}'"],
    [/^(big|small|tiny|medium)?int|^serial|^(numeric|decimal|real|double|float)/i, '0'],
    [/^bool/i, 'false'],
    [/^json/i, "'{}'"],
    [/^(timestamp|datetime)/i, timeValue],
    [/^date/i, "'1970-01-01'"],
    [/^time/i, "'00:00:00'"],
    [/^uuid/i, "'00000000-0000-0000-0000-000000000000'"],
    [/char|text|string|blob|bytea/i, "''"],
  ];
  return known.find(([pattern]) => pattern.test(type))?.[1] ?? null;
}
