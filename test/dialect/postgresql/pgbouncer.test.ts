import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Pooling } from '../../../src/dialect/postgresql/pooling.ts';
import { write } from '../../cli/applications.ts';
import { call } from '../../cli/call.ts';
import { migratedApplication, migrationText } from '../../cli/migrated-application.ts';
import { type FreshDatabase, freshDatabase } from '../../support/databases.ts';
import { type PgBouncer, startPgBouncer } from '../../support/pgbouncer.ts';
import { startApplication } from '../../support/testing.ts';
import { connected, options, requests, statusesOf } from './pooled-application.ts';

describe('PgBouncer in transaction mode', () => {
  let database: FreshDatabase;
  let bouncer: PgBouncer;
  let direct: Client;

  beforeAll(async () => {
    database = await freshDatabase('postgresql');
    bouncer = await startPgBouncer(database.url, 2);
    direct = new Client({ connectionString: database.url });
    await direct.connect();
  });

  afterAll(async () => {
    await direct?.end();
    await bouncer?.stop();
    await database?.drop();
  });

  test('is detected unless database.pooler is set; a direct connection is not taken for one', async () => {
    const found = async (url: string, pooler: 'auto' | 'none' | 'transaction') => {
      const pooling = new Pooling({ pooler });
      const client = await connected(url);
      await pooling.detect(client);
      await client.end();
      return pooling.isPooled;
    };
    expect(await found(bouncer.url, 'auto')).toBe(true);
    expect(await found(database.url, 'auto')).toBe(false);
    expect(await found(bouncer.url, 'none')).toBe(false);
    expect(await found(database.url, 'transaction')).toBe(true);
  });

  test('lets several processes update the schema at once, and serve concurrent requests without an error', async () => {
    const apps = await Promise.all(Array.from({ length: 3 }, () => startApplication(options(bouncer.url))));
    expect(await statusesOf(requests(apps, 9))).toEqual({ 200: 63, 201: 27 });
    const [counted] = (await direct.query('select count(*)::int as items from item')).rows;
    expect(counted.items).toBe(300 + 18);
    await Promise.all(apps.map((app) => app.close()));
  });

  test('leaves no lock and no setting behind, so that the next start does not wait', async () => {
    const app = await startApplication(options(bouncer.url, { statement_timeout: 12_345 }));
    expect(await statusesOf(requests([app], 3))).toEqual({ 200: 21, 201: 9 });
    const [locks] = (await direct.query("select count(*)::int as held from pg_locks where locktype = 'advisory'")).rows;
    expect(locks.held).toBe(0);
    await app.close();
    const clients = await Promise.all([0, 1].map(() => connected(bouncer.url)));
    // both sessions of the pool
    await Promise.all(clients.map((client) => client.query('begin')));
    for (const client of clients) {
      const { rows } = await client.query(
        "select current_setting('statement_timeout') as timeout, (select count(*)::int from pg_prepared_statements) as prepared",
      );
      expect(rows).toEqual([{ timeout: '0', prepared: 0 }]);
      await client.query('rollback');
      await client.end();
    }
  });

  test('ends a statement at the timeout of its own application', async () => {
    const hasty = await startApplication(options(bouncer.url, { statement_timeout: 500 }));
    const patient = await startApplication(options(bouncer.url, { statement_timeout: 60_000 }));
    for (const path of ['/slow.json', '/slow-hooked.json', '/slow.csv']) {
      const { json, status } = await hasty.request('GET', path, { headers: { 'x-seconds': '30' } });
      expect([path, status, json.code]).toEqual([path, 503, 'database_unavailable']);
      // on the same two sessions
      expect((await patient.request('GET', path, { headers: { 'x-seconds': '0.7' } })).status).toBe(200);
    }
    await Promise.all([hasty.close(), patient.close()]);
  });

  test('keeps the text formats of a role from changing responses', async () => {
    const { rows } = await direct.query('select current_database() as name');
    await direct.query(`alter database ${rows[0].name} set datestyle = 'German'`);
    const other = await startPgBouncer(database.url, 2);
    const app = await startApplication(options(other.url));
    const { json } = await app.request('GET', '/item/1.json');
    expect(json.packed).toBe('1970-01-01T00:00:00.000Z');
    await app.close();
    await other.stop();
    await direct.query(`alter database ${rows[0].name} reset datestyle`);
  });

  test('rejects writes of a read-only connection, as "declarest explain" needs', async () => {
    const app = await startApplication(options(bouncer.url));
    const explained = await app.explain('POST', '/item.json', { json: { name: 'explained' } });
    expect(explained.status).toBe(201);
    const found = await direct.query("select 1 from item where name = 'explained'");
    expect(found.rows).toEqual([]);
    await app.close();
  });
});

test('migrations run once through PgBouncer with one session more than they need, one of them outside of a transaction', async () => {
  const database = await freshDatabase('postgresql');
  const bouncer = await startPgBouncer(database.url, 2);
  const directory = migratedApplication("name: p.string().groups('read', 'write')", { url: bouncer.url, schema: 'migrate' });
  await call(['migrate', 'create', directory]);
  const name = 'Migration29990101000000_index';
  const concurrently = 'create index concurrently person_name on person (name)';
  write(
    directory,
    `migrations/${name}.ts`,
    migrationText(name, [concurrently]).replace('async up', 'isTransactional() { return false; }\n  async up'),
  );
  const outcomes = await Promise.all([0, 1, 2].map(() => call(['migrate', 'up', directory])));
  expect(outcomes.map(({ code, err }) => [code, err])).toEqual([0, 1, 2].map(() => [0, expect.any(String)]));
  expect(outcomes.filter(({ out, err }) => `${out}${err}`.includes(`applied ${name}`))).toHaveLength(1);
  await bouncer.stop();
  await database.drop();
});
