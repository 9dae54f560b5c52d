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

/** A property that has a column, and the position of the column among those of its value. */
interface Holder {
  readonly property: EntityProperty;
  readonly at: number;
}

/** A column of an association that other properties have too, such as the tenant of both rows. */
export interface SharedColumn {
  readonly association: Holder;
  readonly others: readonly Holder[];
}

/** The shared columns of a model. MikroORM writes each with one of its properties, and not with the others. */
export function sharedColumns(meta: EntityMetadata): SharedColumn[] {
  const properties = meta.props as EntityProperty[];
  return properties.flatMap((association) => {
    const { fieldNames, ownColumns, referencedColumnNames, targetMeta } = association;
    if (!targetMeta || targetMeta.embeddable || !ownColumns || (fieldNames?.length ?? 0) < 2) return [];
    return fieldNames.flatMap((column, i): SharedColumn[] => {
      if (ownColumns.includes(column)) return [];
      const others = properties.flatMap((property): Holder[] => {
        const isOther = property !== association && property.persist !== false && property.fieldNames?.includes(column);
        return isOther ? [{ property, at: property.fieldNames.indexOf(column) }] : [];
      });
      const at = keyParts(targetMeta).findIndex((part) => part.column === referencedColumnNames[i]);
      return others.length > 0 ? [{ association: { property: association, at }, others }] : [];
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

function check(entity: Record<string, unknown>, { association, others }: SharedColumn): void {
  const referred = valueIn(entity, association);
  if (referred === null) return;
  const values = others.map((other) => valueIn(entity, other)).filter((value) => value !== null);
  if (values.length > 0 && values.every((value) => value === referred)) return;
  // callers may not know the other properties
  throw problem('invalid_reference', {
    field: jsonName(association.property),
    reason: 'refers to a row whose key does not fit the other fields of this row',
  });
}

/** The value of a property's column as a text; null if it has none. */
function valueIn(entity: Record<string, unknown>, { at, property }: Holder): string | null {
  const value = entity[property.name];
  if (value === null || value === undefined) return null;
  const key = Utils.isEntity(value, true) ? entityKey(Reference.unwrapReference(value as object)) : value;
  const parts = valuesOf(key);
  return String(parts[at]);
}
