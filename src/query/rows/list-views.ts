import { LruCache } from '../../database/lru-cache.ts';
import type { SortKey } from '../../declaration/types.ts';
import { choiceKey, type FieldChoice } from '../../model/field-choice.ts';
import type { RowFormat } from '../../serialization/kind-conversions.ts';
import { NotCompilable } from './association.ts';
import type { RowPlan } from './row-plan.ts';
import type { ListOrder } from './seek/list-order.ts';
import type { SeekPlan } from './seek/seek-plan.ts';
import { type ShownRows, showRows } from './shown-rows.ts';

/** A list as it is read: in one order, and with one choice of fields. */
export interface ListView {
  readonly order: ListOrder;
  readonly shown: ShownRows;
}

/** Makes the statements of a list in an order, or throws `NotCompilable`. */
export type OrderOf = (sort: readonly SortKey[], seek: SeekPlan | null) => ListOrder;

/** Sizes of the caches. Orders and choices that callers request less often are removed, and computed when they are requested next. */
const maxCachedOrders = 50;
const maxCachedChoices = 50;

/** The orders and choices of fields that callers request of one list. */
export class ListViews {
  /** The list in its default order with all fields. */
  readonly whole: ListView;
  readonly #plan: RowPlan;
  readonly #format: RowFormat;
  readonly #orderOf: OrderOf;
  readonly #orders = new LruCache<ListOrder | null>(maxCachedOrders);
  readonly #narrower: ReadonlyMap<object, ListView>;
  readonly #choices = new LruCache<ShownRows>(maxCachedChoices);

  constructor(plan: RowPlan, format: RowFormat, orderOf: OrderOf, order: ListOrder) {
    this.#plan = plan;
    this.#format = format;
    this.#orderOf = orderOf;
    this.whole = { order, shown: showRows(plan, null, format) };
    const narrowed = [...plan.narrower].map(([key, object]) => [key, showRows(plan, null, format, object)] as const);
    this.#narrower = new Map(narrowed.map(([key, shown]) => [key, { order, shown }]));
  }

  /** Null if only MikroORM can order it so. */
  of(
    order: { readonly sort: readonly SortKey[]; readonly seek: SeekPlan | null } | null,
    choice: FieldChoice | null,
  ): ListView | null {
    const view = this.ofChoice(choice);
    if (!order) return view;
    const ordered = this.#orders.get(JSON.stringify(order.sort), () => this.#plannedOrder(order.sort, order.seek));
    return ordered && { ...view, order: ordered };
  }

  /** The list in its own order, with a choice of fields. */
  ofChoice(choice: FieldChoice | null): ListView {
    if (!choice) return this.whole;
    const shown = this.#choices.get(choiceKey(choice), () => showRows(this.#plan, choice, this.#format));
    return { ...this.whole, shown };
  }

  /** The rows with the fields of a narrower plan. */
  ofNarrower(key: object): ListView {
    const view = this.#narrower.get(key);
    if (!view) throw new Error('rows were read without this plan');
    return view;
  }

  #plannedOrder(sort: readonly SortKey[], seek: SeekPlan | null): ListOrder | null {
    try {
      return this.#orderOf(sort, seek);
    } catch (error) {
      if (error instanceof NotCompilable) return null;
      throw error;
    }
  }
}
