import type { EntityMetadata, EventSubscriber } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import { entitiesOf } from '../model/hierarchy.ts';
import { versionOf } from '../model/version.ts';

/** Takes part in flushes of entities with a version. Statements that write their rows need no such part. */
export abstract class VersionSubscriber implements EventSubscriber {
  readonly #versioned: readonly EntityMetadata[];

  constructor(versioned: readonly EntityMetadata[]) {
    this.#versioned = versioned;
  }

  getSubscribedEntities(): never[] {
    return this.#versioned.map(({ class: type }) => type) as never[];
  }
}

export function subscribe(mapper: Mapper, type: new (versioned: readonly EntityMetadata[]) => VersionSubscriber): void {
  const versioned = entitiesOf(mapper).filter((meta) => versionOf(meta) !== null);
  if (versioned.length > 0) mapper.em.getEventManager().registerSubscriber(new type(versioned));
}
