import { expect, test } from 'vitest';
import { chunkBytes } from '../../../src/database/cursor.ts';
import type { DatabaseDeclaration } from '../../../src/declaration/types.ts';
import { postgresCursors } from '../../../src/dialect/postgresql/cursors.ts';
import { freshDatabase } from '../../support/databases.ts';

test('a cursor returns all rows, in chunks of limited size', async () => {
  const database = await freshDatabase('postgresql');
  const cursors = postgresCursors({
    url: database.url,
    connectTimeout: 5000,
    statementTimeout: 0,
    preparedStatements: true,
  } as DatabaseDeclaration);
  // short rows, some of 300 KB, one that is larger than a chunk, and short ones again
  const size = 'case when i between 101 and 120 then 300000 when i = 130 then 3000000 else 10 end';
  const text = `select i, repeat('x', ${size}) from generate_series(1, $1::int) as n(i) order by i`;
  const cursor = await cursors.open({ name: '', text, wide: false }, [200], 50);
  const seen: number[] = [];
  let most = 0;
  for (;;) {
    const rows = (await cursor.next(100)) as string[][];
    if (rows.length === 0) break;
    seen.push(...rows.map(([i]) => Number(i)));
    const bytes = rows.reduce((sum, [, note = '']) => sum + note.length, 0);
    if (rows.length > 1) most = Math.max(most, bytes);
  }
  expect(seen).toEqual(Array.from({ length: 200 }, (_, i) => i + 1));
  expect(most).toBeGreaterThan(300_000);
  expect(most).toBeLessThan(chunkBytes);
  await cursor.close();
  await cursors.close();
  await database.drop();
});
