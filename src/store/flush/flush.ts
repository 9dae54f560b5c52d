import { Cascade, Collection, type EntityMetadata, type EntityProperty, helper, Reference, ReferenceKind } from '@mikro-orm/core';
import { valueProblem } from '../../change/conflict.ts';
import { isLinkChange, noteLinkChange } from '../../change/link-versions.ts';
import type { Mapper, RequestEntityManager } from '../../database/mapper.ts';
import { isTurnLong, nextTurn } from '../../event-loop.ts';
import { isToMany } from '../../model/field-plan.ts';
import { hasFlushCode } from '../unit-of-work.ts';
import { type LongLinks, linksOf, writeLinks } from './long-lists.ts';

/** Entities that are compared with their rows and written in one turn of the event loop. */
const stepSize = 250;

/** Items from which a list is left out while its owner is written. */
const longList = 100;

type UnitOfWork = ReturnType<RequestEntityManager['getUnitOfWork']>;
type Values = Record<string, unknown>;

/** Writes all changes, in several turns of the event loop if there are many entities. */
export async function flush(mapper: Mapper, em: RequestEntityManager): Promise<void> {
  try {
    const steps = FlushSteps.of(mapper, em);
    await (steps ? steps.run() : em.flush());
  } catch (error) {
    throw valueProblem(error) ?? error;
  }
}

/** The same, and then commits. */
export function commit(mapper: Mapper, em: RequestEntityManager): Promise<void> {
  const steps = FlushSteps.of(mapper, em);
  return steps ? steps.run(() => em.commit()) : em.commit();
}

/** Removes entities of one class and writes all other changes, in several turns of the event loop if there are many entities. */
export async function flushRemoved(mapper: Mapper, em: RequestEntityManager, entities: readonly object[]): Promise<void> {
  const steps = FlushSteps.of(mapper, em);
  if (await steps?.remove(entities)) return;
  for (const entity of entities) em.remove(entity);
  await em.flush();
}

/** A long list that is not in its entity until everything is written: MikroORM would visit each item whenever it visits the entity. */
interface DetachedList {
  readonly entity: object;
  readonly list: Collection<object>;
  /** The links to write; null if the rows of the items have them, or nothing changed. */
  readonly links: LongLinks | null;
}

/**
 * MikroORM compares all entities that it knows with their rows, and writes the changes, in one turn of the event loop. Here, it
 * knows only the entities of one step at a time, and only those that have changed.
 */
class FlushSteps {
  readonly #mapper: Mapper;
  readonly #em: RequestEntityManager;
  readonly #unit: UnitOfWork;
  /** The entities with a key, by the root of their class. */
  readonly #known = new Map<EntityMetadata, Map<string, object>>();
  readonly #detached: DetachedList[] = [];

  /** Null if one step does everything, or if code of the application takes part in it: it may use any entity. */
  static of(mapper: Mapper, em: RequestEntityManager): FlushSteps | null {
    const unit = em.getUnitOfWork();
    if (!isLong(unit) || unit.getRemoveStack().size > 0 || unit.getOrphanRemoveStack().size > 0) return null;
    const classes = new Set([...unit.getIdentityMap(), ...unit.getPersistStack()].map(metaOf));
    const hasCode = [...classes].some((meta) => hasFlushCode(mapper, meta));
    return hasCode ? null : new FlushSteps(mapper, em, unit, classes);
  }

  private constructor(mapper: Mapper, em: RequestEntityManager, unit: UnitOfWork, classes: ReadonlySet<EntityMetadata>) {
    this.#mapper = mapper;
    this.#em = em;
    this.#unit = unit;
    for (const { root } of classes) this.#known.set(root, unit.getIdentityMap().getStore(root) as Map<string, object>);
  }

  /** `last` runs when nothing is left to write. */
  async run(last?: () => Promise<void>): Promise<void> {
    const entities = new Set<object>([...this.#unit.getIdentityMap(), ...this.#unit.getPersistStack()]);
    this.#unit.getIdentityMap().clear();
    this.#unit.getPersistStack().clear();
    try {
      const owners = await this.#detachLists(entities);
      await this.#write([...owners]);
      for (const { links, list } of this.#detached) {
        if (!list.isDirty()) continue;
        if (links) await writeLinks(this.#em, links);
        list.takeSnapshot();
      }
      for (const owner of owners) entities.delete(owner);
      await this.#write(await this.#changed(entities));
      await last?.();
    } finally {
      for (const { entity, list } of this.#detached) (entity as Values)[list.property.name as string] = list;
      const map = this.#unit.getIdentityMap();
      for (const [root, those] of this.#known) {
        const store = map.getStore(root) as Map<string, object>;
        for (const [key, entity] of those) store.set(key, entity);
      }
    }
  }

  /** Removes entities. Returns false and does nothing if other rows may have to be written, or removed, with them. */
  async remove(entities: readonly object[]): Promise<boolean> {
    const isAlone = [...this.#known.keys()].every((root) => (root.relations as EntityProperty[]).every(isLeftAlone));
    const removed = new Set(entities);
    const others = [...this.#unit.getIdentityMap(), ...this.#unit.getPersistStack()].filter((each) => !removed.has(each));
    if (!isAlone || others.some((each) => helper(each).__initialized)) return false;
    const size = this.#em.config.get('batchSize');
    const map = this.#unit.getIdentityMap();
    map.clear();
    try {
      for (let from = 0; from < entities.length; from += size) {
        if (isTurnLong()) await nextTurn();
        for (const entity of entities.slice(from, from + size)) this.#em.remove(entity);
        await this.#em.flush();
      }
    } finally {
      for (const each of [...others, ...entities]) if (helper(each).__managed) map.store(each as never);
    }
    return true;
  }

  async #write(entities: readonly object[]): Promise<void> {
    for (let from = 0; from < entities.length; from += stepSize) {
      if (isTurnLong()) await nextTurn();
      for (const entity of entities.slice(from, from + stepSize)) this.#unit.getPersistStack().add(entity as never);
      await this.#em.flush();
      this.#forget();
    }
  }

  /** Takes the entities that a step has written or visited out of the unit of work. */
  #forget(): void {
    const map = this.#unit.getIdentityMap();
    for (const { root } of new Set([...map].map(metaOf))) {
      const known = this.#known.get(root) ?? new Map();
      this.#known.set(root, known);
      for (const [key, entity] of map.getStore(root)) known.set(key, entity as object);
    }
    map.clear();
  }

  /** Takes long lists out of their entities, and returns the entities whose lists have changed. */
  async #detachLists(entities: ReadonlySet<object>): Promise<ReadonlySet<object>> {
    const owners = new Set<object>();
    for (const entity of entities) {
      if (isTurnLong()) await nextTurn();
      for (const property of metaOf(entity).relations as EntityProperty[]) {
        const list = (entity as Values)[property.name as string];
        if (!isToMany(property) || !isLongList(list)) continue;
        const links = list.isDirty() ? linksOf(this.#mapper, entity, property, list) : null;
        if (list.isDirty() && !links && !areOwnRows(property, list, entities)) continue;
        if (list.isDirty()) owners.add(entity);
        if (isLinkChange(list)) noteLinkChange(this.#unit, entity);
        list.property = property as never;
        this.#detached.push({ entity, list, links });
        const empty = new Collection(entity);
        empty.property = property as never;
        (entity as Values)[property.name as string] = empty;
      }
    }
    return owners;
  }

  /**
   * The entities to write, in the order in which MikroORM writes them: rows whose unique value becomes null, new rows, and then other
   * rows.
   */
  async #changed(entities: Iterable<object>): Promise<readonly object[]> {
    const [first, added, others]: [object[], object[], object[]] = [[], [], []];
    for (const entity of entities) {
      if (isTurnLong()) await nextTurn();
      const changes = this.#changesOf(entity);
      if (changes === null) added.push(entity);
      else if (changes !== undefined) (clearsUnique(metaOf(entity), changes) ? first : others).push(entity);
    }
    return [...first, ...added, ...others];
  }

  /** The changed columns of a row. Null: it is new. Undefined: nothing has changed. */
  #changesOf(entity: object): Values | null | undefined {
    const { __originalEntityData: original, __meta: meta } = helper(entity);
    if (!original) return null;
    const comparator = this.#em.getComparator();
    const changes = comparator.diffEntities(meta.class, original, comparator.prepareEntity(entity as never)) as Values;
    for (const _ in changes) return changes;
    const isSame = (meta.relations as EntityProperty[]).every(
      ({ embedded, name }) => !embedded && isKnown((entity as Values)[name as string]),
    );
    return isSame ? undefined : changes;
  }
}

/** Whether nothing happens to the target of an association when its owner is removed. */
function isLeftAlone({ cascade, orphanRemoval }: EntityProperty): boolean {
  const removing = [Cascade.ALL, Cascade.REMOVE, Cascade.SCHEDULE_ORPHAN_REMOVAL];
  return !orphanRemoval && !cascade?.some((each) => removing.includes(each));
}

function isLong(unit: UnitOfWork): boolean {
  let count = unit.getPersistStack().size;
  for (const _ of unit.getIdentityMap()) if (++count > stepSize) return true;
  return count > stepSize;
}

function isLongList(value: unknown): value is Collection<object> {
  if (!(value instanceof Collection) || !value.isInitialized()) return false;
  const stored = value.isDirty() ? (value.getSnapshot()?.length ?? 0) : 0;
  return Math.max(value.length, stored) > longList;
}

/** Whether the changes of a list are changes of its items, all of which are written. */
function areOwnRows({ kind }: EntityProperty, list: Collection<object>, written: ReadonlySet<object>): boolean {
  if (kind !== ReferenceKind.ONE_TO_MANY || !list.getSnapshot()) return false;
  return list.getItems(false).every((item) => helper(item).__initialized && written.has(item));
}

/** Whether the value of an association leads to nothing that has to be written. */
function isKnown(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (value instanceof Collection) return !value.isDirty();
  const target = Reference.unwrapReference(value as object);
  return typeof target === 'object' && helper(target)?.__managed === true;
}

function clearsUnique({ uniqueProps }: EntityMetadata, changes: Values): boolean {
  return (uniqueProps as EntityProperty[]).some(
    ({ name }) => (name as string) in changes && (changes[name as string] ?? null) === null,
  );
}

function metaOf(entity: object): EntityMetadata {
  return helper(entity).__meta as EntityMetadata;
}
