import {
  type EntityMetadata,
  type EntityProperty,
  type EventSubscriber,
  type FlushEventArgs,
  Reference,
  Utils,
} from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import { problem } from '../errors.ts';
import { valuesOf } from '../model/composite-key.ts';
import { jsonName } from '../model/field-plan.ts';
import { entitiesOf } from '../model/hierarchy.ts';
import { entityKey, keyParts } from '../model/identifier.ts';

/** A column of an association that another property has too, such as the tenant of both rows. */
export interface SharedColumn {
  readonly association: EntityProperty;
  /** The position of the column in the key of the associated row. */
  readonly at: number;
  readonly other: EntityProperty;
  /** The position of the column among those of the other property. */
  readonly otherAt: number;
}

/** The shared columns of a model. MikroORM writes each with one of its properties, and not with the others. */
export function sharedColumns(meta: EntityMetadata): SharedColumn[] {
  const properties = meta.props as EntityProperty[];
  return properties.flatMap((association) => {
    const { fieldNames, ownColumns, referencedColumnNames, targetMeta } = association;
    if (!targetMeta || targetMeta.embeddable || !ownColumns || (fieldNames?.length ?? 0) < 2) return [];
    return fieldNames.flatMap((column, i): SharedColumn[] => {
      if (ownColumns.includes(column)) return [];
      const other = properties.find(
        (each) => each !== association && each.persist !== false && each.fieldNames?.includes(column),
      );
      const at = keyParts(targetMeta).findIndex((part) => part.column === referencedColumnNames[i]);
      return other ? [{ association, at, other, otherAt: other.fieldNames.indexOf(column) }] : [];
    });
  });
}

/** Makes every flush reject references that other values of the row's shared columns would turn into references to another row. */
export function checkSharedColumns(mapper: Mapper): void {
  const shared = new Map(entitiesOf(mapper).map((meta) => [meta.class, sharedColumns(meta)] as const));
  for (const [type, columns] of shared) if (columns.length === 0) shared.delete(type);
  if (shared.size > 0) mapper.em.getEventManager().registerSubscriber(new SharedColumns(shared));
}

class SharedColumns implements EventSubscriber {
  readonly #shared: ReadonlyMap<unknown, readonly SharedColumn[]>;

  constructor(shared: ReadonlyMap<unknown, readonly SharedColumn[]>) {
    this.#shared = shared;
  }

  getSubscribedEntities(): never[] {
    return [...this.#shared.keys()] as never[];
  }

  onFlush({ uow }: FlushEventArgs): void {
    for (const { entity, meta, type } of uow.getChangeSets()) {
      if (type === 'delete' || type === 'delete_early') continue;
      for (const shared of this.#shared.get(meta.class) ?? []) check(entity as Record<string, unknown>, shared);
    }
  }
}

function check(entity: Record<string, unknown>, { association, at, other, otherAt }: SharedColumn): void {
  const referred = partsOf(entity[association.name]);
  if (referred === null || String(referred[at]) === String(partsOf(entity[other.name])?.[otherAt])) return;
  // callers may not know the other property
  throw problem('invalid_reference', {
    field: jsonName(association),
    reason: 'refers to a row whose key does not fit the other fields of this row',
  });
}

/** The values of a property's columns; null if it has none. */
function partsOf(value: unknown): readonly unknown[] | null {
  if (value === null || value === undefined) return null;
  return Utils.isEntity(value, true) ? valuesOf(entityKey(Reference.unwrapReference(value as object))) : [value];
}
