import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { gateOf } from '../../src/traffic/gate.ts';
import { databases } from '../support/databases.ts';
import { closeGate, gate, thingOptions, until, withThings } from './things.ts';

describe.each(databases)('health on %s', (database) => {
  test('returns a single status to any caller, for GET and HEAD', async () => {
    await withThings(database, thingOptions(), async ({ request }) => {
      for (const path of ['/health/live', '/health/ready', '/health/ready?verbose=1']) {
        const answer = await request('GET', path, { headers: { authorization: 'Nonsense' } });
        expect([answer.status, answer.text]).toEqual([200, '{"status":"ok"}']);
        expect(answer.headers.get('cache-control')).toBe('no-store');
        const head = await request('HEAD', path);
        expect([head.status, head.text]).toEqual([200, '']);
      }
      expect((await request('GET', '/health.json')).status).toBe(404);
    });
  });

  test('is at the declared path, or disabled', async () => {
    await withThings(database, thingOptions({ health: { live: '/up', ready: null } }), async ({ request }) => {
      expect((await request('GET', '/up')).status).toBe(200);
      for (const path of ['/health/live', '/health/ready']) expect((await request('GET', path)).json.code).toBe('not_found');
    });
    await withThings(database, thingOptions({ health: null }), async ({ request }) => {
      for (const path of ['/health/live', '/health/ready']) expect((await request('GET', path)).status).toBe(404);
    });
  });

  test('is not ready during shutdown, and every connection closes after its response', async () => {
    await withThings(database, thingOptions(), async ({ app, request }) => {
      const open = closeGate();
      const slow = request('GET', '/slow/work.json');
      await until(() => gate.asked === 1);
      gateOf(app)?.drain();
      const ready = await request('GET', '/health/ready');
      expect([ready.status, ready.text, ready.headers.get('retry-after')]).toEqual([503, '{"status":"unavailable"}', '1']);
      expect(ready.headers.get('connection')).toBe('close');
      expect((await request('GET', '/health/live')).status).toBe(200);
      open();
      expect((await slow).headers.get('connection')).toBe('close');
      expect((await request('GET', '/thing/1.json')).status).toBe(200);
    });
  });
});

test('a route of the application at the same path takes precedence', async () => {
  const options = {
    ...thingOptions(),
    routes: {
      app_cruds: { resource: 'app_main_crud_route_loader:load', type: 'service' as const },
      own: { resource: 'own:load', type: 'service' as const },
    },
    services: {
      own: { load: () => [{ name: 'own', path: '/health/live', methods: ['GET'], handler: () => ({ own: true }) }] },
    },
  };
  await withThings('sqlite', options, async ({ request }) => {
    expect((await request('GET', '/health/live')).json).toEqual({ own: true });
    expect((await request('GET', '/health/ready')).json).toEqual({ status: 'ok' });
  });
});

test('PostgreSQL that rejects connections is not ready until it accepts them again', async () => {
  await withThings('postgresql', thingOptions(), async ({ application, request }) => {
    const { url } = application.declaration.database;
    const name = new URL(url).pathname.slice(1);
    const server = new URL(url);
    server.pathname = '/postgres';
    const administrator = new Client({ connectionString: server.href });
    await administrator.connect();
    const status = async () => (await request('GET', '/health/ready')).status;
    try {
      expect(await status()).toBe(200);
      await administrator.query(`alter database ${name} allow_connections false`);
      await administrator.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
      await until(async () => (await status()) === 503);
      expect((await request('GET', '/health/live')).status).toBe(200);
      await administrator.query(`alter database ${name} allow_connections true`);
      const start = performance.now();
      await until(async () => (await status()) === 200);
      expect(performance.now() - start).toBeLessThan(2000);
    } finally {
      await administrator.end();
    }
  });
});

test('a long write of another process to SQLite delays only writes', async () => {
  await withThings('sqlite', thingOptions(), async ({ application, request }) => {
    const other = new DatabaseSync(application.declaration.database.url.slice('sqlite:'.length));
    onTestFinished(() => other.close());
    other.exec('begin immediate');
    const writes = Array.from({ length: 3 }, () => request('POST', '/thing.json', { json: { name: 'waits' } }));
    // the first one to meet it waits inside of SQLite, for a second
    await sleep(1200);
    for (let i = 0; i < 3; i++) {
      const start = performance.now();
      expect((await request('GET', '/thing/1.json')).status).toBe(200);
      expect(performance.now() - start).toBeLessThan(1500);
    }
    other.exec('commit');
    expect((await Promise.all(writes)).map(({ status }) => status)).toEqual([201, 201, 201]);
  });
});
