import { setTimeout as sleep } from 'node:timers/promises';
import { defineEntity, p } from '@mikro-orm/core';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Tag = defineEntity({ name: 'Tag', properties: { id: p.integer().primary().groups('read') } });
const schema = defineEntity({
  name: 'Thing',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    tags: () => p.manyToMany(Tag).groups('read'),
    own: () => p.manyToMany(Tag).groups('read'),
  },
});
class Thing extends schema.class {
  addOwn(tag: object): void {
    this.own.add(tag as never);
  }

  removeOwn(tag: object): void {
    this.own.remove(tag as never);
  }
}
schema.setClass(Thing as never);

function options(url: string, statement_timeout: number) {
  const methods = { POST: true, DELETE: true };
  const actions = {
    _index: { methods: { GET: true, POST: true } },
    _entity: { methods: { GET: true, PATCH: true, DELETE: true } },
    tags: { association: { property: 'tags' }, methods },
    own: { association: { property: 'own' }, methods },
  };
  return {
    app_main: {
      apis: { thing: { class: Thing, base_path: '/thing', actions } },
      database: { url, schema: 'update' as const, statement_timeout, pool: 2 },
    },
    models: [Thing, Tag],
    seed: async (em: any) => {
      for (const name of ['one', 'two']) em.create(Thing, { name });
      for (let i = 0; i < 3; i++) em.create(Tag, {});
    },
  };
}

describe('a compiled write on PostgreSQL', () => {
  let fresh: FreshDatabase;
  let admin: Client;

  beforeAll(async () => {
    fresh = await freshDatabase('postgresql');
    admin = new Client({ connectionString: fresh.url });
    await admin.connect();
  });

  afterAll(async () => {
    await admin.end();
    await fresh.drop();
  });

  const others = 'pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()';

  async function waiting(): Promise<void> {
    // within a transaction, what was seen of others once is seen again
    while ((await admin.query(`select 1 from ${others} and wait_event_type = 'Lock'`)).rows.length === 0) {
      await admin.query('select pg_stat_clear_snapshot()');
      await sleep(10);
    }
  }

  async function use(timeout: number, work: (application: TestApplication) => Promise<void>): Promise<void> {
    const application = await startApplication(options(fresh.url, timeout) as never);
    try {
      await work(application);
    } finally {
      await application.close();
    }
  }

  const writes = [
    ['PATCH', '/thing/1.json', { name: 'new' }],
    ['POST', '/thing/1/tags.json', { id: 1 }],
    ['DELETE', '/thing/1/tags.json', { id: 1 }],
    ['POST', '/thing/1/own.json', { id: 2 }],
    ['DELETE', '/thing/1/own.json', { id: 2 }],
  ] as const;

  async function allWork(application: TestApplication): Promise<void> {
    for (const [method, path, json] of writes) expect((await application.request(method, path, { json })).status).toBe(200);
  }

  test('returns 503 and changes nothing if its connection is lost, and later writes succeed', async () => {
    await use(0, async (application) => {
      await allWork(application);
      for (const [method, path, json] of [writes[0], writes[3]]) {
        await admin.query("begin; update thing set name = 'held' where id = 1");
        const write = application.request(method, path, { json });
        await waiting();
        await admin.query(`select pg_terminate_backend(pid) from ${others}`);
        const answer = await write;
        expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
        await admin.query('commit');
        expect((await admin.query('select name from thing where id = 1')).rows).toEqual([{ name: 'held' }]);
        await sleep(50);
      }
      await allWork(application);
    });
  });

  test('returns 503 if a row is locked for too long, and leaves no open transaction', async () => {
    await use(300, async (application) => {
      await admin.query("begin; update thing set name = 'held' where id = 1");
      for (const [method, path, json] of [writes[0], writes[3]]) {
        const answer = await application.request(method, path, { json });
        expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
      }
      await admin.query('rollback');
      expect((await admin.query(`select 1 from ${others} and state like 'idle in transaction%'`)).rows).toEqual([]);
      await allWork(application);
    });
  });

  test('succeeds after the table of its prepared statement has changed', async () => {
    await use(0, async (application) => {
      await allWork(application);
      await admin.query('alter table thing alter column name type text');
      await allWork(application);
      await admin.query('alter table thing alter column name type varchar(255)');
      await allWork(application);
    });
  });

  test('waits for a connection if all are in use, and then succeeds', async () => {
    await use(0, async (application) => {
      const names = Array.from({ length: 40 }, (_, index) => `n${index}`);
      const answers = await Promise.all(names.map((name) => application.request('POST', '/thing.json', { json: { name } })));
      expect(answers.map(({ status }) => status)).toEqual(names.map(() => 201));
      const { rows } = await admin.query("select count(*)::int as count from thing where name like 'n_%' and name <> 'new'");
      expect(rows).toEqual([{ count: 40 }]);
      expect((await admin.query(`select count(*)::int as count from ${others}`)).rows[0].count).toBeLessThanOrEqual(2 + 2 + 4);
    });
  });
});
