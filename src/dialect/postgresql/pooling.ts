import type { DatabaseDeclaration } from '../../declaration/types.ts';

/** A database with its way to it. */
export interface PostgresDatabase extends DatabaseDeclaration {
  /** Absent: direct. */
  readonly pooling?: Pooling;
}

/** The parts of a `pg` client that show whether it is connected to the server itself. */
interface Session {
  readonly processID?: number | null;
  query(text: string): Promise<{ readonly rows: readonly { readonly pid?: number }[] }>;
}

/**
 * Whether a connection pooler such as PgBouncer is between this process and the server. Then each transaction may run in
 * another session, which other clients use as well. So nothing may be set, prepared or locked beyond a transaction.
 */
export class Pooling {
  #isPooled: boolean | null;

  constructor({ pooler }: Pick<DatabaseDeclaration, 'pooler'>) {
    this.#isPooled = pooler === 'auto' ? null : pooler === 'transaction';
  }

  get isPooled(): boolean {
    return this.#isPooled ?? false;
  }

  /** Asks on the first connection: a pooler has process ids of its own. */
  async detect(session: Session): Promise<void> {
    if (this.#isPooled !== null) return;
    const { rows } = await session.query('select pg_backend_pid() as pid');
    this.#isPooled ??= rows[0]?.pid !== session.processID;
  }
}
