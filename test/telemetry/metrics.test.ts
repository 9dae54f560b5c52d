import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { loadApplication } from '../../src/application.ts';
import type { CodeOptions } from '../../src/index.ts';
import { databases } from '../support/databases.ts';
import type { TestApplication } from '../support/testing.ts';
import { type AppMain, closeGate, gate, thingOptions, until, withThings } from '../traffic/things.ts';
import { parseExposition, total } from './parse-exposition.ts';

const key = 'key-of-the-scraper-1';
const security = { api_keys: { scraper: { key, roles: ['ROLE_METRICS'] }, other: { key: 'key-of-somebody-else' } } };

function measured(server: AppMain['server'] = {}, more: Partial<AppMain> = {}): CodeOptions {
  return thingOptions({ metrics: {}, ...server }, { security, formats: ['json', 'csv'], ...more });
}

async function scrape({ request }: Pick<TestApplication, 'request'>) {
  const answer = await request('GET', '/metrics', { headers: { 'x-api-key': key } });
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  return { text: answer.text, metrics: parseExposition(answer.text) };
}

describe.each(databases)('metrics on %s', (database) => {
  test('count requests by route, method and status, without labels from callers', async () => {
    await withThings(database, measured(), async (application) => {
      const { request } = application;
      for (let id = 1; id <= 5; id++) await request('GET', `/thing/${id}.json`);
      await request('HEAD', '/thing/1.json');
      await request('GET', '/thing/99999.json');
      await request('GET', '/thing.json');
      await request('GET', '/thing.csv');
      await request('POST', '/thing.json', { json: { name: 'new' } });
      await request('POST', '/thing.json', { body: '{' });
      await request('DELETE', '/thing.json');
      for (let i = 0; i < 20; i++) await request('GET', `/made-up/${i}`);
      await request('PROPFIND', '/made-up');
      await request('GET', '/thing/%zz.json');
      await request('GET', `/thing.json?${'x'.repeat(9000)}`);
      await request('GET', '/thing/1.json', { headers: { 'x-api-key': 'wrong' } });
      await request('GET', '/health/live');
      const { text, metrics } = await scrape(application);
      const requests = (route: string, method: string, status: string) =>
        total(metrics, 'http_requests_total', { route, method, status });
      expect(requests('/thing/{id}.{_format}', 'GET', '200')).toBe(5);
      expect(requests('/thing/{id}.{_format}', 'HEAD', '200')).toBe(1);
      expect(requests('/thing/{id}.{_format}', 'GET', '404')).toBe(1);
      expect(requests('/thing/{id}.{_format}', 'GET', '401')).toBe(1);
      expect(requests('/thing.{_format}', 'GET', '200')).toBe(2);
      expect(requests('/thing.{_format}', 'POST', '201')).toBe(1);
      expect(requests('/thing.{_format}', 'POST', '415')).toBe(1);
      expect(requests('(unknown)', 'GET', '404')).toBe(21);
      expect(requests('(unknown)', 'DELETE', '405')).toBe(1);
      expect(requests('(unknown)', 'OTHER', '404')).toBe(1);
      expect(requests('(gate)', 'GET', '414')).toBe(1);
      expect(requests('/health/live', 'GET', '200')).toBe(1);
      const labels = { route: '/thing/{id}.{_format}', method: 'GET' };
      expect(total(metrics, 'http_request_duration_seconds_count', labels)).toBe(7);
      expect(total(metrics, 'http_request_duration_seconds_sum', labels)).toBeGreaterThan(0);
      expect(total(metrics, 'http_request_duration_seconds_sum', labels)).toBeLessThan(10);
      expect(total(metrics, 'http_problems_total', { code: 'not_found' })).toBe(22);
      expect(total(metrics, 'http_problems_total', { code: 'url_too_long' })).toBe(1);
      expect(total(metrics, 'http_requests_in_flight')).toBe(1);
      expect(text).not.toMatch(/made-up|\/99999|PROPFIND|scraper/);
      // the scrape counts itself the next time
      expect(total((await scrape(application)).metrics, 'http_requests_total', { route: '/metrics' })).toBe(1);
    });
  });

  test('count statements as they are sent, including those of entities, and connections', async () => {
    await withThings(database, measured(), async (application) => {
      const { request } = application;
      await request('GET', '/thing/1.json');
      const statements = async () => {
        const { metrics } = await scrape(application);
        return {
          all: total(metrics, 'db_statement_duration_seconds_count'),
          failed: total(metrics, 'db_statement_failures_total'),
          open: metrics.has('db_connections') ? total(metrics, 'db_connections') : null,
          waiting: total(metrics, 'db_connections_waiting'),
          underWay: total(metrics, 'db_statements_under_way'),
        };
      };
      const before = await statements();
      expect(before.all).toBeGreaterThan(0);
      for (let i = 0; i < 10; i++) await request('GET', '/thing/1.json');
      const read = await statements();
      expect(read.all - before.all).toBe(10);
      // a transaction of the mapper: begin, select, commit; SQLite does two of these without a statement
      await request('GET', '/slow/hold.json');
      const held = await statements();
      expect(held.all - read.all).toBe(database === 'sqlite' ? 1 : 3);
      expect(await request('POST', '/thing.json', { json: { name: 'x' } })).toMatchObject({ status: 201 });
      expect(await request('PATCH', '/thing/1.json', { json: { name: 'y' } })).toMatchObject({ status: 200 });
      expect((await request('GET', '/thing.csv')).status).toBe(200);
      const written = await statements();
      expect(written.all - held.all).toBeGreaterThanOrEqual(3);
      expect(written.failed).toBe(0);
      if (database === 'sqlite') expect(written.open).toBeNull();
      else expect(written.open).toBeGreaterThanOrEqual(2);
      expect(written).toMatchObject({ waiting: 0, underWay: 0 });
      const open = closeGate();
      const holding = request('GET', '/slow/hold.json');
      await until(() => gate.asked === 1);
      expect((await statements()).underWay).toBe(1);
      if (database === 'postgresql')
        expect(total((await scrape(application)).metrics, 'db_connections', { pool: 'mapper', state: 'used' })).toBe(1);
      open();
      await holding;
    });
  });

  test('count rejections by reason, and stay available meanwhile', async () => {
    const options = measured({ max_concurrent: 2, handler_timeout: 1000, rate_limit: { limit: 10, by: 'address' } });
    await withThings(database, options, async (application) => {
      const { request, url } = application;
      const open = closeGate();
      const late = [request('GET', '/slow/work.json'), request('GET', '/slow/work.json')];
      await until(() => gate.asked === 2);
      for (let i = 0; i < 3; i++) expect((await request('GET', '/thing/1.json')).status).toBe(503);
      const { metrics } = await scrape(application);
      expect(total(metrics, 'http_requests_shed_total', { reason: 'max_concurrent' })).toBe(3);
      expect(total(metrics, 'http_requests_total', { route: '(gate)', status: '503' })).toBe(3);
      expect(total(metrics, 'http_requests_in_flight')).toBe(3);
      await Promise.all(late);
      open();
      for (let i = 0; i < 10; i++) await request('GET', '/thing/1.json');
      const gone = new AbortController();
      const again = closeGate();
      const left = fetch(`${url}/slow/work.json`, { signal: gone.signal, headers: { authorization: '' } }).catch(() => undefined);
      await sleep(100);
      gone.abort();
      await left;
      again();
      const later = (await scrape(application)).metrics;
      expect(total(later, 'http_requests_shed_total', { reason: 'handler_timeout' })).toBe(2);
      expect(total(later, 'http_problems_total', { code: 'handler_timeout' })).toBe(2);
      expect(total(later, 'http_problems_total', { code: 'overloaded' })).toBe(3);
      expect(total(later, 'http_problems_total', { code: 'rate_limited' })).toBeGreaterThanOrEqual(2);
      expect(total(later, 'http_requests_total', { route: '/thing/{id}.{_format}', status: '429' })).toBeGreaterThanOrEqual(2);
    });
  });
});

test('a response after the client disconnects is counted as aborted', async () => {
  await withThings('sqlite', measured(), async (application) => {
    const open = closeGate();
    const gone = new AbortController();
    const left = fetch(`${application.url}/slow/work.json`, { signal: gone.signal }).catch(() => undefined);
    await until(() => gate.asked === 1);
    gone.abort();
    await left;
    const aborted = async () => total((await scrape(application)).metrics, 'http_requests_total', { status: 'aborted' });
    await until(async () => (await aborted()) === 1);
    open();
  });
});

test('metrics require their role unless they are declared public', async () => {
  await withThings('sqlite', measured(), async ({ request }) => {
    expect((await request('GET', '/metrics')).status).toBe(401);
    expect((await request('GET', '/metrics', { headers: { 'x-api-key': 'key-of-somebody-else' } })).status).toBe(403);
    expect((await request('GET', '/metrics', { headers: { 'x-api-key': 'wrong' } })).status).toBe(401);
    expect((await request('HEAD', '/metrics', { headers: { 'x-api-key': key } })).status).toBe(200);
    expect((await request('POST', '/metrics', { headers: { 'x-api-key': key } })).status).toBe(404);
  });
  await withThings('sqlite', measured({ metrics: { path: '/internal/numbers', role: null } }), async ({ request }) => {
    expect((await request('GET', '/internal/numbers')).status).toBe(200);
    expect((await request('GET', '/metrics')).status).toBe(404);
  });
  await withThings('sqlite', thingOptions(), async ({ request }) => {
    expect((await request('GET', '/metrics')).status).toBe(404);
  });
});

test('the documentation names every metric, and shows some exactly', async () => {
  const operations = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'reference', 'operations.md'), 'utf8');
  const page = operations.split(/^### /m).find((part) => part.startsWith('Metrics')) as string;
  const rows = page.split('\n').filter((line) => line.startsWith('| `'));
  const named = rows.flatMap((row) => [...(row.split('|')[1] as string).matchAll(/`(\w+)`/g)].map(([, name]) => name as string));
  const sample = parseExposition(/```text\n(# HELP.*?)```/s.exec(page)?.[1] as string);
  await withThings('postgresql', measured(), async (application) => {
    const { metrics } = await scrape(application);
    expect([...named].sort()).toEqual([...metrics.keys(), 'db_replica_usable', 'worker_up'].sort());
    for (const { name, help, type } of sample.values()) expect(metrics.get(name)).toMatchObject({ help, type });
  });
});

test('a role without a voter, a taken path and public metrics with required roles are errors', async () => {
  const faults: [CodeOptions, RegExp][] = [
    [measured({ metrics: { role: 'reader' } }), /metrics\.role: no voter judges the role "reader"/],
    [measured({ metrics: { path: '/health/live' } }), /metrics\.path: another route already uses \/health\/live/],
    [measured({ metrics: { path: '/thing.json' } }), /metrics\.path: another route already uses \/thing\.json/],
    [
      measured({ metrics: { role: null } }, { security: { ...security, require_role: true } }),
      /and the metrics are public; name a role/,
    ],
  ];
  for (const [options, message] of faults) await expect(loadApplication(options)).rejects.toThrow(message);
});
