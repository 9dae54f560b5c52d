import type { Cursor } from '../../../database/cursor.ts';
import type { ConnectionCounts, ReadLimits, Statement } from '../../../database/executor.ts';
import { awaited, type StatementWatch } from '../../../database/statement-watch.ts';
import { lostError } from '../../../database/unavailable.ts';
import { postgresCursors } from '../cursors.ts';
import { postgresExecutor, type SendOn } from '../executor.ts';
import type { PostgresLink } from '../link.ts';
import type { PostgresDatabase } from '../pooling.ts';
import { includes, type Position, positionIn, replicaPosition } from './position.ts';

/** The replica has not replayed what a read needs. */
export class BehindError extends Error {}

/**
 * The connections to a replica from the time when it became usable until it is lost. Each read checks the position on its own
 * connection, because one address may lead to several servers.
 */
export class ReplicaSession {
  readonly #executor: ReturnType<typeof postgresExecutor>;
  readonly #cursors: ReturnType<typeof postgresCursors>;
  readonly #watch: StatementWatch;
  readonly #isPooled: () => boolean;
  /** The last known position of each connection, which only grows. */
  readonly #positions = new WeakMap<PostgresLink, Position>();
  /** Ends the reads in progress. */
  readonly #pending = new Set<(error: Error) => void>();

  constructor(database: PostgresDatabase, watch: StatementWatch, limits: ReadLimits) {
    this.#watch = watch;
    this.#isPooled = () => database.pooling?.isPooled ?? false;
    this.#executor = postgresExecutor(database, watch, limits);
    this.#cursors = postgresCursors(database, watch);
  }

  get connections(): ConnectionCounts {
    return this.#executor.connections?.() ?? { open: 0, used: 0, waiting: 0 };
  }

  get underWay(): number {
    return this.#executor.underWay();
  }

  rows(needed: Position, statement: Statement, parameters: readonly unknown[]): Promise<unknown[][]> {
    return this.#run(statement, parameters, () => this.#executor.rows(statement, parameters, this.#checked(needed)));
  }

  open(needed: Position, statement: Statement, parameters: readonly unknown[], size: number): Promise<Cursor> {
    return this.#run(statement, parameters, async () => {
      const before = (link: PostgresLink) => this.#check(link, needed);
      const cursor = await this.#cursors.open(statement, parameters, size, before);
      try {
        return withFirst(cursor, await cursor.next(size));
      } catch (error) {
        await cursor.close();
        throw error;
      }
    });
  }

  /** Ends its reads with an error, and its connections without waiting for them. */
  abandon(): void {
    for (const reject of this.#pending) reject(lostError());
    void this.close();
  }

  async close(): Promise<void> {
    await Promise.allSettled([this.#executor.close(), this.#cursors.close()]);
  }

  #run<Result>({ text }: Statement, parameters: readonly unknown[], work: () => Promise<Result>): Promise<Result> {
    this.#watch.sent?.(text, parameters);
    return awaited(
      this.#watch,
      text,
      () =>
        new Promise((resolve, reject) => {
          this.#pending.add(reject);
          work()
            .then(resolve, reject)
            .finally(() => this.#pending.delete(reject));
        }),
    );
  }

  /** Sends the check in front of the statement, without waiting for its result. */
  #checked(needed: Position): SendOn {
    return async (link, statement, parameters, mostBytes) => {
      if (this.#isPooled()) return this.#inTransaction(link, needed, () => link.send(statement, parameters, mostBytes));
      const checked = this.#check(link, needed);
      // thrown below, when the connection has nothing left to do
      checked.catch(() => undefined);
      const rows = await link.send(statement, parameters, mostBytes);
      await checked;
      return rows;
    };
  }

  async #check(link: PostgresLink, needed: Position): Promise<void> {
    if (includes(this.#positions.get(link) ?? null, needed)) return;
    const position = positionIn(await link.send(replicaPosition, []));
    if (!position || !includes(position, needed)) throw new BehindError('the replica has not replayed the changes that it needs');
    if (!this.#isPooled()) this.#positions.set(link, position);
  }

  /** A pooler may use another server for each transaction. */
  async #inTransaction(link: PostgresLink, needed: Position, send: () => Promise<unknown[][]>): Promise<unknown[][]> {
    const [, , rows] = await Promise.all([
      link.begin('begin isolation level read committed read only'),
      this.#check(link, needed),
      send(),
      link.commit(),
    ]);
    return rows;
  }
}

/** The cursor, whose first rows were fetched already. */
function withFirst(cursor: Cursor, rows: unknown[][]): Cursor {
  let first: unknown[][] | null = rows;
  return {
    async next(size) {
      if (first === null) return cursor.next(size);
      const given = first;
      first = null;
      return given;
    },
    rows: (statement, parameters) => cursor.rows(statement, parameters),
    close: () => cursor.close(),
  };
}
