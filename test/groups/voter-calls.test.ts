// @module-tag divided
import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest, type User, Voter } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

type Any = any;

/** The calls of voters since the last reset: role, and whether there was a subject. */
let calls: string[] = [];

/** Roles of groups. `AREA` and `OWNER` are decided by voters, `ROLE_STAFF` by the roles of the user. */
class GroupVoter extends Voter<Any> {
  static override roles = ['AREA', 'OWNER', 'EDIT', 'UNUSED'];
  override async vote(role: string, subject: Any, user: User | null) {
    calls.push(`${role} ${subject ? 'row' : 'null'}`);
    if (role === 'OWNER') return subject?.owner === user?.id ? ('grant' as const) : ('deny' as const);
    return user?.roles.includes('ROLE_AREA') ? ('grant' as const) : ('deny' as const);
  }
}

const Shelf = defineEntity({
  name: 'Shelf',
  properties: {
    id: p.integer().primary().groups('read', 'short'),
    name: p.string().groups('read', 'short', 'write'),
    room: p.string().nullable().groups('read:area'),
  },
});

const Book = defineEntity({
  name: 'Book',
  properties: {
    id: p.integer().primary().groups('read', 'short'),
    title: p.string().length(20).unique().groups('read', 'short', 'write'),
    price: p.integer().nullable().groups('read:area', 'write:area'),
    note: p.string().nullable().groups('read:own', 'write:own'),
    grade: p.string().nullable().groups('write:edit'),
    shelf: () => p.manyToOne(Shelf).nullable().groups('read', 'write'),
    owner: p.string().default('ann'),
  },
});

class HookedController extends ApiController {
  override async afterFetch() {}
  override async afterValidation() {}
}

/** Names groups itself. */
class NamingController extends ApiController {
  async namedApi(id: number, request: ApiRequest) {
    return this.json(await this.getEntity('named', id, request), { groups: ['read', 'read:area', 'read:own'] });
  }
  async renamedApi(_id: number, request: ApiRequest) {
    const given = await this.deserialize(request, Book, { groups: ['write', 'write:own'] });
    return this.json(given, { groups: ['read:own'] });
  }
}

class RestrictedController extends ApiController {
  override customizeQuery(_action: string, _request: Any, query: Any) {
    query.andWhere({ id: { $lt: 100 } });
  }
}

const groups = { read: ['read', 'read:area', 'read:own'], write: ['write', 'write:area', 'write:own', 'write:edit'] };
const actions = {
  _index: { methods: { GET: true, HEAD: true, POST: true } },
  _entity: { methods: { GET: true, HEAD: true, PUT: true, PATCH: true, DELETE: true } },
};
const list = {
  filters: { title: ['eq'], price: ['lt'], 'shelf.room': ['eq'] },
  sort: ['title', 'price'],
  search: ['title'],
  formats: ['json', 'csv', 'ndjson', 'xml'],
};

function optionsOf(url: string): Any {
  return {
    app_main: {
      security: { jwt: { secret: 'a secret of the shelves that is long enough' } },
      groups: {
        'read:area': { role: 'AREA' },
        'write:area': { role: 'AREA' },
        'read:own': { role: 'OWNER' },
        'write:own': { role: 'OWNER' },
        'write:edit': { role: 'EDIT' },
        'read:unused': { role: 'UNUSED' },
      },
      apis: {
        book: { class: Book, base_path: '/book', groups, actions, ...list },
        hooked: { class: Book, base_path: '/hooked', controller: HookedController, groups, actions, ...list },
        restricted: { class: Book, base_path: '/restricted', controller: RestrictedController, groups, actions, ...list },
        naming: {
          class: Book,
          base_path: '/naming',
          controller: NamingController,
          groups,
          actions: { named: { methods: { GET: true, POST: true } }, renamed: { methods: { POST: true } } },
        },
        plain: { class: Book, base_path: '/plain', actions },
        short: {
          class: Book,
          base_path: '/short',
          groups,
          actions: { ...actions, _index: { ...actions._index, groups: { read: ['short'] } } },
        },
      },
      database: { url, schema: 'update' },
    },
    models: [Shelf, Book],
    voters: [GroupVoter],
    controllers: [HookedController, NamingController, RestrictedController],
    seed: (em: Any) => {
      const shelf = em.create(Shelf, { name: 'shelf', room: 'room' });
      for (const title of ['one', 'two', 'three']) em.create(Book, { title, price: 1, note: 'note', shelf });
    },
  };
}

const ann = { id: 'ann', roles: ['ROLE_AREA'] };
const bob = { id: 'bob', roles: [] };

type Case = [status: number, method: string, path: string, json?: unknown, headers?: Record<string, string>];

/** Requests with every outcome. `*` is the path of the API. */
const requests: Case[] = [
  [200, 'GET', '*.json'],
  [200, 'HEAD', '*.json'],
  [200, 'GET', '*.csv'],
  [200, 'GET', '*.ndjson'],
  [200, 'GET', '*.xml'],
  [200, 'GET', '*.json?title=one&sort=title&q=o&fields=id'],
  [400, 'GET', '*.json?nonsense=1'],
  [400, 'GET', '*.json?page=0'],
  [200, 'GET', '*/1.json'],
  [200, 'HEAD', '*/1.json'],
  [200, 'GET', '*/1.csv'],
  [200, 'GET', '*/1.xml'],
  [404, 'GET', '*/99.json'],
  [200, 'PATCH', '*/1.json', { title: 'one' }],
  [200, 'PATCH', '*/1.json', { shelf: { id: 1 } }],
  [200, 'PUT', '*/1.json', { title: 'one' }],
  [400, 'PATCH', '*/1.json', { nonsense: 1 }],
  [422, 'PATCH', '*/1.json', { title: 'x'.repeat(30) }],
  [409, 'PATCH', '*/1.json', { title: 'two' }],
  [412, 'PATCH', '*/1.json', { title: 'one' }, { 'if-match': '"0123456789abcdef"' }],
  [404, 'PATCH', '*/99.json', { title: 'one' }],
  [400, 'POST', '*.json', { nonsense: 1 }],
  [409, 'POST', '*.json', { title: 'two' }],
  [422, 'POST', '*.json', {}],
];

describe.each(databases)('voters of groups, on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  beforeAll(async () => {
    database = await freshDatabase(kind);
    app = await startApplication(optionsOf(database.url));
  });
  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });
  beforeEach(() => {
    calls = [];
  });
  const send = async (as: typeof ann, method: string, path: string, json?: unknown, headers: Record<string, string> = {}) => {
    calls = [];
    return (await app.request(method, path, { as, headers, ...(json !== undefined && { json }) })).status;
  };

  describe.each(['/book', '/hooked', '/restricted'])('%s', (api) => {
    test.each(requests)(
      'are called once at most for each form of the subject: %i %s %s %j',
      async (status, method, path, json, headers) => {
        for (const as of [ann, bob]) {
          expect(await send(as, method, path.replace('*', api), json, headers), String(calls)).toBe(status);
          expect([...calls].sort()).toEqual([...new Set(calls)].sort());
          const isRead = method === 'GET' || method === 'HEAD';
          // the role of a group of bodies alone
          if (isRead) expect(calls).not.toContain('EDIT null');
          if (isRead) expect(calls).not.toContain('EDIT row');
          expect(calls.filter((call) => call.startsWith('UNUSED'))).toEqual([]);
          // lists and new rows have no subject, and neither has a row that does not exist
          if (!path.includes('/') || status === 404) expect(calls.filter((call) => call.endsWith('row'))).toEqual([]);
        }
      },
    );

    test('are called once at most for a created and removed row, and not for a removal', async () => {
      for (const as of [ann, bob]) {
        calls = [];
        const { json, status } = await app.request('POST', `${api}.json`, { as, json: { title: `new of ${as.id}` } });
        expect(status).toBe(201);
        expect([...calls].sort()).toEqual([...new Set(calls)].sort());
        expect(calls.filter((call) => call.endsWith('row'))).toEqual([]);
        expect(await send(as, 'DELETE', `${api}/${json.id}.json`)).toBe(204);
        expect(calls).toEqual([]);
      }
    });

    test('are called once at most for a repeated request with an idempotency key', async () => {
      const headers = { 'idempotency-key': `key of ${api}` };
      for (const json of [{ title: 'one' }, { title: 'one' }]) {
        expect(await send(ann, 'PATCH', `${api}/1.json`, json, headers)).toBe(200);
        expect([...calls].sort()).toEqual([...new Set(calls)].sort());
      }
    });
  });

  test.each(requests.filter(([status, , path]) => status < 400 && path.endsWith('.json')))(
    'are not called for an API without such groups: %i %s %s %j',
    async (status, method, path, json, headers) => {
      expect(await send(ann, method, path.replace('*', '/plain'), json, headers)).toBe(status);
      expect(calls).toEqual([]);
    },
  );

  test.each([
    ['GET', '/naming/1/named.json', undefined],
    ['POST', '/naming/1/named.json', undefined],
    ['POST', '/naming/1/renamed.json', { title: 'new' }],
  ])('are called once at most if a handler names groups: %s %s', async (method, path, json) => {
    for (const as of [ann, bob]) {
      expect(await send(as, method, path, json)).toBe(200);
      expect(calls).toContain('OWNER row');
      expect([...calls].sort()).toEqual([...new Set(calls)].sort());
    }
  });

  test('are not called for an action that overrides the groups', async () => {
    for (const method of ['GET', 'HEAD']) {
      expect(await send(ann, method, '/short.json')).toBe(200);
      expect(calls).toEqual([]);
    }
    expect(await send(ann, 'GET', '/short/1.json')).toBe(200);
    expect(calls).toContain('AREA row');
  });
});
