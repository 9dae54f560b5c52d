import { connect } from 'node:net';
import pg from 'pg';
import type { Statement } from '../../database/executor.ts';
import type { StatementWatch } from '../../database/statement-watch.ts';
import { TooLargeError } from '../../database/too-large.ts';
import { closedError, lostError } from '../../database/unavailable.ts';
import { closeUnresponsive } from './close-unresponsive.ts';
import type { PostgresDatabase } from './pooling.ts';
import { type QueryPart, RowsQuery } from './rows-query.ts';
import { declaredSettings, setForTransaction, textFormats, withoutOptions } from './settings.ts';

/** Prepared statements per connection; statements beyond this number are parsed each time. */
const maxPreparedStatements = 1000;

/** As startup options. */
const formats = textFormats.map(([name, value]) => `-c ${name}=${value}`).join(' ');

/** A prepared statement that can no longer run: its tables have changed, or a connection pooler has dropped it. */
const stale = new Set(['0A000', '26000', '42P05']);

/** Called for each statement that the server has responded to, with the milliseconds that it took. */
export type OnStatementEnd = (took: number, error: Error | null, statement: Statement, parameters: readonly unknown[]) => void;

/** A statement to be sent. */
interface Sending {
  readonly statement: Statement;
  readonly parameters: readonly unknown[];
  /** See `send`. */
  readonly mostBytes?: number;
  readonly onCut?: (() => void) | undefined;
}

/** Not prepared, so that it cannot fail alone. If `begin` did, each step after it would be a transaction of its own. */
const plain = (text: string): Statement => ({ name: '', text, wide: false });
const commit: Statement = { name: 'commit', text: 'commit', wide: false };

/** One pipelined connection: statements do not wait for the results of earlier ones. */
export class PostgresLink {
  /** Statements without a result yet. */
  pending = 0;
  readonly #client: pg.Client;
  readonly #usesPreparedStatements: boolean;
  /** Sent before each transaction, if a pooler may use another session for it; otherwise null. */
  readonly #settings: string | null;
  readonly #prepared = new Set<string>();
  readonly #connected: Promise<unknown>;
  readonly #closeUnresponsive: (client: pg.Client) => void;
  readonly #answered: OnStatementEnd;
  #isOpen = false;
  #isEnding = false;
  #isBroken = false;
  #answeredAt = 0;
  #isInTransaction = false;

  constructor(database: PostgresDatabase, onEnd: () => void, answered: OnStatementEnd) {
    this.#answered = answered;
    const { connectTimeout, driverOptions, preparedStatements, readOnly, statementTimeout, url } = database;
    const isPooled = database.pooling?.isPooled ?? false;
    this.#usesPreparedStatements = preparedStatements && !isPooled;
    this.#settings = isPooled ? setForTransaction([...textFormats, ...declaredSettings(database)]) : null;
    this.#closeUnresponsive = closeUnresponsive(database);
    const session = {
      connectionString: withSettings(url, [preparedStatements && formats, readOnly && '-c default_transaction_read_only=on']),
      ...(statementTimeout > 0 && { statement_timeout: statementTimeout }),
    };
    this.#client = new pg.Client({
      ...driverOptions,
      ...(isPooled ? { connectionString: withoutOptions(url) } : session),
      connectionTimeoutMillis: connectTimeout,
      pipeline: true,
    } as pg.ClientConfig);
    this.#client.on('error', onEnd);
    this.#client.on('end', onEnd);
    this.#connected = this.#client.connect().then(() => {
      this.#isOpen = true;
    });
    this.#connected.catch(onEnd);
  }

  /** Whether it can be reused: no open transaction, no pending statement, no fatal error, no stale prepared statement. */
  get isClean(): boolean {
    return !this.#isBroken && this.pending === 0 && this.#client.getTransactionStatus() === 'I';
  }

  /**
   * @param mostBytes Beyond this size the statement fails with `TooLargeError`, while the rest of its rows is still arriving.
   * @param onCut If given, it is called instead of the failure, and the rows up to that size are returned, at least one.
   */
  send(
    statement: Statement,
    parameters: readonly unknown[],
    mostBytes = Number.POSITIVE_INFINITY,
    onCut?: () => void,
  ): Promise<unknown[][]> {
    return this.#sent([{ statement, parameters, mostBytes, onCut }]);
  }

  /** Runs statements in a transaction of their own, and returns the rows of the last one. */
  sendTogether(statements: readonly Sending[]): Promise<unknown[][]> {
    return this.#sent(statements);
  }

  #sent(all: readonly Sending[]): Promise<unknown[][]> {
    this.pending++;
    const settings = this.#isInTransaction ? null : this.#settings;
    return new Promise((resolve, reject) => {
      const query = () => this.#query(all, settings, resolve, reject);
      if (this.#isOpen) query();
      else
        this.#connected.then(query, (error: Error) => {
          this.pending--;
          reject(withErrorCode(error));
        });
    });
  }

  /** Begins a transaction. */
  begin(text = 'begin'): Promise<unknown[][]> {
    this.#isInTransaction = true;
    const begun = this.send(plain(text), []);
    if (this.#settings === null) return begun;
    return Promise.all([begun, this.send(plain(this.#settings), [])]).then(([rows]) => rows);
  }

  commit(): Promise<unknown[][]> {
    const committed = this.send(commit, []);
    this.#isInTransaction = false;
    return committed;
  }

  /** Ends the connection after its pending statements. */
  async end(): Promise<void> {
    this.#isEnding = true;
    await this.#connected.catch(() => undefined);
    await this.#client.end();
  }

  /** Cancels the statements on the server, and ends the connection without waiting for that. */
  abandon(): void {
    if (this.#isOpen && this.pending > 0) cancelWork(this.#client);
    this.end().catch(() => undefined);
  }

  #query(
    all: readonly Sending[],
    settings: string | null,
    resolve: (rows: unknown[][]) => void,
    reject: (error: Error) => void,
  ): void {
    if (this.#isEnding) {
      this.pending--;
      reject(closedError());
      return;
    }
    if (this.pending === 1) this.#closeUnresponsive(this.#client);
    const parts = all.map((sending, i) => this.#partOf(sending, i === all.length - 1 ? resolve : null, reject));
    if (settings !== null) parts.unshift(settingsPart(settings, parts[0] as QueryPart));
    this.#client.query(new RowsQuery(parts));
  }

  /** @param resolve Receives the rows of the last statement; null for the others. */
  #partOf(
    { mostBytes = Number.POSITIVE_INFINITY, onCut, parameters, statement }: Sending,
    resolve: ((rows: unknown[][]) => void) | null,
    reject: (error: Error) => void,
  ): QueryPart {
    const { name, text } = statement;
    const sentAt = performance.now();
    // without the time that it waited for earlier statements
    const sinceSent = (now: number) => now - Math.max(sentAt, this.#answeredAt);
    let isTooLarge = false;
    const tooLarge = () => {
      if (onCut) return onCut();
      isTooLarge = true;
      const error = new TooLargeError(mostBytes);
      this.#answered(sinceSent(performance.now()), error, statement, parameters);
      reject(error);
    };
    const settle = (error: Error | null, rows: unknown[][]) => {
      const now = performance.now();
      const took = sinceSent(now);
      this.#answeredAt = now;
      if (error || resolve) this.pending--;
      if (!isTooLarge) this.#answered(took, error, statement, parameters);
      if (!error) {
        resolve?.(rows);
        return;
      }
      if ((error as { severity?: string }).severity !== 'ERROR' || isStale(error)) this.#isBroken = true;
      reject(withErrorCode(error));
    };
    const isPrepared =
      name !== '' && this.#usesPreparedStatements && (this.#prepared.has(name) || this.#prepared.size < maxPreparedStatements);
    if (isPrepared) this.#prepared.add(name);
    const outcome = { settle, tooLarge, mostBytes, keepsFirst: onCut !== undefined };
    return { name: isPrepared ? name : '', text, values: parameters, outcome };
  }
}

/** Settings in front of a statement, in the same transaction. They are not reported as a statement. */
function settingsPart(text: string, { outcome }: QueryPart): QueryPart {
  const settle = (error: Error | null) => {
    if (error) outcome.settle(error, []);
  };
  return { name: '', text, values: [], outcome: { ...outcome, settle, keepsFirst: false, mostBytes: Number.POSITIVE_INFINITY } };
}

/** Reports results to a watch. */
export function reportTo({ answered }: StatementWatch): OnStatementEnd {
  return (took, error) => answered?.(took, error !== null);
}

/** The fields of a client that a cancel request needs. */
interface ServerSide {
  readonly host: string;
  readonly port: number;
  readonly processID: number | null;
  readonly secretKey: number | null;
}

/** Sends a cancel request. Without it, the server notices a closed socket only when it has something to send. */
function cancelWork(client: pg.Client): void {
  const { host, port, processID, secretKey } = client as unknown as ServerSide;
  if (processID === null || secretKey === null) return;
  const request = Buffer.alloc(16);
  request.writeInt32BE(16, 0);
  request.writeInt32BE(80877102, 4);
  request.writeInt32BE(processID, 8);
  request.writeInt32BE(secretKey, 12);
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
  socket.on('error', () => socket.destroy());
  socket.on('connect', () => socket.end(request));
}

export function isStale(error: unknown): boolean {
  return stale.has((error as { code?: string }).code ?? '');
}

/** The URL with the settings after those that it may already have. */
function withSettings(url: string, wanted: readonly (string | false | undefined)[]): string {
  const further = wanted.filter((setting) => setting);
  if (further.length === 0) return url;
  const address = new URL(url);
  const own = address.searchParams.get('options');
  address.searchParams.set('options', [...(own ? [own] : []), ...further].join(' '));
  return address.href;
}

/** `pg` reports lost connections and connect timeouts without a code. */
function withErrorCode(error: Error): Error {
  const isLost = /^(Client has encountered a connection error|Client was closed|Connection terminated|timeout expired)/;
  return isLost.test(error.message) ? lostError(error) : error;
}
