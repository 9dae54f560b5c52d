import { expect, test } from 'vitest';
import { TooLargeError } from '../../../src/database/too-large.ts';
import { postgresExecutor } from '../../../src/dialect/postgresql/executor.ts';
import { freshDatabase } from '../../support/databases.ts';

const big = { name: 'big', text: "select repeat('x', 10000) from generate_series(1, 100) limit $1", wide: false };
const small = { name: 'small', text: 'select 1', wide: false };

test('the PostgreSQL executor fails a statement whose rows have too many bytes, but not others', async () => {
  const database = await freshDatabase('postgresql');
  const executor = postgresExecutor(
    {
      url: database.url,
      pool: 4,
      connectTimeout: 5000,
      statementTimeout: 30_000,
      preparedStatements: true,
      readOnly: false,
    } as never,
    {},
    { bytes: 100_000 },
  );
  for (let turn = 0; turn < 3; turn++) {
    const [first, second, third] = await Promise.allSettled([
      executor.rows(big, [100]),
      executor.rows(small, []),
      executor.rows(big, [5]),
    ]);
    expect(first).toMatchObject({ status: 'rejected', reason: { limit: 100_000 } });
    expect((first as PromiseRejectedResult).reason).toBeInstanceOf(TooLargeError);
    expect(second).toMatchObject({ status: 'fulfilled', value: [['1']] });
    expect(third).toMatchObject({ status: 'fulfilled', value: { length: 5 } });
  }
  expect(executor.underWay()).toBe(0);
  await executor.close();
  await database.drop();
});
