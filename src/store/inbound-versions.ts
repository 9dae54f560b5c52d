import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import type { Mapper, RequestEntityManager } from '../database/mapper.ts';
import { dialectOf } from '../dialect/dialect.ts';
import { entitiesOf } from '../model/hierarchy.ts';
import type { Identifier } from '../model/identifier.ts';
import { asRow, databaseKey } from '../model/key-condition.ts';
import { versionOf } from '../model/version.ts';
import { foreignColumns, holdsForeignKey, keyColumns } from '../query/rows/association.ts';
import { tableOf } from '../query/rows/table-name.ts';
import { nextVersion } from './assignments.ts';

/** A foreign key, the model whose rows have it, and what the database does with these if the row that it points to is removed. */
interface Referring {
  readonly meta: EntityMetadata;
  readonly property: EntityProperty;
  readonly rule: string;
}

const known = new WeakMap<EntityMetadata, readonly Referring[]>();

/** The condition that columns hold the key of a row that is removed. */
type IsRemoved = (columns: readonly string[]) => string;

function referringTo(mapper: Mapper, target: EntityMetadata): readonly Referring[] {
  let found = known.get(target);
  if (!found) {
    found = entitiesOf(mapper).flatMap((meta) => {
      if (meta.root !== meta) return [];
      return (meta.relations as EntityProperty[]).flatMap((property) => {
        const { deleteRule, targetMeta } = property;
        if (targetMeta?.root !== target || !deleteRule || !holdsForeignKey(property)) return [];
        return { meta, property, rule: deleteRule.toLowerCase() };
      });
    });
    known.set(target, found);
  }
  return found;
}

/**
 * The statements that give a new version to the rows whose foreign key the database is about to set to null: their contents change.
 * Before that, no further rows may refer to the rows that are removed. The parameters are the key of the row that is removed first.
 */
export function referringUpdates(mapper: Mapper, target: EntityMetadata, parameter: (position: number) => string): string[] {
  const isFirst: IsRemoved = (columns) => columns.map((name, i) => `${name} = ${parameter(i + 1)}`).join(' and ');
  return updatesBefore(mapper, target.root, isFirst, []);
}

/** `above` are the models whose removed rows remove the rows of this one. */
function updatesBefore(mapper: Mapper, target: EntityMetadata, isFirst: IsRemoved, above: readonly EntityMetadata[]): string[] {
  const all = referringTo(mapper, target);
  const removing = all.filter(({ rule }) => rule === 'cascade');
  const own = removing.filter(({ meta }) => meta === target);
  const isRemoved: IsRemoved =
    own.length > 0 ? (columns) => `${asRow(columns)} in (${treeText(mapper, target, own, isFirst)})` : isFirst;
  const isReferring = ({ property }: Referring) => isRemoved(foreignColumns(mapper, property, target));
  const updates = all.flatMap((referring) => {
    const version = versionOf(referring.meta);
    if (!version || referring.rule !== 'set null') return [];
    const { column, next } = nextVersion(mapper, version);
    return `update ${tableOf(mapper, referring.meta)} set ${column} = ${next} where ${isReferring(referring)} returning 1`;
  });
  const line = [...above, target];
  for (const referring of removing.filter(({ meta }) => !line.includes(meta))) {
    const { meta } = referring;
    const keys = keyColumns(mapper, meta);
    const removed = `select ${keys.join(', ')} from ${tableOf(mapper, meta)} where ${isReferring(referring)}`;
    updates.push(...updatesBefore(mapper, meta, (columns) => `${asRow(columns)} in (${removed})`, line));
  }
  const { removalLock } = dialectOf(mapper).sql;
  if (updates.length === 0 || removalLock === '') return updates;
  return [`select 1 from ${tableOf(mapper, target)} where ${isRemoved(keyColumns(mapper, target))}${removalLock}`, ...updates];
}

/** Selects the keys of rows and of all rows below them. */
function treeText(mapper: Mapper, meta: EntityMetadata, below: readonly Referring[], isFirst: IsRemoved): string {
  const keys = keyColumns(mapper, meta);
  const table = tableOf(mapper, meta);
  const names = keys.map((_, i) => `key${i}`);
  const isBelow = below.map(({ property }) =>
    foreignColumns(mapper, property, meta)
      .map((name, i) => `t.${name} = _removed.${names[i]}`)
      .join(' and '),
  );
  const rows = `select ${keys.map((key) => `t.${key}`).join(', ')} from ${table} as t inner join _removed on ${isBelow.join(' or ')}`;
  const first = `select ${keys.join(', ')} from ${table} where ${isFirst(keys)}`;
  return `with recursive _removed(${names.join(', ')}) as (${first} union ${rows}) select * from _removed`;
}

/** Runs these statements in a transaction of the mapper, for rows with some keys. */
export async function touchReferring(
  mapper: Mapper,
  em: RequestEntityManager,
  target: EntityMetadata,
  keys: readonly Identifier[],
): Promise<void> {
  const updates = referringUpdates(mapper, target, () => '?');
  for (const key of updates.length > 0 ? keys : [])
    for (const sql of updates) await em.execute(sql, databaseKey(target, mapper.driver.getPlatform(), key));
}
