import type { EntityMetadata } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import type { Cursors } from '../database/cursor.ts';
import type { Mapper } from '../database/mapper.ts';
import type { SortKey } from '../declaration/types.ts';
import { dialectOf } from '../dialect/dialect.ts';
import type { ActiveGroups } from '../model/groups.ts';
import type { Identifier } from '../model/identifier.ts';
import { pageQueries } from '../query/entities/key-query.ts';
import { keysAmong, orderedKeys } from '../query/entities/keys.ts';
import { type AnyQueryBuilder, unrestrictedQuery } from '../query/entities/restriction.ts';
import { applyListQuery } from '../query/list/apply-list-query.ts';
import { emptyListQuery } from '../query/list/list-query.ts';
import { CompiledExport } from '../query/rows/compiled-export.ts';
import type { CompiledPage, CompiledRead } from '../query/rows/compiled-read.ts';
import type { InstanceContext } from '../query/rows/instance.ts';
import { joinsFiltered } from '../query/rows/root-filter.ts';
import type { Reading } from '../query/rows/row-texts.ts';
import type { RowVersion } from '../query/rows/row-version.ts';
import { isSameForAll } from '../query/visibility/list-visibility.ts';
import type { RequestVisibility } from '../query/visibility/visibility.ts';
import type { SeenRows } from '../query/visibility/visibility-columns.ts';
import type { EntityStore } from './entity-store.ts';
import type { Found, FoundPage, LineFormat, ListRequest, Restriction } from './port.ts';
import { stateOf } from './request-state.ts';

/** Which embedded rows are visible to a caller. */
export type VisibilityOf = (request: ApiRequest) => RequestVisibility<ApiRequest>;

/** A row as the columns that a compiled statement read. */
export class FoundRow implements Found {
  readonly row: unknown[];
  readonly #read: CompiledRead;
  readonly #reading: Reading;
  readonly #makeEntity: () => object;
  #entity: object | null = null;

  constructor(row: unknown[], read: CompiledRead, reading: Reading, makeEntity: () => object) {
    this.row = row;
    this.#read = read;
    this.#reading = reading;
    this.#makeEntity = makeEntity;
  }

  get key(): unknown {
    return this.#read.keyOf(this.row);
  }

  get entity(): object {
    this.#entity ??= this.#makeEntity();
    return this.#entity;
  }

  get version(): RowVersion | null {
    return this.#read.rowVersionOf(this.row);
  }

  get versionText(): string | null {
    return this.#read.versionOf(this.row);
  }

  json(groups?: ActiveGroups): string | Promise<string> {
    const reading = groups ? { ...this.#reading, view: this.#read.views.ofNarrower(groups) } : this.#reading;
    return this.#read.json(this.row, reading);
  }
}

/** Rows that were written together, in the order of the request. */
export class FoundRows {
  readonly rows: readonly FoundRow[];
  readonly #read: CompiledRead;
  readonly #reading: Reading;

  constructor(rows: readonly FoundRow[], read: CompiledRead, reading: Reading) {
    this.rows = rows;
    this.#read = read;
    this.#reading = reading;
  }

  /** JSON objects, separated by commas. */
  json(): string | Promise<string> {
    return this.#read.jsonOf(
      this.rows.map(({ row }) => row),
      this.#reading,
    );
  }
}

/** Reads rows of one model by statements that were compiled at startup. */
export class RowStore {
  readonly read: CompiledRead;
  readonly #mapper: Mapper;
  readonly #meta: EntityMetadata;
  /** Decides which rows pass a restriction to a number of rows. */
  readonly sort: readonly SortKey[];
  readonly #entities: EntityStore;
  readonly #visibilityOf: VisibilityOf;
  readonly #cursors: Cursors;

  constructor(
    mapper: Mapper,
    meta: EntityMetadata,
    read: CompiledRead,
    {
      cursors,
      entities,
      sort,
      visibilityOf,
    }: { sort: readonly SortKey[]; entities: EntityStore; visibilityOf: VisibilityOf; cursors: Cursors },
  ) {
    this.#mapper = mapper;
    this.#meta = meta;
    this.read = read;
    this.sort = sort;
    this.#entities = entities;
    this.#visibilityOf = visibilityOf;
    this.#cursors = cursors;
  }

  find(request: ApiRequest, key: Identifier, restriction: Restriction): Promise<Found | null> {
    if (restriction || this.read.filtersPerRequest || this.read.limited.length > 0)
      return this.#findIn(request, key, restriction);
    return this.read.one(key).then(([row]) => this.#found(request, row));
  }

  async #findIn(request: ApiRequest, key: Identifier, restriction: Restriction): Promise<Found | null> {
    const reading = await this.readingWithVisibility(request);
    if (!restriction && !this.read.filtersPerRequest) {
      const [row] = await this.read.one(key, reading);
      return this.#found(request, row, reading);
    }
    const state = stateOf(request, this.#mapper);
    const query = restriction ?? (await unrestrictedQuery(state.em, this.#meta));
    if (!this.#isCompilable(query, restriction)) return this.#entities.find(request, key, restriction);
    const [row] = await (this.read.oneWhere(key, query, reading) ??
      this.read.oneOf(keysAmong(state.em, this.#meta, query, [key], this.sort), reading));
    return this.#found(request, row, reading);
  }

  /** A join in the model's own filters can add further filters, which only MikroORM applies. */
  #isCompilable(query: AnyQueryBuilder, restriction: Restriction): boolean {
    return restriction !== null || !joinsFiltered(query);
  }

  #found(request: ApiRequest, row: unknown[] | undefined, reading?: Reading): Found | null {
    return row ? this.foundRow(request, row, reading) : null;
  }

  foundRow(request: ApiRequest, row: unknown[], reading = this.readingFor(request)): FoundRow {
    return new FoundRow(row, this.read, reading, () => {
      if (this.read.subjectRefusal === null) return this.read.subjectOf(row, reading.context as InstanceContext);
      // code that only observes a request needs to know which row it is about, and no more
      const { em } = stateOf(request, this.#mapper);
      return em.getReference(this.#meta.class, this.read.keyOf(row) as never) as object;
    });
  }

  /** The context in which a request serializes rows that it has already read. */
  readingFor(request: ApiRequest): Reading {
    const context: InstanceContext = { em: () => stateOf(request, this.#mapper).em };
    if (this.read.limited.length === 0) return { context };
    return { context, visibility: { find: (meta, keys) => this.#visibilityOf(request).seen(meta, keys) } };
  }

  /**
   * The context in which a request reads rows. If possible, the statement itself determines which embedded rows the caller sees.
   */
  async readingWithVisibility(request: ApiRequest): Promise<Reading> {
    const reading = this.readingFor(request);
    if (!reading.visibility) return reading;
    const seen = await this.#visibilityOf(request).seenClasses(this.read.limited);
    return seen ? { ...reading, visibility: { seen } } : reading;
  }

  /** The same for rows that are read by a statement that also changes tables. Conditions in it do not see its own changes. */
  async readingWithin(request: ApiRequest, changed: readonly string[]): Promise<Reading> {
    const reading = await this.readingWithVisibility(request);
    const { visibility } = reading;
    if (!visibility || 'find' in visibility || !dialectOf(this.#mapper).sql.changesWithin) return reading;
    const isUnchanged = ({ isOfRowAlone, table }: SeenRows) => isOfRowAlone && !changed.includes(table);
    return visibility.seen.every((rows) => rows === null || rows.every(isUnchanged)) ? reading : this.readingFor(request);
  }

  async page(request: ApiRequest, restriction: Restriction, list: ListRequest): Promise<FoundPage> {
    const { asked, pace, plan, window } = list;
    const view = asked === emptyListQuery ? undefined : this.read.views.of(asked.sort && plan, asked.choice);
    const reading: Reading = { ...(await this.readingWithVisibility(request)), ...(view && { view }), pace };
    const isOfCaller = asked.condition !== null && !isSameForAll(asked.condition);
    if (!restriction && !this.read.filtersPerRequest && !isOfCaller && view !== null) {
      const page = asked.condition ? this.read.pageAmong(asked.condition, window, reading) : this.read.page(window, reading);
      return foundPage(await page);
    }
    const state = stateOf(request, this.#mapper);
    const query = restriction ?? (await unrestrictedQuery(state.em, this.#meta));
    if (!this.#isCompilable(query, restriction)) return this.#entities.page(request, restriction, list);
    const narrowed = applyListQuery(() => state.em, this.#meta, query, asked, plan.ownSort);
    const where = view === null ? null : this.read.pageWhere(narrowed, window, reading);
    if (where) return foundPage(await where);
    const queries = pageQueries(state.em, this.#meta, narrowed, window, plan);
    const shown = view === null ? this.read.views.ofChoice(asked.choice) : reading.view;
    return foundPage(await this.read.pageOf(queries, window, { ...reading, ...(shown && { view: shown }) }));
  }

  async walk(
    request: ApiRequest,
    restriction: Restriction,
    { asked, plan }: Omit<ListRequest, 'window'>,
    { columns }: LineFormat,
  ): Promise<CompiledExport> {
    const write = this.read.lineWriter(columns, { ...this.readingFor(request), view: this.read.views.ofChoice(asked.choice) });
    const isWhole = asked.condition === null && asked.sort === null;
    if (!restriction && !this.read.filtersPerRequest && isWhole)
      return CompiledExport.open(this.#cursors, this.read.all(), write);
    const { em } = stateOf(request, this.#mapper);
    const query = restriction ?? (await unrestrictedQuery(em, this.#meta));
    const narrowed = applyListQuery(() => em, this.#meta, query, asked, plan.ownSort);
    const rows =
      (asked.sort ? null : this.read.allWhere(narrowed)) ?? this.read.allOf(orderedKeys(em, this.#meta, narrowed, plan.sort));
    return CompiledExport.open(this.#cursors, rows, write);
  }

  /** Whether compiled statements can export a query. Otherwise MikroORM has to: see {@link page}. */
  async canWalk(request: ApiRequest, restriction: Restriction): Promise<boolean> {
    if (restriction || !this.read.filtersPerRequest) return true;
    const { em } = stateOf(request, this.#mapper);
    return !joinsFiltered(await unrestrictedQuery(em, this.#meta));
  }
}

function foundPage({ counted, edges, items }: CompiledPage): FoundPage {
  return new WrittenPage(counted, edges, items);
}

/** A page whose rows are written already. */
class WrittenPage implements FoundPage {
  readonly counted: CompiledPage['counted'];
  readonly edges: CompiledPage['edges'];
  readonly #items: CompiledPage['items'];

  constructor(counted: CompiledPage['counted'], edges: CompiledPage['edges'], items: CompiledPage['items']) {
    this.counted = counted;
    this.edges = edges;
    this.#items = items;
  }

  // in an object literal, a getter would give each page a hidden class of its own, which keeps its text until a full collection
  get entities(): never {
    throw new Error('the rows of this page were not converted to objects');
  }

  json(): CompiledPage['items'] {
    return this.#items;
  }
}
