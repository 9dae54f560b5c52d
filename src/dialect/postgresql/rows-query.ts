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

/**
 * A statement on its way through a connection of `pg`, whose rows are arrays of text. The columns are known from the
 * statement, so the server is not asked to describe them each time (decision 26).
 */
export class RowsQuery implements Submittable {
  /** `pg` tracks prepared statements by these two. */
  readonly name: string;
  readonly text: string;
  readonly #values: readonly unknown[];
  readonly #outcome: RowsOutcome;
  readonly #rows: unknown[][] = [];
  #bytesLeft: number;
  #isTooLarge = false;
  /** A statement that is sent before this one, in the same transaction; its rows are dropped. */
  #before: string | null;

  constructor(name: string, text: string, values: readonly unknown[], outcome: RowsOutcome, before: string | null = null) {
    this.name = name;
    this.text = text;
    this.#values = values;
    this.#outcome = outcome;
    this.#bytesLeft = outcome.mostBytes;
    this.#before = before;
  }

  submit(given: Connection): void {
    const connection = given as PreparedConnection;
    const { stream, parsedStatements, submittedNamedStatements } = connection;
    // statements of one turn of the event loop are sent together
    if (stream.writableCorked === 0) {
      stream.cork();
      setImmediate(() => stream.uncork());
    }
    // statements up to a sync are one transaction
    if (this.#before !== null) {
      connection.parse({ name: '', text: this.#before, types: [] }, true);
      connection.bind({ statement: '', values: [], valueMapper: prepareValue });
      connection.execute();
    }
    if (this.name === '' || !(parsedStatements[this.name] ?? submittedNamedStatements[this.name])) {
      connection.parse({ name: this.name, text: this.text, types: [] }, true);
      if (this.name !== '') submittedNamedStatements[this.name] = this.text;
    }
    connection.bind({ statement: this.name, values: this.#values, valueMapper: prepareValue });
    connection.execute();
    connection.sync();
  }

  handleDataRow({ fields, length }: { readonly fields: unknown[]; readonly length: number }): void {
    if (this.#isTooLarge || this.#before !== null) return;
    this.#bytesLeft -= length;
    const { keepsFirst } = this.#outcome;
    if (this.#bytesLeft >= 0 || (keepsFirst && this.#rows.length === 0)) this.#rows.push(fields);
    else {
      this.#isTooLarge = true;
      if (!keepsFirst) this.#rows.length = 0;
      this.#outcome.tooLarge();
    }
  }

  handleReadyForQuery(): void {
    this.#outcome.settle(null, this.#rows);
  }

  handleError(error: Error): void {
    this.#outcome.settle(error, []);
  }

  handleRowDescription(): void {}
  handleCommandComplete(): void {
    this.#before = null;
  }
  handleEmptyQuery(): void {}
}
