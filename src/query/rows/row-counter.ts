import type { Executor } from '../../database/executor.ts';
import { LruCache } from '../../database/lru-cache.ts';
import type { CountMode } from '../../declaration/types.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { Counted } from '../../response/collection.ts';
import { type QueryText, statementOf } from './bound-statement.ts';
import { type CountSource, countedFrom, countedPastEnd, countRows, numberTold } from './count.ts';
import type { Window } from './seek-plan.ts';

/** Numbers that are remembered, each of another statement. */
const keptNumbers = 500;

/** Counts the rows of a list as its API says, and only where the page itself does not tell. */
export class RowCounter {
  readonly #executor: Executor;
  readonly #mode: CountMode;
  readonly #dialect: Dialect;
  /** How many rows a statement had last. It decides what is asked for first, and is never an answer. */
  readonly #last = new LruCache<number>(keptNumbers);

  constructor(executor: Executor, mode: CountMode, dialect: Dialect) {
    this.#executor = executor;
    this.#mode = mode;
    this.#dialect = dialect;
  }

  /** Whether the number does not say if rows follow a page, so that one row more has to be asked for. */
  get isPartial(): boolean {
    return this.#mode !== 'exact';
  }

  count(source: CountSource): Promise<Counted> {
    return countRows(source, this.#mode, this.#dialect, this.#first);
  }

  readonly #first = async ({ params, sql }: QueryText): Promise<unknown> => {
    const [row] = await this.#executor.rows(statementOf(sql), params);
    return row?.[0];
  };

  /**
   * Fetches a page by its place, and counts. A page that is not full tells the number: where that is to be expected, it is
   * waited for; else both are asked for at once, as waiting costs the caller more than counting the database.
   */
  async beside(
    { offset, limit }: Window,
    source: CountSource,
    fetch: () => Promise<unknown[][]>,
  ): Promise<readonly [rows: unknown[][], counted: Counted]> {
    const last = this.#last.get(source.all.sql);
    const isLikelyFull = last === undefined || offset + limit <= last || offset > last;
    const counting = isLikelyFull ? this.count(source) : null;
    // it is looked at below, or not at all
    counting?.catch(() => undefined);
    const rows = await fetch();
    const told = numberTold(rows.length, { offset, limit }, this.#mode);
    const counted =
      told === null ? await this.#settled(rows, source, await (counting ?? this.count(source))) : countedFrom(told, this.#mode);
    this.#last.set(source.all.sql, counted.count);
    return [rows, counted];
  }

  /** The same for a query that may fail where there is nothing to order: nothing is fetched beyond its end. */
  async before(
    { offset }: Window,
    source: CountSource,
    fetch: () => Promise<unknown[][]>,
  ): Promise<readonly [rows: unknown[][], counted: Counted]> {
    const counted = await this.count(source);
    const rows = counted.is === 'exact' && offset >= counted.count ? [] : await fetch();
    return [rows, await this.#settled(rows, source, counted)];
  }

  async #settled(rows: unknown[][], { all }: CountSource, counted: Counted): Promise<Counted> {
    return rows.length > 0 ? counted : countedPastEnd(counted, this.#mode, () => this.#first(all));
  }
}
