import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import type { Mapper, RequestEntityManager } from '../database/mapper.ts';
import { entitiesOf } from '../model/hierarchy.ts';
import type { Identifier } from '../model/identifier.ts';
import { databaseKey } from '../model/key-condition.ts';
import { versionOf } from '../model/version.ts';
import { foreignColumns } from '../query/rows/association.ts';
import { tableOf } from '../query/rows/table-name.ts';

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

/** Gives a new version to the rows whose foreign key the database is about to set to null: their contents change. */
export async function touchReferring(
  mapper: Mapper,
  em: RequestEntityManager,
  target: EntityMetadata,
  key: Identifier,
): Promise<void> {
  const platform = mapper.driver.getPlatform();
  const quote = ({ fieldNames }: EntityProperty) => platform.quoteIdentifier(fieldNames[0] as string).toString();
  for (const { meta, property, version } of referringTo(mapper, target)) {
    const isTime = version.runtimeType === 'Date';
    const next = isTime ? platform.getCurrentTimestampSQL(version.length) : `${quote(version)} + 1`;
    const isReferring = foreignColumns(mapper, property, target).map((column) => `${column} = ?`);
    const sql = `update ${tableOf(mapper, meta)} set ${quote(version)} = ${next} where ${isReferring.join(' and ')}`;
    await em.execute(sql, databaseKey(target, platform, key));
  }
}
