import { describe, expect } from 'vitest';
import { databases } from '../support/databases.ts';
import { test } from '../support/halves.ts';
import { type AppMain, thingOptions, withThings } from '../traffic/things.ts';

const key = 'key-of-somebody-0001';

function timed(server: AppMain['server'], compiledReads = true) {
  const base = thingOptions(server, { formats: ['json', 'csv'], security: { api_keys: { one: { key, roles: ['ROLE_ONE'] } } } });
  const { thing, ...others } = base.app_main.apis as Record<string, object>;
  const apis = { thing: { ...thing, base_role: 'ROLE_ONE' }, ...others } as never;
  return { ...base, compiledReads, app_main: { ...base.app_main, apis } };
}

function timesIn(header: string | null): Record<string, number> {
  expect(header).toMatch(/^access;dur=[\d.]+, query;dur=[\d.]+, serialize;dur=[\d.]+, total;dur=[\d.]+$/);
  return Object.fromEntries(
    (header as string)
      .split(', ')
      .map((part) => part.split(';dur='))
      .map(([name, ms]) => [name, Number(ms)]),
  );
}

describe.each(databases)('Server-Timing on %s', (database) => {
  test.each([true, false])('has access, queries and serialization, compiled: %s', async (compiled) => {
    await withThings(database, timed({ timing: true }, compiled), async ({ request }) => {
      const headers = { 'x-api-key': key };
      const asks: [string, string, object][] = [
        ['GET', '/thing/1.json', {}],
        ['GET', '/thing.json', {}],
        ['GET', '/thing.csv', {}],
        ['POST', '/thing.json', { json: { name: 'new' } }],
        ['PATCH', '/thing/1.json', { json: { name: 'other' } }],
      ];
      for (const [method, path, more] of asks) {
        const answer = await request(method, path, { headers, ...more });
        expect([method, path, answer.status < 300]).toEqual([method, path, true]);
        const { access, query, serialize, total } = timesIn(answer.headers.get('server-timing')) as Record<string, number>;
        expect([method, path, (access as number) > 0, (query as number) > 0]).toEqual([method, path, true, true]);
        expect((query as number) + (serialize as number)).toBeLessThanOrEqual((total as number) + 0.05);
      }
      expect(timesIn((await request('GET', '/nowhere')).headers.get('server-timing')).query).toBe(0);
    });
  });

  test('separates the times of concurrent requests', async () => {
    await withThings(database, timed({ timing: true }), async ({ request }) => {
      const headers = { 'x-api-key': key };
      const [queried, none] = await Promise.all([
        Promise.all(Array.from({ length: 10 }, (_, i) => request('GET', `/thing/${(i % 5) + 1}.json`, { headers }))),
        Promise.all(Array.from({ length: 10 }, () => request('GET', '/nowhere', { headers }))),
      ]);
      for (const { headers: told } of queried) expect(timesIn(told.get('server-timing')).query).toBeGreaterThan(0);
      for (const { headers: told } of none) expect(timesIn(told.get('server-timing')).query).toBe(0);
    });
  });
});

test('Server-Timing is sent only if declared, and never in production', async () => {
  for (const [options, env] of [
    [timed({}), {}],
    [timed({ timing: true }), { NODE_ENV: 'production' }],
  ] as const) {
    await withThings('sqlite', { ...options, env }, async ({ request }) => {
      const answer = await request('GET', '/thing/1.json', { headers: { 'x-api-key': key } });
      expect([answer.status, answer.headers.get('server-timing')]).toEqual([200, null]);
    });
  }
});
