import { Collection, type EntityMetadata, type EntityProperty, helper, Reference, Utils } from '@mikro-orm/core';
import type { RequestEntityManager } from '../../database/mapper.ts';
import { type Identifier, instanceKey } from '../../model/identifier.ts';
import { isInstance } from '../../query/rows/instance.ts';

/** An object that was made of a row, with its key and its metadata in MikroORM. */
export interface Watched {
  readonly instance: object;
  readonly meta: EntityMetadata;
  readonly key: Identifier;
}

interface InstanceSnapshot extends Watched {
  /** The properties that it had, and the content of each: see {@link contentOf}. */
  readonly names: readonly string[];
  readonly contents: readonly unknown[];
}

/** Detects the changes that application code makes to the objects that it gets. */
export class InstanceEffects {
  readonly #snapshots = new Map<object, InstanceSnapshot>();

  /** Takes a snapshot of objects, and of the objects that they refer to. */
  watch(watched: Iterable<Watched>): void {
    for (const { instance, key, meta } of watched) {
      if (this.#snapshots.has(instance)) continue;
      const names = Object.keys(instance);
      const contents: unknown[] = [];
      this.#snapshots.set(instance, { instance, key, meta, names, contents });
      for (const name of names) {
        const value = valueIn(instance, name);
        contents.push(contentOf(value));
        const referred = typeof value === 'object' && value !== null ? referredTo(value) : null;
        if (referred) this.watch([referred]);
      }
    }
  }

  /** The properties of an object that have changed since. */
  changesOf(instance: object): string[] {
    const { contents, meta, names } = this.#snapshots.get(instance) as InstanceSnapshot;
    const changed: string[] = [];
    for (const [i, name] of names.entries()) if (!isSame(contentOf(valueIn(instance, name)), contents[i])) changed.push(name);
    const now = Object.keys(instance);
    if (now.length > names.length) changed.push(...now.filter((name) => !names.includes(name) && isSet(valueIn(instance, name))));
    return changed.filter((name) => Object.hasOwn(meta.properties, name));
  }

  /** Whether code has changed a property that is not `expected` to change, in any object but some. */
  isMore(expected: (instance: object, name: string) => boolean, except: ReadonlySet<object> = new Set()): boolean {
    // a reference that code has loaded is managed by MikroORM from then on
    for (const { instance } of this.#snapshots.values())
      if (!except.has(instance) && isInstance(instance) && this.changesOf(instance).some((name) => !expected(instance, name)))
        return true;
    return false;
  }

  /** The key and metadata of an object; undefined if it was not made of a row. */
  find(instance: object): Watched | undefined {
    return this.#snapshots.get(instance);
  }

  /**
   * Applies the changes of the objects to managed entities, without running code of the application again. `further` are entities
   * that code has created.
   */
  async transfer(em: RequestEntityManager, further: readonly object[]): Promise<Transfer> {
    const transfer = new Transfer(em, this);
    for (const made of [...em.getUnitOfWork().getPersistStack(), ...further]) await transfer.entityOf(made as object);
    const changes: Change[] = [];
    for (const { instance, meta } of this.#snapshots.values()) {
      const names = this.changesOf(instance);
      if (names.length === 0) continue;
      const entity = (await transfer.entityOf(instance)) as Record<string, unknown>;
      for (const name of names)
        changes.push({ entity, property: meta.properties[name as never] as EntityProperty, value: valueIn(instance, name) });
    }
    // an item that refers to another owner now must not be removed, which collections would do
    const [collections, others] = [true, false].map((isMany) =>
      changes.filter((each) => each.value instanceof Collection === isMany),
    );
    for (const change of [...(others as Change[]), ...(collections as Change[])]) await transfer.set(change);
    return transfer;
  }
}

interface Change {
  readonly entity: Record<string, unknown>;
  readonly property: EntityProperty;
  readonly value: unknown;
}

/** Applies changes of objects made of rows to entities of one entity manager. */
class Transfer {
  readonly #em: RequestEntityManager;
  readonly #effects: InstanceEffects;
  readonly #made = new Set<object>();

  constructor(em: RequestEntityManager, effects: InstanceEffects) {
    this.#em = em;
    this.#effects = effects;
  }

  /** The entity of an object in a response. One that code has created is not stored for that alone. */
  async shown(object: object): Promise<object> {
    if (this.#effects.find(object)) return this.entityOf(object);
    await this.#refer(object);
    return object;
  }

  /** The managed entity of an object. An entity that code has created is returned itself. */
  async entityOf(object: object): Promise<object> {
    const known = this.#effects.find(object);
    if (known) return (await this.#em.findOneOrFail(known.meta.class, known.key as never, { filters: false } as never)) as object;
    if (!helper(object).__managed && !this.#made.has(object)) {
      this.#made.add(object);
      await this.#adopt(object);
    }
    return object;
  }

  async set({ entity, property, value }: Change): Promise<void> {
    const name = property.name as string;
    if (value instanceof Collection) await this.#setItems(entity[name] as Collection<object>, value as Collection<object>);
    else {
      entity[name] = await this.#valueOf(value);
      // the entity may have been made of the object after the change: then its original data has the new value
      const stored = helper(entity).__originalEntityData as Record<string, unknown> | undefined;
      if (stored) delete stored[name];
    }
  }

  async #setItems(collection: Collection<object>, wanted: Collection<object>): Promise<void> {
    const items = await Promise.all(wanted.getItems(false).map((item) => this.entityOf(item)));
    if (!collection.isInitialized()) return void collection.add(items);
    collection.remove(collection.getItems().filter((item) => !items.includes(item)));
    const inverse = collection.property.mappedBy as string | undefined;
    const isElsewhere = (item: object) => {
      const owner = inverse === undefined ? null : valueIn(item, inverse);
      return owner instanceof Object && !(owner instanceof Collection) && Reference.unwrapReference(owner) !== collection.owner;
    };
    collection.add(items.filter((item) => !collection.contains(item) && !isElsewhere(item)));
  }

  /** The same for an entity that is not stored: setting its references would put it into the lists of others. */
  async #refer(made: object, seen = new Set<object>()): Promise<void> {
    if (helper(made).__managed || seen.has(made)) return;
    seen.add(made);
    const values = helper(made).__data as Record<string, unknown>;
    for (const { name } of helper(made).__meta.relations as EntityProperty[]) {
      const value = values[name as string];
      const referred = Reference.isReference(value) ? (value.unwrap() as object) : value;
      if (!Utils.isEntity(referred)) continue;
      if (this.#effects.find(referred)) values[name as string] = await this.#valueOf(value);
      else await this.#refer(referred, seen);
    }
  }

  /** Replaces the references of an entity that code has created by managed entities. */
  async #adopt(entity: object): Promise<void> {
    for (const { name } of helper(entity).__meta.relations as EntityProperty[]) {
      const value = valueIn(entity, name as string);
      if (value instanceof Collection) await this.#setItems(value as Collection<object>, value as Collection<object>);
      else if (typeof value === 'object' && value !== null)
        (entity as Record<string, unknown>)[name as string] = await this.#valueOf(value);
    }
    this.#em.persist(entity);
  }

  async #valueOf(value: unknown): Promise<unknown> {
    if (Reference.isReference(value)) return Reference.create((await this.entityOf(value.unwrap() as object)) as never);
    return Utils.isEntity(value) ? this.entityOf(value as object) : value;
  }
}

/** Whether a property that an object did not have was set. An unloaded collection appears as soon as code accesses it. */
function isSet(value: unknown): boolean {
  return !(value instanceof Collection) || value.isDirty();
}

/** The object of a row that a value refers to; null if it is none. */
function referredTo(value: object): Watched | null {
  const instance = Reference.isReference(value) ? (value.unwrap() as object) : value;
  if (!isInstance(instance)) return null;
  const meta = (instance as { __meta?: EntityMetadata }).__meta as EntityMetadata;
  return { instance, meta, key: instanceKey(meta, instance) as Identifier };
}

function valueIn(instance: object, name: string): unknown {
  return (instance as Record<string, unknown>)[name];
}

/** A value that differs if the given one was changed, even inside. No code of the application runs for it. */
function contentOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (isEmbeddable(value)) return Object.entries(value).flatMap(([name, part]) => [name, contentOf(part)]);
  if (Array.isArray(value) && value.some(isEmbeddable)) return value.map(contentOf);
  if (value instanceof Date) return value.getTime();
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
  if (value instanceof Collection) return value.isDirty() ? Symbol('changed') : value;
  if (Utils.isEntity(value, true)) return value;
  return JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}n` : part));
}

function isSame(content: unknown, other: unknown): boolean {
  if (!Array.isArray(content) || !Array.isArray(other)) return content === other;
  return content.length === other.length && content.every((part, i) => isSame(part, other[i]));
}

/** Whether a value is an embeddable, whose `toJSON` leaves out hidden properties, and calls serializers. */
function isEmbeddable(value: unknown): boolean {
  return (value as { readonly __meta?: EntityMetadata } | null | undefined)?.__meta?.embeddable === true;
}
