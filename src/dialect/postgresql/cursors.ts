import { type Cursor, type Cursors, chunkBytes } from '../../database/cursor.ts';
import type { Statement } from '../../database/executor.ts';
import { ReadAheadCursor, type RowSource } from '../../database/read-ahead.ts';
import type { StatementWatch } from '../../database/statement-watch.ts';
import { type PostgresLink, reportTo } from './link.ts';
import { LinkPool } from './link-pool.ts';
import type { PostgresDatabase } from './pooling.ts';

const name = 'declarest_export';

/** `before` may send a statement, which runs before the transaction. If it rejects, the cursor is not opened. */
export interface PostgresCursors extends Cursors {
  open(
    statement: Statement,
    parameters: readonly unknown[],
    size: number,
    before?: (link: PostgresLink) => Promise<unknown>,
  ): Promise<Cursor>;
}

/** Opens server-side cursors, each in a transaction and on a connection of its own. */
export function postgresCursors(database: PostgresDatabase, watch: StatementWatch = {}): PostgresCursors {
  const pool = new LinkPool(database, { answered: reportTo(watch), most: Number.POSITIVE_INFINITY, timeout: 0 });
  return {
    async open(statement, parameters, size, before) {
      const link = pool.take();
      const send = (text: string, values: readonly unknown[] = []) => link.send({ name: '', text, wide: false }, values);
      const declare = () => send(`declare ${name} no scroll cursor for ${statement.text}`, parameters);
      let fetched = 0;
      let isCut = false;
      // A cursor cannot move back. The statement is ordered by its key, so a second cursor in the same snapshot has the same rows
      // in the same order.
      const reopen = () => Promise.all([send(`close ${name}`), declare(), send(`move forward ${fetched} from ${name}`)]);
      const source: RowSource = {
        async fetch(count) {
          const text = `fetch forward ${count} from ${name}`;
          const back = isCut ? reopen() : null;
          isCut = false;
          const rows = link.send({ name: '', text, wide: false }, [], chunkBytes, () => {
            isCut = true;
          });
          const [found] = await Promise.all([rows, back]);
          fetched += found.length;
          return found;
        },
        wasCut: () => isCut,
        rows: (wanted, values) => link.send(wanted, values),
        async close(isOver) {
          if (isOver) await link.commit().catch(() => undefined);
          pool.giveBack(link);
        },
      };
      // sent together; after an error, the statements behind it fail for the same reason
      const declared = Promise.all([
        before?.(link),
        link.begin('begin isolation level repeatable read read only'),
        // all rows are needed, so the planner must not favour the first ones
        send('set local cursor_tuple_fraction = 1'),
        declare(),
      ]);
      return ReadAheadCursor.open(source, declared, size);
    },
    close: () => pool.close(),
  };
}
