import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { chunkBytes } from '../../../src/database/cursor.ts';
import { sqliteCursors } from '../../../src/dialect/sqlite/cursors.ts';
import { SqliteFileDialect } from '../../../src/dialect/sqlite/kysely-dialect.ts';
import { makeTemporary } from '../../support/temporary.ts';

const temporary = makeTemporary('cursors');
afterAll(temporary.remove);

test('a cursor returns all rows, in chunks of limited size', async () => {
  const dialect = new SqliteFileDialect(join(temporary.directory, 'app.db'));
  // short rows, some of 300 KB, one that is larger than a chunk, and short ones again
  const size = 'case when i between 101 and 120 then 300000 when i = 130 then 3000000 else 10 end';
  await dialect.write((db) =>
    db.exec(`create table note (id integer primary key, text text);
      with recursive n(i) as (select 1 union all select i + 1 from n where i < 200)
      insert into note select i, substr(hex(zeroblob(${size})), 1, ${size}) from n`),
  );
  const text = 'select id, text from note order by id';
  const cursor = await sqliteCursors(dialect).open({ name: text, text, wide: false }, [], 50);
  // what is committed later is not in its snapshot
  await dialect.write((db) => db.exec("insert into note values (201, 'later')"));
  const seen: unknown[] = [];
  let most = 0;
  for (;;) {
    const rows = await cursor.next(100);
    if (rows.length === 0) break;
    seen.push(...rows.map(([id]) => id));
    const sizes = rows.map(([, note]) => String(note).length);
    most = Math.max(most, sizes.reduce((sum, size) => sum + size, 0) - Math.max(...sizes));
  }
  expect(seen).toEqual(Array.from({ length: 200 }, (_, i) => i + 1));
  expect(most).toBeGreaterThan(300_000);
  expect(most).toBeLessThan(chunkBytes);
  await cursor.close();
  await dialect.destroy();
});
