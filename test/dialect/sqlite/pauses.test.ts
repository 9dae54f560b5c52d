import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CompiledQuery } from 'kysely';
import { afterAll, expect, test } from 'vitest';
import { SqliteFileDialect } from '../../../src/dialect/sqlite/kysely-dialect.ts';
import { makeTemporary } from '../../support/temporary.ts';

const temporary = makeTemporary('pauses');
afterAll(temporary.remove);

test.each(['a file', 'memory'])(
  'many statements of a transaction do not block the event loop, with a database in %s',
  async (place) => {
    const dialect = new SqliteFileDialect(place === 'memory' ? ':memory:' : join(temporary.directory, 'app.db'));
    await dialect.init();
    const connection = await dialect.acquireConnection();
    await dialect.beginTransaction(connection);
    let turns = 0;
    let isOver = false;
    const count = async () => {
      for (; !isOver; turns++) await nextTurn();
    };
    const counting = count();
    const numbers = 'with recursive n(i) as (select 1 union all select i + 1 from n where i < 10000)';
    for (let i = 0; i < 100; i++) await connection.executeQuery(CompiledQuery.raw(`${numbers} select count(*) from n`));
    isOver = true;
    await counting;
    await dialect.commitTransaction(connection);
    await dialect.destroy();
    expect(turns).toBeGreaterThan(5);
  },
);
