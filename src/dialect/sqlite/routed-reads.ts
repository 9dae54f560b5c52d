import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { coalesced, type Statement } from '../../database/executor.ts';
import { LruCache } from '../../database/lru-cache.ts';
import { StatementCosts } from '../../database/statement-costs.ts';
import type { StatementWatch } from '../../database/statement-watch.ts';
import { TooLargeError } from '../../database/too-large.ts';
import { PreparedReads, type RowForm } from './prepared-reads.ts';
import { planRead, type ReadPlan } from './read-plan.ts';
import { NoThreads, type ReaderThreads } from './reader-threads.ts';
import { type StoppableConnection, Stopped } from './stoppable-connection.ts';
import { Stopwatch } from './stopwatch.ts';

/** Milliseconds for which a read may hold up everything else; what takes longer is read in a thread. */
const longest = 10;

/** Milliseconds of a read that is short however many others there are. */
const short = 2;

/** Milliseconds of one turn of the event loop that reads which are not short may take together. */
const longestTurn = 25;

/** Bytes of a database of which each table is counted in about that time. */
const small = 64 * 1024 * 1024;

const keptPlans = 2000;

/** Two connections to one file, which read in this thread. */
export interface ReadConnections {
  readonly plain: DatabaseSync;
  readonly stoppable: StoppableConnection;
}

interface RoutedReadsOptions {
  readonly watch?: StatementWatch;
  /** Bytes that the rows of a statement in a thread may have. Here, ten milliseconds are the limit. */
  readonly mostBytes?: number;
}

/** Reads on connections of this thread, or in another thread if the statement takes long. */
export class RoutedReads {
  readonly db: DatabaseSync;
  readonly #stoppable: StoppableConnection;
  /** Reports to the watch by itself. */
  readonly #lookups: PreparedReads;
  readonly #plainReads: PreparedReads;
  readonly #stoppableReads: PreparedReads;
  readonly #form: RowForm;
  readonly #threads: ReaderThreads;
  readonly #watch: StatementWatch;
  readonly #mostBytes: number | undefined;
  readonly #size: StatementSync;
  readonly #plans = new LruCache<ReadPlan>(keptPlans);
  readonly #costs = new StatementCosts();
  readonly #shapes = new StatementCosts();
  /** Milliseconds of this turn of the event loop that went into reads which are not short. */
  #spent = 0;
  readonly #inThread: (statement: Statement, parameters: readonly unknown[], kind: Statement) => Promise<unknown[]>;

  constructor(
    { plain, stoppable }: ReadConnections,
    threads: ReaderThreads,
    form: RowForm,
    { mostBytes, watch = {} }: RoutedReadsOptions = {},
  ) {
    this.db = plain;
    this.#stoppable = stoppable;
    this.#lookups = new PreparedReads(plain, form, { watch });
    this.#plainReads = new PreparedReads(plain, form);
    this.#stoppableReads = new PreparedReads(stoppable.db, form, { beforePrepare: () => stoppable.hideTables() });
    this.#form = form;
    this.#threads = threads;
    this.#watch = watch;
    this.#mostBytes = mostBytes;
    this.#size = plain.prepare('select page_count * page_size as bytes from pragma_page_count, pragma_page_size');
    const read = this.#elsewhere.bind(this);
    // the mapper may change the objects that it gets
    this.#inThread = form === 'arrays' ? coalesced((...asked) => read(...asked, asked[0]) as Promise<unknown[][]>) : read;
  }

  /** @param kind Stands for all statements that cost about the same. */
  rows(statement: Statement, parameters: readonly unknown[], kind = statement): unknown[] | Promise<unknown[]> {
    const plan = this.#planOf(statement, kind);
    if (plan.kind === 'lookup') return this.#lookups.rows(statement, parameters);
    const read: Read = { statement, parameters, kind, plan };
    if (this.#isLong(read)) return this.#inThread(statement, parameters, kind);
    if (plan.kind !== 'stoppable') return this.#here(read);
    try {
      const stopwatch = new Stopwatch();
      return this.#stoppable.within(longest, () => this.#here(read, this.#stoppableReads, stopwatch), stopwatch);
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
      // others that ask the same meanwhile need not try it here
      this.#remember(read, 1.1 * longest);
      return this.#inThread(statement, parameters, kind);
    }
  }

  #planOf(statement: Statement, kind: Statement): ReadPlan {
    return this.#plans.get(kind.name, () => planRead(statement.text, this.db, this.#stoppable));
  }

  #isLong(read: Read): boolean {
    if (read.plan.kind === 'any') return true;
    const cost = this.#expected(read);
    // many requests that arrive together shall not hold up everything else for ten milliseconds each
    if (this.#spent >= longestTurn && read.plan.kind === 'stoppable' && (cost === undefined || cost > short)) return true;
    if (cost !== undefined) return cost > longest;
    return read.plan.kind === 'count' && Number(this.#size.get()?.bytes) >= small;
  }

  /** Milliseconds, or undefined if nothing like it was read yet. */
  #expected({ kind, parameters, plan }: Read): number | undefined {
    return this.#costs.of(kind, parameters) ?? this.#shapes.of({ ...kind, name: plan.shape }, parameters);
  }

  /** What statements of its shape cost is what they cost the first time: later each is known by itself. */
  #remember({ kind, parameters, plan }: Read, cost: number): void {
    if (this.#costs.of(kind, parameters) === undefined) this.#shapes.note({ ...kind, name: plan.shape }, parameters, cost);
    this.#costs.note(kind, parameters, cost);
  }

  #here(read: Read, reads = this.#plainReads, stopwatch = new Stopwatch()): unknown[] {
    let cost = longest;
    try {
      const rows = reads.rows(read.statement, read.parameters);
      cost = stopwatch.cost();
      this.#remember(read, cost);
      this.#watch.answered?.(stopwatch.elapsed(), false);
      return rows;
    } finally {
      if (cost > short) this.#spend(cost);
    }
  }

  #spend(milliseconds: number): void {
    if (this.#spent === 0) setImmediate(() => (this.#spent = 0));
    this.#spent += milliseconds;
  }

  async #elsewhere(statement: Statement, parameters: readonly unknown[], kind: Statement): Promise<unknown[]> {
    const plan = this.#planOf(statement, kind);
    const read: Read = { statement, parameters, kind, plan };
    const start = performance.now();
    try {
      const limits = this.#mostBytes === undefined ? {} : { mostBytes: this.#mostBytes };
      const sent = { statement, parameters, as: this.#form, ...limits };
      const isStoppable = plan.kind === 'stoppable';
      const { rows, took, cost } = await this.#threads.rows(sent, { isStoppable, expected: this.#expected(read) });
      this.#remember(read, cost);
      this.#watch.answered?.(took, false);
      return rows;
    } catch (error) {
      if (error instanceof NoThreads) return this.#here(read);
      if (error instanceof TooLargeError) this.#remember(read, 2 * longest);
      this.#watch.answered?.(performance.now() - start, true);
      throw error;
    }
  }
}

/** A statement that is about to be read, with what is known of it. */
interface Read {
  readonly statement: Statement;
  readonly parameters: readonly unknown[];
  readonly kind: Statement;
  readonly plan: ReadPlan;
}
