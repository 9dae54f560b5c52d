// @module-tag divided
import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Member = defineEntity({
  name: 'Member',
  properties: {
    id: p.integer().primary().groups('read'),
    notes: p.text().default('').groups('notes'),
    awards: () => p.oneToMany(Award).mappedBy('member').groups('notes'),
  },
});
const Award = defineEntity({
  name: 'Award',
  properties: {
    id: p.integer().primary(),
    text: p.text().nullable().groups('notes'),
    member: () => p.manyToOne(Member),
  },
});
const Team = defineEntity({
  name: 'Team',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    members: () => p.manyToMany(Member).groups('read', 'notes', 'write'),
  },
});

/** Makes its API write entities. */
class HookedController extends ApiController {
  override beforeSerialize(): void {}
}

/** Hides the teams with odd keys. */
class EvenController extends ApiController {
  override customizeQuery(_action: string, _request: ApiRequest, query: any) {
    return query.andWhere('id % 2 = 0');
  }
}

const members = 200;
const limit = 20_000;

/** References to the first members, in reverse order. */
const firstMembers = (count: number) => Array.from({ length: count }, (_, i) => ({ id: count - i }));

describe.each(databases)('a list of references in a body on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;

  beforeAll(async () => {
    database = await freshDatabase(kind);
    const actions = { _index: { methods: { POST: true } }, _entity: { methods: { GET: true, PATCH: true, PUT: true } } };
    app = await startApplication({
      app_main: {
        database: { url: database.url, schema: 'update' },
        server: { response_limit: limit },
        apis: {
          team: { class: 'Team', base_path: '/team', actions },
          even: { class: 'Team', controller: 'EvenController', base_path: '/even', actions },
          noted: { class: 'Team', base_path: '/noted', groups: { read: ['notes'] }, actions },
          hooked: { class: 'Team', controller: 'HookedController', base_path: '/hooked', actions },
        },
      } as never,
      models: [Team, Member, Award],
      controllers: [EvenController, HookedController],
      seed: (em) => {
        for (let id = 1; id <= members; id++) em.create(Member, { id } as never);
        for (const id of [1, 2]) em.create(Team, { id, name: 'first' } as never);
        const long = 'x'.repeat(limit / 2);
        for (const id of [members - 1, members]) em.create(Award, { id, text: long, member: id } as never);
      },
    });
  });
  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });

  async function sent(method: string, path: string, json: object) {
    app.statements.length = 0;
    const { json: body, status } = await app.request(method, path, { json });
    const ids = (body.members as { id: number }[] | undefined)?.map(({ id }) => id).sort((a, b) => a - b);
    return { status, body, ids, statements: [...app.statements] };
  }

  describe.each(['team', 'hooked'])('at /%s', (path) => {
    test.each([
      ['PATCH', `/${path}/1.json`],
      ['PUT', `/${path}/1.json`],
      ['POST', `/${path}.json`],
    ])('takes as many statements for many rows as for two, with %s %s', async (method, to) => {
      // statements and plans that only the first request makes
      await sent(method, to, { name: 'a', members: firstMembers(4) });
      await sent(method, to, { name: 'a', members: [] });
      const few = await sent(method, to, { name: 'a', members: firstMembers(2) });
      await sent(method, to, { name: 'a', members: [] });
      const many = await sent(method, to, { name: 'a', members: firstMembers(members) });
      expect([few.status, many.status]).toEqual(method === 'POST' ? [201, 201] : [200, 200]);
      expect([few.ids?.length, many.ids?.length]).toEqual([2, members]);
      expect(many.statements).toHaveLength(few.statements.length);
    });

    test('is replaced as a whole, and each row is linked once', async () => {
      await sent('PATCH', `/${path}/1.json`, { members: [{ id: 1 }, { id: 2 }, { id: 3 }] });
      expect(await sent('PATCH', `/${path}/1.json`, { members: [{ id: 5 }, { id: 2 }, { id: 5 }] })).toMatchObject({
        status: 200,
        ids: [2, 5],
      });
      const { json } = await app.request('GET', `/${path}/1.json`);
      expect((json.members as unknown[]).length).toBe(2);
      expect((await sent('PATCH', `/${path}/1.json`, { members: [] })).ids).toEqual([]);
    });

    test('keeps, adds and removes rows if both lists are long', async () => {
      const listed = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => ({ id: to - i }));
      const stored = async () => (await app.request('GET', `/${path}/1.json`)).json;
      for (const method of ['PATCH', 'PUT']) {
        await sent(method, `/${path}/1.json`, { name: 'a', members: listed(1, 120) });
        const { body, status } = await sent(method, `/${path}/1.json`, { name: 'b', members: listed(81, members) });
        expect([status, body]).toEqual([200, await stored()]);
        expect(body).toEqual({ id: 1, name: 'b', members: listed(81, members).reverse() });
        await sent(method, `/${path}/1.json`, { name: 'c', members: [...listed(81, 180), { id: 1 }] });
        expect(await stored()).toEqual({ id: 1, name: 'c', members: [{ id: 1 }, ...listed(81, 180).reverse()] });
      }
    });

    test('changes nothing if a row is missing, and names its position', async () => {
      await sent('PATCH', `/${path}/1.json`, { name: 'kept', members: [{ id: 1 }] });
      const missing = [{ id: 2 }, { id: 3 }, { id: members + 1 }];
      const { body, status } = await sent('PATCH', `/${path}/1.json`, { name: 'lost', members: missing });
      expect([status, body.code]).toEqual([400, 'invalid_reference']);
      expect(body.detail).toContain('members[2]');
      expect((await app.request('GET', `/${path}/1.json`)).json).toMatchObject({ name: 'kept', members: [{ id: 1 }] });
    });
  });

  test('is replaced by the same few statements, whatever it replaces', async () => {
    await sent('PATCH', '/team/2.json', { members: firstMembers(members) });
    const { ids, statements, status } = await sent('PATCH', '/team/2.json', { name: 'a', members: firstMembers(3) });
    expect([status, ids, statements.length]).toEqual([200, [1, 2, 3], 7]);
  });

  test('is not replaced if the caller does not see the row', async () => {
    await sent('PATCH', '/team/1.json', { members: firstMembers(1) });
    expect(await sent('PATCH', '/even/1.json', { members: firstMembers(2) })).toMatchObject({ status: 404 });
    expect((await app.request('GET', '/team/1.json')).json.members).toEqual([{ id: 1 }]);
    expect(await sent('PATCH', '/even/2.json', { members: firstMembers(2) })).toMatchObject({ status: 200, ids: [1, 2] });
  });

  test('is not replaced if the response would be too large: the size of all embedded rows counts', async () => {
    await sent('PATCH', '/team/1.json', { name: 'kept', members: firstMembers(1) });
    const one = { name: 'lost', members: [{ id: members }] };
    const both = { name: 'lost', members: [{ id: members - 1 }, { id: members }] };
    expect(await sent('PATCH', '/noted/1.json', both)).toMatchObject({ status: 413, body: { code: 'response_too_large' } });
    expect((await app.request('GET', '/team/1.json')).json).toEqual({ id: 1, name: 'kept', members: [{ id: 1 }] });
    const { body, status } = await sent('PATCH', '/noted/1.json', one);
    expect([status, body.members[0].awards[0].text.length]).toEqual([200, limit / 2]);
  });

  test('is one of the lists of concurrent requests, and not a mixture', async () => {
    const lists = Array.from({ length: 6 }, (_, i) => Array.from({ length: 5 }, (_, at) => ({ id: 10 * i + at + 1 })));
    const all = lists.map((list) => app.request('PATCH', '/team/2.json', { json: { members: list } }));
    expect((await Promise.all(all)).map(({ status }) => status)).toEqual(lists.map(() => 200));
    const { json } = await app.request('GET', '/team/2.json');
    expect(lists).toContainEqual((json.members as { id: number }[]).toSorted((a, b) => a.id - b.id));
  });
});

describe.each(databases)('the response to a list of references on %s', (kind) => {
  const Place = defineEntity({
    name: 'Place',
    properties: { id: p.integer().primary().groups('read'), open: p.boolean() },
  });
  const Club = defineEntity({
    name: 'Club',
    properties: {
      id: p.integer().primary().groups('read'),
      home: () => p.manyToOne(Place).nullable().groups('read'),
      away: () => p.manyToOne(Place).nullable().groups('read'),
      members: () => p.manyToMany(Member).groups('read', 'write'),
    },
  });
  class PlaceController extends ApiController {
    override customizeQuery(_action: string, _request: ApiRequest, query: any) {
      query.andWhere({ open: true });
    }
  }

  test('shows exactly those other rows that the caller sees', async () => {
    const database = await freshDatabase(kind);
    const actions = { _index: null, _entity: { methods: { GET: true, PATCH: true, PUT: true } } };
    const app = await startApplication({
      app_main: {
        apis: {
          club: { class: Club, base_path: '/clubs', actions },
          place: { class: Place, base_path: '/places', controller: PlaceController, actions },
        },
      } as never,
      models: [Club, Place, Member, Award],
      controllers: [PlaceController],
      databaseUrl: database.url,
      seed: (em) => {
        for (const id of [1, 2]) em.create(Member, { id } as never);
        for (const id of [1, 2]) em.create(Place, { id, open: id === 1 } as never);
        for (const id of [1, 2]) em.create(Club, { id, home: id, away: 3 - id } as never);
      },
    });
    try {
      for (const [id, home, away] of [
        [1, { id: 1 }, null],
        [2, null, { id: 1 }],
      ]) {
        for (const method of ['PATCH', 'PUT']) {
          const { json } = await app.request(method, `/clubs/${id}.json`, { json: { members: [{ id: 2 }] } });
          expect(json).toEqual({ id, home, away, members: [{ id: 2 }] });
        }
      }
    } finally {
      await app.close();
      await database.drop();
    }
  });
});
