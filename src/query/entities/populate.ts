import { Collection, type EntityMetadata, type EntityProperty, helper, Reference } from '@mikro-orm/core';
import type { RequestEntityManager } from '../../database/mapper.ts';
import { isMadePivot } from '../../database/orm/made-pivot.ts';
import { type AssociationField, type Field, type FieldPlan, targetsOf } from '../../model/field-plan.ts';
import { isFiltered } from './filters.ts';
import { populateInSteps } from './populate-steps.ts';
import { sortAsDeclared } from './sort-lists.ts';

/**
 * Loads what a plan shows beyond the entities' own rows. It takes one statement for each association of the plan, whatever the
 * number and the classes of the entities. After a write, lists that code or a body has set get the order that the model declares.
 */
export async function populatePlan(
  em: RequestEntityManager,
  entities: readonly object[],
  plan: FieldPlan,
  isWritten = false,
): Promise<void> {
  for (const { metadata, owners, plans, property } of wanted(em, entities, plan, isWritten)) {
    const lists = isWritten && metadata.orderBy ? loadedLists(owners, property) : [];
    const incomplete = isWritten && isOfPivotModel(em, metadata) ? owners.filter((owner) => isLoadedList(owner, property)) : [];
    await populateInSteps(em, owners, property);
    if (incomplete.length > 0) await em.populate([...incomplete], [property] as never, { refresh: true } as never);
    await sortAsDeclared(em, metadata, lists);
    if (plans.some((each) => loadsMore(each, isWritten)))
      await populatePlan(em, associated(owners, property), union(plans), isWritten);
  }
}

interface Wanted {
  readonly property: string;
  readonly metadata: EntityProperty;
  /** The plans of the associated entities, one for each class that has the association. */
  readonly plans: FieldPlan[];
  readonly owners: object[];
}

/** Whether a plan shows anything beyond the entities' own rows. */
function loadsMore({ variants }: FieldPlan, isWritten: boolean): boolean {
  return [...variants.values()].some((fields) =>
    [...withinEmbeddables(fields, '')].some(({ field }) => isLoaded(field, isWritten)),
  );
}

/** Whether the value of a field is not read with the row. */
function isLoaded(field: Field, isWritten: boolean): boolean {
  if (field.kind === 'to-one' || field.kind === 'to-many') return needsRows(field, isWritten);
  return field.kind === 'scalar' && field.metadata.lazy === true;
}

/** The properties that have to be loaded. A property that several classes inherit is loaded once. */
function wanted(em: RequestEntityManager, entities: readonly object[], plan: FieldPlan, isWritten: boolean): Iterable<Wanted> {
  const found = new Map<string, Wanted>();
  for (const [meta, group] of byClass(em, entities)) {
    for (const { field, property } of withinEmbeddables(plan.variants.get(meta) ?? [], '')) {
      if (!isLoaded(field, isWritten)) continue;
      const isAssociation = field.kind === 'to-one' || field.kind === 'to-many';
      const { targetMeta, fieldNames, pivotTable } = field.metadata;
      // MikroORM loads lazy columns for entities of one class at a time
      const owner = isAssociation ? meta.root : meta;
      const key = JSON.stringify([owner.uniqueName, property, targetMeta?.uniqueName, fieldNames, pivotTable]);
      const same = found.get(key) ?? { property, metadata: field.metadata, plans: [], owners: [] };
      found.set(key, same);
      for (const each of group) same.owners.push(each);
      if (isAssociation) same.plans.push(field.plan);
    }
  }
  return found.values();
}

/** The fields of a row, including those within embedded objects, each with its path: `address.country`. */
function* withinEmbeddables(fields: readonly Field[], prefix: string): Generator<{ field: Field; property: string }> {
  for (const field of fields) {
    const property = prefix + field.property;
    if (field.kind !== 'embedded') yield { field, property };
    else for (const inner of field.plan.variants.values()) yield* withinEmbeddables(inner, `${property}.`);
  }
}

/** Everything that any of the plans shows. They differ at most in the depth at which they end. */
function union(plans: readonly FieldPlan[]): FieldPlan {
  const variants = new Map<EntityMetadata, readonly Field[]>();
  for (const plan of plans) {
    for (const [meta, fields] of plan.variants) {
      if (fields.length > (variants.get(meta)?.length ?? -1)) variants.set(meta, fields);
    }
  }
  return { variants };
}

/**
 * Whether associated rows must be loaded: a reference that shows only its key needs none, unless a part of the key shows more. A
 * written row was read without default filters, so it refers to rows that they hide; a loaded association does not.
 */
function needsRows(field: AssociationField, isWritten: boolean): boolean {
  return (
    field.kind === 'to-many' ||
    (isWritten && !field.metadata.mapToPk && targetsOf(field.metadata).some(isFiltered)) ||
    [...field.plan.variants.values()].some((fields) =>
      fields.some((inner) => !inner.metadata.primary || isLoaded(inner, isWritten)),
    )
  );
}

/** Groups entities by their class, as the mapper of the entity manager knows it. */
export function byClass(em: RequestEntityManager, entities: Iterable<object>): Map<EntityMetadata, object[]> {
  const groups = new Map<EntityMetadata, object[]>();
  for (const entity of entities) {
    const meta = em.getMetadata().get(helper(entity).__meta.class as never) as EntityMetadata;
    const group = groups.get(meta);
    if (group) group.push(entity);
    else groups.set(meta, [entity]);
  }
  return groups;
}

function associated(entities: readonly object[], path: string): object[] {
  const found = new Set<object>();
  for (const value of valuesAt(entities, path.split('.'))) {
    const items = value instanceof Collection ? value.getItems(false) : [Reference.unwrapReference(value as object)];
    for (const item of items) if (item && typeof item === 'object' && helper(item).isInitialized()) found.add(item);
  }
  return [...found];
}

/**
 * Whether rows of a model for a pivot table are in a list, or link its items. Two lists of an owner can write these rows, and each
 * is without those of the other.
 */
function isOfPivotModel(em: RequestEntityManager, { pivotEntity, targetMeta }: EntityProperty): boolean {
  if (targetMeta?.pivotTable) return true;
  const pivot = pivotEntity && em.getMetadata().find(pivotEntity as never);
  return pivot !== undefined && !isMadePivot(pivot);
}

function isLoadedList(owner: object, property: string): boolean {
  const value = (owner as Record<string, unknown>)[property];
  return value instanceof Collection && value.isInitialized();
}

/** The lists of a to-many association that are loaded already, as far as they can have an order. */
function loadedLists(owners: readonly object[], path: string): Collection<object>[] {
  const hasOrder = (value: unknown) => value instanceof Collection && value.isInitialized() && value.length > 1;
  return valuesAt(owners, path.split('.')).filter(hasOrder) as Collection<object>[];
}

function valuesAt(owners: readonly unknown[], [first, ...rest]: readonly string[]): unknown[] {
  if (first === undefined) return [...owners];
  const values = owners.flatMap((owner) => (owner as Record<string, unknown> | null)?.[first] ?? []);
  return valuesAt(values, rest);
}
