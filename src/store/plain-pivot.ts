import { type EntityMetadata, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import { isPlainReference } from '../change/stored-columns.ts';
import type { Mapper } from '../database/mapper.ts';
import { isComposite, keyOf, keyParts } from '../model/identifier.ts';
import { type Pivot, pivotOf } from '../query/rows/association.ts';

/** The pivot table of an association, if adding and removing changes only its rows; null otherwise. */
export function pivotFor(mapper: Mapper, meta: EntityMetadata, property: EntityProperty): Pivot | null {
  if (property.kind !== ReferenceKind.MANY_TO_MANY || !isPlainReference(property, [property.targetMeta as EntityMetadata]))
    return null;
  const { fixedOrder, inverseJoinColumns, joinColumns, pivotEntity, pivotTable, where } = property;
  const pivot = pivotEntity && (mapper.getMetadata().find(pivotEntity as never) as EntityMetadata | undefined);
  // a pivot table of the application's own can have further columns
  const target = property.targetMeta as EntityMetadata;
  const isWhole = joinColumns.length === keyParts(meta).length && inverseJoinColumns.length === keyParts(target).length;
  const isPlain = pivot?.pivotTable === true && pivot.props.length === 2 && isWhole;
  const isConverted = [meta, target].some((each) => !isComposite(each) && keyOf(each).customType);
  if (!isPlain || !pivotTable || fixedOrder || where || isConverted) return null;
  return pivotOf(mapper, property);
}
