import pg, { type Connection, type Submittable } from 'pg';

/** Parts of `pg` that its types lack: the statements of a connection, and the conversion of a parameter to text. */
type PreparedConnection = Connection & {
  readonly parsedStatements: Record<string, string | undefined>;
  readonly submittedNamedStatements: Record<string, string | undefined>;
  bind(config: { statement: string; values: readonly unknown[]; valueMapper: (value: unknown) => unknown }): void;
  execute(): void;
};
const { prepareValue } = (pg as unknown as { readonly utils: { prepareValue(value: unknown): unknown } }).utils;

/** Receives the result of a statement. */
export interface RowsOutcome {
  settle(error: Error | null, rows: unknown[][]): void;
  /** Called once if the rows have more bytes than `mostBytes`. Further rows are dropped as they arrive. */
  tooLarge(): void;
  /** Whether the rows up to `mostBytes` are kept, at least one. */
  readonly keepsFirst: boolean;
  readonly mostBytes: number;
}

/** One statement of a query. */
export interface QueryPart {
  /** Empty if it is not prepared. */
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
  readonly outcome: RowsOutcome;
}

/**
 * Statements on their way through a connection of `pg`, which are one transaction, and whose rows are arrays of text. The columns
 * are known from the statements, so the server is not asked to describe them each time (decision 26).
 */
export class RowsQuery implements Submittable {
  readonly #parts: readonly QueryPart[];
  /** The place of the statement whose result arrives next. */
  #at = 0;
  #rows: unknown[][] = [];
  #bytesLeft: number;
  #isTooLarge = false;

  constructor(parts: readonly QueryPart[]) {
    this.#parts = parts;
    this.#bytesLeft = this.#part.outcome.mostBytes;
  }

  get #part(): QueryPart {
    return this.#parts[this.#at] as QueryPart;
  }

  /** `pg` tracks prepared statements by the name and the text. */
  get name(): string {
    return this.#part.name;
  }

  get text(): string {
    return this.#part.text;
  }

  submit(given: Connection): void {
    const connection = given as PreparedConnection;
    const { stream, parsedStatements, submittedNamedStatements } = connection;
    // statements of one turn of the event loop are sent together
    if (stream.writableCorked === 0) {
      stream.cork();
      setImmediate(() => stream.uncork());
    }
    for (const { name, text, values } of this.#parts) {
      if (name === '' || !(parsedStatements[name] ?? submittedNamedStatements[name])) {
        connection.parse({ name, text, types: [] }, true);
        if (name !== '') submittedNamedStatements[name] = text;
      }
      connection.bind({ statement: name, values, valueMapper: prepareValue });
      connection.execute();
    }
    // statements up to a sync are one transaction
    connection.sync();
  }

  handleDataRow({ fields, length }: { readonly fields: unknown[]; readonly length: number }): void {
    if (this.#isTooLarge) return;
    this.#bytesLeft -= length;
    const { keepsFirst, tooLarge } = this.#part.outcome;
    if (this.#bytesLeft >= 0 || (keepsFirst && this.#rows.length === 0)) this.#rows.push(fields);
    else {
      this.#isTooLarge = true;
      if (!keepsFirst) this.#rows.length = 0;
      tooLarge();
    }
  }

  handleCommandComplete(): void {
    if (this.#at === this.#parts.length - 1) return;
    this.#part.outcome.settle(null, this.#rows);
    this.#at++;
    this.#rows = [];
    this.#bytesLeft = this.#part.outcome.mostBytes;
    this.#isTooLarge = false;
  }

  handleReadyForQuery(): void {
    this.#part.outcome.settle(null, this.#rows);
  }

  handleError(error: Error, connection?: Connection): void {
    const { outcome } = this.#part;
    // the server skips the statements after it, which it has not parsed then
    const submitted = (connection as PreparedConnection | undefined)?.submittedNamedStatements;
    if (submitted) for (const { name } of this.#parts.slice(this.#at + 1)) delete submitted[name];
    outcome.settle(error, []);
  }

  handleRowDescription(): void {}
  handleEmptyQuery(): void {}
}
