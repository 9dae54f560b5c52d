import { type EntityMetadata, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import { jsonName } from '../model/field-plan.ts';
import { type ActiveGroups, isKnownTo } from '../model/groups.ts';
import { entitiesOf, modelName } from '../model/hierarchy.ts';

/** A foreign key of the database, in terms of the models. */
export interface ForeignKey {
  readonly table: string;
  readonly columns: readonly string[];
  readonly constraint: string;
  readonly target: EntityMetadata;
  /** Its association: `animal.keeper`; for a pivot table, the to-many property. Null if callers do not know it. */
  readonly holder: string | null;
  /** Whether a row cannot be removed while it is referenced. */
  readonly restricts: boolean;
}

/** Every foreign key that the mapper made or would make, pivot tables included, as callers with these groups know it. */
export function foreignKeysOf(mapper: Mapper, groups: ActiveGroups): ForeignKey[] {
  const platform = mapper.driver.getPlatform();
  const metas = [...mapper.getMetadata().getAll().values()].filter(({ embeddable, virtual }) => !embeddable && !virtual);
  return metas.flatMap((meta) =>
    (meta.relations as EntityProperty[]).filter(isForeignKey).map((property) => ({
      table: meta.tableName,
      columns: property.fieldNames,
      constraint: property.foreignKeyName ?? platform.getIndexName(meta.tableName, property.fieldNames, 'foreign'),
      target: property.targetMeta as EntityMetadata,
      holder: holderOf(mapper, meta, property, groups),
      restricts: !property.deleteRule || /^(restrict|no action)$/i.test(property.deleteRule),
    })),
  );
}

/** The to-many property whose rows a pivot table holds. */
export function pivotOf(mapper: Mapper, table: string): { owner: EntityMetadata; property: EntityProperty } | null {
  for (const owner of entitiesOf(mapper)) {
    for (const property of owner.relations as EntityProperty[]) {
      if (property.owner && property.pivotTable === table) return { owner, property };
    }
  }
  return null;
}

function isForeignKey({ kind, targetMeta, fieldNames, ...property }: EntityProperty): boolean {
  const toOne = kind === ReferenceKind.MANY_TO_ONE || kind === ReferenceKind.ONE_TO_ONE;
  const held = toOne && targetMeta !== undefined && fieldNames?.length > 0 && property.persist !== false;
  return held && !property.polymorphic && property.createForeignKeyConstraint !== false;
}

function holderOf(mapper: Mapper, meta: EntityMetadata, property: EntityProperty, groups: ActiveGroups): string | null {
  const pivot = meta.pivotTable ? pivotOf(mapper, meta.tableName) : null;
  const holder = pivot ?? { owner: meta, property };
  return isKnownTo(groups, holder.property) ? `${modelName(holder.owner)}.${jsonName(holder.property)}` : null;
}
