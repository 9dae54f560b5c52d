import { connect } from 'node:net';
import pg from 'pg';
import type { Statement } from '../../database/executor.ts';
import type { StatementWatch } from '../../database/statement-watch.ts';
import { closedError, lostError } from '../../database/unavailable.ts';
import type { DatabaseDeclaration } from '../../declaration/types.ts';
import { RowsQuery, textsOf } from './rows-query.ts';
import { SilenceWatch, silenceOf } from './silence.ts';

/** Statements that a connection keeps prepared; those beyond are parsed each time. */
const keptStatements = 1000;

/** Leaves every value as the server writes it. */
export const asText = { getTypeParser: () => (value: unknown) => value } as unknown as pg.CustomTypesConfig;

/** Text forms that the serializers know. The time zone stays the server's, as conditions of an application may depend on it. */
const settings = '-c datestyle=ISO -c bytea_output=hex -c extra_float_digits=1';

/** A prepared statement that cannot go on: its tables have changed, or somebody between us and the server has dropped it. */
const stale = new Set(['0A000', '26000', '42P05']);

/** What became of a statement, and the milliseconds that the server had for it. */
export type Outcome = (error: Error | null, rows: unknown[][], took: number) => void;

/** One pipelined connection: what is sent on it does not wait for the answers to what was sent before. */
export class PostgresLink {
  /** Statements that were sent and not answered yet. */
  pending = 0;
  readonly #client: pg.Client;
  readonly #keepsStatements: boolean;
  readonly #prepared = new Set<string>();
  readonly #connected: Promise<unknown>;
  #isOpen = false;
  #isEnding = false;
  #answeredAt = 0;
  /** When something was sent after nothing was. */
  #askedAt = 0;
  readonly #silence: SilenceWatch | null;

  readonly #answered: StatementWatch['answered'];

  constructor(database: DatabaseDeclaration, onEnd: () => void, watch: StatementWatch = {}) {
    this.#answered = watch.answered;
    const { connectTimeout, preparedStatements, readOnly, statementTimeout, url } = database;
    this.#keepsStatements = preparedStatements;
    this.#client = new pg.Client({
      // a pooler that cannot have prepared statements does not take settings either
      connectionString: withSettings(url, [preparedStatements && settings, readOnly && '-c default_transaction_read_only=on']),
      connectionTimeoutMillis: connectTimeout,
      ...(statementTimeout > 0 && { statement_timeout: statementTimeout }),
      pipeline: true,
    } as pg.ClientConfig);
    this.#client.on('error', onEnd);
    this.#client.on('end', onEnd);
    this.#connected = this.#client.connect().then(() => {
      this.#isOpen = true;
    });
    this.#connected.catch(onEnd);
    const limit = silenceOf(database);
    this.#silence =
      limit === null
        ? null
        : new SilenceWatch(
            limit,
            () => (this.pending > 0 ? Math.max(this.#askedAt, this.#answeredAt) : null),
            () => streamOf(this.#client).destroy(),
          );
  }

  send(statement: Statement, parameters: readonly unknown[], outcome: Outcome): void {
    this.pending++;
    if (this.#isOpen) {
      this.#query(statement, parameters, outcome);
      return;
    }
    this.#connected.then(
      () => this.#query(statement, parameters, outcome),
      (error: Error) => {
        this.pending--;
        outcome(tellable(error), [], 0);
      },
    );
  }

  /** Ends the connection when what was sent on it has been answered. */
  async end(): Promise<void> {
    this.#isEnding = true;
    await this.#connected.catch(() => undefined);
    await this.#client.end();
  }

  /** Ends the connection at once, and what the server is doing for it. */
  abandon(): void {
    this.#isEnding = true;
    if (this.#isOpen && this.pending > 0) cancelWork(this.#client);
    this.#connected.then(() => this.#client.end()).catch(() => undefined);
  }

  #query({ name, text }: Statement, parameters: readonly unknown[], outcome: Outcome): void {
    const sentAt = performance.now();
    if (this.pending === 1) {
      this.#askedAt = sentAt;
      this.#silence?.watch();
    }
    const settle = (error: Error | null, rows: unknown[][]) => {
      const now = performance.now();
      // it had to wait for the answers to those before it
      const took = now - Math.max(sentAt, this.#answeredAt);
      this.#answeredAt = now;
      this.pending--;
      this.#answered?.(took, error !== null);
      outcome(error && tellable(error), rows, took);
    };
    if (this.#isEnding) {
      settle(closedError(), []);
      return;
    }
    const isKept = this.#keepsStatements && (this.#prepared.has(name) || this.#prepared.size < keptStatements);
    if (isKept) this.#prepared.add(name);
    const values = textsOf(parameters);
    if (values) this.#client.query(new RowsQuery(isKept ? name : '', text, values, settle));
    else {
      const query = { ...(isKept && { name }), text, values: parameters as unknown[], rowMode: 'array' as const, types: asText };
      this.#client.query(query, (error, result) => settle(error ?? null, error ? [] : result.rows));
    }
  }
}

/** What a connection writes to and reads from. */
export function streamOf(client: unknown): { destroy(): void } {
  return (client as { connection: { stream: { destroy(): void } } }).connection.stream;
}

/** What the server has told about a connection, for whoever wants to end its work from another one. */
interface ServerSide {
  readonly host: string;
  readonly port: number;
  readonly processID: number | null;
  readonly secretKey: number | null;
}

/** Asks the server to stop what it is doing on a connection. The server looks after a socket only when it has something to send. */
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

export function isStale(error: Error): boolean {
  return stale.has((error as { code?: string }).code ?? '');
}

/** The address with the settings put after those that it may bring itself. */
function withSettings(url: string, wanted: readonly (string | false | undefined)[]): string {
  const further = wanted.filter((setting) => setting);
  if (further.length === 0) return url;
  const address = new URL(url);
  const own = address.searchParams.get('options');
  address.searchParams.set('options', [...(own ? [own] : []), ...further].join(' '));
  return address.href;
}

/** `pg` has no code for a connection that was lost, or did not come in time. */
function tellable(error: Error): Error {
  const isLost = /^(Client has encountered a connection error|Client was closed|Connection terminated|timeout expired)/;
  return isLost.test(error.message) ? lostError(error) : error;
}
