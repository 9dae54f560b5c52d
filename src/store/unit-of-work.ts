import { Cascade, type EntityMetadata, type EntityProperty, type EventType } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import { hasDiscriminator } from '../model/hierarchy.ts';
import { isBare } from '../model/own-code.ts';
import { canHideRows } from '../query/entities/filters.ts';
import { referringTo } from './inbound-versions.ts';

type Change = 'create' | 'update' | 'delete';

const events: Readonly<Record<Change, readonly (keyof typeof EventType)[]>> = {
  create: ['onInit', 'beforeCreate', 'afterCreate', 'beforeUpsert', 'afterUpsert'],
  update: ['onInit', 'beforeUpdate', 'afterUpdate'],
  delete: ['onInit', 'beforeDelete', 'afterDelete'],
};

const everywhere = ['beforeFlush', 'onFlush', 'afterFlush'] as const;

/** Whether a kind of change of the model's rows is more than statements: code of the application's, or work that the mapper does. */
export function needsUnitOfWork(mapper: Mapper, meta: EntityMetadata, change: Change): boolean {
  const manager = mapper.em.getEventManager();
  if ([...events[change], ...everywhere].some((event) => manager.hasListeners(event as EventType, meta))) return true;
  if (hasDiscriminator(meta) || canHideRows(meta)) return true;
  const properties = meta.props as EntityProperty[];
  if (properties.some(({ version, concurrencyCheck }) => version || concurrencyCheck)) return true;
  switch (change) {
    case 'create':
      return !isBare(meta);
    case 'update':
      return properties.some(({ onUpdate }) => onUpdate);
    case 'delete':
      // rows that refer to the removed one get a new version in the same transaction
      if (referringTo(mapper, meta).length > 0) return true;
      return (meta.relations as EntityProperty[]).some(
        ({ cascade, orphanRemoval }) =>
          orphanRemoval ||
          cascade?.some((each) => each === Cascade.REMOVE || each === Cascade.ALL || each === Cascade.SCHEDULE_ORPHAN_REMOVAL),
      );
  }
}
