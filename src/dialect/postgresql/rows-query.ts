import pg, { type Connection, type Submittable } from 'pg';

/** What `pg` has beyond its types: the statements of a connection, and the text of a parameter. */
type PreparedConnection = Connection & {
  readonly parsedStatements: Record<string, string | undefined>;
  readonly submittedNamedStatements: Record<string, string | undefined>;
  bind(config: { statement: string; values: readonly unknown[]; valueMapper: (value: unknown) => unknown }): void;
  execute(): void;
};
const { prepareValue } = (pg as unknown as { readonly utils: { prepareValue(value: unknown): unknown } }).utils;

/**
 * A statement on its way through a connection of `pg`, whose rows are arrays of text. The columns are known from the
 * statement, so the server is not asked to describe them each time (decision 26).
 */
export class RowsQuery implements Submittable {
  /** `pg` remembers by these two what was prepared. */
  readonly name: string;
  readonly text: string;
  readonly #values: readonly unknown[];
  readonly #settle: (error: Error | null, rows: unknown[][]) => void;
  readonly #rows: unknown[][] = [];

  constructor(name: string, text: string, values: readonly unknown[], settle: (error: Error | null, rows: unknown[][]) => void) {
    this.name = name;
    this.text = text;
    this.#values = values;
    this.#settle = settle;
  }

  submit(given: Connection): void {
    const connection = given as PreparedConnection;
    const { stream, parsedStatements, submittedNamedStatements } = connection;
    // what is asked for in one turn of the event loop is sent at once
    if (stream.writableCorked === 0) {
      stream.cork();
      setImmediate(() => stream.uncork());
    }
    if (this.name === '' || !(parsedStatements[this.name] ?? submittedNamedStatements[this.name])) {
      connection.parse({ name: this.name, text: this.text, types: [] }, true);
      if (this.name !== '') submittedNamedStatements[this.name] = this.text;
    }
    connection.bind({ statement: this.name, values: this.#values, valueMapper: prepareValue });
    connection.execute();
    connection.sync();
  }

  handleDataRow({ fields }: { readonly fields: unknown[] }): void {
    this.#rows.push(fields);
  }

  handleReadyForQuery(): void {
    this.#settle(null, this.#rows);
  }

  handleError(error: Error): void {
    this.#settle(error, []);
  }

  handleRowDescription(): void {}
  handleCommandComplete(): void {}
  handleEmptyQuery(): void {}
}
