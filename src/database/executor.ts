import { ShortLivedMap } from './short-lived-map.ts';

/** A statement that is compiled once and sent many times. */
export interface Statement {
  /** Its identity: prepared under this name. */
  readonly name: string;
  readonly text: string;
  /** Whether a column of it can hold integers beyond 2^53. */
  readonly wide: boolean;
}

/** Connections of one kind: open ones, those of them in use, and requests that wait for one. */
export interface ConnectionCounts {
  readonly open: number;
  readonly used: number;
  readonly waiting: number;
}

/** Sends compiled statements over connections of its own. */
export interface Sender {
  /** The number of statements that wait for a response or to be sent. */
  underWay(): number;
  /** Absent if the database needs no connections. */
  connections?(): ConnectionCounts;
  close(): Promise<void>;
}

/** Limits of the reads of an executor. */
export interface ReadLimits {
  /** The maximum size of the rows of a statement; beyond it, the statement fails with `TooLargeError`. */
  readonly bytes: number;
}

/** Reads rows as arrays of columns. */
export interface Executor extends Sender {
  /** `text`: every value is text, as the server writes it; `native`: as Node's SQLite returns it. */
  readonly format: 'text' | 'native';
  rows(statement: Statement, parameters: readonly unknown[]): Promise<unknown[][]>;
}

interface Shared {
  /** The execution that was sent last. */
  running: Promise<unknown>;
  /** The next execution, which is sent when `running` ends, and which all callers until then share. */
  waiting: Promise<unknown[][]> | null;
}

/**
 * Lets requests for the same statement with the same parameters share one execution, if it has not been sent yet when the later
 * request arrives. So no response comes from a snapshot that is older than its request. For each statement and parameters, at
 * most one execution runs while one waits.
 */
export function coalesced(rows: Executor['rows']): Executor['rows'] {
  const shared = new ShortLivedMap<string, Shared>();

  function send(key: string, statement: Statement, parameters: readonly unknown[]): Promise<unknown[][]> {
    // an error reaches the callers that share this execution, and no later ones
    const sent = new Promise<unknown[][]>((resolve) => resolve(rows(statement, parameters)));
    const entry: Shared = { running: sent, waiting: null };
    shared.set(key, entry);
    const done = () => {
      if (shared.get(key) === entry && !entry.waiting) shared.delete(key);
    };
    sent.then(done, done);
    return sent;
  }

  return (statement, parameters) => {
    const key = `${statement.name} ${parameters.map(identityOf).join()}`;
    const entry = shared.get(key);
    if (!entry) return send(key, statement, parameters);
    const next = () => send(key, statement, parameters);
    entry.waiting ??= entry.running.then(next, next);
    return entry.waiting;
  };
}

/** A text that identifies a value: no other value has the same. */
export function identityOf(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(identityOf).join()}]`;
  if (value instanceof Date) return `date ${value.getTime()}`;
  if (ArrayBuffer.isView(value)) return `bytes ${Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('hex')}`;
  if (typeof value === 'object' && value !== null) return `object ${JSON.stringify(value)}`;
  return `${typeof value} ${String(value)}`;
}
