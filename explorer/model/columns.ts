import { isShown } from './granted.ts';
import { idIn, type Key, keyFields } from './key.ts';
import { modelsOf, propertiesOf, resolve, type Schema, type Schemas, typesOf } from './schema.ts';

export interface Column {
  readonly name: string;
  readonly schema: Schema;
  /** The field to sort by: the column itself, or the only sortable field of an association. */
  readonly sort: string | null;
}

/** The columns of a list: the declared fields, or those that `fields` names. Fields that need a role are shown if rows have them. */
export function columnsOf(
  schemas: Schemas,
  item: Schema,
  sorts: readonly string[],
  fields: string | null,
  rows: readonly unknown[] = [],
): readonly Column[] {
  const all = [...propertiesOf(schemas, item)]
    .filter(([name, schema]) => schema['x-role'] === undefined || isShown(rows, name))
    .map(([name, schema]) => ({ name, schema, sort: sortOf(name, sorts) }));
  if (fields === null) return all;
  const named = new Set(fields.split(',').map((field) => field.trim().split('.')[0]));
  return all.filter(({ name }) => named.has(name));
}

function sortOf(name: string, sorts: readonly string[]): string | null {
  if (sorts.includes(name)) return name;
  const inner = sorts.filter((sort) => sort.startsWith(`${name}.`));
  return inner.length === 1 ? (inner[0] as string) : null;
}

const titles = ['fullName', 'name', 'title', 'label', 'displayName', 'username', 'email', 'subject', 'code', 'slug', 'reference'];

/** The label of a row: its title, else its first text, else its key. */
export function labelOf(row: unknown, key: Key = ['id']): string {
  if (typeof row !== 'object' || row === null) return String(row);
  const values = row as Readonly<Record<string, unknown>>;
  const named = titles.find((title) => typeof values[title] === 'string' && values[title] !== '');
  if (named !== undefined) return shortened(String(values[named]), 80);
  const id = idIn(row, key);
  const text = Object.entries(values).find(([name, value]) => isName(name, value, key))?.[1];
  if (typeof text === 'string') return shortened(text, 80);
  // a row between two others is called like the one that it points to, unless its key says more
  const inner =
    id === null || key.length === 1
      ? Object.values(values).find((value) => typeof value === 'object' && value !== null && !Array.isArray(value))
      : undefined;
  if (inner !== undefined) return labelOf(inner);
  return id === null ? shortened(JSON.stringify(row), 80) : String(id);
}

function isName(name: string, value: unknown, key: Key): boolean {
  return (
    typeof value === 'string' &&
    value !== '' &&
    !keyFields(key).includes(name) &&
    name !== 'type' &&
    !/^\d{4}-\d\d-\d\d/.test(value)
  );
}

export function shortened(text: string, length: number): string {
  if (text.length <= length) return text;
  const cut = text.slice(0, length);
  // half of a pair of surrogates would be shown as a box
  return `${/[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut}…`;
}

/** A name in words: `birthDate` and `birth_date` become `Birth date`. */
export function wordsOf(name: string): string {
  const words = name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replace(/[_-]+/g, ' ')
    .trim();
  const lower = words.replace(/\b[A-Z][a-z]/g, (start) => start.toLowerCase());
  return lower.charAt(0).toUpperCase() + lower.slice(1);
}

export function isNumeric(schemas: Schemas, schema: Schema): boolean {
  const resolved = resolve(schemas, schema);
  const types = typesOf(resolved);
  return (
    modelsOf(schemas, schema).length === 0 &&
    (types.includes('integer') || types.includes('number') || resolved.format === 'decimal')
  );
}
