import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Pooling } from '../../../src/dialect/postgresql/pooling.ts';
import { type FreshDatabase, freshDatabase } from '../../support/databases.ts';
import { hasPgpool, type Pgpool, startPgpool } from '../../support/pgpool.ts';
import { startApplication } from '../../support/testing.ts';
import { connected, options, requests, statusesOf } from './pooled-application.ts';

describe.skipIf(!hasPgpool)('Pgpool-II', () => {
  let database: FreshDatabase;
  let pool: Pgpool;
  let direct: Client;

  beforeAll(async () => {
    database = await freshDatabase('postgresql');
    pool = await startPgpool(database.url, 80);
    direct = new Client({ connectionString: database.url });
    await direct.connect();
  });

  afterAll(async () => {
    await direct?.end();
    await pool?.stop();
    await database?.drop();
  });

  test('gives each client a session, also one of another client that has disconnected', async () => {
    for (let round = 0; round < 3; round++) {
      const clients = await Promise.all(Array.from({ length: 5 }, () => connected(pool.url)));
      for (const client of clients) {
        const pooling = new Pooling({ pooler: 'auto' });
        await pooling.detect(client);
        expect(pooling.isPooled).toBe(false);
      }
      await Promise.all(clients.map((client) => client.end()));
    }
  });

  test('lets several processes update the schema at once, and serve concurrent requests without an error', async () => {
    const apps = await Promise.all(Array.from({ length: 3 }, () => startApplication(options(pool.url, { pool: 5 }))));
    expect(await statusesOf(requests(apps, 9))).toEqual({ 200: 63, 201: 27 });
    const [counted] = (await direct.query('select count(*)::int as items from item')).rows;
    expect(counted.items).toBe(300 + 18);
    await Promise.all(apps.map((app) => app.close()));
  });

  test('keeps the statement timeout of an application from another one that gets its session later', async () => {
    for (let round = 0; round < 2; round++) {
      const hasty = await startApplication(options(pool.url, { statement_timeout: 500 }));
      for (const path of ['/slow.json', '/slow-hooked.json', '/slow.csv']) {
        const { json, status } = await hasty.request('GET', path, { headers: { 'x-seconds': '30' } });
        expect([path, status, json.code]).toEqual([path, 503, 'database_unavailable']);
      }
      await hasty.close();
      const patient = await startApplication(options(pool.url, { statement_timeout: 60_000 }));
      for (const path of ['/slow.json', '/slow-hooked.json', '/slow.csv'])
        expect((await patient.request('GET', path, { headers: { 'x-seconds': '0.7' } })).status).toBe(200);
      await patient.close();
    }
  });

  test('leaves no lock behind, so that the next start does not wait', async () => {
    const app = await startApplication(options(pool.url));
    expect(await statusesOf(requests([app], 3))).toEqual({ 200: 21, 201: 9 });
    await app.close();
    const [locks] = (await direct.query("select count(*)::int as held from pg_locks where locktype = 'advisory'")).rows;
    expect(locks.held).toBe(0);
    await (await startApplication(options(pool.url))).close();
  });
});
