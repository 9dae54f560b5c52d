import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Statement } from '../../../src/database/executor.ts';
import type { Writer } from '../../../src/database/writer.ts';
import type { DatabaseDeclaration } from '../../../src/declaration/types.ts';
import { Pooling } from '../../../src/dialect/postgresql/pooling.ts';
import { postgresWriter } from '../../../src/dialect/postgresql/writer.ts';
import { type FreshDatabase, freshDatabase } from '../../support/databases.ts';
import { startPgBouncer } from '../../support/pgbouncer.ts';
import { hasPgpool, startPgpool } from '../../support/pgpool.ts';

const unnamed = (text: string): Statement => ({ name: '', text, wide: false });
const named = (text: string): Statement => ({ name: text.replace(/\W/g, '_'), text, wide: false });
const add = named('insert into item values ($1::int, 1)');
const divide = named('update item set n = n / $1::int returning n');
const list = named('select id, n from item order by id');
/** Steps that do not need each other's rows. */
const steps = (...given: readonly (readonly [Statement, readonly unknown[]])[]) =>
  given.map(([statement, parameters]) => ({ statement, parameters, mayBeEmpty: true as const }));

interface Way {
  readonly url: string;
  stop(): Promise<void>;
}

/** The ways to a server: transactions of one message must be one transaction on each of them. */
const ways: Record<string, (url: string) => Promise<Way>> = {
  directly: async (url) => ({ url, stop: async () => undefined }),
  'through PgBouncer': (url) => startPgBouncer(url, 2),
  ...(hasPgpool && { 'through Pgpool-II': (url: string) => startPgpool(url, 10) }),
};

describe.each(Object.entries(ways))('a writer that is connected %s', (name, connect) => {
  let database: FreshDatabase;
  let way: Way;
  let writer: Writer;
  const failures: (boolean | undefined)[] = [];
  const open = (watch = {}): Writer => {
    const declaration = {
      url: way.url,
      connectTimeout: 5000,
      statementTimeout: 0,
      preparedStatements: true,
      pool: 1,
      schema: 'none',
    };
    const pooling = new Pooling({ pooler: name === 'through PgBouncer' ? 'transaction' : 'none' });
    return postgresWriter({ ...(declaration as unknown as DatabaseDeclaration), pooling }, watch);
  };
  const listed = () => writer.change([{ statement: list, parameters: [] }]);

  beforeAll(async () => {
    database = await freshDatabase('postgresql');
    way = await connect(database.url);
    writer = open({ answered: (_: number, failed?: boolean) => failures.push(failed) });
    const create = unnamed('create table item (id int unique deferrable initially deferred, n int)');
    await writer.change([{ statement: create, parameters: [] }]);
  });
  afterAll(async () => {
    await writer?.close();
    await way?.stop();
    await database?.drop();
  });
  beforeEach(async () => {
    await writer.change([{ statement: unnamed('delete from item'), parameters: [] }]);
    failures.length = 0;
  });

  test('sends steps that do not need the rows of each other as one transaction, and returns the rows of the last', async () => {
    expect(await writer.change(steps([add, [1]], [add, [2]], [divide, [1]], [list, []]))).toEqual([
      ['1', '1'],
      ['2', '1'],
    ]);
    // neither "begin" nor "commit"
    expect(failures).toEqual([false, false, false, false]);
  });

  test('writes nothing if a later step fails, and can send the steps after it later', async () => {
    const last = named(`select count(*) from item where id <> ${Math.floor(1e6 * Math.random() + 10)}`);
    await expect(writer.change(steps([add, [1]], [divide, [0]], [last, []]))).rejects.toMatchObject({ code: '22012' });
    expect(failures).toEqual([false, true]);
    expect(await listed()).toEqual([]);
    failures.length = 0;
    expect(await writer.change(steps([add, [1]], [last, []]))).toEqual([['1']]);
    // the server had not parsed the last one, so it was sent again with its text
    expect(failures).toEqual([false, false]);
  });

  test('writes nothing if a constraint fails at the end of the transaction', async () => {
    await expect(writer.change(steps([add, [1]], [add, [1]], [list, []]))).rejects.toMatchObject({ code: '23505' });
    expect(await listed()).toEqual([]);
  });

  test('sees in a step what other transactions committed while the step before waited for a lock', async () => {
    await writer.change(steps([add, [1]]));
    const other = open();
    const slow = other.change(steps([named('update item set n = 5'), []], [named('select pg_sleep(0.3)'), []]));
    await new Promise((resolve) => setTimeout(resolve, 100));
    const found = await writer.change(steps([named('select 1 from item for update'), []], [list, []]));
    await slow;
    await other.close();
    expect(found).toEqual([['1', '5']]);
  });
});
