import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiController } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Region = defineEntity({ name: 'Region', properties: { id: p.integer().primary().groups('read') } });
/** Removed with its region, and those within it. */
const Center = defineEntity({
  name: 'Center',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    region: () => p.manyToOne(Region).nullable().deleteRule('cascade').groups('write'),
    within: () =>
      p
        .manyToOne(Center as never)
        .nullable()
        .deleteRule('cascade')
        .groups('write'),
    main: () =>
      p
        .oneToOne(Course as never)
        .owner()
        .nullable()
        .groups('write'),
  },
} as never);
const Course: any = defineEntity({
  name: 'Course',
  properties: {
    id: p.integer().primary().groups('read'),
    title: p.string().groups('read', 'write'),
    center: () => p.manyToOne(Center).nullable().groups('read', 'write'),
    // no column of its own
    mainOf: () => p.oneToOne(Center).mappedBy('main' as never),
    revision: p.integer().version().groups('read'),
  },
});
const actions = {
  _index: { methods: { POST: true } },
  _entity: { methods: { GET: true, PATCH: true, DELETE: true } },
} as const;

/** Has MikroORM remove rows. */
class HookedController extends ApiController {
  override afterAccessCheck() {}
}

describe.each(databases)('removing a row on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  beforeAll(async () => {
    database = await freshDatabase(kind);
    const apis = {
      center: { class: Center, base_path: '/center', actions },
      course: { class: Course, base_path: '/course', actions },
      region: { class: Region, base_path: '/region', actions },
      hooked: { class: Region, base_path: '/hooked', controller: HookedController, actions },
    };
    app = await startApplication({
      models: [Region, Center, Course],
      controllers: [HookedController],
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

  test.each(['region', 'hooked'])(
    'gives them one also if the row that they refer to is removed with another: %s',
    async (path) => {
      const post = async (name: string, json: object) => (await app.request('POST', `/${name}.json`, { json })).json.id;
      const region = await post('region', {});
      const center = await post('center', { name: 'North', region: { id: region } });
      const within = await post('center', { name: 'Hall', within: { id: center } });
      const courses = [];
      for (const id of [center, within]) courses.push(await post('course', { title: 'a', center: { id } }));
      expect((await app.request('DELETE', `/${path}/${region}.json`)).status).toBe(204);
      for (const id of courses)
        expect((await app.request('GET', `/course/${id}.json`)).json).toMatchObject({ center: null, revision: 2 });
    },
  );
});
