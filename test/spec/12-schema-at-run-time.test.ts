import { defineEntity, p } from '@mikro-orm/core';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { SchemaMode } from '../../src/declaration/types.ts';
import { ApiController, type ApiRequest } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { partOf } from '../support/random.ts';
import { rowsOf } from '../support/sql.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Tag = defineEntity({
  name: 'Tag',
  properties: { id: p.integer().primary().groups('read'), text: p.string().groups('read', 'write') },
});

const Person = defineEntity({
  name: 'Person',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    vip: p.boolean().nullable().groups('read', 'write'),
    tags: () => p.manyToMany(Tag).groups('read'),
  },
});

class PersonController extends ApiController {
  ownApi(_request: ApiRequest) {
    return this.em.execute('select no_such_column from person');
  }
}

const optionsFor = (url: string, compiledReads: boolean, schema: SchemaMode) => ({
  app_main: {
    apis: {
      tag: { class: Tag, base_path: '/tag', actions: { _index: { methods: { GET: true, POST: true } } } },
      person: {
        class: Person,
        base_path: '/person',
        controller: PersonController,
        actions: {
          _index: { methods: { GET: true, POST: true } },
          _entity: { methods: { GET: true, PATCH: true, PUT: true, DELETE: true } },
          tags: { methods: { POST: true, DELETE: true }, association: { property: 'tags', types: [Tag] } },
          own: { methods: { GET: true }, 'single-collection': 'collection' },
        },
      },
    },
    formats: ['json', 'csv'],
    database: { url, schema },
  } as never,
  models: [Person, Tag],
  controllers: [PersonController],
  compiledReads,
});

describe.each(databases)('on %s', (kind) => {
  describe.each(partOf([true, false], 2, databases.indexOf(kind)))('with compiled reads: %s', (compiledReads) => {
    let database: FreshDatabase;
    let app: TestApplication;
    beforeEach(async () => {
      database = await freshDatabase(kind);
      app = await startApplication(optionsFor(database.url, compiledReads, 'update'));
      await app.request('POST', '/tag.json', { json: { text: 'kind' } });
      await app.request('POST', '/person.json', { json: { name: 'Ada', vip: true } });
      expect((await app.request('POST', '/person/1/tags.json', { json: { id: 1 } })).status).toBe(200);
    });
    afterEach(async () => {
      await app.close();
      await database.drop();
    });

    const sql = (text: string) => rowsOf(kind, database.url, text);
    const ready = async () => (await app.request('GET', '/health/ready')).status;
    /** The readiness reuses a comparison for a second. */
    const readySoon = async (status: number) => {
      await expect.poll(ready, { interval: 100, timeout: 10_000 }).toBe(status);
    };

    const requests: readonly (readonly [string, string, object?])[] = [
      ['GET', '/person.json'],
      ['GET', '/person/1.json'],
      ['GET', '/person.csv'],
      ['POST', '/person.json', { name: 'Bob', vip: false }],
      ['POST', '/person.json', { name: 'Bob' }],
      ['PATCH', '/person/1.json', { name: 'Eve' }],
      ['PATCH', '/person/1.json', { vip: false }],
      ['PUT', '/person/1.json', { name: 'Eve', vip: false }],
    ];

    test('a dropped column makes requests return 503 and readiness fail until it is restored', async () => {
      expect(await ready()).toBe(200);
      await sql('alter table person drop column vip');
      for (const [method, path, json] of requests) {
        const { headers, json: body, status } = await app.request(method, path, json ? { json } : {});
        expect([method, path, status, body?.code, headers.get?.('retry-after') ?? (headers as never)['retry-after']]).toEqual([
          method,
          path,
          503,
          'schema_mismatch',
          '1',
        ]);
        expect(JSON.stringify(body)).not.toMatch(/vip|column/);
      }
      expect(await sql('select name from person')).toEqual([{ name: 'Ada' }]);
      await readySoon(503);
      expect((await app.request('GET', '/tag.json')).status).toBe(200);
      await sql(`alter table person add column vip ${kind === 'sqlite' ? 'integer' : 'boolean'}`);
      await readySoon(200);
      expect((await app.request('GET', '/person/1.json')).json).toMatchObject({ name: 'Ada', vip: null });
    });

    test('a dropped join table makes requests return 503 and readiness fail', async () => {
      await sql('drop table person_tags');
      for (const [method, path, json] of [
        ['POST', '/person/1/tags.json', { id: 1 }],
        ['DELETE', '/person/1/tags.json', { id: 1 }],
        ['GET', '/person/1.json', undefined],
      ] as const) {
        const { json: body, status } = await app.request(method, path, json ? { json } : {});
        expect([method, status, body?.code]).toEqual([method, 503, 'schema_mismatch']);
      }
      await readySoon(503);
    });

    test('an unknown required column makes POST return 503', async () => {
      await sql(
        kind === 'sqlite'
          ? 'alter table person rename to before'
          : 'alter table person add column code text; update person set code = id::text; alter table person alter column code set not null',
      );
      if (kind === 'sqlite') {
        await sql('create table person (id integer primary key, name text not null, vip integer, code text not null)');
        await sql("insert into person select id, name, vip, 'x' from before");
      }
      const made = await app.request('POST', '/person.json', { json: { name: 'Bob' } });
      expect([made.status, made.json.code]).toEqual([503, 'schema_mismatch']);
    });

    test('additional columns and faulty SQL of the application are not reported as a schema mismatch', async () => {
      expect((await app.request('GET', '/person/1.json')).status).toBe(200);
      await sql('alter table person add column further text');
      for (let i = 0; i < 3; i++) expect((await app.request('GET', '/person/1.json')).status).toBe(200);
      const own = await app.request('GET', '/person/own.json');
      expect([own.status, own.json.code]).toEqual([500, 'internal_error']);
      expect(await ready()).toBe(200);
    });

    test('a column is still readable after its type changes', async () => {
      for (let i = 0; i < 7; i++) await app.request('GET', '/person.json');
      if (kind === 'postgresql') await sql('alter table person alter column name type text');
      for (let i = 0; i < 3; i++) expect((await app.request('GET', '/person.json')).json.results[0].name).toBe('Ada');
      expect((await app.request('PATCH', '/person/1.json', { json: { name: 'Eve' } })).json.name).toBe('Eve');
    });

    test('with schema none, a missing column returns 503, and readiness fails after the first request', async () => {
      await app.close();
      await sql('alter table person drop column vip');
      app = await startApplication(optionsFor(database.url, compiledReads, 'none'));
      expect(await ready()).toBe(200);
      const read = await app.request('GET', '/person/1.json');
      expect([read.status, read.json.code]).toEqual([503, 'schema_mismatch']);
      expect(await ready()).toBe(503);
    });
  });
});
