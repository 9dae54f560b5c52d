import { defineEntity, p } from '@mikro-orm/core';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { ApiController } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Tag = defineEntity({
  name: 'Tag',
  properties: { id: p.integer().primary().groups('read'), name: p.string().nullable().groups('read', 'write') },
});
/** Setting the reference to it to null gives courses a new version. */
const Center = defineEntity({
  name: 'Center',
  properties: { id: p.integer().primary().groups('read'), name: p.string().nullable().groups('read', 'write') },
});
const Course = defineEntity({
  name: 'Course',
  properties: {
    id: p.integer().primary().groups('read'),
    title: p.string().groups('read', 'write'),
    code: p.character().length(4).nullable().groups('read', 'write'),
    price: p.decimal().precision(10).scale(2).nullable().groups('read', 'write'),
    center: () => p.manyToOne(Center).nullable().groups('read', 'write'),
    tags: () => p.manyToMany(Tag).groups('write'),
    // a body cannot set it, whatever its groups are
    revision: p.integer().version().groups('read', 'write'),
  },
});

/** A table for each type, and no value but the key that an update could repeat. */
const Being = defineEntity({
  name: 'Being',
  inheritance: 'tpt',
  abstract: true,
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().nullable().groups('read', 'write'),
    revision: p.integer().version().groups('read'),
  },
} as never);
const Robot = defineEntity({
  name: 'Robot',
  extends: Being,
  properties: { tags: () => p.manyToMany(Tag).groups('read', 'write') },
} as never);

/** Has MikroORM remove rows. */
class HookedController extends ApiController {
  override afterAccessCheck() {}
}

const changes = { _entity: { methods: { GET: true, PATCH: true, DELETE: true } }, _index: { methods: { POST: true } } } as const;

describe.each(databases)('rows with a version on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  beforeAll(async () => {
    database = await freshDatabase(kind);
    app = await startApplication({
      models: [Tag, Center, Course, Being, Robot],
      controllers: [HookedController],
      app_main: {
        database: { url: database.url, schema: 'update' },
        apis: {
          course: { class: Course, base_path: '/course', actions: { ...changes, tags: { association: { property: 'tags' } } } },
          strict: { class: Course, base_path: '/strict', require_if_match: true, actions: { _entity: changes._entity } },
          center: { class: Center, base_path: '/center', actions: changes },
          hooked: { class: Center, base_path: '/hooked', controller: HookedController, actions: changes },
          tag: { class: Tag, base_path: '/tag', actions: changes },
          robot: { class: Robot as never, base_path: '/robot', actions: changes },
        },
      },
    });
    for (let i = 0; i < 8; i++) await app.request('POST', '/tag.json', { json: {} });
  });
  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });

  const post = async (path: string, json: object) => (await app.request('POST', path, { json })).json.id as number;
  const revisionOf = async (id: number) => (await app.request('GET', `/course/${id}.json`)).json.revision as number;
  const changed = async (id: number, json: object) => (await app.request('PATCH', `/course/${id}.json`, { json })).json.revision;

  test('get a new version only from values that differ, in the same characters and as the same numbers', async () => {
    const id = await post('/course.json', { title: 'Go', code: 'ab', price: '1.50' });
    const revisions: unknown[] = [];
    for (const json of [
      { title: 'Go' },
      { title: 'go' },
      { title: 'go ' },
      { title: 'go ', price: '1.50' },
      { price: '1.5' },
      { price: null },
      { price: null, title: 'go ' },
    ])
      revisions.push(await changed(id, json));
    expect(revisions).toEqual([1, 2, 3, 3, 3, 4, 4]);
  });

  test('are written by one statement, and with If-Match by a second one that reads the row', async () => {
    const id = await post('/course.json', { title: 'a' });
    const sent = async (method: string, path: string, options: object) => {
      app.statements.length = 0;
      const { status } = await app.request(method, path, options);
      return [status, app.statements.length];
    };
    await changed(id, { title: 'b' });
    expect(await sent('PATCH', `/course/${id}.json`, { json: { title: 'c' } })).toEqual([200, kind === 'sqlite' ? 2 : 1]);
    const tag = (await app.request('GET', `/course/${id}.json`)).headers.get('etag') as string;
    const match = { headers: { 'if-match': tag } };
    expect(await sent('PATCH', `/course/${id}.json`, { json: { title: 'd' }, ...match })).toEqual([
      200,
      kind === 'sqlite' ? 3 : 2,
    ]);
    expect(await sent('PATCH', `/course/${id}.json`, { json: { title: 'e' }, ...match })).toEqual([412, 1]);
  });

  test('count each of many concurrent changes, and none of those that change nothing', async () => {
    const id = await post('/course.json', { title: 'a' });
    const numbers = Array.from({ length: 20 }, (_, i) => i);
    const revisions = await Promise.all(numbers.map((number) => changed(id, { title: `title ${number}` })));
    expect(revisions.sort((a, b) => a - b)).toEqual(numbers.map((number) => number + 2));
    const { json } = await app.request('GET', `/course/${id}.json`);
    await Promise.all(numbers.map(() => changed(id, { title: json.title })));
    expect(await revisionOf(id)).toBe(21);
    await Promise.all(numbers.map(() => changed(id, { title: 'the same' })));
    expect(await revisionOf(id)).toBe(22);
  });

  test('count each link that concurrent requests add and remove', async () => {
    const id = await post('/course.json', { title: 'a' });
    const link = (method: string, tag: number) => app.request(method, `/course/${id}/tags.json`, { json: { id: tag } });
    await Promise.all([1, 2, 3, 1, 2, 3, 1, 2, 3].map((tag) => link('POST', tag)));
    expect(await revisionOf(id)).toBe(4);
    await Promise.all([1, 2, 1, 2, 4, 4].map((tag) => link('DELETE', tag)));
    expect(await revisionOf(id)).toBe(6);
  });

  test('count a list of references once, if it changes a link', async () => {
    const id = await post('/course.json', { title: 'a' });
    const list = (...tags: number[]) => ({ tags: tags.map((tag) => ({ id: tag })) });
    const revisions: unknown[] = [];
    for (const json of [
      list(1, 2, 3),
      list(3, 2, 1),
      list(2, 4),
      { ...list(2, 4), title: 'a' },
      { ...list(2, 4), title: 'b' },
      { ...list(5), title: 'c' },
      list(),
      list(),
    ])
      revisions.push(await changed(id, json));
    expect(revisions).toEqual([2, 2, 3, 3, 4, 5, 6, 6]);
  });

  test('count links if all columns but the key and the version are null', async () => {
    const id = await post('/robot.json', {});
    const change = (json: object) => app.request('PATCH', `/robot/${id}.json`, { json });
    expect(await change({ tags: [{ id: 1 }] })).toMatchObject({ status: 200, json: { name: null, revision: 2 } });
    expect(await change({ tags: [{ id: 1 }] })).toMatchObject({ status: 200, json: { revision: 2 } });
    expect(await change({ tags: [] })).toMatchObject({ status: 200, json: { name: null, revision: 3 } });
  });

  test('keep the version if a body has another one, which is rejected', async () => {
    const id = await post('/course.json', { title: 'a' });
    for (const [method, path] of [
      ['PATCH', `/course/${id}.json`],
      ['POST', '/course.json'],
    ] as const) {
      const { json, status } = await app.request(method, path, { json: { title: 'b', revision: 7 } });
      expect([method, status, json.code]).toEqual([method, 400, 'field_not_writable']);
    }
    expect((await app.request('GET', `/course/${id}.json`)).json).toMatchObject({ title: 'a', revision: 1 });
  });

  test('are found before a missing precondition is reported', async () => {
    const id = await post('/course.json', { title: 'a' });
    const statuses = [];
    for (const path of [`/strict/${id}.json`, '/strict/99999.json'])
      for (const method of ['PATCH', 'DELETE'])
        statuses.push((await app.request(method, path, method === 'PATCH' ? { json: { title: 'b' } } : {})).status);
    expect(statuses).toEqual([428, 428, 404, 404]);
  });

  test('get a new version if the row that they refer to is removed by statements', async () => {
    const center = await post('/center.json', {});
    const id = await post('/course.json', { title: 'a', center: { id: center } });
    const statuses = await Promise.all([1, 2, 3].map(() => app.request('DELETE', `/center/${center}.json`)));
    expect(statuses.map(({ status }) => status).sort()).toEqual([204, 404, 404]);
    expect((await app.request('GET', `/course/${id}.json`)).json).toMatchObject({ center: null, revision: 2 });
  });

  if (kind === 'postgresql')
    test('get a new version if they come to refer to a row while it is removed', async () => {
      const client = new Client(database.url);
      await client.connect();
      try {
        for (const path of ['center', 'hooked']) {
          const center = await post('/center.json', {});
          await client.query('begin');
          const { rows } = await client.query(`insert into course (title, center_id) values ('a', ${center}) returning id`);
          const removing = app.request('DELETE', `/${path}/${center}.json`);
          const isWaiting = async () =>
            (
              await client.query(
                'select 1 from pg_stat_activity where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0',
              )
            ).rows.length > 0;
          await vi.waitUntil(isWaiting, { timeout: 10_000 });
          await client.query('commit');
          expect((await removing).status).toBe(204);
          expect((await app.request('GET', `/course/${rows[0].id}.json`)).json).toMatchObject({ center: null, revision: 2 });
        }
      } finally {
        await client.end();
      }
    });
});
