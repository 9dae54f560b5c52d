import { afterEach, describe, expect, vi } from 'vitest';
import { databases, freshDatabase } from '../support/databases.ts';
import { test } from '../support/halves.ts';
import { startApplication } from '../support/testing.ts';
import { thingOptions, until, withThings } from '../traffic/things.ts';

const year = 365 * 86_400_000;

describe.each(databases)('API4:2023 unrestricted resource consumption: counting requests, on %s', (kind) => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  test.each(['memory', 'database'] as const)(
    'a temporarily wrong clock does not lock callers out, counted in %s (CWE-682)',
    async (store) => {
      await withThings(kind, thingOptions({ rate_limit: { limit: 2, window: 60, store } }), async ({ request }) => {
        const now = Date.now;
        vi.spyOn(Date, 'now').mockImplementation(() => now() + year);
        await request('GET', '/thing/1.json');
        vi.mocked(Date.now).mockRestore();
        const second = await request('GET', '/thing/1.json');
        expect(Number(/t=(\d+)/.exec(second.headers.get('ratelimit') ?? '')?.[1])).toBeLessThanOrEqual(60);
        for (let n = 0; n < 2; n++) {
          const refused = await request('GET', '/thing/1.json');
          expect(refused.status).toBe(429);
          expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60);
        }
      });
    },
  );

  test('a large table without an index is cleaned in small steps (CWE-405)', async () => {
    const fresh = await freshDatabase(kind);
    const options = { ...thingOptions({ rate_limit: { limit: 100_000, store: 'database' } }), databaseUrl: fresh.url };
    const application = await startApplication(options);
    try {
      const em = application.application.mapper.em.fork();
      await em.execute(
        'create table declarest_rate_limit (caller varchar(64) primary key, hits integer not null, resets_at bigint not null)',
      );
      await em.execute(
        'with recursive n (i) as (select 1 union all select i + 1 from n where i < 1500) ' +
          `insert into declarest_rate_limit select 'caller ' || i, 1, case when i % 2 = 0 then 1000 else ${Date.now() + year} end from n`,
      );
      const left = async () => {
        const [row] = await em.execute('select count(*) as count from declarest_rate_limit');
        return Number(row?.count);
      };
      let before = await left();
      await until(async () => {
        expect((await application.request('GET', '/thing/1.json')).status).toBe(200);
        const after = await left();
        // at most one step for each request, and the row of this caller
        expect(before - after).toBeLessThanOrEqual(200);
        before = after;
        return after === 1;
      });
      const indexes = kind === 'sqlite' ? 'select name from sqlite_master' : 'select indexname as name from pg_indexes';
      expect((await em.execute<{ name: string }[]>(indexes)).map(({ name }) => name)).toContain('declarest_rate_limit_resets_at');
    } finally {
      await application.close();
      await fresh.drop();
    }
  });
});
