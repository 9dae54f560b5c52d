import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Center = defineEntity({
  name: 'Center',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read', 'write') },
});
const Course = defineEntity({
  name: 'Course',
  properties: {
    id: p.integer().primary().groups('read'),
    title: p.string().groups('read', 'write'),
    center: () => p.manyToOne(Center).nullable().groups('read', 'write'),
    revision: p.integer().version().groups('read'),
  },
});
const actions = {
  _index: { methods: { POST: true } },
  _entity: { methods: { GET: true, PATCH: true, DELETE: true } },
} as const;

describe.each(databases)('removing a row on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  beforeAll(async () => {
    database = await freshDatabase(kind);
    const apis = {
      center: { class: Center, base_path: '/center', actions },
      course: { class: Course, base_path: '/course', actions },
    };
    app = await startApplication({
      models: [Center, Course],
      app_main: { database: { url: database.url, schema: 'update' }, apis },
    });
  });
  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });

  test('gives a new version to rows whose foreign key the database sets to null', async () => {
    const center = (await app.request('POST', '/center.json', { json: { name: 'North' } })).json.id;
    const other = (await app.request('POST', '/center.json', { json: { name: 'South' } })).json.id;
    for (const id of [center, other]) await app.request('POST', '/course.json', { json: { title: 'a', center: { id } } });
    const tag = (await app.request('GET', '/course/1.json')).headers.get('etag') as string;
    expect((await app.request('DELETE', `/center/${center}.json`)).status).toBe(204);
    expect((await app.request('GET', '/course/1.json')).json).toMatchObject({ center: null, revision: 2 });
    expect((await app.request('GET', '/course/2.json')).json).toMatchObject({ center: { id: other }, revision: 1 });
    const stale = { json: { title: 'b' }, headers: { 'if-match': tag } };
    expect((await app.request('PATCH', '/course/1.json', stale)).status).toBe(412);
  });
});
