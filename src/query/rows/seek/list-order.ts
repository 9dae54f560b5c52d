import type { Executor, Statement } from '../../../database/executor.ts';
import { LruCache } from '../../../database/lru-cache.ts';
import type { Dialect } from '../../../dialect/dialect.ts';
import { noEdges, type PageEdges } from '../../../response/collection.ts';
import { conditionText } from '../../list/condition.ts';
import { type BoundStatement, keyOfText, noText, type QueryText, statementOf } from '../bound-statement.ts';
import type { CountSource } from '../count.ts';
import { type RootSelection, rootTableAlias } from '../row-plan.ts';
import { SharedWalk } from '../shared-walk.ts';
import { complementOf, type Seek, type SeekPlan } from './seek-plan.ts';
import type { SortPlan } from './sort-plan.ts';

/** Maximum of cached statements, one for each condition. */
const maxCachedConditions = 200;

/** Makes columns that a request adds to those of the plan. `before` is the number of parameters in front of theirs. */
export type MoreColumns = (before: number) => QueryText;

const noColumns: MoreColumns = () => noText;

/** The statements that all pages under one condition have in common. */
interface ConditionStatements {
  readonly page: Statement;
  /** The SQL that counts rows, and the SQL that selects the counted rows. */
  readonly count: string;
  readonly rows: string;
}

/** The statements of a list in one order. Columns of the row plan come first, and so do the parameters of a condition. */
export class ListOrder {
  /** How the list continues from one of its rows. */
  readonly seek: SeekPlan | null;
  readonly #executor: Executor;
  readonly #dialect: Dialect;
  readonly #root: RootSelection;
  /** The conditions that select the rows of the list from its table. */
  readonly #own: readonly string[];
  readonly #sort: SortPlan;
  readonly #isWide: boolean;
  /** The positions of the columns that go into the token of a row. */
  readonly #edgeColumns: readonly number[];
  readonly #columns: string;
  /** The same for rows that a query selects. */
  readonly #columnsOfSelected: string;
  readonly #whole: ConditionStatements;
  readonly #narrowed = new LruCache<ConditionStatements>(maxCachedConditions);
  readonly #walk: SharedWalk | null;

  constructor(
    executor: Executor,
    dialect: Dialect,
    root: RootSelection,
    { filters, isWide, seek, sort }: { filters: readonly string[]; isWide: boolean; seek: SeekPlan | null; sort: SortPlan },
  ) {
    this.seek = seek;
    this.#executor = executor;
    this.#dialect = dialect;
    this.#root = root;
    this.#own = [...root.conditions, ...filters];
    this.#sort = sort;
    this.#isWide = isWide || seek?.holdsBigints === true;
    const columns = [...root.columns];
    const columnsOfSelected = [...root.columns];
    this.#edgeColumns = (seek?.columns ?? []).map((column) => {
      const known = root.columns.indexOf(column.sql);
      if (known >= 0) return known;
      columnsOfSelected.push(column.valueOf(rootTableAlias));
      return columns.push(column.sql) - 1;
    });
    this.#columns = columns.join(', ');
    this.#columnsOfSelected = columnsOfSelected.join(', ');
    this.#whole = this.#statements(noText);
    this.#walk = this.#sharedWalk();
  }

  /** Several pages can be found at once if the list is ordered by its key alone. */
  #sharedWalk(): SharedWalk | null {
    const select = this.#dialect.sql.pagesAtOffsets;
    if (!select || this.#sort.columns.length !== 1) return null;
    const { joins, table } = this.#root;
    const key = this.#root.keys[0] as string;
    const several = (size: number) =>
      this.#statement(select({ columns: this.#columns, conditions: this.#own, joins, key, table, size }));
    return new SharedWalk(this.#executor, this.#whole.page, several);
  }

  /** Whether the order uses columns of other tables. */
  get joins(): boolean {
    return this.#sort.joins.length > 0;
  }

  /** Rows at an offset. */
  rows(condition: QueryText, size: number, offset: number, more = noColumns): Promise<unknown[][]> {
    const columns = more(condition.params.length + 2);
    if (this.#walk && isEmpty(condition) && isEmpty(columns)) return this.#walk.rows(size, offset);
    const { page } = this.#statementsOf(condition, columns);
    return this.#executor.rows(page, [...condition.params, size, offset, ...columns.params]);
  }

  /** The statements that count the rows under a condition. */
  counted(condition: QueryText): CountSource {
    const { count, rows } = this.#statementsOf(condition);
    const { params } = condition;
    return { all: { sql: count, params }, rows: { sql: rows, params } };
  }

  /** Rows that come before or after a row, nearest first. */
  sought(condition: QueryText, seek: Seek, size: number, more = noColumns): Promise<unknown[][]> {
    const { params, sql } = this.#soughtText(condition, seek);
    const columns = more(params.length + 1);
    const text = this.#page(sql, seek.direction, `limit ${this.#parameter(params.length + 1)}`, columns.sql);
    return this.#executor.rows(this.#statement(text), [...params, size, ...columns.params]);
  }

  /** Whether rows follow a page that is sought backwards. */
  async hasFollowing(condition: QueryText, seek: Seek): Promise<boolean> {
    const { params, sql } = this.#soughtText(condition, complementOf(seek));
    const text = `select 1 ${this.#from(sql)} ${this.#order('after')} limit 1`;
    return (await this.#executor.rows(statementOf(text), params)).length > 0;
  }

  #soughtText({ params, sql }: QueryText, seek: Seek): QueryText {
    const condition = (this.seek as SeekPlan).condition(seek, (column) => column.sql);
    const sought = conditionText(condition, rootTableAlias, (position) => this.#parameter(params.length + position));
    return { sql: sql === '' ? sought.sql : `${sql} and ${sought.sql}`, params: [...params, ...sought.params] };
  }

  /** The statement of all rows that fulfil a condition. */
  all({ params, sql }: QueryText): BoundStatement {
    const { columns, joins } = this.#root;
    const text = `select ${columns.join(', ')} ${this.#from(sql, joins)} ${this.#order('after')}`;
    return { statement: this.#statement(text), parameters: params };
  }

  /**
   * The statement of the rows that a query selects by key, in its own order. The name that the query has in the statement hides a
   * table of that name.
   */
  selected({ params, sql }: QueryText, more = noColumns): BoundStatement {
    const columns = more(params.length);
    const { conditions, joins, table } = this.#root;
    const names = this.#keyNames.join(', ');
    const selected = `with _selected(${names}) as (${sql}), _page as (select ${names}, row_number() over () as place from _selected)`;
    const rows = `from _page as page inner join ${table} on ${this.#isOnPage} ${joins.join(' ')}${where(conditions)}`;
    const text = `${selected} select ${this.#columnsOfSelected}${columns.sql} ${rows} order by page.place`;
    return { statement: this.#statement(text), parameters: [...params, ...columns.params] };
  }

  /** The tokens of the first and the last of some rows. */
  edgesOf(rows: unknown[][]): PageEdges {
    const { seek } = this;
    const [first] = rows;
    if (!seek || !first) return noEdges;
    const tokenOf = (row: unknown[]) => seek.token(this.#edgeColumns.map((column) => row[column]));
    return { first: tokenOf(first), last: tokenOf(rows[rows.length - 1] as unknown[]) };
  }

  #statementsOf(condition: QueryText, more = noText): ConditionStatements {
    if (isEmpty(condition) && isEmpty(more)) return this.#whole;
    return this.#narrowed.get(`${keyOfText(condition)};${keyOfText(more)}`, () => this.#statements(condition, more.sql));
  }

  #statements({ params: { length }, sql }: QueryText, more = ''): ConditionStatements {
    const limits = `limit ${this.#parameter(length + 1)} offset ${this.#parameter(length + 2)}`;
    const from = `from ${this.#root.table}${this.#where(sql)}`;
    return {
      page: this.#statement(this.#page(sql, 'after', limits, more)),
      count: `select count(*) ${from}`,
      rows: `select 1 ${from}`,
    };
  }

  /** Finds the keys of the page first, so that embedded rows are joined to these alone. */
  #page(condition: string, direction: Seek['direction'], limits: string, more = ''): string {
    const { joins, table } = this.#root;
    const orderBy = this.#order(direction);
    const keys = `${this.#from(condition)} ${orderBy} ${limits}`;
    if (joins.length === 0) return `select ${this.#columns}${more} ${keys}`;
    const selected = this.#keyNames.map((name, i) => `${this.#root.keys[i]} as ${name}`).join(', ');
    return `select ${this.#columns}${more} from (select ${selected} ${keys}) as page inner join ${table} on ${this.#isOnPage} ${[...this.#sort.joins, ...joins].join(' ')} ${orderBy}`;
  }

  /** The names of the key columns in a selection of keys. */
  get #keyNames(): readonly string[] {
    const { keys } = this.#root;
    return keys.length === 1 ? ['key'] : keys.map((_, i) => `key${i}`);
  }

  get #isOnPage(): string {
    return this.#keyNames.map((name, i) => `${this.#root.keys[i]} = page.${name}`).join(' and ');
  }

  #from(condition: string, joins: readonly string[] = []): string {
    return `from ${[this.#root.table, ...this.#sort.joins, ...joins].join(' ')}${this.#where(condition)}`;
  }

  #where(condition: string): string {
    return where(condition === '' ? this.#own : [...this.#own, condition]);
  }

  #order(direction: Seek['direction']): string {
    const terms = this.#sort.columns.map((column) => {
      const isForward = (column.direction === 'asc') === (direction === 'after');
      return `${column.sql} ${isForward ? 'asc' : 'desc'}`;
    });
    return `order by ${terms.join(', ')}`;
  }

  #parameter(position: number): string {
    return this.#dialect.sql.parameter(position);
  }

  #statement(text: string): Statement {
    return statementOf(text, this.#isWide);
  }
}

function isEmpty(text: QueryText): boolean {
  return keyOfText(text) === '';
}

export function where(conditions: readonly string[]): string {
  return conditions.length > 0 ? ` where ${conditions.join(' and ')}` : '';
}
