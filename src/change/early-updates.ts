import { type ChangeSet, type EventArgs, type EventSubscriber, helper } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import { versionOf } from '../model/version.ts';
import { subscribe, VersionSubscriber } from './version-subscriber.ts';

/**
 * If several rows of one flush get new unique values, the mapper clears the values that become null in a statement of their own
 * first, and then updates these rows once more together with the others. It adds the version of the first statement to the second
 * one, which counts the version up as well. PostgreSQL rejects a statement that sets a column twice.
 */
export function separateEarlyUpdates(mapper: Mapper): void {
  subscribe(mapper, EarlyUpdates);
}

class EarlyUpdates extends VersionSubscriber implements EventSubscriber {
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
