import { type EntityMetadata, FlushMode } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import { referencedAmong } from '../change/conflict.ts';
import { countLinksOf } from '../change/link-versions.ts';
import type { Executor } from '../database/executor.ts';
import type { Mapper, RequestEntityManager } from '../database/mapper.ts';
import type { SortKey } from '../declaration/types.ts';
import { dialectOf } from '../dialect/dialect.ts';
import { isTurnLong, mapInTurns, nextTurn } from '../event-loop.ts';
import type { ActiveGroups } from '../model/groups.ts';
import { metaOfEntity } from '../model/hierarchy.ts';
import { entityKey, type Identifier } from '../model/identifier.ts';
import { amongAny, asRow, hasOneOf, isSelected, keyColumnsOf } from '../model/key-condition.ts';
import { keysAmong } from '../query/entities/keys.ts';
import { lazyColumnsOf } from '../query/entities/lazy-columns.ts';
import { tableOf } from '../query/rows/table-name.ts';
import { locateConflict, rowsOfEntities } from './conflict-item.ts';
import { type BeforeCommit, FoundEntity } from './entity-store.ts';
import { removeDependents } from './flush/dependents.ts';
import { commit, flush, flushRemoved } from './flush/flush.ts';
import { touchReferring } from './inbound-versions.ts';
import { ofItem } from './item-errors.ts';
import type { Restriction } from './port.ts';
import { groupsOf, stateOf } from './request-state.ts';
import { inTransaction } from './transaction.ts';

/** The groups of an item, or of the whole list. */
type GroupsAt = (index: number | null) => ActiveGroups;

/** Reads and writes many rows of one model as entities of MikroORM: one transaction and one flush for all of them. */
export class BulkEntities {
  readonly #mapper: Mapper;
  readonly #meta: EntityMetadata;
  readonly #sort: readonly SortKey[];
  readonly #executor: Executor | null;

  readonly #beforeCommit: BeforeCommit;

  constructor(
    mapper: Mapper,
    meta: EntityMetadata,
    sort: readonly SortKey[],
    executor: Executor | null,
    beforeCommit: BeforeCommit,
  ) {
    this.#beforeCommit = beforeCommit;
    this.#mapper = mapper;
    this.#meta = meta;
    this.#sort = sort;
    this.#executor = executor;
  }

  /** Writes the entities that `make` returns, and returns them as they are stored. */
  create(request: ApiRequest, make: () => Promise<readonly object[]>): Promise<readonly object[]> {
    let made: readonly object[] = [];
    return this.#transaction(
      request,
      () => made,
      () => groupsOf(request, this.#mapper),
      async (em) => {
        made = await make();
        await flush(this.#mapper, em.persist([...made]));
        await this.#reread(em, made);
        await this.#beforeCommit(request, made, groupsOf(request, this.#mapper));
        return made;
      },
    );
  }

  /**
   * Locks the rows with some keys, in the order of their keys, and reads those that pass the restriction. `edit` receives them by
   * their keys as text, and returns those that it has changed. `groupsAt` are the groups of each.
   */
  change(
    request: ApiRequest,
    keys: readonly Identifier[],
    restriction: Restriction,
    groupsAt: GroupsAt,
    edit: (found: ReadonlyMap<string, FoundEntity>) => Promise<readonly object[]>,
  ): Promise<readonly object[]> {
    let changed: readonly object[] = [];
    return this.#transaction(
      request,
      () => changed,
      groupsAt,
      async (em) => {
        changed = await edit(await this.#locked(em, keys, restriction));
        await flush(this.#mapper, em);
        await this.#reread(em, changed);
        const indexes = new Map(changed.map((entity, index) => [entity, index]));
        for (const [groups, some] of Map.groupBy(changed, (entity) => groupsAt(indexes.get(entity) as number)))
          await this.#beforeCommit(request, some, groups);
        return changed;
      },
    );
  }

  /** The same for rows that are removed. */
  async remove(
    request: ApiRequest,
    keys: readonly Identifier[],
    restriction: Restriction,
    admit: (found: ReadonlyMap<string, FoundEntity>) => Promise<readonly object[]>,
  ): Promise<readonly object[]> {
    const { em } = stateOf(request, this.#mapper);
    try {
      return await this.#transaction(
        request,
        () => [],
        () => groupsOf(request, this.#mapper),
        async () => {
          const removed = await admit(await this.#locked(em, keys, restriction));
          await touchReferring(this.#mapper, em, this.#meta, keys);
          const removedKeys = removed.map((entity) => entityKey(entity));
          await removeDependents(this.#mapper, em, this.#meta, removedKeys);
          await flushRemoved(this.#mapper, em, removed);
          return removed;
        },
      );
    } catch (error) {
      const groups = groupsOf(request, this.#mapper);
      const referenced = await referencedAmong(error, this.#meta, keys, em, this.#mapper, groups);
      throw referenced ? ofItem(referenced.problem, referenced.index) : error;
    }
  }

  async #transaction<Result>(
    request: ApiRequest,
    written: () => readonly object[],
    groupsAt: GroupsAt,
    work: (em: RequestEntityManager) => Promise<Result>,
  ): Promise<Result> {
    const state = stateOf(request, this.#mapper);
    const { em } = state;
    try {
      const locked = async () => {
        const turn = dialectOf(this.#mapper).sql.turn?.(!state.isAlone);
        if (turn) await em.execute(turn.replace('$1', '?'), [tableOf(this.#mapper, this.#meta)]);
        return work(em);
      };
      return await inTransaction(em, locked, () => commit(this.#mapper, em));
    } catch (error) {
      const entities = written();
      if (entities.length === 0) throw error;
      const isNew = request.method === 'POST';
      const rowsOf = (table: string) => rowsOfEntities(this.#mapper, entities, isNew, table);
      throw (await locateConflict(error, { executor: this.#executor, mapper: this.#mapper, rowsOf, groupsAt })) ?? error;
    }
  }

  async #locked(
    em: RequestEntityManager,
    keys: readonly Identifier[],
    restriction: Restriction,
  ): Promise<ReadonlyMap<string, FoundEntity>> {
    if (keys.length === 0) return new Map();
    const platform = em.getPlatform();
    await this.#lock(em, keys, restriction);
    const entities: object[] = [];
    for (const some of chunksOf(keys)) {
      if (isTurnLong()) await nextTurn();
      const among = restriction && keysAmong(em, this.#meta, restriction, some, this.#sort);
      const where = { $and: [among ? isSelected(this.#meta, platform, among) : hasOneOf(this.#meta, platform, some)] };
      entities.push(...((await em.find(this.#meta.class, where as never, reading)) as object[]));
    }
    const found = await mapInTurns(entities, (entity) => {
      countLinksOf(entity);
      return [String(entityKey(entity)), new FoundEntity(entity, this.#meta, null)] as const;
    });
    return new Map(found);
  }

  /** Nobody else changes the rows until the transaction ends. Two lists lock the rows that both have in the same order. */
  async #lock(em: RequestEntityManager, keys: readonly Identifier[], restriction: Restriction): Promise<void> {
    const lock = dialectOf(this.#mapper).sql.rowLock('e');
    if (lock === '') return;
    const { root } = this.#meta;
    const platform = em.getPlatform();
    const columns = keyColumnsOf(root, platform, 'e');
    const among = restriction && keysAmong(em, this.#meta, restriction, keys, this.#sort);
    const where = among
      ? { sql: `${asRow(columns)} in (${among.sql})`, params: among.params }
      : amongAny(root, platform, columns, keys);
    const from = `${tableOf(this.#mapper, root)} as e`;
    const sql = `select 1 from ${from} where ${where.sql} order by ${columns.join(', ')}${lock}`;
    await em.execute(sql, [...where.params]);
  }

  /** Rereads rows in the transaction that wrote them, so that the response shows the stored values. */
  async #reread(em: RequestEntityManager, entities: readonly object[]): Promise<void> {
    for (const [meta, those] of Map.groupBy(entities, (entity) => metaOfEntity(this.#mapper, entity))) {
      for (const some of chunksOf(those)) {
        if (isTurnLong()) await nextTurn();
        const keys = some.map((entity) => entityKey(entity));
        const where = { $and: [hasOneOf(meta, em.getPlatform(), keys)] };
        await em.find(meta.class, where as never, { ...reading, populate: lazyColumnsOf(meta, some), filters: false } as never);
      }
    }
    if (isTurnLong()) await nextTurn();
  }
}

/** Rows that are read in one turn of the event loop. */
const chunkSize = 250;

function chunksOf<Item>(items: readonly Item[]): (readonly Item[])[] {
  const chunks: (readonly Item[])[] = [];
  for (let from = 0; from < items.length; from += chunkSize) chunks.push(items.slice(from, from + chunkSize));
  return chunks;
}

const reading = { refresh: true, flushMode: FlushMode.COMMIT };
