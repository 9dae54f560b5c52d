import type { Connection, Submittable } from 'pg';

/** A connection of `pg` as its own queries see it. */
type PipelinedConnection = Connection & {
  readonly parsedStatements: Record<string, string | undefined>;
  readonly submittedNamedStatements: Record<string, string | undefined>;
};

export type Settle = (error: Error | null, rows: unknown[][]) => void;

/** "Execute all of it" and "this is the end": what follows on every statement. */
const execution = Buffer.from([0x45, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0x53, 0, 0, 0, 4]);

/**
 * A statement on its way through a connection of `pg`, whose rows are arrays of text. The columns are known from the
 * statement, so the server is not asked to describe them each time, and all of it is one piece of memory and one write.
 */
export class RowsQuery implements Submittable {
  /** `pg` remembers by these two what was prepared. */
  readonly name: string;
  readonly text: string;
  readonly #values: readonly (string | null)[];
  readonly #settle: Settle;
  readonly #rows: unknown[][] = [];

  constructor(name: string, text: string, values: readonly (string | null)[], settle: Settle) {
    this.name = name;
    this.text = text;
    this.#values = values;
    this.#settle = settle;
  }

  submit(connection: Connection): void {
    const { stream, parsedStatements, submittedNamedStatements } = connection as PipelinedConnection;
    // what is asked for in one turn of the event loop is sent at once
    if (stream.writableCorked === 0) {
      stream.cork();
      setImmediate(() => stream.uncork());
    }
    if (this.name === '' || !(parsedStatements[this.name] ?? submittedNamedStatements[this.name])) {
      connection.parse({ name: this.name, text: this.text, types: [] }, true);
      if (this.name !== '') submittedNamedStatements[this.name] = this.text;
    }
    stream.write(bound(this.name, this.#values));
  }

  handleDataRow({ fields }: { readonly fields: unknown[] }): void {
    this.#rows.push(fields);
  }

  handleReadyForQuery(): void {
    this.#settle(null, this.#rows);
  }

  handleError(error: Error): void {
    this.#settle(error, this.#rows);
  }

  handleRowDescription(): void {}
  handleCommandComplete(): void {}
  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
  handleCopyData(): void {}

  handleCopyInResponse(connection: Connection): void {
    (connection as Connection & { sendCopyFail(reason: string): void }).sendCopyFail('nothing is read from here');
  }
}

/** The messages that bind a prepared statement to values, all of them text, and execute it. */
function bound(name: string, values: readonly (string | null)[]): Buffer {
  let length = 4 + 1 + Buffer.byteLength(name) + 1 + 2 + 2 + 2;
  for (const value of values) length += 4 + (value === null ? 0 : Buffer.byteLength(value));
  const bytes = Buffer.allocUnsafe(1 + length + execution.length);
  bytes[0] = 0x42;
  let at = bytes.writeInt32BE(length, 1);
  bytes[at++] = 0;
  at += bytes.write(name, at);
  bytes[at++] = 0;
  at = bytes.writeInt16BE(0, at);
  at = bytes.writeInt16BE(values.length, at);
  for (const value of values) {
    if (value === null) {
      at = bytes.writeInt32BE(-1, at);
      continue;
    }
    const size = bytes.write(value, at + 4);
    bytes.writeInt32BE(size, at);
    at += 4 + size;
  }
  at = bytes.writeInt16BE(0, at);
  execution.copy(bytes, at);
  return bytes;
}

/** Parameters as the server reads them, or null where it takes `pg` to write one, like a date. */
export function textsOf(parameters: readonly unknown[]): (string | null)[] | null {
  const texts: (string | null)[] = [];
  for (const parameter of parameters) {
    const text = textOf(parameter);
    if (text === undefined) return null;
    texts.push(text);
  }
  return texts;
}

function textOf(value: unknown): string | null | undefined {
  if (typeof value === 'string') return value;
  if (value === null || value === undefined) return null;
  if (typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  return Array.isArray(value) && value.every((item) => typeof item === 'string') ? listOf(value) : undefined;
}

function listOf(items: readonly string[]): string {
  return `{${items.map((item) => `"${item.replace(/["\\]/g, '\\$&')}"`).join()}}`;
}
