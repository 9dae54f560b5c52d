import { IsolationLevel } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import { dialectOf } from '../dialect/dialect.ts';
import type { Asked } from '../query/asked.ts';
import { askedQuery } from '../query/asked-query.ts';
import { EntitySight, serializeInSight } from '../query/entity-sight.ts';
import { rowsOf } from '../query/fetch.ts';
import { type KeySteps, stepThroughKeys } from '../query/key-steps.ts';
import { countOf, orderedKeys } from '../query/keys.ts';
import { populatePlan } from '../query/populate.ts';
import { restrictedQuery } from '../query/restriction.ts';
import { type CollectionModel, collectionOf } from '../response/collection.ts';
import type { ExportSource } from '../response/export-stream.ts';
import { heed } from './hooks.ts';
import { type RequestState, stateOf, withState } from './request-state.ts';
import { type ApiRuntime, restrictionOf, seenBy } from './runtime.ts';

/** Entities that are in memory at a time. */
const chunkSize = 200;

/** Writes an entity, as it stands in JSON, as a line. */
export type WriteLine = (value: unknown) => string;

/** The entities of a list, a chunk at a time and all of one snapshot; hooks are shown each chunk as if it were a page. */
export class EntityExport implements ExportSource {
  readonly #runtime: ApiRuntime;
  readonly #request: ApiRequest;
  readonly #asked: Asked;
  readonly #state: RequestState;
  readonly #write: WriteLine;
  #keys: KeySteps | null = null;
  #count = 0;
  #given = 0;
  /** What is under way: an entity manager does one thing at a time. */
  #turn: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  private constructor(runtime: ApiRuntime, request: ApiRequest, asked: Asked, write: WriteLine) {
    this.#asked = asked;
    this.#runtime = runtime;
    this.#request = request;
    this.#state = stateOf(request, runtime.framework.mapper);
    this.#write = write;
  }

  static async open(runtime: ApiRuntime, request: ApiRequest, asked: Asked, write: WriteLine): Promise<EntityExport> {
    const opened = new EntityExport(runtime, request, asked, write);
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
    const restrict = restrictionOf(this.#runtime, '_index', this.#request);
    const restricted = await restrictedQuery(em, meta, restrict ?? (() => undefined));
    const { sort } = this.#runtime.listOf('_index').planOf(this.#asked);
    const asked = await seenBy(this.#runtime, this.#request, this.#asked);
    const query = askedQuery(em, meta, restricted, asked, sort);
    this.#count = (await countOf(em, meta, query, 'exact')).count;
    this.#keys = await stepThroughKeys(mapper, em, meta, orderedKeys(em, meta, query, sort));
  }

  async #chunk(): Promise<string | null> {
    const { framework, hooks, meta } = this.#runtime;
    const { em } = this.#state;
    const keys = await (this.#keys as KeySteps).next(chunkSize);
    if (keys.length === 0) return null;
    const rows = await rowsOf(em, meta, keys);
    const serializer = framework.serializer();
    await heed(hooks.onPostFetchEntity('_index', this.#request, rows));
    await populatePlan(em, rows, serializer.planFor(meta));
    const chunk = this.#collection(rows);
    await heed(hooks.onBeforeSerialize('_index', this.#request, chunk));
    const sight = new EntitySight(framework.mapper, em, this.#request, framework.doors);
    const shown = (await serializeInSight(serializer, chunk.results, sight)) as unknown[];
    const text = shown.map((row) => this.#write(row)).join('');
    em.clear();
    this.#given += rows.length;
    return text;
  }

  /** A chunk in the form that hooks know, without links. */
  #collection(rows: readonly object[]): CollectionModel {
    const page = { page: 1, itemsPerPage: rows.length, offset: this.#given };
    const { pagination, ...rest } = collectionOf(rows, { count: this.#count, is: 'exact' }, page, '', '');
    return { ...rest, pagination: { ...pagination, next: null, previous: null } };
  }
}
