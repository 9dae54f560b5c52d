import { LruCache } from '../../database/lru-cache.ts';
import type { SortKey } from '../../declaration/types.ts';
import type { AggregatePlan } from '../../query/aggregate/aggregate-plan.ts';
import { type AggregateReader, aggregateParameters } from '../../query/aggregate/aggregate-reader.ts';
import type { ListPlan } from '../../query/entities/key-query.ts';
import type { Condition } from '../../query/list/condition.ts';
import type { ListQuery, ListQueryReader } from '../../query/list/list-query.ts';
import type { SeekPlan } from '../../query/rows/seek/seek-plan.ts';
import { pageParameters, rejectPaging } from '../../response/page-request.ts';

/** Requested orders that are cached, each with the plan of its links. */
const cachedOrders = 100;

const aggregatePaging: readonly string[] = ['page', 'items_per_page'];

interface ReadAggregate {
  readonly condition: Condition | null;
  readonly plan: AggregatePlan;
  readonly maxGroups: number;
}

/** The list of one action: its query parameters, its order, and how it continues after one of its rows. */
export class ListRuntime {
  readonly #reader: ListQueryReader;
  readonly #plan: ListPlan;
  readonly #seekOf: (sort: readonly SortKey[]) => SeekPlan | null;
  readonly #aggregates: AggregateReader | null;
  readonly #orders = new LruCache<ListPlan>(cachedOrders);

  constructor(
    reader: ListQueryReader,
    plan: ListPlan,
    seekOf: (sort: readonly SortKey[]) => SeekPlan | null,
    aggregates: AggregateReader | null = null,
  ) {
    this.#reader = reader;
    this.#plan = plan;
    this.#seekOf = seekOf;
    this.#aggregates = aggregates;
  }

  /**
   * Reads the query parameters of a request, or throws 400 with the allowed ones. `declared` are the names of further parameters.
   * A list that is not closed ignores other parameters.
   */
  read(query: Readonly<Record<string, unknown>>, declared: readonly string[], isClosed = true): ListQuery {
    const others = declared.length === 0 ? pageParameters : [...pageParameters, ...declared];
    return this.#reader.read(query, others, isClosed);
  }

  /** The same for the whole list: parameters of pages are rejected. */
  readWhole(query: Readonly<Record<string, unknown>>, declared: readonly string[]): ListQuery {
    rejectPaging(query);
    return this.#reader.read(query, declared);
  }

  /** Reads the query parameters of a request for aggregates, or throws 400 with the allowed ones. */
  readAggregate(query: Readonly<Record<string, unknown>>, declared: readonly string[], isPaged: boolean): ReadAggregate {
    if (!this.#aggregates) throw new Error('the list declares no aggregates');
    const others = [...aggregateParameters, ...(isPaged ? aggregatePaging : []), ...declared];
    const condition = this.#reader.readCondition(query, others);
    return { condition, plan: this.#aggregates.read(query), maxGroups: this.#aggregates.maxGroups };
  }

  /** The plan for a request without query parameters. */
  get plan(): ListPlan {
    return this.#plan;
  }

  /** The plan for the requested order. */
  planOf({ sort }: ListQuery): ListPlan {
    if (!sort) return this.#plan;
    return this.#orders.get(orderKey(sort), () => ({ ...this.#plan, sort, seek: this.#seekOf(sort) }));
  }
}

/** A cache key of an order. */
export function orderKey(sort: readonly SortKey[]): string {
  return sort.map(({ direction, property }) => `${property} ${direction}`).join();
}
