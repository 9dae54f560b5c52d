import { IsolationLevel } from '@mikro-orm/core';
import type { ApiRequest } from '../../access/user.ts';
import { dialectOf } from '../../dialect/dialect.ts';
import { isTurnLong, nextTurn } from '../../event-loop.ts';
import { rowsOf } from '../../query/entities/fetch.ts';
import { type KeySteps, stepThroughKeys } from '../../query/entities/key-steps.ts';
import { populatePlan } from '../../query/entities/populate.ts';
import { EntityVisibility, serializeVisible } from '../../query/visibility/entity-visibility.ts';
import { ChunkSize } from '../../response/chunk-size.ts';
import { type CollectionModel, collectionOf } from '../../response/collection.ts';
import type { ExportSource } from '../../response/export-stream.ts';
import type { ListRequest, Restriction } from '../../store/port.ts';
import { groupsOf, type RequestState, stateOf, withState } from '../../store/request-state.ts';
import { runHook } from '../hooks.ts';
import type { ApiRuntime } from '../start/runtime.ts';

/** Entities in memory at a time, and the approximate number of characters that are written for them. */
const chunkLimits = { first: 20, most: 200, length: 512 * 1024 };

/** Writes the JSON value of an entity as a line. */
export type WriteLine = (value: unknown) => string;

/** The entities of a list in chunks, all of one snapshot. Hooks receive each chunk as if it were a page. */
export class EntityExport implements ExportSource {
  readonly #runtime: ApiRuntime;
  readonly #request: ApiRequest;
  readonly #restriction: Restriction;
  readonly #list: Omit<ListRequest, 'window'>;
  readonly #state: RequestState;
  readonly #write: WriteLine;
  readonly #size = new ChunkSize(chunkLimits);
  #keys: KeySteps | null = null;
  #count = 0;
  #exported = 0;
  /** The running operation: an entity manager does one at a time. */
  #turn: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  private constructor(
    runtime: ApiRuntime,
    request: ApiRequest,
    restriction: Restriction,
    list: Omit<ListRequest, 'window'>,
    write: WriteLine,
  ) {
    this.#restriction = restriction;
    this.#list = list;
    this.#runtime = runtime;
    this.#request = request;
    this.#state = stateOf(request, runtime.framework.mapper);
    this.#write = write;
  }

  static async open(
    runtime: ApiRuntime,
    request: ApiRequest,
    restriction: Restriction,
    list: Omit<ListRequest, 'window'>,
    write: WriteLine,
  ): Promise<EntityExport> {
    const opened = new EntityExport(runtime, request, restriction, list, write);
    try {
      await withState(opened.#state, () => opened.#open());
    } catch (error) {
      await opened.close();
      throw error;
    }
    return opened;
  }

  next(): Promise<string | null> {
    const chunk = this.#turn.then(() => (this.#isClosed ? null : withState(this.#state, () => this.#chunk())));
    this.#turn = chunk.catch(() => undefined);
    return chunk;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#turn;
    this.#keys?.close();
    const { em } = this.#state;
    if (em.isInTransaction()) await em.rollback();
  }

  async #open(): Promise<void> {
    const { framework, meta } = this.#runtime;
    const { mapper } = framework;
    const { em } = this.#state;
    if (dialectOf(mapper).connections.hasSnapshots)
      await em.begin({ readOnly: true, isolationLevel: IsolationLevel.REPEATABLE_READ });
    const { count, keys } = await this.#runtime.entities.keys(em, this.#restriction, this.#list);
    this.#count = count;
    this.#keys = await stepThroughKeys(mapper, em, meta, keys);
  }

  async #chunk(): Promise<string | null> {
    const { framework, hooks, meta, overrides } = this.#runtime;
    const { em } = this.#state;
    const keys = await (this.#keys as KeySteps).next(this.#size.rows);
    if (keys.length === 0) return null;
    const rows = await rowsOf(em, meta, keys);
    await nextTurn();
    const serializer = framework.serializer(groupsOf(this.#request, framework.mapper));
    if (overrides.has('afterFetch')) await runHook(hooks.afterFetch('_index', this.#request, rows));
    await populatePlan(em, rows, serializer.planInside(meta));
    await nextTurn();
    this.#size.begin();
    const chunk = this.#collection(rows);
    if (overrides.has('beforeSerialize')) await runHook(hooks.beforeSerialize('_index', this.#request, chunk));
    const visibility = new EntityVisibility(framework.mapper, em, framework.visibilityOf(this.#request));
    const shown = (await serializeVisible(serializer, chunk.results, visibility)) as unknown[];
    let text = '';
    for (const row of shown) {
      text += this.#write(row);
      if (isTurnLong()) await nextTurn();
    }
    em.clear();
    this.#size.end(keys.length, text.length);
    this.#exported += rows.length;
    return text;
  }

  /** A chunk as the collection model that hooks expect, without links. */
  #collection(rows: readonly object[]): CollectionModel {
    const page = { page: 1, itemsPerPage: rows.length, offset: this.#exported };
    const { pagination, ...rest } = collectionOf(rows, { count: this.#count, is: 'exact' }, page, '', '');
    return { ...rest, pagination: { ...pagination, next: null, previous: null } };
  }
}
