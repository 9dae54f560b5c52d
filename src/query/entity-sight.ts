import { type EntityMetadata, helper } from '@mikro-orm/core';
import type { Mapper, RequestEntityManager } from '../database/mapper.ts';
import { metaOfEntity } from '../model/hierarchy.ts';
import { keyOf } from '../model/identifier.ts';
import type { Serializer, Sight } from '../serialization/serializer.ts';
import { type Door, type Doors, queryThrough } from './doors.ts';
import { keysAmong } from './keys.ts';
import type { AnyQueryBuilder } from './restriction.ts';

/** Keys in one statement. */
const chunkSize = 1000;

interface Asked {
  readonly meta: EntityMetadata;
  readonly key: unknown;
  /** The entity, where its row was read and so its class is known. */
  readonly entity: object | null;
}

/**
 * What one request sees of embedded entities. What it is asked about first is not known yet: it is noted, and {@link look}
 * finds out about all of it with one statement for each class and door, however many rows there are. What was written until
 * then is a draft, and must not go out: see {@link serializeInSight}.
 */
export class EntitySight<Request> implements Sight {
  readonly #mapper: Mapper;
  readonly #em: RequestEntityManager;
  readonly #request: Request;
  readonly #doors: Doors<Request>;
  /** By the table's class and the key in it. */
  readonly #known = new Map<EntityMetadata, Map<string, boolean>>();
  #asked = new Map<EntityMetadata, Map<string, Asked>>();
  #isClosed = false;
  readonly #queries = new Map<Door<Request>, Promise<AnyQueryBuilder | null>>();

  constructor(mapper: Mapper, em: RequestEntityManager, request: Request, doors: Doors<Request>) {
    this.#mapper = mapper;
    this.#em = em;
    this.#request = request;
    this.#doors = doors;
  }

  isLimited(meta: EntityMetadata): boolean {
    return !this.#doors.isOpen(meta);
  }

  shows(entity: object): boolean {
    const wrapped = helper(entity);
    // what was never written is no row
    if (!wrapped.hasPrimaryKey()) return true;
    const meta = metaOfEntity(this.#mapper, entity);
    return this.#isKnown({ meta, key: wrapped.getPrimaryKey(), entity: wrapped.isInitialized() ? entity : null });
  }

  showsKey(meta: EntityMetadata, key: unknown): boolean {
    return this.#isKnown({ meta, key, entity: null });
  }

  #isKnown(asked: Asked): boolean {
    const text = String(asked.key);
    const known = this.#known.get(asked.meta.root)?.get(text);
    if (known !== undefined || this.#isClosed) return known === true;
    // what stands in the row is asked about in the same go
    ofMap(this.#asked, asked.meta.root).set(text, asked);
    return true;
  }

  /** From now on, nothing is in sight that was not looked at. */
  close(): void {
    this.#isClosed = true;
  }

  /** Those of the entities in an association, or of the keys in their place, that are out of sight. */
  async hiddenAmong(targets: readonly EntityMetadata[], associated: readonly unknown[]): Promise<readonly unknown[]> {
    if (!targets.some((target) => this.isLimited(target))) return [];
    const isShown = (value: unknown) =>
      typeof value === 'object' ? this.shows(value as object) : this.showsKey(targets[0] as EntityMetadata, value);
    for (const value of associated) isShown(value);
    await this.look();
    return associated.filter((value) => !isShown(value));
  }

  /** Finds out about what was asked for since the last look; false where everything was known. */
  async look(): Promise<boolean> {
    const asked = this.#asked;
    this.#asked = new Map();
    for (const [root, rows] of asked) {
      const answers = ofMap(this.#known, root);
      for (const key of rows.keys()) answers.set(key, false);
      for (const [own, ofClass] of await this.#byClass([...rows.values()])) {
        for (const key of await this.#seen(own, ofClass)) answers.set(key, true);
      }
    }
    return asked.size > 0;
  }

  /** Rows by their own class. Where nobody has read a row, and it can be of one class or another, it is read. */
  async #byClass(rows: readonly Asked[]): Promise<Map<EntityMetadata, Asked[]>> {
    const byClass = new Map<EntityMetadata, Asked[]>();
    const unread = new Map<EntityMetadata, Asked[]>();
    for (const row of rows) {
      const isCertain = row.entity !== null || this.#isTold(row.meta);
      listIn(isCertain ? byClass : unread, row.meta).push(row);
    }
    for (const [meta, some] of unread) {
      for (const chunk of chunksOf(some)) {
        const where = { [keyOf(meta).name]: { $in: chunk.map(({ key }) => key) } };
        const options = { filters: false, disableIdentityMap: true };
        const found = (await this.#em.find(meta.class, where as never, options as never)) as object[];
        for (const entity of found) {
          const own = metaOfEntity(this.#mapper, entity);
          listIn(byClass, own).push({ meta: own, key: helper(entity).getPrimaryKey(), entity });
        }
      }
    }
    return byClass;
  }

  /** Whether it makes no difference that a row was not read: it is of this class for sure, and nobody judges it. */
  #isTold(meta: EntityMetadata): boolean {
    const isAlone = meta.root === meta && !meta.root.discriminatorMap && meta.inheritanceType === undefined;
    return isAlone && !this.#doors.limitsOf(meta).some(({ readsSubject, restrict }) => restrict === null && readsSubject);
  }

  async #seen(own: EntityMetadata, rows: readonly Asked[]): Promise<Set<string>> {
    const hidden = new Map(rows.map((row) => [String(row.key), row]));
    const all = new Set(hidden.keys());
    if (await this.#doors.isOpenTo(this.#request, own)) return all;
    const limits = this.#doors.limitsOf(own);
    for (const door of limits.filter(({ restrict }) => restrict !== null)) {
      const query = await this.#query(door);
      if (!query) continue;
      for (const chunk of chunksOf([...hidden.values()])) {
        const keys = chunk.map(({ key }) => key);
        for (const key of await keysAmong(this.#em, door.meta, query, keys, door.sort)) hidden.delete(String(key));
      }
    }
    for (const door of limits.filter(({ readsSubject, restrict }) => restrict === null && readsSubject)) {
      for (const [key, { entity }] of hidden) {
        if (entity && (await door.admits(this.#request, entity))) hidden.delete(key);
      }
    }
    for (const key of hidden.keys()) all.delete(key);
    return all;
  }

  #query(door: Door<Request>): Promise<AnyQueryBuilder | null> {
    const query = this.#queries.get(door) ?? queryThrough(this.#em, this.#request, door);
    this.#queries.set(door, query);
    return query;
  }
}

function ofMap<Key, Value>(map: Map<Key, Map<string, Value>>, key: Key): Map<string, Value> {
  const found = map.get(key) ?? new Map<string, Value>();
  map.set(key, found);
  return found;
}

function listIn<Key, Value>(map: Map<Key, Value[]>, key: Key): Value[] {
  const found = map.get(key) ?? [];
  map.set(key, found);
  return found;
}

function chunksOf<Item>(items: readonly Item[]): Item[][] {
  const chunks: Item[][] = [];
  for (let start = 0; start < items.length; start += chunkSize) chunks.push(items.slice(start, start + chunkSize));
  return chunks;
}

/** How often a model's own code may give entities that were not there before. */
const mostDrafts = 5;

/** Serializes a value for one request: as often as it takes to know all that is embedded in it. */
export async function serializeInSight<Request>(
  serializer: Serializer,
  value: unknown,
  sight: EntitySight<Request>,
): Promise<unknown> {
  for (let draft = 0; draft < mostDrafts; draft++) {
    const written = serializer.serialize(value, sight);
    if (!(await sight.look())) return written;
  }
  sight.close();
  return serializer.serialize(value, sight);
}
