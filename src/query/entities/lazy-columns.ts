import { type EntityMetadata, type EntityProperty, helper, ReferenceKind } from '@mikro-orm/core';
import type { RequestEntityManager } from '../../database/mapper.ts';
import { populateInSteps } from './populate-steps.ts';

/** Whether the column of a property is read only on demand. */
export function isLazyColumn({ kind, lazy }: EntityProperty): boolean {
  return kind === ReferenceKind.SCALAR && lazy === true;
}

/**
 * The lazy columns that entities of a class have values of. MikroORM must read them again together with the row: otherwise it takes
 * each for a change, and writes it once more.
 */
export function lazyColumnsOf({ props }: EntityMetadata, entities: readonly object[]): string[] {
  const has = ({ name }: EntityProperty) => entities.some((entity) => (entity as Record<string, unknown>)[name] !== undefined);
  return (props as EntityProperty[]).filter((property) => isLazyColumn(property) && has(property)).map(({ name }) => name);
}

/** Loads a lazy column of entities that are about to change. */
export async function loadLazyColumn(em: RequestEntityManager, entities: readonly object[], property: string): Promise<void> {
  // MikroORM loads lazy columns for entities of one class at a time
  for (const some of Map.groupBy(entities, (entity) => helper(entity).__meta as EntityMetadata).values())
    await populateInSteps(em, some, property);
}
