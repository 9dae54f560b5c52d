import type { EntityMetadata, Platform } from '@mikro-orm/core';
import type { Executor, Statement } from '../../database/executor.ts';
import { LruCache } from '../../database/lru-cache.ts';
import type { Mapper } from '../../database/mapper.ts';
import type { Step } from '../../database/writer.ts';
import type { CountMode, SortKey } from '../../declaration/types.ts';
import { type Dialect, dialectOf } from '../../dialect/dialect.ts';
import { choiceKey, type FieldChoice } from '../../model/field-choice.ts';
import type { FieldPlan } from '../../model/field-plan.ts';
import { type Identifier, keyOf } from '../../model/identifier.ts';
import { valueKindOf } from '../../model/value-kind.ts';
import { type Counted, noEdges, type PageEdges } from '../../response/collection.ts';
import type { CsvColumn } from '../../serialization/csv.ts';
import { compileCsvRowWriter } from '../../serialization/csv-row-writer.ts';
import type { RowField, RowsByKey, SeenKeys } from '../../serialization/row-writer.ts';
import { conditionOf } from '../entities/condition-query.ts';
import { isFiltered } from '../entities/filters.ts';
import type { AnyQueryBuilder } from '../entities/restriction.ts';
import { type Condition, conditionText } from '../list/condition.ts';
import { statementOf } from './bound-statement.ts';
import type { InstanceContext, MakeInstance } from './instance.ts';
import { type BoundText, type Narrowing, PageText, where } from './page-text.ts';
import { type KeyQuery, parametrized } from './parametrized.ts';
import { noFilter, type RootFilter } from './root-filter.ts';
import { type CountSource, RowCounter } from './row-counter.ts';
import { type Embed, type ManySelection, NeedsEntity, planRows, type RowPlan, rootTableAlias } from './row-plan.ts';
import type { Seek, SeekPlan } from './seek-plan.ts';
import { cutSought, sidesOf } from './seek-query.ts';
import { SharedWalk } from './shared-walk.ts';
import { type ShownRows, showAll, showSome } from './shown-rows.ts';
import { planSort, type SortPlan } from './sort-plan.ts';
import { versionReader } from './version-reader.ts';
import { gather, isSeen, pointsOf, pointsWithin, type VisibilityPoint } from './visibility-points.ts';
import type { Window } from './window.ts';

/** A page as JSON objects, separated by commas, and what is known of its surroundings. */
export interface CompiledPage {
  readonly counted: Counted;
  readonly items: string;
  readonly edges: PageEdges;
}

/** The queries behind a page: its keys, in order, their number, and, for one that was sought backwards, a row that follows it. */
export interface PageQueries {
  readonly keys: KeyQuery;
  /** The number of all keys, and all keys where they are not all counted. */
  readonly count: KeyQuery;
  readonly all: KeyQuery | null;
  readonly following: KeyQuery | null;
  /** Whether the keys are in the order that the list declares, so that it can go on from a row of it. */
  readonly inOrder: boolean;
  /** Whether the number is wanted before any key: the query may be one that fails where there is nothing to order. */
  readonly countsFirst?: boolean;
}

interface CompileOptions {
  readonly seek?: SeekPlan | null;
  /** Whether rows are made entities, for somebody to judge. */
  readonly withSubject?: boolean;
  /** Whether the version of a row is wanted, be it shown or not. */
  readonly withVersion?: boolean;
  /** Whether it is wanted what tells later whether a row was changed. */
  readonly withRowVersion?: boolean;
  readonly embed?: Embed | undefined;
  readonly filter?: RootFilter | undefined;
  readonly count?: CountMode;
  /** Whether rows of a class can be out of a caller's sight, so that it takes a findVisible to embed them. */
  readonly isLimited?: (meta: EntityMetadata) => boolean;
}

/** A list as it is read: in an order, and with what is shown of its rows. */
export interface ListView {
  readonly order: ListOrder;
  readonly shown: ShownRows;
}

/** The statements of a list in one order. */
interface ListOrder {
  readonly seek: SeekPlan | null;
  readonly text: PageText;
  readonly page: Statement;
  readonly walk: SharedWalk | null;
  readonly wide: boolean;
  /** Statements by the condition that the rows fulfil. */
  readonly narrowed: LruCache<NarrowedStatements>;
}

/** How one request reads rows: what it sees of embedded ones, what instances of models need, and in which view. */
export interface Reading {
  readonly findVisible?: FindVisible | undefined;
  readonly context?: InstanceContext | undefined;
  readonly view?: ListView;
}

/** Finds out which of some keys of a class, given by their texts, a caller can see. */
export type FindVisible = (meta: EntityMetadata, keys: ReadonlyMap<string, unknown>) => Promise<SeenKeys>;

/** Reads of one model and field plan whose statements and serializer were made at start. */
export class CompiledRead {
  readonly #executor: Executor;
  readonly #dialect: Dialect;
  readonly #meta: EntityMetadata;
  readonly #platform: Platform;
  readonly #plan: RowPlan;
  readonly #manyStatements: readonly Statement[];
  readonly #wide: boolean;
  readonly #keyColumn: number;
  readonly #versionText: (value: unknown) => string | null;
  readonly #one: Statement;
  readonly #counter: RowCounter;
  readonly #source: CountSource;
  /** Where keys of rows stand that are embedded only where they are seen: of the root's rows, and of those of each to-many. */
  readonly #rootPoints: readonly VisibilityPoint[];
  readonly #manyPoints: readonly (readonly VisibilityPoint[])[];
  /** Whether filters of the model are made anew for each request, so that every read needs a query of keys. */
  readonly filtersPerRequest: boolean;

  /** The conditions that are the same for every request. */
  readonly #filters: readonly string[];
  readonly #orderOf: (sort: readonly SortKey[], seek: SeekPlan | null) => ListOrder;
  /** The list where nothing else is asked, and what was asked of it last. */
  readonly #view: ListView;
  readonly #orders = new LruCache<ListOrder | null>(keptOrders);
  readonly #choices = new LruCache<ShownRows>(keptChoices);
  readonly #onesWhere = new LruCache<Statement>(keptConditions);

  private constructor(
    mapper: Mapper,
    meta: EntityMetadata,
    plan: RowPlan,
    sort: readonly SortKey[],
    executor: Executor,
    { seek, filter, count }: { seek: SeekPlan | null; filter: RootFilter; count: CountMode },
  ) {
    if (filter.kind === 'entities') throw new NeedsEntity(filter.reason);
    const filters = filter.kind === 'fixed' ? filter.conditions : [];
    this.filtersPerRequest = filter.kind === 'per request';
    this.#executor = executor;
    this.#dialect = dialectOf(mapper);
    this.#meta = meta;
    this.#platform = mapper.driver.getPlatform();
    this.#plan = plan;
    this.#rootPoints = pointsWithin(plan.root.object);
    this.#manyPoints = plan.many.map(({ object }) => [...pointsOf(object), ...pointsWithin(object)]);
    const keyKind = valueKindOf(keyOf(meta), mapper.driver.getPlatform()).kind;
    this.#wide = keyKind === 'bigint' || holdsBigints(plan.root.object.variants.flatMap(({ fields }) => fields));
    this.#manyStatements = plan.many.map((many) => this.#manyStatement(many));
    this.#versionText = versionReader(meta, this.#platform);
    const { root } = plan;
    this.#keyColumn = root.columns.indexOf(root.key);
    this.#one = this.#statement(this.#select([`${root.key} = ${this.#parameter(1)}`, ...filters]));
    this.#filters = filters;
    this.#orderOf = (keys, at) => this.#makeOrder(planSort(mapper, meta, keys), at);
    this.#view = { order: this.#orderOf(sort, seek), shown: showAll(plan, executor.format) };
    this.#counter = new RowCounter(executor, count, this.#dialect);
    const from = `from ${root.table}${where([...root.conditions, ...filters])}`;
    this.#source = { all: { text: `select count(*) ${from}`, params: [] }, rows: { text: `select 1 ${from}`, params: [] } };
  }

  /** Makes the compiled read, or gives the reason why entities are needed instead. */
  static compile(
    mapper: Mapper,
    meta: EntityMetadata,
    fields: FieldPlan,
    sort: readonly SortKey[],
    executor: Executor,
    { filter, seek = null, count = 'exact', ...rowOptions }: CompileOptions = {},
  ): CompiledRead | { readonly needsEntity: string } {
    try {
      const rows = planRows(mapper, meta, fields, rowOptions);
      const options = { seek, count, filter: filter ?? (isFiltered(meta) ? unknownFilter : noFilter) };
      return new CompiledRead(mapper, meta, rows, sort, executor, options);
    } catch (error) {
      if (error instanceof NeedsEntity) return { needsEntity: error.message };
      throw error;
    }
  }

  /** The view of a list that was asked for otherwise; null where only the mapper can order it so. */
  viewOf(
    order: { readonly sort: readonly SortKey[]; readonly seek: SeekPlan | null } | null,
    choice: FieldChoice | null,
  ): ListView | null {
    const ordered = order ? this.#orders.get(JSON.stringify(order.sort), () => this.#plannedOrder(order)) : this.#view.order;
    const shown = choice
      ? this.#choices.get(choiceKey(choice), () => showSome(this.#plan, choice, this.#executor.format))
      : this.#view.shown;
    return ordered && { order: ordered, shown };
  }

  /** The view of a list in its own order with a choice of fields; undefined if nothing was chosen. */
  choiceOf(choice: FieldChoice | null): ListView | undefined {
    return choice ? (this.viewOf(null, choice) ?? undefined) : undefined;
  }

  #plannedOrder({ seek, sort }: { readonly sort: readonly SortKey[]; readonly seek: SeekPlan | null }): ListOrder | null {
    try {
      return this.#orderOf(sort, seek);
    } catch (error) {
      if (error instanceof NeedsEntity) return null;
      throw error;
    }
  }

  #makeOrder(sort: SortPlan, seek: SeekPlan | null): ListOrder {
    const text = new PageText(this.#plan.root, this.#filters, sort, seek, this.#dialect);
    const wide = this.#wide || seek?.holdsBigints === true;
    const page = this.#statement(text.byOffset(), wide);
    const several = (size: number) => this.#statement(text.byOffsets(size), wide);
    const walk = text.canShareWalks ? new SharedWalk(this.#executor, page, several) : null;
    return { seek, text, page, walk, wide, narrowed: new LruCache(keptConditions) };
  }

  /** One row in a list, or an empty list. */
  one(id: Identifier): Promise<unknown[][]> {
    return this.#executor.rows(this.#one, [this.#dialect.values.bindable(id)]);
  }

  /** The same among the rows that a query selects. */
  oneOf(query: KeyQuery): Promise<unknown[][]> {
    const { sql, params } = this.#sendable(query);
    return this.#executor.rows(this.#statement(this.#view.order.text.ofSelected(sql)), params);
  }

  /** One row in a list, or an empty list, if it fulfils a query that is a condition and nothing else; null where the query is more. */
  oneWhere(id: Identifier, query: AnyQueryBuilder): Promise<unknown[][]> | null {
    const bound = this.#boundCondition(query);
    if (!bound) return null;
    const statement = this.#onesWhere.get(bound.sql, () => {
      const conditions = bound.sql === '' ? [] : [bound.sql];
      return this.#statement(
        this.#select([`${this.#plan.root.key} = ${this.#parameter(bound.params.length + 1)}`, ...conditions]),
      );
    });
    return this.#executor.rows(statement, [...bound.params, this.#dialect.values.bindable(id)]);
  }

  /** The page of a query that is a condition and nothing else; null where it is more. */
  pageWhere(query: AnyQueryBuilder, window: Window, reading: Reading = {}): Promise<CompiledPage> | null {
    const bound = this.#boundCondition(query);
    return bound && this.#narrowedPage(bound, [], window, reading);
  }

  /** The page of the rows that fulfil a condition. */
  pageAmong(condition: Condition, window: Window, reading: Reading = {}): Promise<CompiledPage> {
    const narrowing = conditionText(condition, rootTableAlias, (position) => this.#parameter(position));
    return this.#narrowedPage(narrowing, this.#filters, window, reading);
  }

  /** `filters` are conditions that the narrowing does not say already. */
  async #narrowedPage(narrowing: Narrowing, filters: readonly string[], window: Window, reading: Reading): Promise<CompiledPage> {
    const { order } = reading.view ?? this.#view;
    const { limit, offset, seek } = window;
    const { params } = narrowing;
    const {
      count,
      page,
      rows: all,
    } = order.narrowed.get(narrowing.sql, () => {
      const { conditions: own, table } = this.#plan.root;
      const from = `from ${table}${where([...own, ...filters, ...(narrowing.sql === '' ? [] : [narrowing.sql])])}`;
      return {
        page: this.#statement(order.text.byOffsetWhere(narrowing), order.wide),
        count: `select count(*) ${from}`,
        rows: `select 1 ${from}`,
      };
    });
    const source = { all: { text: count, params }, rows: { text: all, params } };
    if (!seek) {
      const parameters = [...params, this.asksForMore ? limit + 1 : limit, offset];
      const [rows, counted] = await this.#counter.beside(window, source, () => this.#executor.rows(page, parameters));
      return this.#placedPage(rows, counted, limit, order.seek, reading);
    }
    const [rows, counted, following] = await Promise.all([
      this.#send(order.text.sought(seek, limit + 1, narrowing), order.wide),
      this.#counter.count(source),
      seek.direction === 'before' ? this.#send(order.text.following(seek, narrowing)) : null,
    ]);
    return this.#soughtPage(rows, counted, following, { seek, limit }, reading);
  }

  #boundCondition(query: AnyQueryBuilder): Narrowing | null {
    const condition = conditionOf(query, this.#meta);
    return condition && parametrized(condition.sql, condition.params, this.#dialect);
  }

  /** Why a row cannot be made an entity, where it cannot. */
  get subjectRefusal(): string | null {
    return typeof this.#plan.subject === 'string' ? this.#plan.subject : null;
  }

  /** The object that a row is for code of the application; nothing more is fetched. */
  subjectOf(row: unknown[], context: InstanceContext): object {
    const instance = (this.#plan.subject as MakeInstance)(row, [], context);
    if (!instance) throw new Error(`a row of ${this.#meta.className} is of none of its classes`);
    return instance;
  }

  /** Makes the steps that change one row and then read it. `change` is a statement that can be followed by `returning`. */
  afterwards(change: string): (parameters: readonly unknown[]) => Step[] {
    const { columns, joins, key } = this.#plan.root;
    // what a statement changes is not seen by its other parts, so a row that can embed itself is read by another one
    if (this.#dialect.sql.changesWithin && !this.#readsItself()) {
      const statement = this.#statement(
        `with _changed as (${change} returning *) select ${columns.join(', ')} from ${[`_changed as ${rootTableAlias}`, ...joins].join(' ')}`,
      );
      return (parameters) => [{ statement, parameters }];
    }
    const statement = this.#statement(`${change} returning ${key.slice(rootTableAlias.length + 1)}`, true);
    const reading: Step = { statement: this.#one, parameters: ([changed]) => [changed?.[0]] };
    return (parameters) => [{ statement, parameters }, reading];
  }

  /** The text that reads rows for which the conditions hold. */
  selectText(conditions: readonly string[]): string {
    return this.#select(conditions);
  }

  /** Whether a column can hold integers beyond 2^53. */
  get isWide(): boolean {
    return this.#wide;
  }

  /** The version of a row as a text; null where it has none. */
  versionOf(row: unknown[]): string | null {
    const { version } = this.#plan;
    return version === null ? null : this.#versionText(row[version]);
  }

  /** What tells later whether a row was changed; null if nobody asked for it. */
  rowVersionOf(row: unknown[]): readonly unknown[] | null {
    return this.#plan.rowVersion?.map((column) => row[column]) ?? null;
  }

  /** The key of a row, as the database gives it. */
  keyOf(row: unknown[]): unknown {
    return row[this.#keyColumn];
  }

  #readsItself(): boolean {
    const { columns, joins, table } = this.#plan.root;
    const name = table.slice(0, -` as ${rootTableAlias}`.length);
    return joins.some((join) => join.includes(` ${name} as `)) || columns.some((column) => /\bselect\b/i.test(column));
  }

  /** The statement of all rows, in order. */
  all(): BoundStatement {
    return { statement: this.#statement(this.#view.order.text.all([])), parameters: [] };
  }

  /** The same of a query that is a condition and nothing else; null where it is more. */
  allWhere(query: AnyQueryBuilder): BoundStatement | null {
    const bound = this.#boundCondition(query);
    if (!bound) return null;
    const text = this.#view.order.text.all(bound.sql === '' ? [] : [bound.sql]);
    return { statement: this.#statement(text), parameters: bound.params };
  }

  /** The statement of all rows that a query selects, in its own order. */
  allOf(keys: KeyQuery): BoundStatement {
    const { sql, params } = this.#sendable(keys);
    return { statement: this.#statement(this.#view.order.text.ofSelected(sql)), parameters: params };
  }

  /** Makes what writes rows as lines: of CSV with the columns, or of JSON. What they embed is read by the statements that `send` sends. */
  lineWriter(columns: readonly CsvColumn[] | null, { context, findVisible }: Reading = {}): LineWriter {
    const { shown } = this.#view;
    const write = columns ? compileCsvRowWriter(this.#plan.root.object, columns, this.#executor.format) : shown.writer;
    const end = columns ? '' : '\n';
    const lines = (rows: unknown[][], { many, seen }: Embedded): string => {
      let text = '';
      for (const row of rows) text += write(row, many, shown.manyWriters, seen, context) + end;
      return text;
    };
    if (!this.embedsLimitedRows && this.#plan.many.length === 0) return (rows) => lines(rows, nothingEmbedded);
    return async (rows, send) => lines(rows, await this.#embedded(rows, findVisible, shown, send));
  }

  /** The same where something is made of each row first, which is given as it stands in JSON. */
  chosenWriter(write: (value: unknown) => string, reading: Reading = {}): LineWriter {
    const all = this.lineWriter(null, reading);
    const chosen = (lines: string) =>
      lines
        .trimEnd()
        .split('\n')
        .map((line) => write(JSON.parse(line)))
        .join('');
    return (rows, send) => {
      const lines = all(rows, send);
      return typeof lines === 'string' ? chosen(lines) : lines.then(chosen);
    };
  }

  /** Whether it embeds rows that can be out of a caller's sight: then everything that writes them takes a findVisible. */
  get embedsLimitedRows(): boolean {
    return this.#plan.limited.length > 0;
  }

  /** A row as JSON, with what it embeds. */
  json(row: unknown[], reading: Reading = {}): string | Promise<string> {
    return this.#write([row], reading);
  }

  /** Whether the number of rows does not say if any follow a page, so that one more than it takes has to be asked for. */
  get asksForMore(): boolean {
    return this.#counter.isPartial;
  }

  /** A window of all rows. */
  async page(window: Window, reading: Reading = {}): Promise<CompiledPage> {
    const { order } = reading.view ?? this.#view;
    const { offset, limit, seek } = window;
    if (!seek) {
      const size = this.asksForMore ? limit + 1 : limit;
      const fetch = () => order.walk?.rows(size, offset) ?? this.#executor.rows(order.page, [size, offset]);
      const [rows, counted] = await this.#counter.beside(window, this.#source, fetch);
      return this.#placedPage(rows, counted, limit, order.seek, reading);
    }
    const [rows, counted, following] = await Promise.all([
      this.#send(order.text.sought(seek, limit + 1), order.wide),
      this.#counter.count(this.#source),
      seek.direction === 'before' ? this.#send(order.text.following(seek)) : null,
    ]);
    return this.#soughtPage(rows, counted, following, { seek, limit }, reading);
  }

  /** The rows that a query selects, in its own order, and what another query counts. */
  async pageOf(
    { all, count, countsFirst = false, following: next, inOrder, keys }: PageQueries,
    window: Window,
    reading: Reading = {},
  ): Promise<CompiledPage> {
    const { order } = reading.view ?? this.#view;
    const { limit, seek } = window;
    const page = this.#sendable(keys);
    const source = { all: this.#bound(count), rows: all && this.#bound(all) };
    const fetch = () => this.#executor.rows(this.#statement(order.text.ofSelected(page.sql), order.wide), page.params);
    if (countsFirst) {
      const counted = await this.#counter.count(source);
      const isBeyond = counted.is === 'exact' && window.offset >= counted.count;
      return this.#placedPage(isBeyond ? [] : await fetch(), counted, limit, null, reading);
    }
    if (!seek) {
      const [rows, counted] = await this.#counter.beside(window, source, fetch);
      return this.#placedPage(rows, counted, limit, inOrder ? order.seek : null, reading);
    }
    const [rows, counted, following] = await Promise.all([
      fetch(),
      this.#counter.count(source),
      next && this.#send(this.#bound(next)),
    ]);
    return this.#soughtPage(rows, counted, following, { seek, limit }, reading);
  }

  async #pageFrom(rows: unknown[][], counted: Counted, plan: SeekPlan | null, reading: Reading): Promise<CompiledPage> {
    return { counted, items: await this.#write(rows, reading), edges: this.#edgesOf(rows, plan, reading) };
  }

  async #placedPage(
    found: unknown[][],
    counted: Counted,
    limit: number,
    plan: SeekPlan | null,
    reading: Reading,
  ): Promise<CompiledPage> {
    if (!this.asksForMore) return this.#pageFrom(found, counted, plan, reading);
    const page = await this.#pageFrom(found.slice(0, limit), counted, plan, reading);
    return { ...page, edges: { ...page.edges, more: found.length > limit } };
  }

  async #soughtPage(
    found: unknown[][],
    counted: Counted,
    following: unknown[][] | null,
    { limit, seek }: { readonly seek: Seek; readonly limit: number },
    reading: Reading,
  ): Promise<CompiledPage> {
    const plan = (reading.view ?? this.#view).order.seek as SeekPlan;
    const { rows, beyond } = cutSought(found, seek, limit);
    const page = await this.#pageFrom(rows, counted, plan, reading);
    const edges = rows.length > 0 ? page.edges : plan.edgesOfNone(seek);
    return { ...page, edges: { ...edges, ...sidesOf(seek, beyond, following !== null && following.length > 0) } };
  }

  #edgesOf(rows: unknown[][], plan: SeekPlan | null, { view = this.#view }: Reading): PageEdges {
    const [first] = rows;
    if (!plan || !first) return noEdges;
    const last = rows[rows.length - 1] as unknown[];
    const tokenOf = (row: unknown[]) => plan.token(view.order.text.edgeColumns.map((column) => row[column]));
    return { first: tokenOf(first), last: tokenOf(last) };
  }

  #write(rows: unknown[][], { context, findVisible, view = this.#view }: Reading): string | Promise<string> {
    const { shown } = view;
    if (!this.embedsLimitedRows && this.#plan.many.length === 0) return written(rows, nothingEmbedded, shown, context);
    return this.#embedded(rows, findVisible, shown).then((embedded) => written(rows, embedded, shown, context));
  }

  /** What rows embed: it is fetched first, and then its visibility is decided, all of it at once. */
  async #embedded(rows: unknown[][], findVisible: FindVisible | undefined, shown: ShownRows, send?: Send): Promise<Embedded> {
    const { limited } = this.#plan;
    const found = await this.#fetchMany(rows, shown, send);
    if (limited.length === 0) return { many: found.map((some, source) => grouped(some, this.#manyOf(source))) };
    if (!findVisible)
      throw new Error(`${this.#meta.className} embeds rows that a caller may not see: their visibility must be decided`);
    const keys = limited.map(() => new Map<string, unknown>());
    gather(rows, this.#rootPoints, keys);
    for (const [source, some] of found.entries()) gather(some, this.#manyPoints[source] as readonly VisibilityPoint[], keys);
    const seen = await Promise.all(
      limited.map((meta, i) => {
        const wanted = keys[i] as Map<string, unknown>;
        return wanted.size > 0 ? findVisible(meta, wanted) : noKeys;
      }),
    );
    const many = found.map((some, source) => {
      const selection = this.#manyOf(source);
      const points = pointsOf(selection.object);
      const shownRows = points.length > 0 ? some.filter((row) => points.every((point) => isSeen(row, point, seen))) : some;
      return grouped(shownRows, selection);
    });
    return { many, seen };
  }

  #manyOf(source: number): ManySelection {
    return this.#plan.many[source] as ManySelection;
  }

  /** One statement for each to-many, those of one level at the same time. */
  #fetchMany(root: unknown[][], { isWanted }: ShownRows, send: Send = this.#executor): Promise<unknown[][][]> {
    const rows: Promise<unknown[][]>[] = [];
    for (const [source, selection] of this.#plan.many.entries()) {
      if (!isWanted(source)) {
        rows[source] = nothing;
        continue;
      }
      const parents = selection.parent === null ? Promise.resolve(root) : (rows[selection.parent] as Promise<unknown[][]>);
      rows[source] = parents.then((found) => this.#rowsFor(source, selection, found, send));
    }
    return Promise.all(rows);
  }

  async #rowsFor(source: number, { parentColumn }: ManySelection, parents: unknown[][], send: Send): Promise<unknown[][]> {
    const keys = new Set<unknown>();
    for (const parent of parents) if (parent[parentColumn] !== null) keys.add(parent[parentColumn]);
    if (keys.size === 0) return [];
    return send.rows(this.#manyStatements[source] as Statement, [this.#dialect.values.list(keys)]);
  }

  #manyStatement({ columns, conditions, joins, object, order, owner, table }: ManySelection): Statement {
    const among = this.#dialect.sql.among([owner], this.#parameter(1)).join('');
    const text = `select ${columns.join(', ')} from ${[table, ...joins].join(' ')}${where([among, ...conditions])} order by ${order.sql}`;
    return this.#statement(text, this.#wide || holdsBigints(object.variants.flatMap(({ fields }) => fields)));
  }

  #select(conditions: readonly string[]): string {
    const { columns, joins, table, conditions: own } = this.#plan.root;
    return `select ${columns.join(', ')} from ${[table, ...joins].join(' ')}${where([...conditions, ...own])}`;
  }

  #send({ text, params }: BoundText, wide = this.#wide): Promise<unknown[][]> {
    return this.#executor.rows(this.#statement(text, wide), params);
  }

  #bound(query: KeyQuery): BoundText {
    const { sql, params } = this.#sendable(query);
    return { text: sql, params };
  }

  /** A query of the mapper's with its parameters apart, so that its text is the same for every request. */
  #sendable({ sql, params }: KeyQuery): KeyQuery {
    if (params.length === 0) return { sql, params };
    return parametrized(sql, params, this.#dialect) ?? { sql: this.#platform.formatQuery(sql, params), params: [] };
  }

  #parameter(position: number): string {
    return this.#dialect.sql.parameter(position);
  }

  #statement(text: string, wide = this.#wide): Statement {
    return statementOf(text, wide);
  }
}

/** A statement with the values of its parameters. */
export interface BoundStatement {
  readonly statement: Statement;
  readonly parameters: readonly unknown[];
}

/** What sends a statement. */
type Send = Pick<Executor, 'rows'>;

/** Writes rows as lines, each with an end of its own. */
export type LineWriter = (rows: unknown[][], send: Send) => string | Promise<string>;

interface NarrowedStatements {
  readonly page: Statement;
  /** The text that counts, and the one that selects what is counted. */
  readonly count: string;
  readonly rows: string;
}

/** What callers ask for in other ways than these is made again. */
const keptOrders = 50;
const keptChoices = 50;
const keptConditions = 200;

/** The rows of to-many associations, and the keys of embedded rows that the caller sees. */
interface Embedded {
  readonly many: readonly RowsByKey[];
  readonly seen?: readonly SeenKeys[];
}

const nothingEmbedded: Embedded = Object.freeze({ many: [] });
const nothing: Promise<unknown[][]> = Promise.resolve([]);
const noKeys: SeenKeys = new Set();

function written(
  rows: unknown[][],
  { many, seen }: Embedded,
  { manyWriters, writer }: ShownRows,
  context: InstanceContext | undefined,
): string {
  let text = '';
  for (let i = 0; i < rows.length; i++)
    text += (i === 0 ? '' : ',') + writer(rows[i] as unknown[], many, manyWriters, seen, context);
  return text;
}

const unknownFilter: RootFilter = { kind: 'entities', reason: 'the model has a filter that is on by default' };

/** The rows of each owner, in order; a text key is ordered by code unit, whatever the database's collation. */
function grouped(rows: unknown[][], { order: { textColumn } }: ManySelection): RowsByKey {
  const groups = new Map<unknown, unknown[][]>();
  for (const row of rows) {
    const key = String(row[0]);
    const group = groups.get(key);
    if (group) group.push(row);
    else groups.set(key, [row]);
  }
  if (textColumn !== null) {
    for (const group of groups.values()) group.sort((a, b) => ((a[textColumn] as string) < (b[textColumn] as string) ? -1 : 1));
  }
  return groups;
}

function holdsBigints(fields: readonly RowField[]): boolean {
  return fields.some((field) => {
    if (field.kind === 'value') return field.value.kind === 'bigint';
    if (field.kind === 'embedded') return holdsBigints(field.fields);
    if (field.kind === 'to-one')
      return field.objects.some(({ variants }) => variants.some((variant) => holdsBigints(variant.fields)));
    return false;
  });
}
