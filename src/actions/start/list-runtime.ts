import { LruCache } from '../../database/lru-cache.ts';
import type { SortKey } from '../../declaration/types.ts';
import type { ListPlan } from '../../query/entities/key-query.ts';
import type { ListQuery, ListQueryReader } from '../../query/list/list-query.ts';
import type { SeekPlan } from '../../query/rows/seek-plan.ts';
import { pageParameters, refusePaging } from '../../response/page-request.ts';

/** Orders that were asked for, each with what its links need. */
const keptOrders = 100;

/** The list of one action: what can be asked of it, its order, and how it goes on from a row of it. */
export class ListRuntime {
  readonly #askable: ListQueryReader;
  readonly #plan: ListPlan;
  readonly #seekOf: (sort: readonly SortKey[]) => SeekPlan | null;
  readonly #orders = new LruCache<ListPlan>(keptOrders);

  constructor(askable: ListQueryReader, plan: ListPlan, seekOf: (sort: readonly SortKey[]) => SeekPlan | null) {
    this.#askable = askable;
    this.#plan = plan;
    this.#seekOf = seekOf;
  }

  /**
   * Reads what a request asks, or throws the 400 that says what it may ask. `declared` are the names of further parameters. A list that
   * is not closed leaves other parameters alone.
   */
  read(query: Readonly<Record<string, unknown>>, declared: readonly string[], isClosed = true): ListQuery {
    const others = declared.length === 0 ? pageParameters : [...pageParameters, ...declared];
    return this.#askable.read(query, others, isClosed);
  }

  /** The same for the whole list, of which there are no pages. */
  readWhole(query: Readonly<Record<string, unknown>>, declared: readonly string[]): ListQuery {
    refusePaging(query);
    return this.#askable.read(query, declared);
  }

  /** The list where nothing was asked. */
  get plan(): ListPlan {
    return this.#plan;
  }

  /** The list in the order that was asked for. */
  planOf({ sort }: ListQuery): ListPlan {
    if (!sort) return this.#plan;
    return this.#orders.get(orderKey(sort), () => ({ ...this.#plan, sort, seek: this.#seekOf(sort) }));
  }
}

/** A text that is the same for the same order. */
export function orderKey(sort: readonly SortKey[]): string {
  return sort.map(({ direction, property }) => `${property} ${direction}`).join();
}
