import { Collection, type EntityMetadata, helper, Reference } from '@mikro-orm/core';
import type { RequestEntityManager } from '../database/mapper.ts';
import type { AssociationField, FieldPlan } from '../model/field-plan.ts';

/**
 * Loads what a plan shows beyond the entities' own rows: one statement for each association of the plan, however many
 * entities there are.
 */
export async function populatePlan(em: RequestEntityManager, entities: readonly object[], plan: FieldPlan): Promise<void> {
  for (const [meta, group] of byClass(entities)) {
    const fields = plan.variants.get(meta);
    if (!fields) continue;
    for (const field of fields) {
      if (field.kind === 'scalar' && field.metadata.lazy) await load(em, group, field.property);
      if ((field.kind === 'to-one' || field.kind === 'to-many') && needsRows(field)) {
        await load(em, group, field.property);
        await populatePlan(em, associated(group, field.property), field.plan);
      }
    }
  }
}

async function load(em: RequestEntityManager, entities: object[], property: string): Promise<void> {
  await em.populate(entities, [property] as never);
}

/** A reference that shows nothing but its key is there already. */
function needsRows(field: AssociationField): boolean {
  return (
    field.kind === 'to-many' ||
    [...field.plan.variants.values()].some((fields) => fields.some(({ metadata }) => !metadata.primary))
  );
}

function byClass(entities: readonly object[]): Map<EntityMetadata, object[]> {
  const groups = new Map<EntityMetadata, object[]>();
  for (const entity of entities) {
    const meta = helper(entity).__meta;
    const group = groups.get(meta);
    if (group) group.push(entity);
    else groups.set(meta, [entity]);
  }
  return groups;
}

function associated(entities: object[], property: string): object[] {
  const found = new Set<object>();
  for (const entity of entities) {
    const value = (entity as Record<string, unknown>)[property];
    const items = value instanceof Collection ? value.getItems(false) : [Reference.unwrapReference(value as object)];
    for (const item of items) if (item && typeof item === 'object' && helper(item).isInitialized()) found.add(item);
  }
  return [...found];
}
