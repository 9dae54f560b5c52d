// @module-tag divided
import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiController } from '../../src/actions/controller/api-controller.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Home = defineEntity({
  name: 'Home',
  embeddable: true,
  properties: { street: p.string().groups('read', 'write'), alarm: p.string().nullable() },
});
const Item = defineEntity({
  name: 'Item',
  properties: {
    id: p.integer().primary().groups('read'),
    // keys in an order that PostgreSQL's jsonb does not keep
    data: p.json<unknown>().groups('read', 'write'),
    home: () => p.embedded(Home).object().nullable().groups('read', 'write'),
    revision: p.integer().version().groups('read'),
    ward: p.integer().default(1),
    friends: () => p.manyToMany(Item).groups('write'),
  },
});
const Box = defineEntity({
  name: 'Box',
  properties: {
    id: p.integer().primary().groups('read'),
    items: () => p.manyToMany(Item).groups('read', 'write'),
    first: () => p.manyToOne(Item).nullable().groups('read', 'write'),
  },
});
const Note = defineEntity({
  name: 'Note',
  properties: { id: p.integer().primary().groups('read'), text: p.string().groups('read', 'write') },
});

class WardController extends ApiController {
  override customizeQuery(_action: string, _request: unknown, query: never) {
    (query as { andWhere(condition: object): unknown }).andWhere({ ward: 1 });
  }
}

describe.each(databases)('linking on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  const data = { bb: 1, a: 2 };

  beforeAll(async () => {
    database = await freshDatabase(kind);
    const write = { GET: true, PATCH: true, PUT: true, DELETE: true };
    app = await startApplication({
      app_main: {
        security: { jwt: { secret: 'a secret of more than thirty-two characters' } },
        apis: {
          item: {
            class: Item,
            base_path: '/items',
            controller: WardController,
            actions: {
              _index: { methods: { POST: true } },
              _entity: { methods: write },
              friend: { association: { property: 'friends' } },
            },
          },
          // sees every item, but not everybody sees it
          all_items: { class: Item, base_path: '/admin/items', base_role: 'ROLE_ADMIN', actions: { _entity: null } },
          box: {
            class: Box,
            base_path: '/boxes',
            actions: {
              _index: { methods: { POST: true } },
              _entity: { methods: write },
              item: { association: { property: 'items' } },
            },
          },
          note: {
            class: Note,
            base_path: '/notes',
            actions: { _index: { methods: { POST: true } }, _entity: { methods: write } },
          },
        },
      },
      models: [Home, Item, Box, Note],
      controllers: [WardController],
      databaseUrl: database.url,
      seed: async (em) => {
        for (let i = 0; i < 8; i++) em.create(Item, { data, home: { street: 's', alarm: 'x' } });
        em.create(Item, { data, ward: 2 });
        em.create(Box, {});
      },
    });
  });
  afterAll(async () => {
    await app.close();
    await database.drop();
  });

  const post = (path: string, json: unknown) => app.request('POST', path, { json });
  const revision = async (id: number) => (await app.request('GET', `/items/${id}.json`)).json.revision;

  test('adding, removing and referencing never change the linked row', async () => {
    for (const id of [1, 2]) {
      for (let again = 0; again < 2; again++) expect((await post('/boxes/1/item.json', { id })).status).toBe(200);
    }
    await app.request('PATCH', '/boxes/1.json', { json: { items: [{ id: 1 }, { id: 2 }, { id: 3 }], first: { id: 4 } } });
    await post('/boxes.json', { items: [{ id: 1 }], first: { id: 2 } });
    expect((await app.request('DELETE', '/boxes/1/item.json', { json: { id: 2 } })).status).toBe(200);
    expect(await Promise.all([1, 2, 3, 4].map(revision))).toEqual([1, 1, 1, 1]);
    expect(app.statements.filter((sql) => /^update .item/.test(sql))).toEqual([]);
  });

  test('items that are added to each other concurrently do not deadlock', async () => {
    const pairs = [5, 6, 7, 8].flatMap((a) => [5, 6, 7, 8].filter((b) => b !== a).map((b) => [a, b]));
    const answers = await Promise.all(pairs.map(([a, b]) => post(`/items/${a}/friend.json`, { id: b })));
    expect(answers.map(({ status }) => status)).toEqual(pairs.map(() => 200));
  });

  test('a row that one API hides is not reachable through another API that the caller cannot use', async () => {
    expect((await post('/boxes.json', { first: { id: 9 } })).json.code).toBe('invalid_reference');
    expect((await post('/boxes/1/item.json', { id: 9 })).json.detail).toBe('item id not found');
    const admin = await app.request('POST', '/boxes.json', { json: { first: { id: 9 } }, as: { id: 1, roles: ['ROLE_ADMIN'] } });
    expect(admin.status).toBe(201);
  });

  test.each(['PATCH', 'PUT', 'DELETE'])('%s that comes after a concurrent DELETE of the row returns 404', async (method) => {
    for (let round = 0; round < 5; round++) {
      const { json } = await post('/notes.json', { text: 'a' });
      const path = `/notes/${json.id}.json`;
      const body = method === 'DELETE' ? {} : { json: { text: 'b' } };
      const [removed, other] = await Promise.all([app.request('DELETE', path), app.request(method, path, body)]);
      const after = await app.request('GET', path);
      expect(after.status).toBe(404);
      // either it came first, and was removed after that, or it came too late
      expect([removed?.status, other?.status].sort()).toEqual(method === 'DELETE' ? [204, 404] : expect.arrayContaining([204]));
      if (other?.status !== 404 && method !== 'DELETE') expect(other?.status).toBe(200);
    }
  });

  test('thirty concurrent DELETE requests delete the row once', async () => {
    const { json } = await post('/notes.json', { text: 'a' });
    const answers = await Promise.all(Array.from({ length: 30 }, () => app.request('DELETE', `/notes/${json.id}.json`)));
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 404)).toHaveLength(29);
  });

  test('a reference that is sent a thousand times is looked up once', async () => {
    app.statements.length = 0;
    const items = Array.from({ length: 1000 }, () => ({ id: 1 }));
    expect((await app.request('PATCH', '/boxes/1.json', { json: { items } })).status).toBe(200);
    expect(app.statements.length).toBeLessThan(20);
  });
});
