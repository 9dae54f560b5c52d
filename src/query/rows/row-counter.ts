import type { Executor } from '../../database/executor.ts';
import { LruCache } from '../../database/lru-cache.ts';
import type { CountMode } from '../../declaration/types.ts';
import type { Dialect } from '../../dialect/dialect.ts';
import type { Counted } from '../../response/collection.ts';
import { type QueryText, statementOf } from './bound-statement.ts';
import { type CountSource, countedFrom, countedPastEnd, countRows, totalFromPage } from './count.ts';
import type { Window } from './seek/seek-plan.ts';

/** Maximum of cached counts, one for each statement. */
const maxCachedCounts = 500;

/** Counts the rows of a list as its API declares, and only if the page itself does not tell the number. */
export class RowCounter {
  readonly #executor: Executor;
  readonly #mode: CountMode;
  readonly #dialect: Dialect;
  /** How many rows a statement had last. It only decides when to count, and never goes into a response. */
  readonly #last = new LruCache<number>(maxCachedCounts);

  constructor(executor: Executor, mode: CountMode, dialect: Dialect) {
    this.#executor = executor;
    this.#mode = mode;
    this.#dialect = dialect;
  }

  /** Whether the count does not tell if rows follow a page, so that one row more must be selected. */
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
   * Fetches a page at an offset, and counts. A page that is not full tells the number, so if that is likely, nothing is counted
   * before the page is there. Otherwise both statements are sent at once: to wait costs the caller more than to count costs the
   * database.
   */
  async beside(
    { offset, limit }: Window,
    source: CountSource,
    fetch: () => Promise<unknown[][]>,
  ): Promise<readonly [rows: unknown[][], counted: Counted]> {
    const last = this.#last.get(source.all.sql);
    const isLikelyFull = last === undefined || offset + limit <= last || offset > last;
    const counting = isLikelyFull ? this.count(source) : null;
    // an error is thrown where the count is awaited, or the count is not needed
    counting?.catch(() => undefined);
    const rows = await fetch();
    const total = totalFromPage(rows.length, { offset, limit }, this.#mode);
    const counted =
      total === null ? await this.#settled(rows, source, await (counting ?? this.count(source))) : countedFrom(total, this.#mode);
    this.#last.set(source.all.sql, counted.count);
    return [rows, counted];
  }

  /** The same for a query that may fail if there is nothing to order. It counts first, and fetches nothing beyond the end. */
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
