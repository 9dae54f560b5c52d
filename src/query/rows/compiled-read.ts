import type { EntityMetadata, Platform } from '@mikro-orm/core';
import type { Executor, Statement } from '../../database/executor.ts';
import { LruCache } from '../../database/lru-cache.ts';
import type { Mapper } from '../../database/mapper.ts';
import type { Step } from '../../database/writer.ts';
import type { CountMode, SortKey } from '../../declaration/types.ts';
import { type Dialect, dialectOf } from '../../dialect/dialect.ts';
import { keyFrom, valuesOf } from '../../model/composite-key.ts';
import type { FieldPlan } from '../../model/field-plan.ts';
import { hasWideKey, type Identifier } from '../../model/identifier.ts';
import { asRow } from '../../model/key-condition.ts';
import { type Counted, noEdges, type PageEdges } from '../../response/collection.ts';
import type { CsvColumn } from '../../serialization/csv.ts';
import { conditionOf } from '../entities/condition-query.ts';
import { isFiltered } from '../entities/filters.ts';
import type { PageQueries } from '../entities/key-query.ts';
import type { AnyQueryBuilder } from '../entities/restriction.ts';
import { type Condition, conditionText } from '../list/condition.ts';
import { NotCompilable } from './association.ts';
import { type BoundStatement, keyOfText, noText, type QueryText, statementOf, UnwrittenText } from './bound-statement.ts';
import { EmbeddedRows, holdsBigints } from './embedded-rows.ts';
import type { InstanceContext, MakeInstance } from './instance.ts';
import { keyList } from './key-list.ts';
import { ListViews, type OrderOf } from './list-views.ts';
import { parametrized } from './parametrized.ts';
import { noFilter, type RootFilter } from './root-filter.ts';
import { RowCounter } from './row-counter.ts';
import { planRows, type RowPlan, type RowPlanOptions, rootTableAlias } from './row-plan.ts';
import { type LineWriter, type Reading, RowTexts } from './row-texts.ts';
import { versionReader } from './row-version.ts';
import { ListOrder, type MoreColumns, where } from './seek/list-order.ts';
import type { SeekPlan, Window } from './seek/seek-plan.ts';
import { cutSought, sidesOf } from './seek/seek-query.ts';
import { planSort } from './seek/sort-plan.ts';

/** A page as JSON objects, separated by commas, with its count and edges. */
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

/** Maximum of cached statements that read one row, and of those that change one: one for each condition. */
const maxCachedConditions = 200;

/** Reads rows of one model and field plan. Statements and serializer are made at startup. */
export class CompiledRead {
  readonly #executor: Executor;
  readonly #dialect: Dialect;
  readonly #meta: EntityMetadata;
  readonly #platform: Platform;
  readonly #plan: RowPlan;
  /** Whether filters of the model are created for each request, so that every read needs a query of keys. */
  readonly filtersPerRequest: boolean;
  /** Whether a column can hold integers beyond 2^53. */
  readonly isWide: boolean;
  /** Whether the statement that changes a row can also read it. It does not see the change in a row that can embed itself. */
  readonly isReadWithin: boolean;
  /** The classes of embedded rows that can be hidden from a caller. If there are any, writing rows requires a `visibility`. */
  readonly limited: readonly EntityMetadata[];
  readonly #embedded: EmbeddedRows;
  readonly #filters: readonly string[];
  readonly #keyColumns: readonly number[];
  readonly #versionText: (value: unknown) => string | null;
  readonly #one: Statement;
  readonly #counter: RowCounter;
  readonly views: ListViews;
  readonly #texts: RowTexts;
  readonly #ones = new LruCache<Statement>(maxCachedConditions);
  readonly #changes = new LruCache<Statement>(maxCachedConditions);

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
    this.#filters = filters;
    const { root } = plan;
    this.filtersPerRequest = filter.kind === 'per request';
    this.#executor = executor;
    this.#dialect = dialectOf(mapper);
    this.#meta = meta;
    this.#platform = mapper.driver.getPlatform();
    this.#plan = plan;
    const isWide = hasWideKey(meta, this.#platform) || holdsBigints(root.object);
    this.isWide = isWide;
    this.isReadWithin = this.#dialect.sql.changesWithin && !root.reads(root.tableName);
    this.limited = plan.limited;
    this.#embedded = new EmbeddedRows(mapper, plan, isWide);
    this.#versionText = versionReader(meta, this.#platform);
    this.#keyColumns = root.keys.map((key) => root.columns.indexOf(key));
    const orderOf: OrderOf = (keys, at) =>
      new ListOrder(executor, this.#dialect, root, { filters, isWide, seek: at, sort: planSort(mapper, meta, keys) });
    this.views = new ListViews(plan, executor.format, orderOf, orderOf(sort, seek));
    this.#texts = new RowTexts(executor, this.#embedded, this.views);
    this.#one = this.#oneStatement(noText, noText);
    this.#counter = new RowCounter(executor, count, this.#dialect);
  }

  /** Makes the compiled read, or returns the reason why entities are needed instead. */
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

  /** One row in a list, or an empty list. */
  one(id: Identifier, reading: Reading = {}): Promise<unknown[][]> {
    if (reading.visibility) return this.#oneThat(id, noText, reading);
    return this.#executor.rows(this.#one, this.keyParameters(id));
  }

  /** The same as a step of a transaction. */
  byKey(id: Identifier, reading: Reading): Step {
    const keys = this.keyParameters(id);
    const seen = this.#columnsSeen(reading)(keys.length);
    return { statement: this.#oneStatement(noText, seen), parameters: [...keys, ...seen.params] };
  }

  /** A key as parameters, one for each column. */
  keyParameters(id: unknown): unknown[] {
    return valuesOf(id).map((value) => this.#dialect.values.bindable(value));
  }

  /** The rows with some keys, as a step of a transaction. Their order is undefined. */
  byKeys(keys: (before: unknown[][]) => Iterable<unknown>, reading: Reading): Step {
    const seen = this.#columnsSeen(reading)(1);
    const { keys: columns, keyTypes } = this.#plan.root;
    const among = keyList(this.#dialect, columns, keyTypes, this.#parameter(1));
    return {
      statement: this.#statement(this.selectText([among.sql, ...this.#filters], seen.sql)),
      parameters: (before) => [among.bind(keys(before)), ...seen.params],
    };
  }

  /** The same among the rows that a query selects. */
  oneOf(query: QueryText, reading: Reading = {}): Promise<unknown[][]> {
    return this.#send(this.views.whole.order.selected(this.#sendable(query), this.#columnsSeen(reading)));
  }

  /** One row in a list, or an empty list, if it fulfils a query that is only a condition; null if the query is more. */
  oneWhere(id: Identifier, query: AnyQueryBuilder, reading: Reading = {}): Promise<unknown[][]> | null {
    const bound = this.#boundCondition(query, this.#plan.root.joins.length > 0);
    return bound && this.#oneThat(id, bound, reading);
  }

  #oneThat(id: Identifier, condition: QueryText, reading: Reading): Promise<unknown[][]> {
    const { params } = condition;
    const keys = this.keyParameters(id);
    const seen = this.#columnsSeen(reading)(params.length + keys.length);
    const statement = this.#oneStatement(condition, seen);
    return this.#executor.rows(statement, [...params, ...keys, ...seen.params]);
  }

  /** Reads the row with a key, if it fulfils a condition whose parameters come first. */
  #oneStatement(condition: QueryText, seen: QueryText): Statement {
    return this.#ones.get(`${keyOfText(condition)};${keyOfText(seen)}`, () => {
      const { params, sql } = condition;
      const isKey = this.#plan.root.keys.map((key, i) => `${key} = ${this.#parameter(params.length + i + 1)}`);
      // the condition of a MikroORM query includes the filters already
      const others = sql === '' ? this.#filters : [sql];
      return this.#statement(this.selectText([...isKey, ...others], seen.sql));
    });
  }

  /** Makes the columns that tell which embedded rows are visible, if the request uses columns for that, and check their size. */
  #columnsSeen({ mostBytes, visibility }: Reading): MoreColumns {
    const seen = visibility && 'seen' in visibility ? visibility.seen : null;
    return (before) => this.#embedded.columns(seen, before, mostBytes);
  }

  /** Why rows cannot become objects for code of the application; null if they can. */
  get subjectRefusal(): string | null {
    return typeof this.#plan.subject === 'string' ? this.#plan.subject : null;
  }

  /** A row as an object for code of the application; nothing more is fetched. */
  subjectOf(row: unknown[], context: InstanceContext): object {
    const instance = (this.#plan.subject as MakeInstance)(row, [], context);
    if (!instance) throw new Error(`a row of ${this.#meta.className} has an unknown class`);
    return instance;
  }

  /** The steps that change one row and then read it. `change` is a statement that can be followed by `returning`. */
  afterwards(change: QueryText, reading: Reading): Step[] {
    const { columns, joins, keyNames } = this.#plan.root;
    const { params } = change;
    const { length } = keyNames;
    const seen = this.#columnsSeen(reading)(this.isReadWithin ? params.length : length);
    if (this.isReadWithin) {
      const statement = this.#changes.get(`${keyOfText(change)};${keyOfText(seen)}`, () => {
        const selected = `select ${columns.join(', ')}${seen.sql} from _changed as ${[rootTableAlias, ...joins].join(' ')}`;
        return this.#statement(`with _changed as (${change.sql} returning *) ${selected}`);
      });
      return [{ statement, parameters: [...params, ...seen.params] }];
    }
    const returning = () => statementOf(`${change.sql} returning ${keyNames.join(', ')}`, true);
    return [
      { statement: this.#changes.get(keyOfText(change), returning), parameters: params },
      {
        statement: this.#oneStatement(noText, seen),
        parameters: ([changed]) => [...(changed?.slice(0, length) ?? []), ...seen.params],
      },
    ];
  }

  /** Whether embedded rows can come from a table. */
  reads(table: string): boolean {
    return this.#plan.root.reads(table);
  }

  /** The SQL that reads rows for which the conditions hold. */
  selectText(conditions: readonly string[], more = ''): string {
    const { columns, joins, table, conditions: own } = this.#plan.root;
    return `select ${columns.join(', ')}${more} from ${[table, ...joins].join(' ')}${where([...conditions, ...own])}`;
  }

  /** The same with the visibility columns of a request. `before` is the number of parameters in front of theirs. */
  reading(conditions: readonly string[], before: number, reading: Reading): QueryText {
    const seen = this.#columnsSeen(reading)(before);
    const key = `${conditions.join()};${before};${keyOfText(seen)}`;
    return new UnwrittenText(key, seen.params, () => this.selectText(conditions, seen.sql));
  }

  /** The version of a row as a text; null if it has none. */
  versionOf(row: unknown[]): string | null {
    const { version } = this.#plan;
    return version === null ? null : this.#versionText(row[version]);
  }

  /** The row version, which tells later whether a row was changed; null if the plan does not read it. */
  rowVersionOf(row: unknown[]): readonly unknown[] | null {
    return this.#plan.rowVersion?.map((column) => row[column]) ?? null;
  }

  /** The key of a row, as the database returns it. */
  keyOf(row: unknown[]): unknown {
    const [only] = this.#keyColumns;
    return this.#keyColumns.length === 1 ? row[only as number] : keyFrom(this.#keyColumns.map((column) => row[column]));
  }

  /** The statement of all rows, in order. */
  all(): BoundStatement {
    return this.views.whole.order.all(noText);
  }

  /** The same for a query that is only a condition; null if it is more. */
  allWhere(query: AnyQueryBuilder): BoundStatement | null {
    const { order } = this.views.whole;
    const bound = this.#boundCondition(query, this.#plan.root.joins.length > 0 || order.joins);
    return bound && order.all(bound);
  }

  /** The statement of all rows that a query selects, in its own order. */
  allOf(keys: QueryText): BoundStatement {
    return this.views.whole.order.selected(this.#sendable(keys));
  }

  /** Makes the writer of lines: CSV if columns are given, otherwise JSON. `send` sends the statements that read embedded rows. */
  lineWriter(columns: readonly CsvColumn[] | null, reading: Reading = {}): LineWriter {
    return this.#texts.lines(columns, reading);
  }

  /** A row as JSON, with what it embeds. */
  json(row: unknown[], reading: Reading = {}): string | Promise<string> {
    return this.#texts.json([row], reading);
  }

  /** Rows as JSON objects, separated by commas. */
  jsonOf(rows: unknown[][], reading: Reading): string | Promise<string> {
    return this.#texts.json(rows, reading);
  }

  /** A window of all rows. */
  page(window: Window, reading: Reading = {}): Promise<CompiledPage> {
    return this.#narrowedPage(noText, window, reading);
  }

  /** The page of a query that is only a condition; null if it is more. */
  pageWhere(query: AnyQueryBuilder, window: Window, reading: Reading = {}): Promise<CompiledPage> | null {
    const bound = this.#boundCondition(query, (reading.view ?? this.views.whole).order.joins);
    return bound && this.#narrowedPage(bound, window, reading);
  }

  /** The page of the rows that fulfil a condition. */
  pageAmong(condition: Condition, window: Window, reading: Reading = {}): Promise<CompiledPage> {
    const text = conditionText(condition, rootTableAlias, (position) => this.#parameter(position));
    return this.#narrowedPage(text, window, reading);
  }

  #narrowedPage(condition: QueryText, window: Window, reading: Reading): Promise<CompiledPage> {
    const { order } = reading.view ?? this.views.whole;
    const { limit, offset, seek } = window;
    const size = seek || this.#selectsOneMore ? limit + 1 : limit;
    const more = this.#columnsSeen(reading);
    const source: PageSource = {
      rows: () => (seek ? order.sought(condition, seek, size, more) : order.rows(condition, size, offset, more)),
      counted: order.counted(condition),
      follows: seek?.direction === 'before' ? () => order.hasFollowing(condition, seek) : null,
      inOrder: true,
      countsFirst: false,
    };
    return this.#page(source, window, reading);
  }

  /** The page of the rows that a query selects, in its own order. Another query counts them. */
  pageOf({ counted, following, keys, ...rest }: PageQueries, window: Window, reading: Reading = {}): Promise<CompiledPage> {
    const { order } = reading.view ?? this.views.whole;
    const next = following && this.#sendable(following);
    const source: PageSource = {
      ...rest,
      rows: () => this.#send(order.selected(this.#sendable(keys), this.#columnsSeen(reading))),
      counted: { all: this.#sendable(counted.all), rows: counted.rows && this.#sendable(counted.rows) },
      follows: next && (async () => (await this.#executor.rows(statementOf(next.sql), next.params)).length > 0),
    };
    return this.#page(source, window, reading);
  }

  async #page(source: PageSource, window: Window, reading: Reading): Promise<CompiledPage> {
    const { order } = reading.view ?? this.views.whole;
    const { limit, seek } = window;
    if (seek) {
      const sent = [source.rows(), this.#counter.count(source.counted), source.follows?.() ?? false] as const;
      const [found, counted, follows] = await Promise.all(sent);
      const { rows, beyond } = cutSought(found, seek, limit);
      const edges = rows.length > 0 ? order.edgesOf(rows) : (order.seek as SeekPlan).edgesOfNone(seek);
      return { counted, items: await this.#texts.json(rows, reading), edges: { ...edges, ...sidesOf(seek, beyond, follows) } };
    }
    const [found, counted] = source.countsFirst
      ? await this.#counter.before(window, source.counted, source.rows)
      : await this.#counter.beside(window, source.counted, source.rows);
    const rows = this.#selectsOneMore ? found.slice(0, limit) : found;
    const edges = source.inOrder ? order.edgesOf(rows) : noEdges;
    const items = await this.#texts.json(rows, reading);
    return { counted, items, edges: this.#selectsOneMore ? { ...edges, more: found.length > limit } : edges };
  }

  /** Whether the count does not tell if rows follow a page, so that one row more than it takes must be selected. */
  get #selectsOneMore(): boolean {
    return this.#counter.isPartial;
  }

  #boundCondition(query: AnyQueryBuilder, isJoined: boolean): QueryText | null {
    const condition = conditionOf(query, this.#meta);
    const bound = condition && parametrized(condition, this.#dialect);
    if (!bound || bound.key === '' || condition.isOfRowAlone || !isJoined) return bound;
    // SQL of the application may name columns without their table, and joined tables can have columns of the same name
    const { keys, table } = this.#plan.root;
    const write = () => `${asRow(keys)} in (select ${keys.join(', ')} from ${table} where ${bound.sql})`;
    return new UnwrittenText(keyOfText(bound), bound.params, write);
  }

  /** A MikroORM query with separate parameters, so that its text is the same for every request. */
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

/** The statements behind a page. */
interface PageSource extends Pick<PageQueries, 'counted' | 'inOrder' | 'countsFirst'> {
  readonly rows: () => Promise<unknown[][]>;
  /** Whether rows follow a page that is sought backwards. */
  readonly follows: (() => Promise<boolean>) | null;
}

const unknownFilter: RootFilter = { kind: 'entities', reason: 'the model has a filter that is on by default' };
