import { type EntityMetadata, helper, Utils } from '@mikro-orm/core';
import type { Mapper, RequestEntityManager } from '../../database/mapper.ts';
import { isTurnLong, nextTurn } from '../../event-loop.ts';
import { keyFrom, valuesOf } from '../../model/composite-key.ts';
import { metaOfEntity } from '../../model/hierarchy.ts';
import { entityKey } from '../../model/identifier.ts';
import { hasOneOf } from '../../model/key-condition.ts';
import type { LongList, Serializer, VisibleRows } from '../../serialization/serializer.ts';
import type { RequestVisibility } from './visibility.ts';

/** Keys in one statement. */
const chunkSize = 1000;

const nothing: ReadonlySet<unknown> = new Set();

interface Unknown {
  readonly meta: EntityMetadata;
  readonly key: unknown;
  /** The entity, if its row was read and so its class is known. */
  readonly entity: object | null;
}

/**
 * The visibility of embedded entities for one caller. Rows whose visibility is not known yet are noted. {@link look} decides about all
 * of them with one statement for each class and API, however many rows there are. The JSON written until then is a draft and must
 * not be sent: see {@link serializeVisible}.
 */
export class EntityVisibility<Request> implements VisibleRows {
  readonly #mapper: Mapper;
  readonly #em: RequestEntityManager;
  readonly #visibility: RequestVisibility<Request>;
  /** By the table's class and the key in it. */
  readonly #known = new Map<EntityMetadata, Map<string, boolean>>();
  #unknown = new Map<EntityMetadata, Map<string, Unknown>>();
  /** Values that code of the model returned in an earlier draft: the code runs once for each entity and property. */
  readonly #computed = new Map<object, Map<string, unknown>>();
  #isClosed = false;
  #long: LongList[] = [];
  /** Whether a list was long, so that its JSON takes several turns of the event loop. */
  hasLong = false;

  readonly subjects: ReadonlySet<unknown>;

  constructor(
    mapper: Mapper,
    em: RequestEntityManager,
    visibility: RequestVisibility<Request>,
    subjects: ReadonlySet<unknown> = nothing,
  ) {
    this.subjects = subjects;
    this.#mapper = mapper;
    this.#em = em;
    this.#visibility = visibility;
  }

  isLimited(meta: EntityMetadata): boolean {
    return this.#visibility.isLimited(meta);
  }

  readonly later = (list: LongList): void => {
    this.hasLong = true;
    this.#long.push(list);
  };

  /** Writes the long lists of a draft in several turns of the event loop. */
  async writeLong(): Promise<void> {
    for (let list = this.#long.pop(); list; list = this.#long.pop()) {
      if (isTurnLong()) await nextTurn();
      for (const item of list.items()) {
        list.add(item);
        if (isTurnLong()) await nextTurn();
      }
    }
  }

  get isWritten(): boolean {
    return this.#long.length === 0;
  }

  computed(entity: object, property: string, compute: () => unknown): unknown {
    const known = ofMap(this.#computed, entity);
    if (!known.has(property)) known.set(property, compute());
    return known.get(property);
  }

  shows(entity: object): boolean {
    const wrapped = helper(entity);
    // an entity that was never written has no row
    if (!wrapped.hasPrimaryKey()) return true;
    const meta = metaOfEntity(this.#mapper, entity);
    return this.#isKnown({ meta, key: entityKey(entity), entity: wrapped.isInitialized() ? entity : null });
  }

  showsKey(meta: EntityMetadata, key: unknown): boolean {
    return this.#isKnown({ meta, key: keyFrom(valuesOf(key)), entity: null });
  }

  #isKnown(row: Unknown): boolean {
    const text = String(row.key);
    const known = this.#known.get(row.meta.root)?.get(text);
    if (known !== undefined || this.#isClosed) return known === true;
    // counts as visible for now, so that the rows that it embeds are noted in the same draft
    ofMap(this.#unknown, row.meta.root).set(text, row);
    return true;
  }

  /** The rows that were shown and could have been hidden, by the table's class and the text of the key in it. */
  *shownRows(): Iterable<readonly [EntityMetadata, string]> {
    for (const [root, keys] of this.#known) for (const [key, isShown] of keys) if (isShown) yield [root, key];
  }

  /** From now on, rows of unknown visibility are hidden. */
  close(): void {
    this.#isClosed = true;
  }

  /** Those of the associated entities, or of keys in their place, that the caller does not see. */
  async hiddenAmong(targets: readonly EntityMetadata[], associated: readonly unknown[]): Promise<readonly unknown[]> {
    if (!targets.some((target) => this.isLimited(target))) return [];
    const isShown = (value: unknown) =>
      Utils.isEntity<object>(value) ? this.shows(value) : this.showsKey(targets[0] as EntityMetadata, value);
    for (const value of associated) isShown(value);
    await this.decide();
    return associated.filter((value) => !isShown(value));
  }

  /** Decides about the rows that were noted since the last call; false if there were none. */
  async decide(): Promise<boolean> {
    const unknown = this.#unknown;
    this.#unknown = new Map();
    for (const [root, rows] of unknown) {
      const decisions = ofMap(this.#known, root);
      for (const key of rows.keys()) decisions.set(key, false);
      for (const [own, ofClass] of await this.#byClass([...rows.values()])) {
        const keys = new Map(ofClass.map(({ key }) => [String(key), key]));
        for (const key of await this.#visibility.seen(own, keys, async () => subjectsOf(ofClass))) decisions.set(key, true);
      }
    }
    return unknown.size > 0;
  }

  /** Groups rows by their concrete class. Rows that were not read are read first, unless their key decides everything. */
  async #byClass(rows: readonly Unknown[]): Promise<Map<EntityMetadata, Unknown[]>> {
    const byClass = new Map<EntityMetadata, Unknown[]>();
    const unread = new Map<EntityMetadata, Unknown[]>();
    for (const row of rows) {
      const isCertain = row.entity !== null || this.#visibility.isDecidedByKey(row.meta);
      listIn(isCertain ? byClass : unread, row.meta).push(row);
    }
    for (const [meta, some] of unread) {
      for (const chunk of chunksOf(some)) {
        const where = {
          $and: [
            hasOneOf(
              meta,
              this.#em.getPlatform(),
              chunk.map(({ key }) => key),
            ),
          ],
        };
        const options = { filters: false, disableIdentityMap: true };
        const found = (await this.#em.find(meta.class, where as never, options as never)) as object[];
        for (const entity of found) {
          const own = metaOfEntity(this.#mapper, entity);
          listIn(byClass, own).push({ meta: own, key: entityKey(entity), entity });
        }
      }
    }
    return byClass;
  }
}

function subjectsOf(rows: readonly Unknown[]): ReadonlyMap<string, object> {
  return new Map(rows.flatMap(({ entity, key }) => (entity ? [[String(key), entity] as const] : [])));
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

/** Maximum of drafts, as code of a model may return new entities in each of them. */
const maxDrafts = 5;

/** Serializes a value for one caller. Repeats that until the visibility of all embedded rows is known. */
export async function serializeVisible<Request>(
  serializer: Pick<Serializer, 'serialize'>,
  value: unknown,
  visibility: EntityVisibility<Request>,
): Promise<unknown> {
  for (let draft = 0; draft < maxDrafts; draft++) {
    const written = await draftOf(serializer, value, visibility);
    if (!(await visibility.decide())) return written;
  }
  visibility.close();
  return draftOf(serializer, value, visibility);
}

function draftOf<Request>(
  serializer: Pick<Serializer, 'serialize'>,
  value: unknown,
  visibility: EntityVisibility<Request>,
): unknown {
  const written = serializer.serialize(value, visibility);
  return visibility.isWritten ? written : visibility.writeLong().then(() => written);
}
