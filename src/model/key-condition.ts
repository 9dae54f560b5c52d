import { type EntityMetadata, type EntityProperty, type Platform, raw } from '@mikro-orm/core';
import { dialectOn } from '../dialect/dialect.ts';
import { keyListText, valuesOf } from './composite-key.ts';
import { type Identifier, isComposite, keyOf, keyParts } from './identifier.ts';

/** MikroORM replaces it by the alias of the model in the query. */
const anyAlias = '[::alias::]';

/** Several columns are compared as one row. */
export function asRow(columns: readonly string[]): string {
  return columns.length === 1 ? (columns[0] as string) : `(${columns.join(', ')})`;
}

/** The columns of a model's key in SQL, under an alias. */
export function keyColumnsOf(meta: EntityMetadata, platform: Platform, alias: string): string[] {
  return keyParts(meta).map(({ column }) => `${alias}.${platform.quoteIdentifier(column)}`);
}

/** The names of a model's primary keys, to be selected by MikroORM. */
export function keyNames(meta: EntityMetadata): never {
  return [...meta.primaryKeys] as never;
}

/** The condition of MikroORM that a row has this key. */
export function hasKey(meta: EntityMetadata, id: unknown): never {
  if (!isComposite(meta)) return { [keyOf(meta).name]: id } as never;
  return keyObject(meta, [...valuesOf(id)]) as never;
}

function keyObject(meta: EntityMetadata, values: unknown[]): Record<string, unknown> {
  const entries = (meta.getPrimaryProps() as EntityProperty[]).map(({ name, targetMeta }) => {
    const isNested = targetMeta !== undefined && isComposite(targetMeta);
    return [name, isNested ? keyObject(targetMeta, values) : values.shift()] as const;
  });
  return Object.fromEntries(entries);
}

/** The condition of MikroORM that a row has one of these keys. */
export function hasOneOf(meta: EntityMetadata, platform: Platform, ids: readonly unknown[]): object {
  if (!isComposite(meta)) return { [keyOf(meta).name]: { $in: ids } };
  const { sql, params } = amongText(meta, platform, keyColumnsOf(meta, platform, anyAlias), ids);
  return { [raw(sql, [...params]) as never]: [] };
}

/** The condition that columns hold one of these keys, with `?` for its parameter. */
export function amongText(
  meta: EntityMetadata,
  platform: Platform,
  columns: readonly string[],
  ids: readonly unknown[],
): { readonly sql: string; readonly params: readonly unknown[] } {
  const types = keyParts(meta).map(({ type }) => type);
  const sql = dialectOn(platform).sql.amongKeys(columns, types, '?');
  return { sql, params: [keyListText(databaseKeys(meta, platform, ids))] };
}

/** The same for a key of any number of columns. */
export function amongAny(
  meta: EntityMetadata,
  platform: Platform,
  columns: readonly string[],
  ids: readonly unknown[],
): { readonly sql: string; readonly params: readonly unknown[] } {
  if (isComposite(meta)) return amongText(meta, platform, columns, ids);
  const params = ids.flatMap((id) => databaseKey(meta, platform, id));
  return { sql: `${columns[0]} in (${params.map(() => '?').join(', ')})`, params };
}

/** The condition of MikroORM that the key of a row is among those that a statement selects. */
export function isSelected(
  meta: EntityMetadata,
  platform: Platform,
  { params, sql }: { readonly sql: string; readonly params: readonly unknown[] },
): object {
  if (!isComposite(meta)) return { [keyOf(meta).name]: { $in: raw(sql, [...params]) } };
  return { [raw(`${asRow(keyColumnsOf(meta, platform, anyAlias))} in (${sql})`, [...params]) as never]: [] };
}

/** A key as the database takes it, one value for each column. */
export function databaseKey(meta: EntityMetadata, platform: Platform, id: unknown): unknown[] {
  const values = valuesOf(id);
  return keyParts(meta).map(({ leaf }, i) => {
    const { customType } = leaf;
    return customType ? customType.convertToDatabaseValue(values[i], platform, { mode: 'query' }) : values[i];
  });
}

function databaseKeys(meta: EntityMetadata, platform: Platform, ids: readonly unknown[]): Identifier[] {
  return ids.map((id) => databaseKey(meta, platform, id) as unknown as Identifier);
}
