import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import type { Mapper, RequestEntityManager } from '../database/mapper.ts';
import { entitiesOf } from '../model/hierarchy.ts';
import type { Identifier } from '../model/identifier.ts';
import { databaseKey } from '../model/key-condition.ts';
import { versionOf } from '../model/version.ts';
import { foreignColumns } from '../query/rows/association.ts';
import { tableOf } from '../query/rows/table-name.ts';
import { nextVersion } from './assignments.ts';

/** A foreign key of a model with a version that the database sets to null when the row it points to is removed. */
interface Referring {
  readonly meta: EntityMetadata;
  readonly property: EntityProperty;
  readonly version: EntityProperty;
}

const known = new WeakMap<EntityMetadata, readonly Referring[]>();

/** The foreign keys that point to rows of a model and are set to null by the database. */
export function referringTo(mapper: Mapper, target: EntityMetadata): readonly Referring[] {
  let found = known.get(target);
  if (!found) {
    found = entitiesOf(mapper).flatMap((meta) => {
      const version = versionOf(meta);
      if (!version || meta.root !== meta) return [];
      const isCleared = ({ deleteRule, fieldNames, polymorphic, targetMeta }: EntityProperty) =>
        targetMeta?.root === target.root && /^set null$/i.test(deleteRule ?? '') && (fieldNames?.length ?? 0) > 0 && !polymorphic;
      return (meta.relations as EntityProperty[]).filter(isCleared).map((property) => ({ meta, property, version }));
    });
    known.set(target, found);
  }
  return found;
}

/**
 * The statements that give a new version to the rows whose foreign key the database is about to set to null: their contents change.
 * Their parameters are the key of the row that is removed.
 */
export function referringUpdates(mapper: Mapper, target: EntityMetadata, parameter: (position: number) => string): string[] {
  return referringTo(mapper, target).map(({ meta, property, version }) => {
    const { column, next } = nextVersion(mapper, version);
    const isReferring = foreignColumns(mapper, property, target).map((name, i) => `${name} = ${parameter(i + 1)}`);
    return `update ${tableOf(mapper, meta)} set ${column} = ${next} where ${isReferring.join(' and ')}`;
  });
}

/** Runs these statements in a transaction of the mapper. */
export async function touchReferring(
  mapper: Mapper,
  em: RequestEntityManager,
  target: EntityMetadata,
  key: Identifier,
): Promise<void> {
  const own = databaseKey(target, mapper.driver.getPlatform(), key);
  for (const sql of referringUpdates(mapper, target, () => '?')) await em.execute(sql, own);
}
