import type { Executor } from '../../database/executor.ts';
import type { CountMode } from '../../declaration/types.ts';
import type { Dialect, RowEstimate } from '../../dialect/dialect.ts';
import type { Counted } from '../../response/collection.ts';
import { nameOf } from './bound-statement.ts';
import { cappedCountText, countedAbout, countedFrom, countedTo, countLimit, numberTold } from './count.ts';
import type { BoundText } from './page-text.ts';
import type { Window } from './window.ts';

/** What is counted: the statement that counts all of it, and the one that selects it, where that is not done. */
export interface CountSource {
  readonly all: BoundText;
  readonly rows: BoundText | null;
}

/** Numbers that are remembered, each of another statement. */
const keptNumbers = 500;

/** Counts the rows of a list as its API says, and only where the page itself does not tell. */
export class RowCounter {
  readonly #executor: Executor;
  readonly #mode: CountMode;
  readonly #limit: number | null;
  readonly #estimate: RowEstimate | null;
  /** How many rows a statement had last. It decides what is asked for first, and is never an answer. */
  readonly #last = new Map<string, number>();

  constructor(executor: Executor, mode: CountMode, dialect: Dialect) {
    this.#executor = executor;
    this.#mode = mode;
    this.#limit = countLimit(mode, dialect);
    this.#estimate = mode === 'estimated' ? dialect.sql.estimate : null;
  }

  /** Whether the number does not say if rows follow a page, so that one row more has to be asked for. */
  get isPartial(): boolean {
    return this.#mode !== 'exact';
  }

  async count({ all, rows }: CountSource): Promise<Counted> {
    if (this.#limit === null || !rows) return countedFrom(await this.#number(all), this.#mode);
    const found = await this.#number({ text: cappedCountText(rows.text, this.#limit), params: rows.params });
    if (!this.#estimate || found <= this.#limit) return countedTo(found, this.#limit);
    const [result] = await this.#send({ text: this.#estimate.statement(rows.text), params: rows.params });
    return countedAbout(this.#estimate.rowsIn(result?.[0]));
  }

  /**
   * Fetches a page by its place, and counts. A page that is not full tells the number: where that is to be expected, it is
   * waited for; else both are asked for at once, as waiting costs the caller more than counting the database.
   */
  async beside(
    { offset, limit }: Window,
    source: CountSource,
    fetch: () => Promise<unknown[][]>,
  ): Promise<readonly [rows: unknown[][], counted: Counted]> {
    const last = this.#last.get(source.all.text);
    const isLikelyFull = last === undefined || offset + limit <= last || offset > last;
    const counting = isLikelyFull ? this.count(source) : null;
    // it is looked at below, or not at all
    counting?.catch(() => undefined);
    const rows = await fetch();
    const told = numberTold(rows.length, { offset, limit }, this.#mode);
    const counted = told === null ? await (counting ?? this.count(source)) : countedFrom(told, this.#mode);
    this.#remember(source, counted.count);
    return [rows, counted];
  }

  #remember({ all: { text } }: CountSource, count: number): void {
    if (this.#last.size >= keptNumbers && !this.#last.has(text)) this.#last.delete(this.#last.keys().next().value as string);
    this.#last.set(text, count);
  }

  async #number(statement: BoundText): Promise<number> {
    const [row] = await this.#send(statement);
    return Number(row?.[0]);
  }

  #send({ text, params }: BoundText): Promise<unknown[][]> {
    return this.#executor.rows({ name: nameOf(text), text, wide: false }, params);
  }
}
