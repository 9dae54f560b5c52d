// @module-tag divided
import { defineEntity, p, UnitOfWork } from '@mikro-orm/core';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { ApiController, Voter } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

/** More items than are loaded, and more rows than are written, in one step. */
const many = 1200;

/** More entities than a step writes. */
const mostAtOnce = 300;

const Member = defineEntity({
  name: 'Member',
  properties: { id: p.integer().primary().groups('read'), name: p.string().default('m') },
});
const Seat = defineEntity({
  name: 'Seat',
  properties: {
    row: p.integer().primary().groups('read'),
    no: p.integer().primary().groups('read'),
    note: p.string().default('s'),
  },
});
const Course = defineEntity({
  name: 'Course',
  properties: {
    year: p.integer().primary().groups('read', 'write'),
    no: p.string().primary().groups('read', 'write'),
    members: () => p.manyToMany(Member).groups('read', 'write'),
    seats: () => p.manyToMany(Seat).groups('read', 'write'),
  },
});
const Vessel = defineEntity({
  name: 'Vessel',
  inheritance: 'tpt',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    members: () => p.manyToMany(Member).groups('read', 'write'),
  },
});
const Ship = defineEntity({
  name: 'Ship',
  extends: Vessel,
  properties: { masts: p.integer().default(1).groups('read', 'write') },
});

/** Makes its API write entities. */
class HookedController extends ApiController {
  override afterCommit(): void {}
}

class VesselVoter extends Voter {
  static override roles = ['SAIL'];
  static override loads = ['members'];
  override vote() {
    return 'grant' as const;
  }
}

const numbers = (count: number, from = 1) => Array.from({ length: count }, (_, i) => from + i);
const members = (count: number, from = 1) => numbers(count, from).map((id) => ({ id }));
const seats = (count: number, from = 1) => numbers(count, from).map((no) => ({ row: 1, no }));

describe.each(databases)('a long list of a model with an unusual key or table on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  let atOnce: number;

  beforeAll(async () => {
    database = await freshDatabase(kind);
    const actions = {
      _index: { methods: { POST: true }, bulk: { POST: true, PATCH: true, DELETE: true, max_items: many } },
      _entity: { methods: { GET: true, PATCH: true, PUT: true, DELETE: true }, requirements: { id: '[0-9a-z,]+' } },
    };
    const api = (name: string) => ({ class: name, controller: 'HookedController', base_path: `/${name.toLowerCase()}`, actions });
    const link = (property: string) => ({ association: { property }, path: property, requirements: { id: '[0-9a-z,]+' } });
    const course = api('Course');
    app = await startApplication({
      app_main: {
        database: { url: database.url, schema: 'update' },
        apis: {
          course: { ...course, actions: { ...actions, members: link('members'), seats: link('seats') } },
          voted: { class: 'Vessel', base_role: 'SAIL', base_path: '/voted', actions: { _entity: { methods: { PATCH: true } } } },
          vessel: { ...api('Vessel'), actions: { ...actions, _entity: { methods: actions._entity.methods } } },
        },
      } as never,
      models: [Member, Seat, Course, Vessel, Ship],
      controllers: [HookedController],
      voters: [VesselVoter],
      seed: async (em) => {
        await em.insertMany(Member, members(2 * many) as never);
        await em.insertMany(Seat, seats(2 * many) as never);
      },
    });
    const compute = UnitOfWork.prototype.computeChangeSets;
    vi.spyOn(UnitOfWork.prototype, 'computeChangeSets').mockImplementation(function (this: UnitOfWork) {
      compute.call(this);
      atOnce = Math.max(atOnce, new Set([...this.getIdentityMap(), ...this.getPersistStack()]).size);
    });
  });
  afterAll(async () => {
    vi.restoreAllMocks();
    await app?.close();
    await database?.drop();
  });
  beforeEach(async () => {
    const em = app.application.mapper.em.fork();
    for (const table of ['course_members', 'course_seats', 'course', 'vessel_members', 'ship', 'vessel'])
      await em.execute(`delete from ${table}`);
    atOnce = 0;
  });

  const sent = async (method: string, path: string, json: unknown, status: number) => {
    const { json: body, status: got } = await app.request(method, path, { json: json as object });
    expect([got, got >= 400 && body]).toEqual([status, status >= 400 && body]);
    return body;
  };
  const stored = async (path: string) => (await app.request('GET', path)).json;

  test.each(['PATCH', 'PUT'])('is replaced by %s in steps, if the row or its items have composite keys', async (method) => {
    const path = '/course/1,a.json';
    const key = { year: 1, no: 'a' };
    await sent('POST', '/course.json', { ...key, members: members(10), seats: seats(10) }, 201);
    await sent('POST', '/course.json', { year: 1, no: 'b', members: members(3), seats: seats(3) }, 201);
    for (const from of [1, many / 2, many]) {
      const body = await sent(method, path, { members: members(many, from), seats: seats(many, from) }, 200);
      expect(body).toEqual({ ...key, members: members(many, from), seats: seats(many, from) });
      expect(await stored(path)).toEqual(body);
    }
    await sent(method, path, { members: [], seats: seats(2) }, 200);
    expect(await stored(path)).toEqual({ ...key, members: [], seats: seats(2) });
    expect(await stored('/course/1,b.json')).toMatchObject({ members: members(3), seats: seats(3) });
    expect(atOnce).toBeLessThan(mostAtOnce);
  });

  test.each([
    ['members', members],
    ['seats', seats],
  ] as const)('has an item added and removed: %s', async (property, items) => {
    const path = '/course/1,a.json';
    await sent('POST', '/course.json', { year: 1, no: 'a', [property]: items(many) }, 201);
    const [item] = items(1, many + 1);
    await sent('POST', `/course/1,a/${property}.json`, item, 200);
    expect((await stored(path))[property]).toEqual(items(many + 1));
    for (const _ of [1, 2]) await sent('DELETE', `/course/1,a/${property}.json`, item, 200);
    expect((await stored(path))[property]).toEqual(items(many));
    expect(atOnce).toBeLessThan(mostAtOnce);
  });

  test('is replaced in steps, if each class has a table', async () => {
    const path = `/vessel/${(await sent('POST', '/vessel.json', { type: 'ship', name: 'a', masts: 2, members: members(many) }, 201)).id}.json`;
    for (const from of [1, many / 2]) {
      const body = await sent('PATCH', path, { name: `from ${from}`, members: members(many, from) }, 200);
      expect(body).toMatchObject({ name: `from ${from}`, members: members(many, from) });
      expect(await stored(path)).toEqual(body);
    }
    expect(await sent('PUT', path, { name: 'z' }, 200)).toMatchObject({ name: 'z', members: [] });
    expect(atOnce).toBeLessThan(mostAtOnce);
  });

  test('is read in parts before it is replaced, although a voter has loaded it', async () => {
    const row = { type: 'vessel', name: 'a', members: members(many) };
    const { id } = await sent('POST', '/vessel.json', row, 201);
    app.statements.length = 0;
    await sent('PATCH', `/voted/${id}.json`, { members: members(2) }, 200);
    const wholes = app.statements.filter((sql) => /from [`"]vessel_members[`"] as .* join [`"]member[`"]/.test(String(sql)));
    // a server would take a round trip to count the items first; after that, they are known to be many
    expect(wholes).toHaveLength(kind === 'sqlite' ? 0 : 1);
    expect((await stored(`/vessel/${id}.json`)).members).toEqual(members(2));
  });

  test('of new, changed and removed rows is written as a whole, if each class has a table', async () => {
    const rows = numbers(many / 2).map((i) =>
      i % 2 ? { type: 'ship', name: `ship ${i}`, masts: i } : { type: 'vessel', name: `${i}` },
    );
    const { results } = await sent('POST', '/vessel.json', rows, 201);
    expect(results).toMatchObject(rows.map(({ type: _, ...row }) => row));
    const changed = results.map(({ id, masts }: { id: number; masts?: number }) => ({
      id,
      name: 'b',
      ...(masts && { masts: 7 }),
    }));
    expect((await sent('PATCH', '/vessel.json', changed, 200)).results).toMatchObject(changed);
    await sent(
      'DELETE',
      '/vessel.json',
      changed.map(({ id }: { id: number }) => ({ id })),
      204,
    );
    expect(await app.application.mapper.em.fork().execute('select id from vessel union all select id from ship')).toEqual([]);
  });
});
