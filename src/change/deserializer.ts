import { type EntityMetadata, ScalarReference } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import type { Mapper, RequestEntityManager } from '../database/mapper.ts';
import { problem, type Violation, violationsProblem } from '../errors.ts';
import { isTurnLong, nextTurn } from '../event-loop.ts';
import { targetsOf } from '../model/field-plan.ts';
import { concreteClasses, metaOfEntity, modelName } from '../model/hierarchy.ts';
import { instanceKey } from '../model/identifier.ts';
import { isLazyColumn, loadLazyColumn } from '../query/entities/lazy-columns.ts';
import { loadLists } from '../query/entities/populate-steps.ts';
import { EntityVisibility } from '../query/visibility/entity-visibility.ts';
import type { AssociationReader } from './associations.ts';
import { chooseClass, isObject, readBody, type WriteMode } from './body-reader.ts';
import { assignInTurns, createInTurns } from './long-assign.ts';
import {
  type NestedField,
  type NestedPlan,
  type NestedRow,
  nestedItems,
  noNested,
  planWithin,
  setOwner,
  splitBody,
} from './nested.ts';
import { planWrites, type WritePlan, type WritingGroups } from './write-plan.ts';

interface Scope {
  readonly em: RequestEntityManager;
  readonly request: ApiRequest;
  /** The associations whose rows are created as well. */
  readonly nested?: NestedPlan;
}

interface Created extends Deserialized {
  /** The rows that are created together with the entity. */
  readonly rows: readonly NestedRow[];
}

interface Deserialized {
  readonly entity: object;
  /** The violations of the body; their fields were not set. */
  readonly violations: readonly Violation[];
}

/** Makes entities from bodies, and applies bodies to entities, within a set of groups. */
export class Deserializer {
  readonly #mapper: Mapper;
  readonly #associations: AssociationReader;
  readonly #groups: WritingGroups;
  readonly #plans = new Map<EntityMetadata, WritePlan>();

  constructor(mapper: Mapper, associations: AssociationReader, groups: WritingGroups) {
    this.#mapper = mapper;
    this.#associations = associations;
    this.#groups = groups;
  }

  planFor(meta: EntityMetadata): WritePlan {
    let plan = this.#plans.get(meta);
    if (!plan) {
      plan = planWrites(this.#mapper, meta, this.#groups);
      this.#plans.set(meta, plan);
    }
    return plan;
  }

  /**
   * Reads the rows that bodies refer to by few statements, also those in nested lists, before each body is read. The bodies change
   * the `entities`, if there are any: then their lists are read as well.
   */
  async load(meta: EntityMetadata, bodies: readonly unknown[], scope: Scope, entities: readonly object[] = []): Promise<void> {
    const { nested = noNested } = scope;
    const resolve = this.#associations.forFieldsOf(meta);
    for (const field of this.planFor(meta).fields.values()) {
      const sent = (body: unknown) => isObject(body) && Object.hasOwn(body, field.name);
      if (isLazyColumn(field.metadata)) {
        const changed = entities.filter((_, index) => sent(bodies[index]));
        await loadLazyColumn(scope.em, changed, field.property);
      }
      if (field.kind !== 'to-one' && field.kind !== 'to-many') continue;
      await resolve.load(
        field,
        bodies.filter(sent).flatMap((body) => (body as Record<string, unknown>)[field.name]),
        scope,
      );
      const changed = field.kind === 'to-many' ? entities.filter((_, index) => sent(bodies[index])) : [];
      if (changed.length > 1) await loadLists(scope.em, changed, field.property);
    }
    for (const [name, { maxItems, nested: inner, property }] of nested) {
      const [target, ...others] = targetsOf(property);
      if (!target || others.length > 0) continue;
      const lists = bodies.map((body) => (isObject(body) ? body[name] : null));
      const items = lists.flatMap((list) => (Array.isArray(list) && list.length <= maxItems ? list : []));
      if (items.length > 0) await this.load(target, items, { ...scope, nested: inner });
    }
  }

  /** A new entity of one of the classes, to be written by the next flush. */
  async create(metas: readonly EntityMetadata[], body: Record<string, unknown>, scope: Scope): Promise<Created> {
    return this.#create(metas, body, scope, scope.nested ?? noNested, '', null);
  }

  async #create(
    metas: readonly EntityMetadata[],
    body: Record<string, unknown>,
    scope: Scope,
    nested: NestedPlan,
    path: string,
    within: NestedField | null,
  ): Promise<Created> {
    const concrete = metas.flatMap((meta) => concreteClasses(this.#mapper, meta));
    const own = this.planFor(chooseClass(concrete, this.planFor(metas[0] as EntityMetadata).typeKey, body, path));
    const plan = within ? planWithin(own, within.property) : own;
    const split = nested.size > 0 ? splitBody(plan, body, nested) : { body, lists: [] };
    const { values, violations } = await this.#read(plan, split.body, null, 'create', scope, path);
    const rows: NestedRow[] = [];
    const children: { readonly field: NestedField; readonly entity: object }[] = [];
    for (const { field, items, name } of split.lists) {
      await field.check(scope.request);
      for (const item of nestedItems(field, items, path + name, violations)) {
        const targets = targetsOf(field.property);
        const made = await this.#create(targets, item.body, scope, field.nested, `${item.path}.`, field);
        violations.push(...made.violations);
        rows.push({ entity: made.entity, path: item.path }, ...made.rows);
        children.push({ field, entity: made.entity });
        if (isTurnLong()) await nextTurn();
      }
    }
    // A constructor with parameters would be called without the invalid values.
    if (violations.length > 0 && (plan.meta.constructorParams?.length ?? 0) > 0) throw violationsProblem(violations);
    refuseKnown(scope.em, plan, values);
    const entity = await createInTurns(scope.em, plan.meta, values);
    for (const { entity: child, field } of children) {
      if (isTurnLong()) await nextTurn();
      const collection = (entity as Record<string, { add(item: object): void }>)[field.property.name as string];
      collection?.add(child);
      setOwner(scope.em, child, field.property, entity);
    }
    return { entity, violations, rows };
  }

  /** Sets on an entity the fields that were sent, or all of them. */
  async update(entity: object, body: Record<string, unknown>, mode: 'patch' | 'replace', scope: Scope): Promise<Deserialized> {
    const plan = this.planFor(metaOfEntity(this.#mapper, entity));
    // JSON is merged with what is stored, and a value that is unknown would count as changed
    for (const { metadata, name, property } of plan.fields.values())
      if (isLazyColumn(metadata) && (mode === 'replace' || Object.hasOwn(body, name)))
        await loadLazyColumn(scope.em, [entity], property);
    const { values, violations } = await this.#read(plan, body, entity, mode, scope);
    if (isTurnLong()) await nextTurn();
    const assigned: Record<string, unknown> = {};
    for (const field of plan.fields.values()) {
      if (!Object.hasOwn(values, field.property)) continue;
      const value = values[field.property];
      const isReference = field.kind === 'scalar' && field.metadata.ref === true;
      const isMade = isReference || (field.kind === 'scalar' && field.custom) || (field.kind === 'embedded' && isInstance(value));
      const target = isMade ? (entity as Record<string, unknown>) : assigned;
      target[field.property] = isReference ? new ScalarReference(value, true) : value;
    }
    await assignInTurns(scope.em, entity, assigned, {
      mergeObjectProperties: false,
      mergeEmbeddedProperties: mode === 'patch',
    });
    return { entity, violations };
  }

  #read(
    plan: WritePlan,
    body: Record<string, unknown>,
    entity: object | null,
    mode: WriteMode,
    { em, request }: Scope,
    path = '',
  ) {
    const resolve = this.#associations.forFieldsOf(plan.meta);
    const visibility = new EntityVisibility(this.#mapper, em, this.#associations.references.visibilityOf(request));
    return readBody(plan, body, entity, {
      em,
      request,
      mode,
      path,
      resolve,
      hiddenAmong: ({ targets }, associated) => visibility.hiddenAmong(targets, associated),
    });
  }
}

/** Whether a value is an embedded object of a class of its own, which MikroORM would merge into the one before. */
function isInstance(value: unknown): boolean {
  return isObject(value) && Object.getPrototypeOf(value) !== Object.prototype;
}

/** Rejects the key of a row that was read already, or that was created before: the mapper would change that row instead. */
function refuseKnown(em: RequestEntityManager, { fields, meta }: WritePlan, values: Record<string, unknown>): void {
  if (meta.primaryKeys.some((name) => values[name] === undefined || values[name] === null)) return;
  if (!em.getUnitOfWork().getById(meta.class as never, instanceKey(meta, values) as never)) return;
  const properties = [...fields.values()].filter(({ metadata }) => metadata.primary).map(({ name }) => name);
  throw problem('conflict_unique', { model: modelName(meta), properties: properties.join(', ') });
}
