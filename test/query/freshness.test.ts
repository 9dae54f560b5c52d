import { defineEntity, p, raw } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { PostgresLink } from '../../src/dialect/postgresql/link.ts';
import { ReaderThreads } from '../../src/dialect/sqlite/reads/reader-threads.ts';
import { ApiController, type ApiRequest } from '../../src/index.ts';
import { type DatabaseKind, databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Counter = defineEntity({
  name: 'Counter',
  properties: { id: p.integer().primary().groups('read'), value: p.integer().groups('read', 'write') },
});

/** A condition that is true after some tens of milliseconds, so that there is nearly always a read under way. */
const slowly: Record<DatabaseKind, string> = {
  sqlite: '(with recursive n(i) as (select 1 union all select i + 1 from n where i < 50000) select count(*) from n) > 0',
  postgresql: '(select count(*) from (select pg_sleep(0.03)) as nap) > 0',
};
let kind: DatabaseKind;

class SlowController extends ApiController {
  override customizeQuery(_action: string, _request: ApiRequest, query: any) {
    query.where(raw(slowly[kind]));
  }
}

const writers = 6;
const writes = 8;

describe.each(databases)('a request on %s', (database) => {
  let fresh: FreshDatabase;
  let application: TestApplication;

  beforeAll(async () => {
    kind = database;
    fresh = await freshDatabase(database);
    application = await startApplication({
      app_main: {
        apis: {
          counter: {
            class: Counter,
            base_path: '/counter',
            actions: { _index: { methods: { GET: true, POST: true } }, _entity: { methods: { GET: true, PATCH: true } } },
          },
          slow: { class: Counter, base_path: '/slow', controller: SlowController, actions: { _index: null, _entity: null } },
        },
        database: { url: fresh.url, schema: 'update' as const },
      },
      models: [Counter],
      controllers: [SlowController],
      seed: (em: any) => {
        for (let i = 0; i < writers; i++) em.create(Counter, { value: 0 });
      },
    });
  });

  afterAll(async () => {
    await application.close();
    await fresh.drop();
  });

  test('sees every earlier completed write, even if its read is shared with other requests', async () => {
    const sent = database === 'sqlite' ? vi.spyOn(ReaderThreads.prototype, 'rows') : vi.spyOn(PostgresLink.prototype, 'send');
    const missed: string[] = [];
    let created = 0;
    let lists = 0;
    let writing = true;

    async function ask(path: string, id: number, value: number, atLeast: number): Promise<void> {
      if (path === '/slow.json') lists++;
      const { status, json } = await application.request('GET', path);
      const items: { id: number; value: number }[] = json.results ?? [json];
      const seen = items.find((item) => item.id === id)?.value;
      if (status !== 200 || seen !== value) missed.push(`${path} had ${seen} of ${id} after ${value} was written`);
      if (json.results && json.count < writers + atLeast) missed.push(`${path} had ${json.count} after ${atLeast} were made`);
    }

    async function write(id: number): Promise<void> {
      for (let value = 1; value <= writes; value++) {
        const patched = await application.request('PATCH', `/counter/${id}.json`, { json: { value } });
        expect(patched.status).toBe(200);
        if (value % 4 === 0) {
          expect((await application.request('POST', '/counter.json', { json: { value: -1 } })).status).toBe(201);
          created++;
        }
        const paths = ['/slow.json', `/slow/${id}.json`, '/counter.json', `/counter/${id}.json`];
        await Promise.all(paths.map((path) => ask(path, id, value, created)));
      }
    }

    async function read(): Promise<void> {
      while (writing) {
        lists++;
        await application.request('GET', '/slow.json');
      }
    }

    const reading = Array.from({ length: 4 }, read);
    try {
      await Promise.all(Array.from({ length: writers }, (_, index) => write(index + 1)));
    } finally {
      writing = false;
      await Promise.all(reading);
    }
    expect(missed).toEqual([]);
    // the test is about reads that are shared, so some must have been
    const texts = sent.mock.calls.map(([sent]) => ('statement' in sent ? sent.statement : sent).text);
    const shared = texts.filter((text) => text.includes('limit') && /recursive|pg_sleep/.test(text));
    expect(shared.length).toBeGreaterThan(0);
    expect(shared.length).toBeLessThan(lists);
  });
});
