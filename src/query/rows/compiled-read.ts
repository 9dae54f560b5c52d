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
import { versionOf, versionText } from '../../model/version.ts';
import { type Counted, noEdges, type PageEdges } from '../../response/collection.ts';
import type { CsvColumn } from '../../serialization/csv.ts';
import { compileCsvRowWriter } from '../../serialization/csv-row-writer.ts';
import type { RowWriter } from '../../serialization/row-writer.ts';
import { dateOf } from '../../serialization/to-json.ts';
import { conditionOf } from '../entities/condition-query.ts';
import { isFiltered } from '../entities/filters.ts';
import type { PageQueries } from '../entities/key-query.ts';
import type { AnyQueryBuilder } from '../entities/restriction.ts';
import { type Condition, conditionText } from '../list/condition.ts';
import { NotCompilable } from './association.ts';
import { type BoundStatement, noText, type QueryText, statementOf } from './bound-statement.ts';
import { EmbeddedRows, type FindVisible, holdsBigints, type Send } from './embedded-rows.ts';
import type { InstanceContext, MakeInstance } from './instance.ts';
import { ListOrder, where } from './list-order.ts';
import { parametrized } from './parametrized.ts';
import { noFilter, type RootFilter } from './root-filter.ts';
import { RowCounter } from './row-counter.ts';
import { planRows, type RowPlan, type RowPlanOptions, rootTableAlias } from './row-plan.ts';
import type { SeekPlan, Window } from './seek-plan.ts';
import { cutSought, sidesOf } from './seek-query.ts';
import { type ShownRows, showRows } from './shown-rows.ts';
import { planSort } from './sort-plan.ts';

/** A page as JSON objects, separated by commas, and what is known of its surroundings. */
export interface CompiledPage {
  readonly counted: Counted;
  readonly items: string;
  readonly edges: PageEdges;
}

interface CompileOptions extends RowPlanOptions {
  readonly seek?: SeekPlan | null;
  readonly filter?: RootFilter | undefined;
  readonly count?: CountMode;
}

/** A list as it is read: in an order, and with what is shown of its rows. */
export interface ListView {
  readonly order: ListOrder;
  readonly shown: ShownRows;
}

/** How one request reads rows: what it sees of embedded ones, what instances of models need, and in which view. */
export interface Reading {
  readonly findVisible?: FindVisible | undefined;
  readonly context?: InstanceContext | undefined;
  readonly view?: ListView;
}

/** Writes rows as lines, each with an end of its own. */
export type LineWriter = (rows: unknown[][], send: Send) => string | Promise<string>;

/** What callers ask for in other ways than these is made again. */
const keptOrders = 50;
const keptChoices = 50;
const keptConditions = 200;

/** Reads of one model and field plan whose statements and serializer were made at start. */
export class CompiledRead {
  readonly #executor: Executor;
  readonly #dialect: Dialect;
  readonly #meta: EntityMetadata;
  readonly #platform: Platform;
  readonly #plan: RowPlan;
  /** Whether filters of the model are made anew for each request, so that every read needs a query of keys. */
  readonly filtersPerRequest: boolean;
  /** Whether a column can hold integers beyond 2^53. */
  readonly isWide: boolean;
  /** Whether it embeds rows that can be out of a caller's sight: then everything that writes them takes a `findVisible`. */
  readonly embedsLimitedRows: boolean;
  readonly #embedded: EmbeddedRows;
  readonly #keyColumn: number;
  readonly #versionText: (value: unknown) => string | null;
  readonly #one: Statement;
  readonly #counter: RowCounter;
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
    { seek = null, filter = isFiltered(meta) ? unknownFilter : noFilter, count = 'exact' }: CompileOptions,
  ) {
    if (filter.kind === 'entities') throw new NotCompilable(filter.reason);
    const filters = filter.kind === 'fixed' ? filter.conditions : [];
    const { root } = plan;
    this.filtersPerRequest = filter.kind === 'per request';
    this.#executor = executor;
    this.#dialect = dialectOf(mapper);
    this.#meta = meta;
    this.#platform = mapper.driver.getPlatform();
    this.#plan = plan;
    const isWide = valueKindOf(keyOf(meta), this.#platform).kind === 'bigint' || holdsBigints(root.object);
    this.isWide = isWide;
    this.embedsLimitedRows = plan.limited.length > 0;
    this.#embedded = new EmbeddedRows(mapper, plan, isWide);
    this.#versionText = versionReader(meta, this.#platform);
    this.#keyColumn = root.columns.indexOf(root.key);
    this.#one = this.#statement(this.selectText([`${root.key} = ${this.#parameter(1)}`, ...filters]));
    this.#orderOf = (keys, at) =>
      new ListOrder(executor, this.#dialect, root, { filters, isWide, seek: at, sort: planSort(mapper, meta, keys) });
    this.#view = { order: this.#orderOf(sort, seek), shown: showRows(plan, null, executor.format) };
    this.#counter = new RowCounter(executor, count, this.#dialect);
  }

  /** Makes the compiled read, or gives the reason why entities are needed instead. */
  static compile(
    mapper: Mapper,
    meta: EntityMetadata,
    fields: FieldPlan,
    sort: readonly SortKey[],
    executor: Executor,
    options: CompileOptions = {},
  ): CompiledRead | { readonly needsEntity: string } {
    try {
      return new CompiledRead(mapper, meta, planRows(mapper, meta, fields, options), sort, executor, options);
    } catch (error) {
      if (error instanceof NotCompilable) return { needsEntity: error.message };
      throw error;
    }
  }

  /** The view of a list that was asked for otherwise; null where only the mapper can order it so. */
  viewOf(
    order: { readonly sort: readonly SortKey[]; readonly seek: SeekPlan | null } | null,
    choice: FieldChoice | null,
  ): ListView | null {
    const view = this.choiceOf(choice);
    if (!order) return view;
    const ordered = this.#orders.get(JSON.stringify(order.sort), () => this.#plannedOrder(order));
    return ordered && { ...view, order: ordered };
  }

  /** The view of a list in its own order, with a choice of fields. */
  choiceOf(choice: FieldChoice | null): ListView {
    if (!choice) return this.#view;
    const shown = this.#choices.get(choiceKey(choice), () => showRows(this.#plan, choice, this.#executor.format));
    return { ...this.#view, shown };
  }

  #plannedOrder({ seek, sort }: { readonly sort: readonly SortKey[]; readonly seek: SeekPlan | null }): ListOrder | null {
    try {
      return this.#orderOf(sort, seek);
    } catch (error) {
      if (error instanceof NotCompilable) return null;
      throw error;
    }
  }

  /** One row in a list, or an empty list. */
  one(id: Identifier): Promise<unknown[][]> {
    return this.#executor.rows(this.#one, [this.#dialect.values.bindable(id)]);
  }

  /** The same as a step of a transaction. */
  byKey(id: Identifier): Step {
    return { statement: this.#one, parameters: [this.#dialect.values.bindable(id)] };
  }

  /** The same among the rows that a query selects. */
  oneOf(query: QueryText): Promise<unknown[][]> {
    return this.#send(this.allOf(query));
  }

  /** One row in a list, or an empty list, if it fulfils a query that is a condition and nothing else; null where the query is more. */
  oneWhere(id: Identifier, query: AnyQueryBuilder): Promise<unknown[][]> | null {
    const bound = this.#boundCondition(query);
    if (!bound) return null;
    const { params, sql } = bound;
    const statement = this.#onesWhere.get(sql, () => {
      const isKey = `${this.#plan.root.key} = ${this.#parameter(params.length + 1)}`;
      return this.#statement(this.selectText(sql === '' ? [isKey] : [isKey, sql]));
    });
    return this.#executor.rows(statement, [...params, this.#dialect.values.bindable(id)]);
  }

  /** Why a row cannot be made an object for code of the application, where it cannot. */
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
    const { columns, joins, keyName, readsOwnTable } = this.#plan.root;
    // what a statement changes is not seen by its other parts, so a row that can embed itself is read by another one
    if (this.#dialect.sql.changesWithin && !readsOwnTable) {
      const from = [`_changed as ${rootTableAlias}`, ...joins].join(' ');
      const statement = this.#statement(`with _changed as (${change} returning *) select ${columns.join(', ')} from ${from}`);
      return (parameters) => [{ statement, parameters }];
    }
    const statement = statementOf(`${change} returning ${keyName}`, true);
    const reading: Step = { statement: this.#one, parameters: ([changed]) => [changed?.[0]] };
    return (parameters) => [{ statement, parameters }, reading];
  }

  /** The text that reads rows for which the conditions hold. */
  selectText(conditions: readonly string[]): string {
    const { columns, joins, table, conditions: own } = this.#plan.root;
    return `select ${columns.join(', ')} from ${[table, ...joins].join(' ')}${where([...conditions, ...own])}`;
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

  /** The statement of all rows, in order. */
  all(): BoundStatement {
    return this.#view.order.all(noText);
  }

  /** The same of a query that is a condition and nothing else; null where it is more. */
  allWhere(query: AnyQueryBuilder): BoundStatement | null {
    const bound = this.#boundCondition(query);
    return bound && this.#view.order.all(bound);
  }

  /** The statement of all rows that a query selects, in its own order. */
  allOf(keys: QueryText): BoundStatement {
    return this.#view.order.selected(this.#sendable(keys));
  }

  /** Makes what writes rows as lines: of CSV with the columns, or of JSON. What they embed is read by the statements that `send` sends. */
  lineWriter(columns: readonly CsvColumn[] | null, reading: Reading = {}): LineWriter {
    const { object, writer } = (reading.view ?? this.#view).shown;
    const line: RowWriter = columns
      ? compileCsvRowWriter(object, columns, this.#executor.format)
      : (row, many, writers, seen, context) => `${writer(row, many, writers, seen, context)}\n`;
    return (rows, send) => this.#written(rows, reading, line, '', send);
  }

  /** A row as JSON, with what it embeds. */
  json(row: unknown[], reading: Reading = {}): string | Promise<string> {
    return this.#write([row], reading);
  }

  /** A window of all rows. */
  page(window: Window, reading: Reading = {}): Promise<CompiledPage> {
    return this.#narrowedPage(noText, window, reading);
  }

  /** The page of a query that is a condition and nothing else; null where it is more. */
  pageWhere(query: AnyQueryBuilder, window: Window, reading: Reading = {}): Promise<CompiledPage> | null {
    const bound = this.#boundCondition(query);
    return bound && this.#narrowedPage(bound, window, reading);
  }

  /** The page of the rows that fulfil a condition. */
  pageAmong(condition: Condition, window: Window, reading: Reading = {}): Promise<CompiledPage> {
    const text = conditionText(condition, rootTableAlias, (position) => this.#parameter(position));
    return this.#narrowedPage(text, window, reading);
  }

  #narrowedPage(condition: QueryText, window: Window, reading: Reading): Promise<CompiledPage> {
    const { order } = reading.view ?? this.#view;
    const { limit, offset, seek } = window;
    const size = seek || this.#asksForMore ? limit + 1 : limit;
    const source: PageSource = {
      rows: () => (seek ? order.sought(condition, seek, size) : order.rows(condition, size, offset)),
      counted: order.counted(condition),
      follows: seek?.direction === 'before' ? () => order.hasFollowing(condition, seek) : null,
      inOrder: true,
      countsFirst: false,
    };
    return this.#page(source, window, reading);
  }

  /** The rows that a query selects, in its own order, and what another query counts. */
  pageOf({ counted, following, keys, ...rest }: PageQueries, window: Window, reading: Reading = {}): Promise<CompiledPage> {
    const { order } = reading.view ?? this.#view;
    const next = following && this.#sendable(following);
    const source: PageSource = {
      ...rest,
      rows: () => this.#send(order.selected(this.#sendable(keys))),
      counted: { all: this.#sendable(counted.all), rows: counted.rows && this.#sendable(counted.rows) },
      follows: next && (async () => (await this.#executor.rows(statementOf(next.sql), next.params)).length > 0),
    };
    return this.#page(source, window, reading);
  }

  async #page(source: PageSource, window: Window, reading: Reading): Promise<CompiledPage> {
    const { order } = reading.view ?? this.#view;
    const { limit, seek } = window;
    if (seek) {
      const sent = [source.rows(), this.#counter.count(source.counted), source.follows?.() ?? false] as const;
      const [found, counted, follows] = await Promise.all(sent);
      const { rows, beyond } = cutSought(found, seek, limit);
      const edges = rows.length > 0 ? order.edgesOf(rows) : (order.seek as SeekPlan).edgesOfNone(seek);
      return { counted, items: await this.#write(rows, reading), edges: { ...edges, ...sidesOf(seek, beyond, follows) } };
    }
    const [found, counted] = source.countsFirst
      ? await this.#counter.before(window, source.counted, source.rows)
      : await this.#counter.beside(window, source.counted, source.rows);
    const rows = this.#asksForMore ? found.slice(0, limit) : found;
    const edges = source.inOrder ? order.edgesOf(rows) : noEdges;
    const items = await this.#write(rows, reading);
    return { counted, items, edges: this.#asksForMore ? { ...edges, more: found.length > limit } : edges };
  }

  /** Whether the number of rows does not say if any follow a page, so that one more than it takes has to be asked for. */
  get #asksForMore(): boolean {
    return this.#counter.isPartial;
  }

  #write(rows: unknown[][], reading: Reading): string | Promise<string> {
    return this.#written(rows, reading, (reading.view ?? this.#view).shown.writer, ',', this.#executor);
  }

  #written(
    rows: unknown[][],
    { context, findVisible, view = this.#view }: Reading,
    writer: RowWriter,
    separator: string,
    send: Send,
  ): string | Promise<string> {
    const { isWanted, manyWriters } = view.shown;
    return this.#embedded.written(rows, isWanted, send, findVisible, ({ many, seen }) => {
      let text = '';
      for (let i = 0; i < rows.length; i++)
        text += (i === 0 ? '' : separator) + writer(rows[i] as unknown[], many, manyWriters, seen, context);
      return text;
    });
  }

  #boundCondition(query: AnyQueryBuilder): QueryText | null {
    const condition = conditionOf(query, this.#meta);
    return condition && parametrized(condition, this.#dialect);
  }

  /** A query of the mapper's with its parameters apart, so that its text is the same for every request. */
  #sendable(query: QueryText): QueryText {
    if (query.params.length === 0) return query;
    return parametrized(query, this.#dialect) ?? { sql: this.#platform.formatQuery(query.sql, query.params), params: [] };
  }

  #send({ parameters, statement }: BoundStatement): Promise<unknown[][]> {
    return this.#executor.rows(statement, parameters);
  }

  #parameter(position: number): string {
    return this.#dialect.sql.parameter(position);
  }

  #statement(text: string): Statement {
    return statementOf(text, this.isWide);
  }
}

/** Where the rows of a page come from. */
interface PageSource extends Pick<PageQueries, 'counted' | 'inOrder' | 'countsFirst'> {
  readonly rows: () => Promise<unknown[][]>;
  /** Tells whether others follow a page that is sought backwards. */
  readonly follows: (() => Promise<boolean>) | null;
}

const unknownFilter: RootFilter = { kind: 'entities', reason: 'the model has a filter that is on by default' };

/** Makes what reads the version of a row from its column. */
function versionReader(meta: EntityMetadata, platform: Platform): (value: unknown) => string | null {
  const property = versionOf(meta);
  const isTime = property !== null && ['date', 'datetime'].includes(valueKindOf(property, platform).kind);
  return isTime
    ? (value) => versionText(value === null || value === undefined || value instanceof Date ? value : dateOf(value))
    : versionText;
}
