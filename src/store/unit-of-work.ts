import { Cascade, type EntityMetadata, type EntityProperty, type EventSubscriber, type EventType, Utils } from '@mikro-orm/core';
import { sharedColumns } from '../change/shared-columns.ts';
import { VersionSubscriber } from '../change/version-subscriber.ts';
import type { Mapper } from '../database/mapper.ts';
import { canHideRows } from '../query/entities/filters.ts';

type Change = 'create' | 'update' | 'delete';

const events: Readonly<Record<Change, readonly (keyof typeof EventType)[]>> = {
  create: ['onInit', 'beforeCreate', 'afterCreate', 'beforeUpsert', 'afterUpsert'],
  update: ['onInit', 'beforeUpdate', 'afterUpdate'],
  delete: ['onInit', 'beforeDelete', 'afterDelete'],
};

const everywhere = ['beforeFlush', 'onFlush', 'afterFlush'] as const;

/** MikroORM calls every subscriber with these, whichever entities it subscribes to. */
const unbound: readonly (keyof typeof EventType)[] = [
  ...everywhere,
  'beforeTransactionStart',
  'afterTransactionStart',
  'beforeTransactionCommit',
  'afterTransactionCommit',
  'beforeTransactionRollback',
  'afterTransactionRollback',
];

/** Why a flush is needed to write a class: application code for it, or work of our own in it. Null if there is none. */
function flushReason(mapper: Mapper, meta: EntityMetadata): string | null {
  const code = codeFor(mapper, meta, everywhere);
  if (code) return code;
  // those of the application: Declarest registers its own later
  const subscribers = mapper.config.get('subscribers') as readonly object[];
  const flushing = unbound.find((each) => subscribers.some((subscriber) => each in subscriber));
  return flushing ? `a subscriber has code for the event ${flushing}` : null;
}

/** Whether code of the application runs while rows of a class are written. */
export function hasFlushCode(mapper: Mapper, meta: EntityMetadata): boolean {
  return (flushReason(mapper, meta) ?? codeFor(mapper, meta, Object.values(events).flat())) !== null;
}

function codeFor(mapper: Mapper, meta: EntityMetadata, among: readonly (keyof typeof EventType)[]): string | null {
  const subscribers = [...mapper.em.getEventManager().getSubscribers()].filter((each) => concerns(each, meta));
  const event = among.find((each) => meta.hooks[each]?.length || subscribers.some((subscriber) => each in subscriber));
  return event ? `${meta.className} has code for the event ${event}` : null;
}

/** Whether code of the application subscribes to a class. */
function concerns(subscriber: EventSubscriber, meta: EntityMetadata): boolean {
  if (subscriber instanceof VersionSubscriber) return false;
  const types = (subscriber.getSubscribedEntities?.() ?? []).map((type) => Utils.classOrName(type) as unknown);
  return types.length === 0 || types.includes(meta.class) || types.includes(meta.className);
}

/** Why statements alone cannot make a kind of change: application code, or work that MikroORM does. Null if they can. */
export function unitOfWorkReason(mapper: Mapper, meta: EntityMetadata, change: Change): string | null {
  const name = meta.className;
  const [shared] = sharedColumns(meta);
  if (shared) {
    const [one, other] = [shared.association, shared.others[0]].map((holder) => String(holder?.property.name));
    return `${name}.${one} shares a column with ${other}`;
  }
  const code = codeFor(mapper, meta, events[change]) ?? flushReason(mapper, meta);
  if (code) return code;
  if (canHideRows(meta)) return `${name} has a filter, or refers to what a filter can hide`;
  const properties = meta.props as EntityProperty[];
  const compared = properties.find(({ concurrencyCheck }) => concurrencyCheck);
  if (compared) return `${name}.${String(compared.name)} has concurrencyCheck`;
  const versioned = properties.find(({ embedded, version }) => version && embedded);
  if (versioned) return `${name}.${String(versioned.name)} is a version in an embeddable`;
  switch (change) {
    case 'create':
      return null;
    case 'update': {
      const updated = properties.find(({ onUpdate }) => onUpdate);
      return updated ? `${name}.${String(updated.name)} has onUpdate` : null;
    }
    case 'delete': {
      const removing = (meta.relations as EntityProperty[]).find(
        ({ cascade, orphanRemoval }) =>
          orphanRemoval ||
          cascade?.some((each) => each === Cascade.REMOVE || each === Cascade.ALL || each === Cascade.SCHEDULE_ORPHAN_REMOVAL),
      );
      return removing ? `what ${name}.${String(removing.name)} holds is removed with it` : null;
    }
  }
}
