import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiController } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Member = defineEntity({ name: 'Member', properties: { id: p.integer().primary().groups('read') } });
const Team = defineEntity({
  name: 'Team',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    members: () => p.manyToMany(Member).groups('read', 'write'),
  },
});

/** Makes its API write entities. */
class HookedController extends ApiController {
  override beforeSerialize(): void {}
}

const members = 200;

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
        apis: {
          team: { class: 'Team', base_path: '/team', actions },
          hooked: { class: 'Team', controller: 'HookedController', base_path: '/hooked', actions },
        },
      } as never,
      models: [Team, Member],
      controllers: [HookedController],
      seed: (em) => {
        for (let id = 1; id <= members; id++) em.create(Member, { id } as never);
        em.create(Team, { id: 1, name: 'first' } as never);
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

    test('changes nothing if a row is missing, and names its position', async () => {
      await sent('PATCH', `/${path}/1.json`, { name: 'kept', members: [{ id: 1 }] });
      const missing = [{ id: 2 }, { id: 3 }, { id: members + 1 }];
      const { body, status } = await sent('PATCH', `/${path}/1.json`, { name: 'lost', members: missing });
      expect([status, body.code]).toEqual([400, 'invalid_reference']);
      expect(body.detail).toContain('members[2]');
      expect((await app.request('GET', `/${path}/1.json`)).json).toMatchObject({ name: 'kept', members: [{ id: 1 }] });
    });
  });
});
