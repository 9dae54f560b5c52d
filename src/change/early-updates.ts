import { type ChangeSet, type EntityMetadata, type EventArgs, type EventSubscriber, helper } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import { entitiesOf } from '../model/hierarchy.ts';
import { versionOf } from '../model/version.ts';

/**
 * If several rows of one flush get new unique values, the mapper clears the values that become null in a statement of their own
 * first, and then updates these rows once more together with the others. It adds the version of the first statement to the second
 * one, which counts the version up as well. PostgreSQL rejects a statement that sets a column twice.
 */
export function separateEarlyUpdates(mapper: Mapper): void {
  const versioned = entitiesOf(mapper).filter((meta) => versionOf(meta) !== null);
  if (versioned.length > 0) mapper.em.getEventManager().registerSubscriber(new EarlyUpdates(versioned));
}

class EarlyUpdates implements EventSubscriber {
  readonly #versioned: readonly EntityMetadata[];

  constructor(versioned: readonly EntityMetadata[]) {
    this.#versioned = versioned;
  }

  getSubscribedEntities(): never[] {
    return this.#versioned.map(({ class: type }) => type) as never[];
  }

  beforeUpdate({ changeSet, em, entity }: EventArgs<object>): void {
    if (!changeSet) return;
    const updates = [...em.getUnitOfWork(false).getExtraUpdates()] as unknown as readonly [
      object,
      unknown,
      unknown,
      ChangeSet<object>?,
    ][];
    const version = versionOf(helper(entity).__meta);
    const isSecond = updates.some(([, , , original]) => original === changeSet);
    if (version && isSecond) delete changeSet.payload[version.name as never];
  }
}
