import { type EntityMetadata, FlushMode, helper } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import { stillReferenced } from '../change/conflict.ts';
import { countLinksOf } from '../change/link-versions.ts';
import type { Mapper, RequestEntityManager } from '../database/mapper.ts';
import type { SortKey } from '../declaration/types.ts';
import { isTurnLong, nextTurn } from '../event-loop.ts';
import type { ActiveGroups } from '../model/groups.ts';
import { metaOfEntity } from '../model/hierarchy.ts';
import { entityKey, type Identifier } from '../model/identifier.ts';
import { hasKey } from '../model/key-condition.ts';
import { versionOf, versionText } from '../model/version.ts';
import { fetchOne, fetchPage } from '../query/entities/fetch.ts';
import { canHideRows } from '../query/entities/filters.ts';
import { countOf, keysAmong, orderedKeys } from '../query/entities/keys.ts';
import { lazyColumnsOf } from '../query/entities/lazy-columns.ts';
import { loadAgain } from '../query/entities/populate-steps.ts';
import { unrestrictedQuery } from '../query/entities/restriction.ts';
import { applyListQuery } from '../query/list/apply-list-query.ts';
import { isSameVersion, RowChanged, type RowVersion, readVersion } from '../query/rows/row-version.ts';
import { removeDependents } from './flush/dependents.ts';
import { commit, flush } from './flush/flush.ts';
import { touchReferring } from './inbound-versions.ts';
import type { Admission, Found, FoundPage, ListRequest, Restriction } from './port.ts';
import { groupsOf, stateOf } from './request-state.ts';
import { inTransaction } from './transaction.ts';

/** A row as a managed entity of the request. */
export class FoundEntity implements Found {
  readonly entity: object;
  readonly version: RowVersion | null;
  readonly #meta: EntityMetadata;

  constructor(entity: object, meta: EntityMetadata, version: RowVersion | null) {
    this.entity = entity;
    this.#meta = meta;
    this.version = version;
  }

  get key(): unknown {
    return entityKey(this.entity, true);
  }

  get versionText(): string | null {
    const property = versionOf(this.#meta);
    return property && versionText((this.entity as Record<string, unknown>)[property.name as string]);
  }

  json(): null {
    return null;
  }
}

/** Receives written entities, as they are stored, before the commit. If it throws, the write is rolled back. */
export type BeforeCommit = (request: ApiRequest, entities: readonly object[], groups: ActiveGroups) => Promise<void>;

/** Reads and writes rows of one model as entities of MikroORM. */
export class EntityStore {
  readonly #mapper: Mapper;
  readonly #meta: EntityMetadata;
  /** Decides which rows pass a restriction to a number of rows. */
  readonly #sort: readonly SortKey[];
  readonly #mostBytes: number;
  readonly #beforeCommit: BeforeCommit | undefined;

  /** `mostBytes`: the limit for the rows of a page. Beyond it, `page` throws `TooLargeError`. */
  constructor(
    mapper: Mapper,
    meta: EntityMetadata,
    sort: readonly SortKey[],
    mostBytes = Number.POSITIVE_INFINITY,
    beforeCommit?: BeforeCommit,
  ) {
    this.#beforeCommit = beforeCommit;
    this.#mapper = mapper;
    this.#meta = meta;
    this.#sort = sort;
    this.#mostBytes = mostBytes;
  }

  async find(request: ApiRequest, key: Identifier, restriction: Restriction, forChange = false): Promise<FoundEntity | null> {
    const { em } = stateOf(request, this.#mapper);
    // read before the entity, so that a later change is detected
    const version = forChange ? await this.#versionIn(em, key, restriction) : null;
    if (forChange && !version) return null;
    const entity = await fetchOne(em, this.#meta, key, restriction, this.#sort);
    if (entity) countLinksOf(entity);
    return entity && new FoundEntity(entity, this.#meta, version);
  }

  async page(request: ApiRequest, restriction: Restriction, { asked, plan, window }: ListRequest): Promise<FoundPage> {
    const { em } = stateOf(request, this.#mapper);
    const { counted, edges, rows } = await fetchPage(em, this.#meta, window, restriction, plan, asked, this.#mostBytes);
    return { counted, edges, entities: rows, json: () => null };
  }

  /** The number of rows of a list, and the statement of their keys in order. */
  async keys(em: RequestEntityManager, restriction: Restriction, { asked, plan }: Omit<ListRequest, 'window'>) {
    const restricted = restriction ?? (await unrestrictedQuery(em, this.#meta));
    const query = applyListQuery(() => em, this.#meta, restricted, asked, plan.ownSort);
    const { count } = await countOf(em, this.#meta, query, 'exact');
    return { count, keys: orderedKeys(em, this.#meta, query, plan.sort) };
  }

  /** Writes a new entity that `make` returns, all in one transaction, and returns it as it is stored. */
  async create(request: ApiRequest, make: () => Promise<object>): Promise<object> {
    const { em } = stateOf(request, this.#mapper);
    return this.#inTransaction(em, async () => {
      const entity = await make();
      if (isTurnLong()) await nextTurn();
      await flush(this.#mapper, em.persist(entity));
      if (isTurnLong()) await nextTurn();
      await this.#reread(em, entity);
      await this.#beforeCommit?.(request, [entity], groupsOf(request, this.#mapper));
      return entity;
    });
  }

  /**
   * Changes the row that access was checked for. Locks it, throws {@link RowChanged} if it has changed since the check, and
   * passes it to `edit`. Writes the changes of `edit`, and then rereads the entity from the database.
   */
  change<Result>(
    request: ApiRequest,
    admission: Admission,
    edit: (entity: object) => Promise<Result>,
  ): Promise<{ readonly entity: object; readonly result: Result } | null> {
    const { em } = stateOf(request, this.#mapper);
    return this.#inTransaction(em, async () => {
      const entity = await this.#lockRow(request, em, admission);
      if (!entity) return null;
      const result = await edit(entity);
      if (isTurnLong()) await nextTurn();
      await flush(this.#mapper, em);
      if (isTurnLong()) await nextTurn();
      await this.#reread(em, entity);
      await this.#beforeCommit?.(request, [entity], groupsOf(request, this.#mapper));
      return { entity, result };
    });
  }

  /** Removes the row that access was checked for. Returns null if it no longer exists. */
  async remove(request: ApiRequest, admission: Admission): Promise<object | null> {
    const { em } = stateOf(request, this.#mapper);
    try {
      return await inTransaction(em, async () => {
        const entity = await this.#lockRow(request, em, admission);
        if (!entity) return null;
        await touchReferring(this.#mapper, em, this.#meta, [admission.key]);
        await removeDependents(this.#mapper, em, this.#meta, [admission.key]);
        await em.remove(entity).flush();
        return entity;
      });
    } catch (error) {
      throw await stillReferenced(error, this.#meta, admission.key, em, this.#mapper, groupsOf(request, this.#mapper));
    }
  }

  #inTransaction<Result>(em: RequestEntityManager, work: () => Promise<Result>): Promise<Result> {
    return inTransaction(em, work, () => commit(this.#mapper, em));
  }

  /** The version of a row, unless it is hidden: reading a hidden row's version would take longer than finding no row. */
  async #versionIn(
    em: RequestEntityManager,
    key: Identifier,
    restriction: Restriction,
    lock = false,
  ): Promise<RowVersion | null> {
    const query = restriction ?? (canHideRows(this.#meta) ? await unrestrictedQuery(em, this.#meta) : null);
    const among = query && keysAmong(em, this.#meta, query, [key], this.#sort);
    return readVersion(this.#mapper, em, this.#meta, key, { among, lock });
  }

  /** Locks the row of an admission until the transaction ends, and returns its entity; null if it no longer exists. */
  async #lockRow(request: ApiRequest, em: RequestEntityManager, { found, key, restriction }: Admission): Promise<object | null> {
    const version = found
      ? await readVersion(this.#mapper, em, this.#meta, key, { lock: true })
      : await this.#versionIn(em, key, restriction, true);
    if (!version) return null;
    if (found?.version && !isSameVersion(found.version, version)) throw new RowChanged();
    if (found instanceof FoundEntity) {
      await this.#checkCollections(em, found.entity);
      return found.entity;
    }
    // the check was on the same row, read by a compiled statement; or nothing had to be checked
    const own = found ? null : restriction;
    return (await this.find(request, key, own))?.entity ?? null;
  }

  /** Throws if a to-many association that code loaded before the row was locked has changed since. */
  async #checkCollections(em: RequestEntityManager, entity: object): Promise<void> {
    for (const { name } of helper(entity).__meta.relations) {
      const collection = (entity as Record<string, unknown>)[name as string] as Loaded | undefined;
      if (typeof collection?.getItems !== 'function' || !collection.isInitialized() || collection.isDirty()) continue;
      if (isTurnLong()) await nextTurn();
      const before = keysIn(collection);
      await loadAgain(em, entity, name as string);
      if (isTurnLong()) await nextTurn();
      if (keysIn(collection) !== before) throw new RowChanged();
    }
  }

  /** Rereads the row of an entity in the transaction that wrote it, so that the response shows the stored values. */
  async #reread(em: RequestEntityManager, entity: object): Promise<void> {
    const meta = metaOfEntity(this.#mapper, entity);
    // MikroORM's own refresh converts the row to JSON and back, which not every type survives
    await em.findOne(meta.class, hasKey(meta, entityKey(entity)), {
      refresh: true,
      populate: lazyColumnsOf(meta, [entity]),
      filters: false,
      flushMode: FlushMode.COMMIT,
    } as never);
  }
}

interface Loaded {
  isInitialized(): boolean;
  isDirty(): boolean;
  getItems(check: boolean): object[];
}

function keysIn(collection: Loaded): string {
  const keys = collection.getItems(false).map((item) => String(entityKey(item)));
  return keys.sort().join('\n');
}
