import { setTimeout as sleep } from 'node:timers/promises';
import type { Cursor } from '../../../database/cursor.ts';
import { databaseLabel } from '../../../database/database-label.ts';
import type { ConnectionCounts, Statement } from '../../../database/executor.ts';
import type { ReplicaOptions } from '../../../database/replicas.ts';
import { lostError } from '../../../database/unavailable.ts';
import type { PostgresDatabase } from '../pooling.ts';
import { includes, type Position, positionIn, replicaPosition } from './position.ts';
import type { PrimaryLog } from './primary-log.ts';
import { Probe } from './probe.ts';
import { ReplicaSession } from './replica-session.ts';

/** Milliseconds that a read waits for a replica. The primary would have responded by then. */
const longestWait = 20;

/** Milliseconds between two checks. */
const checkInterval = 1000;

/** Milliseconds between two attempts of a replica that was too slow for a read. */
const retryInterval = 250;

/** The longest pause between two looks at the position, in milliseconds. */
const longestPause = 32;

const noConnections: ConnectionCounts = { open: 0, used: 0, waiting: 0 };

type Options = Omit<ReplicaOptions, 'primary'> & { readonly log: PrimaryLog };

/** One replica: whether it can be used, how far it is, and its connections. */
export class Replica {
  /** Host and port. */
  readonly name: string;
  readonly #database: PostgresDatabase;
  readonly #options: Options;
  readonly #probe: Probe;
  /** The position at the last look. It only tells whether a read is worth a try: the connection of the read is checked as well. */
  #position: Position | null = null;
  #looking: Promise<void> | null = null;
  #checking: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #session: ReplicaSession | null = null;
  /** Why it is not used; null: it is used. Undefined before the first check. */
  #reason: string | null | undefined;
  /** Whether reads do not wait for it, because one has waited in vain. */
  #isBehind = false;
  #isClosed = false;

  constructor(database: PostgresDatabase, options: Options) {
    // a socket has no host
    this.name = new URL(database.url).host || databaseLabel(database.url);
    this.#database = database;
    this.#options = options;
    this.#probe = new Probe(database, () => this.check());
    this.check();
  }

  get isUsable(): boolean {
    return this.#reason === null;
  }

  get connections(): ConnectionCounts {
    return this.#session?.connections ?? noConnections;
  }

  get underWay(): number {
    return this.#session?.underWay ?? 0;
  }

  /** Checks it now, and then once a second. */
  check(): void {
    if (this.#checking || this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#checking = this.#check().finally(() => {
      this.#checking = null;
      if (!this.#isClosed) this.#timer = setTimeout(() => this.check(), checkInterval).unref();
    });
  }

  /** Whether it has replayed the log up to a position, or does so in a moment. */
  async catchesUp(needed: Position): Promise<boolean> {
    if (includes(this.#position, needed)) return true;
    if (this.#isBehind) return false;
    try {
      // a replica that does not respond would keep the read waiting for longer
      const late = sleep(longestWait, false, { ref: false });
      if (await Promise.race([this.#reaches(needed, longestWait), late])) return this.isUsable;
    } catch {
      this.check();
      return false;
    }
    if (!this.#isBehind) void this.#fallBehind(needed);
    return false;
  }

  /** @param needed What the rows must include; otherwise it rejects with `BehindError`. */
  rows(needed: Position, statement: Statement, parameters: readonly unknown[]): Promise<unknown[][]> {
    return this.#session?.rows(needed, statement, parameters) ?? Promise.reject(lostError());
  }

  /** Returns when the first rows of the cursor are there. */
  open(needed: Position, statement: Statement, parameters: readonly unknown[], size: number): Promise<Cursor> {
    return this.#session?.open(needed, statement, parameters, size) ?? Promise.reject(lostError());
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await Promise.all([this.#probe.close(), this.#session?.close()]);
  }

  async #check(): Promise<void> {
    // if the primary is not there, nothing can be compared with it
    const needed = await this.#options.log.position().catch(() => null);
    if (!needed || this.#isClosed) return;
    try {
      await this.#look();
      const fault = this.#faultOf(needed);
      if (fault === null && !(await this.#reaches(needed, this.#database.replicaMaxLag))) this.#become(this.#lag);
      else this.#become(fault, fault !== null);
    } catch (error) {
      this.#position = null;
      this.#become((error as Error).message, true);
    }
  }

  #faultOf({ history }: Position): string | null {
    if (!this.#position) return 'the server is not a streaming replica';
    return this.#position.history === history ? null : 'it is a replica of another server, or has not followed a failover yet';
  }

  get #lag(): string {
    return `it is more than ${this.#database.replicaMaxLag} ms behind the primary`;
  }

  /** Keeps reads from waiting until a wait would be worthwhile again. */
  async #fallBehind(missed: Position): Promise<void> {
    this.#isBehind = true;
    try {
      let needed = missed;
      do {
        if (!(await this.#reaches(needed, this.#database.replicaMaxLag))) {
          this.#become(this.#lag);
          break;
        }
        await sleep(retryInterval, null, { ref: false });
        needed = await this.#options.log.position();
      } while (!(await this.#reaches(needed, longestWait)));
    } catch {
      this.check();
    }
    this.#isBehind = false;
  }

  async #reaches(needed: Position, most: number): Promise<boolean> {
    const until = performance.now() + most;
    for (let pause = 1; !includes(this.#position, needed); pause = Math.min(pause * 2, longestPause)) {
      await this.#look();
      if (includes(this.#position, needed)) return true;
      if (this.#isClosed || performance.now() >= until) return false;
      await sleep(pause, null, { ref: false });
    }
    return true;
  }

  #look(): Promise<void> {
    this.#looking ??= this.#probe
      .rows(replicaPosition)
      .then((rows) => {
        this.#position = positionIn(rows);
      })
      .finally(() => {
        this.#looking = null;
      });
    return this.#looking;
  }

  /** @param isLost Whether its connections are useless, so that reads in progress must be repeated elsewhere. */
  #become(reason: string | null, isLost = false): void {
    if (this.#isClosed) return;
    const isNews = this.#reason === undefined || (this.#reason === null) !== (reason === null);
    this.#reason = reason;
    if (isLost) {
      this.#session?.abandon();
      this.#session = null;
    } else if (reason === null) {
      const { limits, watch } = this.#options;
      this.#session ??= new ReplicaSession(this.#database, watch, limits);
    }
    if (isNews) this.#options.onChange(this.name, reason);
  }
}
