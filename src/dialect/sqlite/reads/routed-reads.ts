import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { coalesced, type Statement } from '../../../database/executor.ts';
import { LruCache } from '../../../database/lru-cache.ts';
import { StatementCosts } from '../../../database/statement-costs.ts';
import type { StatementWatch } from '../../../database/statement-watch.ts';
import { TooLargeError } from '../../../database/too-large.ts';
import { type StoppableConnection, Stopped } from '../stoppable-connection.ts';
import { PreparedReads, type RowForm } from './prepared-reads.ts';
import { planRead, type ReadPlan } from './read-plan.ts';
import { NoThreads, type ReaderThreads } from './reader-threads.ts';
import { ShortReads } from './short-reads.ts';
import { Stopwatch } from './stopwatch.ts';
import { TurnBudget } from './turn-budget.ts';

/** Milliseconds for which a read may block the event loop; longer reads run in a thread. */
const maxReadTime = 10;

/** Milliseconds up to which a read is short. Short reads stay in this thread, however many there are. */
const shortReadTime = 2;

/** Bytes of a database in which any table can be counted within about {@link maxReadTime}. */
const smallDatabase = 64 * 1024 * 1024;

const planCacheSize = 2000;

/** Two connections to one file, which read in this thread. */
export interface ReadConnections {
  readonly plain: DatabaseSync;
  readonly stoppable: StoppableConnection;
}

interface RoutedReadsOptions {
  readonly watch?: StatementWatch;
  /** The most bytes that the rows of a statement in another thread may have. In this thread, ten milliseconds are the limit. */
  readonly mostBytes?: number;
}

/** Reads on connections of this thread, or in another thread if the statement takes long. */
export class RoutedReads {
  readonly db: DatabaseSync;
  readonly #stoppable: StoppableConnection;
  /** Reports to the watch by itself. */
  readonly #fastReads: PreparedReads;
  readonly #plainReads: PreparedReads;
  readonly #stoppableReads: PreparedReads;
  readonly #form: RowForm;
  readonly #threads: ReaderThreads;
  readonly #watch: StatementWatch;
  readonly #mostBytes: number | undefined;
  readonly #size: StatementSync;
  readonly #plans = new LruCache<ReadPlan>(planCacheSize);
  readonly #costs = new StatementCosts();
  readonly #shapes = new StatementCosts();
  readonly #budget = new TurnBudget();
  readonly #shortReads: ShortReads;
  readonly #inThread: (statement: Statement, parameters: readonly unknown[], kind: Statement) => Promise<unknown[]>;

  constructor(
    { plain, stoppable }: ReadConnections,
    threads: ReaderThreads,
    form: RowForm,
    { mostBytes, watch = {} }: RoutedReadsOptions = {},
  ) {
    this.db = plain;
    this.#stoppable = stoppable;
    this.#fastReads = new PreparedReads(plain, form, { watch });
    this.#plainReads = new PreparedReads(plain, form);
    this.#stoppableReads = new PreparedReads(stoppable.db, form, { beforePrepare: () => stoppable.hideTables() });
    this.#shortReads = new ShortReads(plain);
    this.#form = form;
    this.#threads = threads;
    this.#watch = watch;
    this.#mostBytes = mostBytes;
    this.#size = plain.prepare('select page_count * page_size as bytes from pragma_page_count, pragma_page_size');
    const read = this.#readInThread.bind(this);
    // objects are not shared: the mapper may change those that it gets
    this.#inThread = form === 'arrays' ? coalesced((...args) => read(...args, args[0]) as Promise<unknown[][]>) : read;
  }

  /** @param kind Represents all statements that cost about the same. */
  rows(statement: Statement, parameters: readonly unknown[], kind = statement): unknown[] | Promise<unknown[]> {
    const plan = this.#planOf(statement, kind);
    if (plan.kind === 'lookup' || (plan.kind === 'stoppable' && this.#shortReads.has(statement, parameters, plan.offset))) {
      return this.#fastReads.rows(statement, parameters);
    }
    const read: Read = { statement, parameters, kind, plan };
    const place = this.#placeOf(read);
    if (place === 'thread') return this.#inThread(statement, parameters, kind);
    return place === 'turn' ? this.#budget.later(this.#expected(read) ?? 0, () => this.#readNow(read)) : this.#readNow(read);
  }

  #readNow(read: Read): unknown[] | Promise<unknown[]> {
    if (read.plan.kind !== 'stoppable') return this.#readHere(read);
    try {
      const stopwatch = new Stopwatch();
      return this.#stoppable.within(maxReadTime, () => this.#readHere(read, this.#stoppableReads, stopwatch), stopwatch);
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
      // identical reads meanwhile need not be tried in this thread
      this.#remember(read, 1.1 * maxReadTime);
      return this.#inThread(read.statement, read.parameters, read.kind);
    }
  }

  #planOf(statement: Statement, kind: Statement): ReadPlan {
    return this.#plans.get(kind.name, () => planRead(statement.text, this.db, this.#stoppable));
  }

  /** Requests that arrive together must not block the event loop for ten milliseconds each: some wait for the next turn. */
  #placeOf(read: Read): 'here' | 'turn' | 'thread' {
    const { kind } = read.plan;
    if (kind === 'any') return 'thread';
    const cost = this.#expected(read);
    const mayBlock = kind === 'stoppable' && this.#budget.isSpent;
    if (cost === undefined) {
      return mayBlock || (kind === 'count' && Number(this.#size.get()?.bytes) >= smallDatabase) ? 'thread' : 'here';
    }
    if (cost > maxReadTime) return 'thread';
    if (cost <= shortReadTime || !mayBlock) return 'here';
    // a turn costs nothing; in a thread the rows are copied, which takes as long as many of these reads
    return this.#budget.hasRoom(cost) ? 'turn' : 'thread';
  }

  /** Milliseconds, or undefined if nothing like it was read yet. */
  #expected({ kind, parameters, plan }: Read): number | undefined {
    return this.#costs.of(kind, parameters) ?? this.#shapes.of({ ...kind, name: plan.shape }, parameters);
  }

  /** Only the first cost of a statement counts for its shape: later its own cost is known. */
  #remember({ kind, parameters, plan }: Read, cost: number): void {
    if (this.#costs.of(kind, parameters) === undefined) this.#shapes.note({ ...kind, name: plan.shape }, parameters, cost);
    this.#costs.note(kind, parameters, cost);
  }

  #readHere(read: Read, reads = this.#plainReads, stopwatch = new Stopwatch()): unknown[] {
    let cost = maxReadTime;
    try {
      const rows = reads.rows(read.statement, read.parameters);
      cost = stopwatch.cost();
      this.#remember(read, cost);
      if (cost <= shortReadTime) this.#shortReads.add(read.statement, read.parameters, read.plan.offset);
      this.#watch.answered?.(stopwatch.elapsed(), false);
      return rows;
    } finally {
      if (cost > shortReadTime) this.#budget.spend(cost);
    }
  }

  async #readInThread(statement: Statement, parameters: readonly unknown[], kind: Statement): Promise<unknown[]> {
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
      if (error instanceof NoThreads) return this.#readHere(read);
      if (error instanceof TooLargeError) this.#remember(read, 2 * maxReadTime);
      this.#watch.answered?.(performance.now() - start, true);
      throw error;
    }
  }
}

/** A statement that is about to be read, with its plan. */
interface Read {
  readonly statement: Statement;
  readonly parameters: readonly unknown[];
  readonly kind: Statement;
  readonly plan: ReadPlan;
}
