// @module-tag divided
import { defineEntity, p, raw } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest } from '../../src/index.ts';
import { type DatabaseKind, databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Thing = defineEntity({
  name: 'Thing',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read') },
});

/** A condition that is true after a while. */
const slowly: Record<DatabaseKind, string> = {
  sqlite: '(with recursive n(i) as (select 1 union all select i + 1 from n where i < 1500000) select count(*) from n) > 0',
  postgresql: '(select count(*) from (select pg_sleep(1)) as nap) > 0',
};
let kind: DatabaseKind;

class SlowController extends ApiController {
  override customizeQuery(_action: string, _request: ApiRequest, query: any) {
    query.where(raw(slowly[kind]));
  }
}

const actions = { _index: null, _entity: { methods: { GET: true, PATCH: true } } };

const ways = databases.flatMap((database) => [[database, true] as const, [database, false] as const]);

describe.each(ways)('a slow read on %s, compiled: %s', (database, compiledReads) => {
  let fresh: FreshDatabase;
  let application: TestApplication;

  beforeAll(async () => {
    kind = database;
    fresh = await freshDatabase(database);
    application = await startApplication({
      app_main: {
        apis: {
          thing: { class: Thing, base_path: '/thing', actions },
          slow: { class: Thing, base_path: '/slow', controller: SlowController, actions },
        },
        database: { url: fresh.url, schema: 'update' as const },
      },
      models: [Thing],
      controllers: [SlowController],
      compiledReads,
      seed: async (em: any) => {
        em.create(Thing, { id: 1, name: 'one' });
        // a database so large that nobody expects every statement to be short
        if (database === 'sqlite') await em.execute('create table filler as select zeroblob(20000000) as content');
      },
    });
  });

  afterAll(async () => {
    await application.close();
    await fresh.drop();
  });

  test('does not block other requests', async () => {
    const { request } = application;
    expect((await request('GET', '/thing.json')).json.count).toBe(1);
    // the rows that the mapper reads take long for everybody once
    if (!compiledReads) await request('GET', '/slow.json');
    const answered: string[] = [];
    const slow = request('GET', '/slow.json').then((answer) => {
      answered.push('slow');
      return answer;
    });
    // it is under way
    await new Promise((resolve) => setTimeout(resolve, 50));
    for (let i = 0; i < 5; i++) {
      expect((await request('GET', '/thing/1.json')).json).toEqual({ id: 1, name: 'one' });
      answered.push('other');
    }
    expect((await slow).json).toMatchObject({ count: 1, results: [{ id: 1, name: 'one' }] });
    // had it held them up, they would all have been answered after it
    expect(answered.indexOf('slow')).toBeGreaterThan(0);
  });
});
