import type { EntityMetadata, EntityProperty, Platform } from '@mikro-orm/core';
import type { Mapper, RequestEntityManager } from '../../database/mapper.ts';
import { dialectOf } from '../../dialect/dialect.ts';
import { isTablePerType } from '../../model/hierarchy.ts';
import type { Identifier } from '../../model/identifier.ts';
import { asRow, databaseKey, keyColumnsOf } from '../../model/key-condition.ts';
import { valueKindOf } from '../../model/value-kind.ts';
import { versionOf, versionText } from '../../model/version.ts';
import { dateOf } from '../../serialization/to-json.ts';
import type { QueryText } from './bound-statement.ts';
import { quoted, tableOf } from './table-name.ts';

/** Values that differ once a row was changed: PostgreSQL's `xmin`, on SQLite the columns of the row. */
export type RowVersion = readonly unknown[];

/** Thrown if a row was changed after access to it was checked: the request is retried. */
export class RowChanged extends Error {
  constructor() {
    super('the row was changed after access to it had been checked');
  }
}

/** The columns of the row version in SQL. */
export function versionColumns(mapper: Mapper, meta: EntityMetadata, alias: string): readonly string[] {
  const [root, ...further] = tablesOf(meta) as [EntityMetadata, ...EntityMetadata[]];
  const { rowVersion, textOf } = dialectOf(mapper).sql;
  const columnsIn = (own: EntityMetadata, from: string) =>
    rowVersion ? [`${from}.${rowVersion}`] : columnsOf(own).map((name) => `${from}.${quoted(mapper, name)}`);
  return [
    ...columnsIn(root, alias),
    ...further.flatMap((own) => {
      const columns = columnsIn(own, 'part');
      // a class can have no columns of its own
      return columns.length > 0 ? subselect(mapper, meta, own, alias, textOf(columns)) : [];
    }),
  ];
}

/** The tables that hold a row: one, or one for each class in its line of inheritance. */
function tablesOf(meta: EntityMetadata): EntityMetadata[] {
  if (!isTablePerType(meta)) return [meta.root];
  const line: EntityMetadata[] = [];
  for (let own: EntityMetadata | undefined = meta; own; own = own.tptParent as EntityMetadata | undefined) line.unshift(own);
  return line;
}

function subselect(mapper: Mapper, meta: EntityMetadata, own: EntityMetadata, alias: string, selected: string): string {
  const platform = mapper.driver.getPlatform();
  const keys = keyColumnsOf(meta.root, platform, alias);
  const isSame = keyColumnsOf(own, platform, 'part').map((column, i) => `${column} = ${keys[i]}`);
  return `(select ${selected} from ${tableOf(mapper, own)} as part where ${isSame.join(' and ')})`;
}

function columnsOf(meta: EntityMetadata): string[] {
  const properties = (meta.tptParent ? (meta.ownProps ?? []) : Object.values(meta.properties)) as EntityProperty[];
  const isColumn = ({ fieldNames, formula, kind, mappedBy, persist }: EntityProperty) =>
    persist !== false && !formula && fieldNames?.length > 0 && kind !== '1:m' && kind !== 'm:n' && !(kind === '1:1' && mappedBy);
  const own = properties.filter((property) => isColumn(property) && !(property.kind === 'embedded' && !property.object));
  return [...new Set(own.flatMap(({ fieldNames }) => fieldNames))];
}

/**
 * The version of a row; null if there is no row with this key. `among` selects this key if the caller can see the row, and
 * otherwise nothing. With a lock, nobody else changes the row until the transaction ends.
 */
export async function readVersion(
  mapper: Mapper,
  em: RequestEntityManager,
  meta: EntityMetadata,
  id: Identifier,
  { among = null, lock = false }: { readonly lock?: boolean; readonly among?: QueryText | null } = {},
): Promise<RowVersion | null> {
  const platform = mapper.driver.getPlatform();
  const columns = versionColumns(mapper, meta, 'e').map((sql, i) => `${sql} as v${i}`);
  // the lock allows others to refer to the row
  const locking = lock ? dialectOf(mapper).sql.rowLock('e') : '';
  const from = `${tableOf(mapper, meta.root)} as e`;
  const keys = keyColumnsOf(meta.root, platform, 'e');
  // Not `in`: PostgreSQL would make a join of it that looks for the row first. That takes less time for a missing row than for a
  // hidden one.
  const where = among ? `${asRow(keys)} = (${among.sql})` : keys.map((column) => `${column} = ?`).join(' and ');
  const sql = `select ${columns.join(', ')} from ${from} where ${where}${locking}`;
  const [row] = await em.execute(sql, among ? [...among.params] : databaseKey(meta.root, platform, id));
  return row ? Object.values(row as object) : null;
}

export function isSameVersion(one: RowVersion, other: RowVersion): boolean {
  return one.length === other.length && one.every((value, i) => textOf(value) === textOf(other[i]));
}

/** The same text for the same value, whichever connection read it: integers come as numbers, BigInts, or text beyond 2^53. */
function textOf(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (ArrayBuffer.isView(value)) return `x${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}`;
  return String(value);
}

/** Makes the function that reads a model's version property from its column as a text. */
export function versionReader(meta: EntityMetadata, platform: Platform): (value: unknown) => string | null {
  const property = versionOf(meta);
  const isTime = property !== null && ['date', 'datetime'].includes(valueKindOf(property, platform).kind);
  return isTime
    ? (value) => versionText(value === null || value === undefined || value instanceof Date ? value : dateOf(value))
    : versionText;
}
