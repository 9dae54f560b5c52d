import type { Statement } from '../../../database/executor.ts';
import { closedError, lostError } from '../../../database/unavailable.ts';
import { PostgresLink } from '../link.ts';
import type { PostgresDatabase } from '../pooling.ts';

/** Milliseconds after which a server that does not respond counts as unreachable. */
const timeout = 1000;

/** One connection for short statements. It is opened when it is needed, and again after it was lost. */
export class Probe {
  readonly #database: PostgresDatabase;
  readonly #onLost: () => void;
  #link: PostgresLink | null = null;
  #isClosed = false;

  /** @param onLost Called when the server has closed the connection. */
  constructor(database: PostgresDatabase, onLost: () => void = () => undefined) {
    this.#database = { ...database, connectTimeout: Math.min(database.connectTimeout, timeout), statementTimeout: timeout };
    this.#onLost = onLost;
  }

  async rows(statement: Statement): Promise<unknown[][]> {
    if (this.#isClosed) throw closedError();
    this.#link ??= this.#open();
    const link = this.#link;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(lostError()), timeout);
    });
    try {
      return await Promise.race([link.send(statement, []), late]);
    } catch (error) {
      this.#drop(link);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const link = this.#link;
    this.#link = null;
    await link?.end().catch(() => undefined);
  }

  #open(): PostgresLink {
    const link: PostgresLink = new PostgresLink(
      this.#database,
      () => {
        if (this.#drop(link)) this.#onLost();
      },
      () => undefined,
    );
    return link;
  }

  /** Returns false if the connection was dropped before. */
  #drop(link: PostgresLink): boolean {
    if (this.#link !== link) return false;
    this.#link = null;
    link.end().catch(() => undefined);
    return true;
  }
}
