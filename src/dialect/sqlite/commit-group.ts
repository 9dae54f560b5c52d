import { AsyncResource } from 'node:async_hooks';
import type { DatabaseSync } from 'node:sqlite';
import { ownTransactionTimeout } from '../../database/own-transaction.ts';
import type { OtherProcesses, Turn } from './write-lock.ts';

/** Milliseconds of writes after which a group commits. */
const longestGroup = 5;

/** Writes with the connection that it gets. Must not wait for anything. */
export type Write<Result> = (db: DatabaseSync) => Result;

/** What a group needs of the database. */
interface Writing {
  readonly turn: Turn;
  readonly others: OtherProcesses;
  readonly begin: string;
  readonly writer: DatabaseSync;
}

interface Pending {
  readonly work: Write<unknown>;
  /** The context of the request that the work belongs to. `AsyncResource.bind` takes ten times as long. */
  readonly context: AsyncResource;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

type Outcome = { readonly result: unknown } | { readonly error: unknown };

/**
 * Writes that arrive together share one transaction, because a commit waits for the disk. Each is atomic by a savepoint, and is
 * complete when the transaction is committed. If that fails, each runs again in a transaction of its own.
 */
export class CommitGroup {
  readonly #writing: Writing;
  #pending: Pending[] = [];
  #isScheduled = false;
  readonly #deferredChecks = new DeferredChecks();

  constructor(writing: Writing) {
    this.#writing = writing;
  }

  /** The writes that wait for their group to begin. */
  get waiting(): number {
    return this.#pending.length;
  }

  write<Result>(work: Write<Result>): Promise<Result> {
    // code that holds the write lock itself waits a limited time, alone
    if (ownTransactionTimeout() !== null) return this.#alone(work);
    const { promise, reject, resolve } = Promise.withResolvers<Result>();
    this.#pending.push({ work, context: new AsyncResource('write'), resolve: resolve as Pending['resolve'], reject });
    this.#schedule();
    return promise;
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // the requests that arrived with this one come first
    setImmediate(() => this.#next());
  }

  async #next(): Promise<void> {
    const { turn } = this.#writing;
    const waited = this.#pending.length;
    try {
      await turn.take();
    } catch (error) {
      // those that came later wait for their own time
      for (const { reject } of this.#pending.splice(0, waited)) reject(error);
      this.#end();
      return;
    }
    const group = this.#pending;
    this.#pending = [];
    let done = group.length;
    try {
      done = await this.#commit(group);
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
    // the others let the event loop run, and further writers have their turn
    this.#pending = [...group.slice(done), ...this.#pending];
    turn.give();
    this.#end();
  }

  #end(): void {
    this.#isScheduled = false;
    if (this.#pending.length > 0) this.#schedule();
  }

  /** Commits the first writes of a list in one transaction, and returns their number. */
  async #commit(group: readonly Pending[]): Promise<number> {
    const { begin, others, writer } = this.#writing;
    const [first, ...further] = group as [Pending, ...Pending[]];
    if (further.length === 0) {
      await settle(first, () => this.#transaction(workOf(first)));
      return 1;
    }
    try {
      await others.begin(writer, begin);
    } catch (error) {
      for (const { reject } of group) reject(error);
      return group.length;
    }
    const outcomes = committed(group, writer, this.#deferredChecks);
    if (outcomes === null) {
      for (const each of group) await settle(each, () => this.#transaction(workOf(each)));
      return group.length;
    }
    for (const [i, outcome] of outcomes.entries()) {
      const { reject, resolve } = group[i] as Pending;
      if ('result' in outcome) resolve(outcome.result);
      else reject(outcome.error);
    }
    return outcomes.length;
  }

  async #alone<Result>(work: Write<Result>): Promise<Result> {
    const { turn } = this.#writing;
    await turn.take();
    try {
      return await this.#transaction(work);
    } finally {
      turn.give();
    }
  }

  async #transaction<Result>(work: Write<Result>): Promise<Result> {
    const { begin, others, writer } = this.#writing;
    await others.begin(writer, begin);
    try {
      const result = work(writer);
      writer.exec('commit');
      return result;
    } catch (error) {
      // some errors end the transaction by themselves
      if (writer.isTransaction) writer.exec('rollback');
      throw error;
    }
  }
}

/**
 * Foreign keys that SQLite checks with the commit only. In a shared transaction, a write would see rows that refer to nothing, and
 * could repair what another write has broken.
 */
class DeferredChecks {
  #schemaVersion: unknown;
  #exist = false;

  areIn(db: DatabaseSync): boolean {
    const version = db.prepare('pragma schema_version').get()?.schema_version;
    if (version !== this.#schemaVersion) {
      this.#exist = db.prepare("select 1 from sqlite_schema where sql like '%initially%deferred%'").get() !== undefined;
      this.#schemaVersion = version;
    }
    return this.#exist;
  }
}

/** Runs the first writes and commits the transaction; null if nothing was committed. */
function committed(group: readonly Pending[], db: DatabaseSync, deferredChecks: DeferredChecks): Outcome[] | null {
  try {
    const outcomes = outcomesOf(deferredChecks.areIn(db) ? group.slice(0, 1) : group, db);
    if (outcomes) db.exec('commit');
    return outcomes;
  } catch {
    if (db.isTransaction) db.exec('rollback');
    return null;
  }
}

/** Runs writes within a transaction, until they take too long together; null if an error has ended the transaction. */
function outcomesOf(group: readonly Pending[], db: DatabaseSync): Outcome[] | null {
  const outcomes: Outcome[] = [];
  const end = performance.now() + longestGroup;
  for (const each of group) {
    db.exec('savepoint "write"');
    try {
      outcomes.push({ result: workOf(each)(db) });
    } catch (error) {
      if (!db.isTransaction) return null;
      db.exec('rollback to "write"');
      outcomes.push({ error });
    }
    db.exec('release "write"');
    if (performance.now() > end) break;
  }
  return outcomes;
}

/** The work of a write, in its context. */
function workOf({ context, work }: Pending): Write<unknown> {
  return (db) => context.runInAsyncScope(work, undefined, db);
}

async function settle({ reject, resolve }: Pending, work: () => Promise<unknown>): Promise<void> {
  try {
    resolve(await work());
  } catch (error) {
    reject(error);
  }
}
