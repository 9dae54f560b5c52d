import type { Cursors } from '../../database/cursor.ts';
import { ReadAheadCursor, type RowSource } from '../../database/read-ahead.ts';
import type { StatementWatch } from '../../database/statement-watch.ts';
import type { DatabaseDeclaration } from '../../declaration/types.ts';
import { answeredTo } from './link.ts';
import { LinkPool } from './link-pool.ts';

const name = 'declarest_export';

/** Opens server-side cursors, each in a transaction and on a connection of its own. */
export function postgresCursors(database: DatabaseDeclaration, watch: StatementWatch = {}): Cursors {
  const pool = new LinkPool(database, { answered: answeredTo(watch), most: Number.POSITIVE_INFINITY, timeout: 0 });
  return {
    async open(statement, parameters, size) {
      const link = pool.take();
      const send = (text: string, values: readonly unknown[] = []) => link.send({ name: '', text, wide: false }, values);
      const source: RowSource = {
        fetch: (count) => send(`fetch forward ${count} from ${name}`),
        rows: (wanted, values) => link.send(wanted, values),
        async close(isOver) {
          if (isOver) await send('commit').catch(() => undefined);
          pool.giveBack(link);
        },
      };
      // sent in one go; after an error, the rest fails for the same reason
      const declared = Promise.all([
        send('begin isolation level repeatable read read only'),
        // the rows are wanted all, and not some of them soon
        send('set local cursor_tuple_fraction = 1'),
        send(`declare ${name} no scroll cursor for ${statement.text}`, parameters),
      ]);
      return ReadAheadCursor.open(source, declared, size);
    },
    close: () => pool.close(),
  };
}
