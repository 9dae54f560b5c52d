import { Collection, type EntityMetadata, type EntityProperty, helper, type Platform, Reference } from '@mikro-orm/core';
import { conflictProblem } from '../change/conflict.ts';
import type { Executor } from '../database/executor.ts';
import type { Mapper } from '../database/mapper.ts';
import { dialectOf } from '../dialect/dialect.ts';
import type { DatabaseError } from '../dialect/error-reader.ts';
import { databaseErrors } from '../dialect/errors.ts';
import type { Problem } from '../errors.ts';
import { isToMany } from '../model/field-plan.ts';
import type { ActiveGroups } from '../model/groups.ts';
import { entitiesOf, metaOfEntity } from '../model/hierarchy.ts';
import { bareType, entityKey, keyParts } from '../model/identifier.ts';
import { databaseKey } from '../model/key-condition.ts';
import { statementOf } from '../query/rows/bound-statement.ts';
import { quoted, tableOf } from '../query/rows/table-name.ts';
import { ofItem } from './item-errors.ts';

/** A row that an item of a list wanted to write. */
export interface WantedRow {
  /** The position of the item. */
  readonly index: number;
  /** The key of a row that exists already, as the database takes it. */
  readonly key: readonly unknown[] | null;
  /** The value for a quoted column, and its type; undefined if it is not known. */
  column(name: string): { readonly value: unknown; readonly type: string } | undefined;
}

interface Conflicting {
  readonly executor: Executor | null;
  readonly mapper: Mapper;
  /** The rows for a table. */
  rowsOf(table: string): readonly WantedRow[];
  /** The groups of an item, or of the whole list: the conflict names only their properties. */
  groupsAt(index: number | null): ActiveGroups;
}

/**
 * The problem of a rejected list, with the position of the first item whose unique value another item or an existing row has. The
 * position is missing if the database does not tell the columns. Null for other errors.
 */
export async function locateConflict(
  error: unknown,
  { executor, groupsAt, mapper, rowsOf }: Conflicting,
): Promise<Problem | null> {
  const conflict = conflictProblem(error, mapper, groupsAt(null));
  if (conflict?.code !== 'conflict_unique') return conflict;
  const { columns, table = '' } = databaseErrors.brokenConstraint(conflict.cause as DatabaseError);
  const meta = entitiesOf(mapper).find(({ tableName }) => tableName === table)?.root;
  const names = columns.map((name) => quoted(mapper, name));
  // null equals nothing
  const rows = rowsOf(table).filter((row) => names.every((name) => (row.column(name)?.value ?? null) !== null));
  const [first] = rows;
  if (!meta || !first || names.length === 0) return conflict;
  const isOnly = rows.every(({ index }) => index === first.index);
  const index = isOnly ? first.index : executor && (await takenBy(executor, mapper, meta, names, rows).catch(() => null));
  return index === null ? conflict : ofItem(conflictProblem(error, mapper, groupsAt(index)) as Problem, index);
}

/** The first item with a row whose values an earlier row of the list has, or an existing row with another key. */
async function takenBy(
  executor: Executor,
  mapper: Mapper,
  meta: EntityMetadata,
  names: readonly string[],
  all: readonly WantedRow[],
): Promise<number | null> {
  const { rowSource } = dialectOf(mapper).sql;
  const keys = all[0]?.key ? keyParts(meta) : [];
  const types = names.map((name) => (all[0] as WantedRow).column(name)?.type ?? '');
  const wanted = names.map((_, i) => `i.c${i + 1}`);
  const own = keys.map(({ column }, i) => `t.${quoted(mapper, column)} = i.c${names.length + i + 1}`);
  const isOther = own.length > 0 ? ` and not (${own.join(' and ')})` : '';
  const isTaken = names.map((name, i) => `t.${name} = ${wanted[i]}`).join(' and ');
  const most = rowSource.mostRows(1 + names.length + keys.length);
  for (let from = 0; from < all.length; from += most) {
    const rows = all.slice(from, from + most);
    const source = await rowSource.of(
      ['integer', ...types, ...keys.map(({ type }) => type)],
      rows.map(({ column, index, key }) => [index, ...names.map((name) => column(name)?.value), ...(key ?? [])]),
    );
    const numbered = `select i.*, row_number() over (partition by ${wanted.join(', ')} order by c0) as nth from ${source.sql} as i`;
    const exists = `exists (select 1 from ${tableOf(mapper, meta)} as t where ${isTaken}${isOther})`;
    const sql = `select min(i.c0) from (${numbered}) as i where i.nth > 1 or ${exists}`;
    const [found] = await executor.rows(statementOf(sql), source.params);
    const index = found?.[0] ?? null;
    if (index !== null) return Number(index);
  }
  return null;
}

/** The rows of a table that entities of a list and the items of their associations are stored in. */
export function rowsOfEntities(mapper: Mapper, entities: readonly object[], isNew: boolean, table: string): WantedRow[] {
  const rows: WantedRow[] = [];
  const seen = new Set<object>();
  const visit = (entity: object, index: number) => {
    if (seen.has(entity)) return;
    seen.add(entity);
    const meta = metaOfEntity(mapper, entity);
    if (meta.root.tableName === table) rows.push(rowOf(mapper, meta, entity, index, isNew));
    if (!isNew) return;
    // rows that are created together with their owner
    for (const { name } of (meta.relations as EntityProperty[]).filter(isToMany)) {
      const items = (entity as Record<string, unknown>)[name as string];
      if (items instanceof Collection) for (const item of items.getItems(false)) visit(item as object, index);
    }
  };
  for (const [index, entity] of entities.entries()) visit(entity, index);
  return rows;
}

function rowOf(mapper: Mapper, meta: EntityMetadata, entity: object, index: number, isNew: boolean): WantedRow {
  const platform = mapper.driver.getPlatform();
  const { values } = dialectOf(mapper);
  const column: WantedRow['column'] = (name) => {
    for (const property of meta.props as EntityProperty[]) {
      const at = property.fieldNames?.findIndex((each) => quoted(mapper, each) === name) ?? -1;
      if (at < 0 || property.hasConvertToDatabaseValueSQL) continue;
      const type = bareType(property.columnTypes?.[at]);
      return { type, value: values.storable(columnValue(platform, property, valueIn(entity, property), at)) };
    }
    return undefined;
  };
  return { index, key: isNew ? null : databaseKey(meta.root, platform, entityKey(entity)), column };
}

function valueIn(entity: object, { embedded, name }: EntityProperty): unknown {
  const [outer, inner] = embedded ?? [name];
  const value = (entity as Record<string, unknown>)[outer as string];
  return inner === undefined ? value : (value as Record<string, unknown> | null | undefined)?.[inner as string];
}

/** The value of a property as the mapper would pass it to the driver; of a reference, the part of the key in one of its columns. */
function columnValue(
  platform: Platform,
  { customType, referencedColumnNames, targetMeta }: EntityProperty,
  value: unknown,
  at: number,
) {
  if (value === null || value === undefined) return null;
  if (!targetMeta) return customType ? customType.convertToDatabaseValue(value, platform, { mode: 'serialization' }) : value;
  const referred = Reference.unwrapReference(value as object);
  if (!helper(referred)?.hasPrimaryKey()) return null;
  const part = keyParts(targetMeta).findIndex(({ column }) => column === referencedColumnNames?.[at]);
  return databaseKey(targetMeta, platform, entityKey(referred))[Math.max(part, 0)];
}
