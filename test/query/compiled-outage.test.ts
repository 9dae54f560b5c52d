import { setTimeout as sleep } from 'node:timers/promises';
import { defineEntity, p, raw } from '@mikro-orm/core';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest } from '../../src/index.ts';
import { type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Thing = defineEntity({
  name: 'Thing',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read') },
});

class SlowController extends ApiController {
  override customizeQuery(_action: string, _request: ApiRequest, query: any) {
    query.where(raw('pg_sleep(?) is not null', [5]));
  }
}

const actions = { _index: null, _entity: null };

function options(url: string, statement_timeout: number) {
  return {
    app_main: {
      apis: {
        thing: { class: Thing, base_path: '/thing', actions },
        slow: { class: Thing, base_path: '/slow', controller: SlowController, actions },
      },
      database: { url, schema: 'update' as const, statement_timeout },
    },
    models: [Thing],
    controllers: [SlowController],
    compiledReads: true,
    seed: (em: any) => em.create(Thing, { id: 1, name: 'one' }),
  };
}

describe('a compiled read on PostgreSQL', () => {
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

  async function terminate(): Promise<void> {
    await admin.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    );
  }

  async function started(): Promise<void> {
    const text =
      "select 1 from pg_stat_activity where datname = current_database() and state = 'active' and query like '%pg_sleep%' and pid <> pg_backend_pid()";
    while ((await admin.query(text)).rows.length < 2) await sleep(10);
  }

  async function use(timeout: number, work: (application: TestApplication) => Promise<void>): Promise<void> {
    const application = await startApplication(options(fresh.url, timeout));
    try {
      await work(application);
    } finally {
      await application.close();
    }
  }

  test('returns 503 with Retry-After if its connection is lost, and the next one succeeds', async () => {
    await use(0, async (application) => {
      expect((await application.request('GET', '/thing/1.json')).status).toBe(200);
      const slow = application.request('GET', '/slow.json');
      await started();
      await terminate();
      const answer = await slow;
      expect([answer.status, answer.headers.get('retry-after'), answer.json.code]).toEqual([503, '1', 'database_unavailable']);
      await sleep(50);
      for (let i = 0; i < 4; i++) {
        expect((await application.request('GET', '/thing/1.json')).text).toBe('{"id":1,"name":"one"}');
        expect((await application.request('GET', '/thing.json')).status).toBe(200);
      }
    });
  });

  test('returns 503 if its statement times out', async () => {
    await use(300, async (application) => {
      for (const path of ['/slow.json', '/slow/1.json']) {
        const answer = await application.request('GET', path);
        expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
      }
      expect((await application.request('GET', '/thing/1.json')).status).toBe(200);
    });
  });
});
