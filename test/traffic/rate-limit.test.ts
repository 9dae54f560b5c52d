// @module-tag divided
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { LruCache } from '../../src/database/lru-cache.ts';
import { countHit } from '../../src/traffic/rate-limiter.ts';
import { databases, freshDatabase } from '../support/databases.ts';
import { startApplication } from '../support/testing.ts';
import { type AppMain, thingOptions, withThings } from './things.ts';

const secret = 'a secret of more than 32 characters';
const stores = databases.flatMap((database) => (['memory', 'database'] as const).map((store) => [database, store] as const));

function limited(rate: NonNullable<AppMain['server']>['rate_limit'], server: AppMain['server'] = {}, thing: object = {}) {
  const options = thingOptions({ ...server, rate_limit: rate ?? null }, { security: { jwt: { secret } } });
  Object.assign((options.app_main.apis as any).thing, thing);
  return options;
}

describe.each(stores)('a rate limit on %s, counted in %s', (database, store) => {
  test('allows the declared number, sends the remaining count, and rejects more until the window ends', async () => {
    await withThings(database, limited({ limit: 3, window: 2, store }), async ({ request }) => {
      const left: (string | null)[] = [];
      for (let i = 0; i < 3; i++) {
        const answer = await request('GET', '/thing/1.json');
        expect([answer.status, answer.headers.get('ratelimit-policy')]).toEqual([200, '"default";q=3;w=2']);
        left.push(answer.headers.get('ratelimit'));
      }
      expect(left.map((text) => /^"default";r=(\d+);t=[12]$/.exec(text ?? '')?.[1])).toEqual(['2', '1', '0']);
      for (const body of [undefined, 'no JSON']) {
        const refused = await request(body ? 'POST' : 'GET', '/thing.json', body ? { body } : {});
        expect([refused.status, refused.json.code]).toEqual([429, 'rate_limited']);
        expect(refused.headers.get('retry-after')).toMatch(/^[12]$/);
        expect(refused.headers.get('ratelimit')).toMatch(/^"default";r=0;t=[12]$/);
      }
      // what needs no database is not counted, and neither is health
      expect((await request('GET', '/nothing.json')).status).toBe(404);
      expect((await request('GET', '/health/ready')).status).toBe(200);
      await sleep(2100);
      expect((await request('GET', '/thing/1.json')).status).toBe(200);
    });
  });

  test('counts users separately from each other and from anonymous callers', async () => {
    await withThings(database, limited({ limit: 1, window: 60, store }), async ({ request }) => {
      for (const as of [{ id: 1 }, { id: 2 }, undefined]) {
        const statuses = [];
        for (let i = 0; i < 2; i++) statuses.push((await request('GET', '/thing/1.json', as ? { as } : {})).status);
        expect(statuses).toEqual([200, 429]);
      }
    });
  });

  test('allows exactly its number of concurrent requests', async () => {
    await withThings(database, limited({ limit: 10, window: 60, store }), async ({ request }) => {
      const answers = await Promise.all(Array.from({ length: 30 }, () => request('GET', '/thing/1.json')));
      expect(answers.filter(({ status }) => status === 200).length).toBe(10);
      expect(answers.filter(({ status }) => status === 429).length).toBe(20);
    });
  });
});

test.each(databases)('several processes count together in the database on %s', async (database) => {
  const fresh = await freshDatabase(database);
  const options = { ...limited({ limit: 20, window: 60, store: 'database' }), databaseUrl: fresh.url };
  const applications = [await startApplication(options), await startApplication(options)];
  try {
    const asked = Array.from({ length: 60 }, (_, i) => applications[i % 2]?.request('GET', '/thing/1.json'));
    const statuses = (await Promise.all(asked)).map((answer) => answer?.status);
    expect(statuses.filter((status) => status === 200).length).toBe(20);
    expect(statuses.filter((status) => status === 429).length).toBe(40);
  } finally {
    for (const application of applications) await application.close();
    await fresh.drop();
  }
});

describe('a rate limit', () => {
  test('of an API is separate, and null disables it', async () => {
    const own = { rate_limit: { limit: 2, window: 60 } };
    await withThings('sqlite', limited({ limit: 1, window: 60 }, {}, own), async ({ request }) => {
      const statuses = [];
      for (let i = 0; i < 3; i++) statuses.push((await request('GET', '/thing/1.json')).status);
      expect(statuses).toEqual([200, 200, 429]);
      const other = await request('GET', '/slow/work.json');
      expect([other.status, other.headers.get('ratelimit-policy')]).toEqual([200, '"default";q=1;w=60']);
    });
    await withThings('sqlite', limited({ limit: 1 }, {}, { rate_limit: null }), async ({ request }) => {
      for (let i = 0; i < 3; i++) expect((await request('GET', '/thing/1.json')).headers.get('ratelimit')).toBeNull();
    });
  });

  test('by address applies to all users together, and trusts only declared proxies', async () => {
    const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });
    await withThings('sqlite', limited({ limit: 1, by: 'address' }), async ({ request }) => {
      expect((await request('GET', '/thing/1.json', { as: { id: 1 }, ...from('192.0.2.1') })).status).toBe(200);
      expect((await request('GET', '/thing/1.json', { as: { id: 2 }, ...from('192.0.2.2') })).status).toBe(429);
    });
    await withThings('sqlite', limited({ limit: 1, by: 'address' }, { trust_proxy: ['loopback'] }), async ({ request }) => {
      expect((await request('GET', '/slow/work.json', from('192.0.2.1'))).json.ip).toBe('192.0.2.1');
      expect((await request('GET', '/thing/1.json', from('192.0.2.2'))).status).toBe(200);
      expect((await request('GET', '/thing/1.json', from('192.0.2.1'))).status).toBe(429);
    });
  });

  test('applies to wrong credentials too, without a database query', async () => {
    await withThings('postgresql', limited({ limit: 3, store: 'database' }), async ({ request, statements }) => {
      statements.length = 0;
      const statuses = [];
      for (let i = 0; i < 5; i++)
        statuses.push((await request('GET', '/thing/1.json', { headers: { authorization: 'Bearer wrong' } })).status);
      expect(statuses).toEqual([401, 401, 401, 429, 429]);
      expect(statements).toEqual([]);
    });
  });

  test('sends no headers if no limit is declared', async () => {
    await withThings('sqlite', thingOptions(), async ({ request }) => {
      expect((await request('GET', '/thing/1.json')).headers.get('ratelimit')).toBeNull();
    });
  });
});

test('a rate limit stores a bounded number of callers, and drops ended windows first', () => {
  const counted: Parameters<typeof countHit>[0] = new LruCache(10);
  for (let i = 0; i < 1000; i++) countHit(counted, `caller ${i}`, 1000, i);
  expect(counted.size).toBe(10);
  expect(countHit(counted, 'caller 999', 1000, 1000).hits).toBe(2);
  expect(countHit(counted, 'caller 0', 1000, 1000).hits).toBe(1);
  for (let i = 0; i < 10; i++) countHit(counted, `late ${i}`, 1000, 5000);
  expect(counted.size).toBeLessThanOrEqual(10);
});
