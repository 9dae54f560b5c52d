import type { Cursor, Cursors } from '../../database/cursor.ts';
import type { Statement } from '../../database/executor.ts';
import type { StatementWatch } from '../../database/statement-watch.ts';
import { closedError } from '../../database/unavailable.ts';
import type { DatabaseDeclaration } from '../../declaration/types.ts';
import { PostgresLink } from './link.ts';

const name = 'declarest_export';

/** Opens server-side cursors, each in a transaction and on a connection of its own. */
export function postgresCursors(database: DatabaseDeclaration, watch: StatementWatch = {}): Cursors {
  const idle: PostgresLink[] = [];
  const open = new Set<PostgresCursor>();
  let closed = false;

  function connect(): PostgresLink {
    const forget = () => {
      const place = idle.indexOf(link);
      if (place >= 0) idle.splice(place, 1);
    };
    const link: PostgresLink = new PostgresLink(database, forget, watch);
    return link;
  }

  return {
    async open(statement, parameters, size) {
      if (closed) throw closedError();
      const link = idle.pop() ?? connect();
      const cursor = new PostgresCursor(link, size, (reusable) => {
        open.delete(cursor);
        if (reusable && !closed) idle.push(link);
        else link.abandon();
      });
      open.add(cursor);
      await cursor.declare(statement, parameters);
      return cursor;
    },
    async close() {
      closed = true;
      await Promise.all([...open].map((cursor) => cursor.close()));
      await Promise.allSettled(idle.splice(0).map((link) => link.end()));
    },
  };
}

class PostgresCursor implements Cursor {
  readonly #link: PostgresLink;
  readonly #done: (reusable: boolean) => void;
  /** Rows that were asked for before anybody wants them, so that the server is at work while the last ones are written. */
  #ahead: Promise<unknown[][]> | null = null;
  readonly #size: number;
  #asked = 0;
  #isOver = false;
  #isClosed = false;

  constructor(link: PostgresLink, size: number, done: (reusable: boolean) => void) {
    this.#link = link;
    this.#size = size;
    this.#done = done;
  }

  async declare({ text }: Statement, parameters: readonly unknown[]): Promise<void> {
    try {
      // sent in one go; what follows on an error fails for the same reason, and is told after it
      const declared = [
        this.#command('begin isolation level repeatable read read only'),
        // the rows are wanted all, and not some of them soon
        this.#command('set local cursor_tuple_fraction = 1'),
        this.#command(`declare ${name} no scroll cursor for ${text}`, parameters),
      ];
      this.#ahead = this.#fetch(this.#size);
      this.#ahead.catch(() => undefined);
      await Promise.all(declared);
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async next(size: number): Promise<unknown[][]> {
    if (this.#isOver) return [];
    const asked = this.#asked;
    const rows = await (this.#ahead ?? this.#fetch(size));
    if (rows.length < asked) {
      this.#isOver = true;
      this.#ahead = null;
      return rows;
    }
    this.#ahead = this.#fetch(size);
    // whoever asks for them is told what became of them
    this.#ahead.catch(() => undefined);
    return rows;
  }

  rows(statement: Statement, parameters: readonly unknown[]): Promise<unknown[][]> {
    return this.#send(statement, parameters);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (!this.#isOver) {
      this.#done(false);
      return;
    }
    try {
      await this.#command('commit');
      this.#done(true);
    } catch {
      this.#done(false);
    }
  }

  #fetch(size: number): Promise<unknown[][]> {
    this.#asked = size;
    return this.#command(`fetch forward ${size} from ${name}`);
  }

  #command(text: string, parameters: readonly unknown[] = []): Promise<unknown[][]> {
    return this.#send({ name: '', text, wide: false }, parameters);
  }

  #send(statement: Statement, parameters: readonly unknown[]): Promise<unknown[][]> {
    return new Promise((resolve, reject) => {
      this.#link.send(statement, parameters, (error, rows) => (error ? reject(error) : resolve(rows)));
    });
  }
}
