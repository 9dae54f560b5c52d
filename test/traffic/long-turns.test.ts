// @module-tag divided
import { type Collection, defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiController, Voter } from '../../src/index.ts';
import { longestPart } from '../support/cpu-time.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const many = 10_000;

const Member = defineEntity({
  name: 'Member',
  properties: { id: p.integer().primary().groups('read'), name: p.string().default('m').groups('read') },
});
const Team = defineEntity({
  name: 'Team',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    members: () => p.manyToMany(Member).groups('read', 'write'),
  },
});
const Good = defineEntity({
  name: 'Good',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read', 'write') },
});

const Line = defineEntity({
  name: 'Line',
  embeddable: true,
  properties: { title: p.string().groups('read', 'write'), price: p.integer().groups('read', 'write') },
});
const Order = defineEntity({
  name: 'Order',
  tableName: 'orders',
  properties: { id: p.integer().primary().groups('read'), lines: () => p.embedded(Line).array().groups('read', 'write') },
});

const Note = defineEntity({
  name: 'Note',
  properties: { id: p.integer().primary().groups('read'), data: p.json().nullable().groups('read', 'write') },
});

const Course = defineEntity({
  name: 'Course',
  properties: {
    term: p.integer().primary().groups('read'),
    no: p.integer().primary().groups('read'),
    members: () => p.manyToMany(Member).groups('read', 'write'),
  },
});
class TeamVoter extends Voter<{ members: Collection<object> }> {
  static override roles = ['TEAM_SEE'];
  static override loads = ['members'];
  override vote(_role: string, team: { members: Collection<object> } | null) {
    return !team || team.members.length === many ? 'grant' : 'deny';
  }
}

/** Makes its API write entities. */
class HookedController extends ApiController {
  override beforeSerialize(): void {}
}

const numbers = Array.from({ length: many }, (_, i) => i + 1);
const references = numbers.map((id) => ({ id }));
const half = references.slice(many / 2);
const lines = numbers.map((i) => ({ title: `line ${i}`, price: i }));
const goods = numbers.map((i) => ({ name: `good ${i}` }));
const unknown = Object.fromEntries(Array.from({ length: 60_000 }, (_, i) => [`k${i}`, 1]));

describe.each(databases)('a request with %s that handles many rows', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;

  beforeAll(async () => {
    database = await freshDatabase(kind);
    const actions = {
      _index: { methods: { POST: true }, bulk: { POST: true, PATCH: true, DELETE: true, max_items: many } },
      _entity: { methods: { GET: true, PATCH: true, DELETE: true } },
    };
    app = await startApplication({
      app_main: {
        database: { url: database.url, schema: 'update' },
        pagination: { max_items_per_page: many },
        apis: {
          hooked: {
            class: 'Good',
            controller: 'HookedController',
            base_path: '/hooked',
            actions: { _index: { methods: { GET: true } } },
          },
          note: { class: 'Note', base_path: '/note', actions },
          good: { class: 'Good', base_path: '/good', actions },
          order: { class: 'Order', base_path: '/order', actions },
          voted: {
            class: 'Team',
            base_path: '/voted',
            base_role: 'TEAM_SEE',
            actions: { _entity: { methods: { GET: true } } },
          },
          team: { class: 'Team', controller: 'HookedController', base_path: '/team', actions },
          course: {
            class: 'Course',
            base_path: '/course',
            actions: { _entity: { methods: { GET: true, PATCH: true }, requirements: { id: '[0-9]+,[0-9]+' } } },
          },
        },
      } as never,
      models: [Team, Member, Good, Order, Line, Note, Course],
      controllers: [HookedController],
      voters: [TeamVoter],
      seed: async (em) => {
        await em.insertMany(Member, references as never);
        await em.insertMany(Course, [{ term: 1, no: 1 }]);
      },
    });
  });
  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });

  /** Gives the tables the same rows before each request. */
  async function restore(): Promise<void> {
    const em = app.application.mapper.em.fork();
    for (const table of ['team_members', 'course_members', 'good', 'team']) await em.execute(`delete from ${table}`);
    await em.execute("insert into team (id, name) values (1000, 'a')");
    await em.execute('insert into course_members (course_term, course_no, member_id) select 1, 1, id from member');
    await em.execute(`insert into good (id, name) select id + 1000000, 'old' from member`);
  }

  test.each([
    ['a list of new rows', 1 / 5, 'POST', '/good.json', goods, 201],
    ['a list of changes', 1 / 20, 'PATCH', '/good.json', goods.map(({ name }, i) => ({ id: 1_000_001 + i, name })), 200],
    ['a list of rows to remove', 1 / 12, 'DELETE', '/good.json', references.map(({ id }) => ({ id: 1_000_000 + id })), 204],
    ['a new entity with references', 1 / 20, 'POST', '/team.json', { name: 'b', members: references }, 201],
    ['a new entity with embedded objects', 2 / 9, 'POST', '/order.json', { lines }, 201],
    ['a body with many unknown fields', 0.7, 'POST', '/note.json', unknown, 400],
    ['a large page of entities', 0.3, 'GET', `/hooked.json?items_per_page=${many}`, undefined, 200],
    ['references that an entity gets', 1 / 20, 'PATCH', '/team/1000.json', { name: 'b', members: references }, 200],
    ['references of a row with a composite key', 1 / 10, 'PATCH', '/course/1,1.json', { members: half }, 200],
  ] as const)('occupies the process for a small part of its time at once: %s', async (_, part, method, path, json, status) => {
    const longest = await longestPart(
      part,
      async () => {
        const response = await app.request(method, path, { json });
        expect(response.status).toBe(status);
      },
      restore,
    );
    expect(longest).toBeLessThan(part);
  });

  // a server would take a round trip to count the items first, and removes what depends on a row itself
  if (kind === 'sqlite')
    test.each([
      ['an association that a voter loads', 1 / 4, 'GET', '/voted/1000.json', undefined, 200],
      ['a row that is removed with many others', 1 / 4, 'DELETE', '/team/1000.json', undefined, 204],
    ] as const)('occupies the process for a small part of its time at once: %s', async (_, part, method, path, json, status) => {
      const longest = await longestPart(
        part,
        async () => {
          const response = await app.request(method, path, { json });
          expect(response.status).toBe(status);
        },
        async () => {
          await restore();
          const em = app.application.mapper.em.fork();
          await em.execute('insert into team_members (team_id, member_id) select 1000, id from member');
        },
      );
      expect(longest).toBeLessThan(part);
    });
});
