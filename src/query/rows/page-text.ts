import { LruCache } from '../../database/lru-cache.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { RowPlan } from './row-plan.ts';
import { rootTableAlias } from './row-plan.ts';
import { complementOf, type Seek, type SeekPlan } from './seek-plan.ts';
import type { SortColumn, SortPlan } from './sort-plan.ts';

/** A statement's text, and the values of its parameters. */
export interface BoundText {
  readonly text: string;
  readonly params: readonly unknown[];
}

/** A condition on the rows of a list, whose parameters come before all others. */
export interface Narrowing {
  /** Empty where there is none. */
  readonly sql: string;
  readonly params: readonly unknown[];
}

export const noNarrowing: Narrowing = Object.freeze({ sql: '', params: [] });

/** Texts of what is sought that are kept. */
const keptTexts = 200;

/** The texts of the statements behind the pages of one list, with the columns of the row plan first. */
export class PageText {
  readonly #root: RowPlan['root'];
  /** What the rows of the list are among those of the table. */
  readonly #own: readonly string[];
  readonly #sort: SortPlan;
  readonly #seek: SeekPlan | null;
  readonly #dialect: Dialect;
  /** Which columns of a row its token is made of. */
  readonly edgeColumns: readonly number[];
  /** Of the rows that a query selects. */
  readonly #columnsOfSelected: string;
  readonly #columns: string;
  /** Texts of what is sought, by which of the values are null: the conditions differ in that. */
  readonly #sought = new LruCache<string>(keptTexts);

  constructor(root: RowPlan['root'], filters: readonly string[], sort: SortPlan, seek: SeekPlan | null, dialect: Dialect) {
    this.#root = root;
    this.#own = [...root.conditions, ...filters];
    this.#sort = sort;
    this.#seek = seek;
    this.#dialect = dialect;
    const columns = [...root.columns];
    const columnsOfSelected = [...root.columns];
    this.edgeColumns = (seek?.columns ?? []).map((column) => {
      const known = root.columns.indexOf(column.sql);
      if (known >= 0) return known;
      columnsOfSelected.push(column.valueOf(rootTableAlias));
      return columns.push(column.sql) - 1;
    });
    this.#columns = columns.join(', ');
    this.#columnsOfSelected = columnsOfSelected.join(', ');
  }

  /** A page by its place: parameters are its length and how many rows come before it. */
  byOffset(): string {
    return this.#page([], 'after', `limit ${this.#parameter(1)} offset ${this.#parameter(2)}`);
  }

  /** The same of the rows that fulfil a condition. */
  byOffsetWhere({ params, sql }: Narrowing): string {
    const taken = params.length;
    return this.#page(conditionsOf(sql), 'after', `limit ${this.#parameter(taken + 1)} offset ${this.#parameter(taken + 2)}`);
  }

  /** Whether several pages can be found at once: where the key alone is what the list is ordered by. */
  get canShareWalks(): boolean {
    return this.#dialect.sql.pagesAtOffsets !== null && this.#sort.columns.length === 1;
  }

  /** Several pages of one size by their places. The parameter are the offsets, in ascending order. */
  byOffsets(size: number): string {
    const { joins, key, table } = this.#root;
    const select = this.#dialect.sql.pagesAtOffsets as NonNullable<Dialect['sql']['pagesAtOffsets']>;
    return select({ columns: this.#columns, conditions: this.#own, joins, key, table, size });
  }

  /** All rows that fulfil the conditions, in order. */
  all(conditions: readonly string[]): string {
    const { columns, joins, table } = this.#root;
    const from = [table, ...this.#sort.joins, ...joins].join(' ');
    return `select ${columns.join(', ')} from ${from}${where([...this.#own, ...conditions])} ${this.#order('after')}`;
  }

  /** What comes before or after a row, nearest first. */
  sought(seek: Seek, limit: number, narrowing = noNarrowing): BoundText {
    return this.#cached('rows', seek, narrowing, [limit], (condition) => {
      const limits = `limit ${this.#parameter(narrowing.params.length + 1)}`;
      return this.#page([...conditionsOf(narrowing.sql), condition], seek.direction, limits);
    });
  }

  /** Whether anything follows what is sought backwards. */
  following(seek: Seek, narrowing = noNarrowing): BoundText {
    return this.#cached('following', complementOf(seek), narrowing, [], (condition) => {
      const { table } = this.#root;
      const conditions = [...this.#own, ...conditionsOf(narrowing.sql), condition];
      return `select 1 from ${[table, ...this.#sort.joins].join(' ')}${where(conditions)} ${this.#order('after')} limit 1`;
    });
  }

  /** The rows that a query selects by key, in its own order. What it is called in the statement hides a table of that name. */
  ofSelected(sql: string): string {
    const { conditions, joins, key, table } = this.#root;
    const selected = `with _selected(key) as (${sql}), _page as (select key, row_number() over () as place from _selected)`;
    return `${selected} select ${this.#columnsOfSelected} from _page as page inner join ${table} on ${key} = page.key ${joins.join(' ')}${where(conditions)} order by page.place`;
  }

  #cached(
    what: 'rows' | 'following',
    seek: Seek,
    narrowing: Narrowing,
    before: readonly unknown[],
    textOf: (condition: string) => string,
  ): BoundText {
    const plan = this.#seek as SeekPlan;
    const params = [...narrowing.params, ...before];
    let position = params.length;
    let form = `${what} ${seek.direction} ${seek.inclusive}`;
    for (const [i, value] of seek.values.entries()) {
      if (value === null) form += ` ${i}`;
      else params.push(plan.bound(value, i));
    }
    const columnOf = (column: SortColumn) => column.sql;
    const text = this.#sought.get(`${form} ${narrowing.sql}`, () =>
      textOf(plan.condition(seek, columnOf, () => this.#parameter(++position))),
    );
    return { text, params };
  }

  /** The keys of the page are found first, and what is embedded is joined to them alone. */
  #page(conditions: readonly string[], direction: Seek['direction'], limits: string): string {
    const { joins, key, table } = this.#root;
    const orderBy = this.#order(direction);
    const keys = `from ${[table, ...this.#sort.joins].join(' ')}${where([...this.#own, ...conditions])} ${orderBy} ${limits}`;
    if (joins.length === 0) return `select ${this.#columns} ${keys}`;
    return `select ${this.#columns} from (select ${key} as key ${keys}) as page inner join ${table} on ${key} = page.key ${[...this.#sort.joins, ...joins].join(' ')} ${orderBy}`;
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
}

function conditionsOf(sql: string): string[] {
  return sql === '' ? [] : [sql];
}

export function where(conditions: readonly string[]): string {
  return conditions.length > 0 ? ` where ${conditions.join(' and ')}` : '';
}
