import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Voter } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

type Any = any;

const Vessel = defineEntity({
  name: 'Vessel',
  abstract: true,
  discriminator: 'kind',
  properties: {
    id: p.integer().primary().groups('read'),
    kind: p.string().groups('read'),
    name: p.string().groups('read', 'write'),
  },
});
const Ferry = defineEntity({
  name: 'Ferry',
  extends: Vessel,
  discriminatorValue: 'ferry',
  properties: { cars: p.integer().nullable().groups('read', 'write') },
});
const Tug = defineEntity({
  name: 'Tug',
  extends: Vessel,
  discriminatorValue: 'tug',
  properties: { power: p.integer().nullable().groups('read', 'write') },
});

/** What another request does between the access check and the write, once. */
let meanwhile: (() => Promise<unknown>) | null = null;
let seen: string[] = [];
let allowed: readonly string[] = [];

class VesselVoter extends Voter {
  static override roles = ['STEER'];
  async vote(_role: string, subject: Any) {
    if (subject) seen.push(subject.kind);
    const change = meanwhile;
    meanwhile = null;
    await change?.();
    return !subject?.kind || allowed.includes(subject.kind) ? ('grant' as const) : ('deny' as const);
  }
}

describe.each(databases)('a row that gets another class between the access check and the write, on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  beforeAll(async () => {
    database = await freshDatabase(kind);
    const actions = { _index: null, _entity: { methods: { GET: true, PATCH: true, PUT: true, DELETE: true } } };
    app = await startApplication({
      app_main: {
        apis: {
          vessel: { class: Vessel, base_path: '/vessels', base_role: 'STEER', actions },
          ferry: { class: Ferry, base_path: '/ferries', actions },
        },
      } as Any,
      models: [Vessel, Ferry, Tug],
      voters: [VesselVoter],
      databaseUrl: database.url,
      seed: async (em) => {
        for (let i = 0; i < 6; i++) em.create(Ferry, { name: `f${i}`, cars: 1 });
      },
    });
  });
  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });

  const execute = (sql: string): Promise<Any[]> => app.application.mapper.em.fork().execute(sql);
  function becomes(id: number, name: string) {
    seen = [];
    meanwhile = () => execute(`update vessel set kind = '${name}' where id = ${id}`);
  }

  test.each([
    [1, 'PATCH', { cars: 9 }, 400],
    [2, 'PUT', { name: 'x', cars: 9 }, 400],
    [3, 'PATCH', { name: 'y' }, 200],
  ] as const)('is read again, and has the fields of its new class: %i, %s %j', async (id, method, json, status) => {
    allowed = ['ferry', 'tug'];
    becomes(id, 'tug');
    const response = await app.request(method, `/vessels/${id}.json`, { json });
    expect([response.status, seen]).toEqual([status, ['ferry', 'tug']]);
    const name = status === 200 ? 'y' : `f${id - 1}`;
    expect(await execute(`select kind, name, cars from vessel where id = ${id}`)).toEqual([{ kind: 'tug', name, cars: 1 }]);
  });

  test.each([
    [4, 'PATCH'],
    [5, 'DELETE'],
  ] as const)('is checked again: %i, %s', async (id, method) => {
    allowed = ['ferry'];
    becomes(id, 'tug');
    const response = await app.request(method, `/vessels/${id}.json`, method === 'PATCH' ? { json: { name: 'z' } } : {});
    expect([response.status, seen.slice(0, 2)]).toEqual([expect.toBeOneOf([401, 403]), ['ferry', 'tug']]);
    expect(await execute(`select name from vessel where id = ${id}`)).toEqual([{ name: `f${id - 1}` }]);
  });

  test('is not removed by an API of its former class, which does not check access', async () => {
    await execute(`update vessel set kind = 'tug' where id = 6`);
    expect((await app.request('DELETE', '/ferries/6.json')).status).toBe(404);
    expect(await execute('select name from vessel where id = 6')).toEqual([{ name: 'f5' }]);
  });
});

describe.each(databases)('a row that is removed together with a row that a body refers to, on %s', (kind) => {
  const Harbor = defineEntity({
    name: 'Harbor',
    properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read', 'write') },
  });
  const Boat = defineEntity({
    name: 'Boat',
    properties: {
      id: p.integer().primary().groups('read'),
      name: p.string().groups('read', 'write'),
      harbor: () => p.manyToOne(Harbor).nullable().groups('read', 'write'),
      next: () => p.manyToOne(Boat).nullable().groups('read', 'write'),
    },
  });

  test.each([
    ['PUT', { name: 'x', harbor: { id: 1 } }],
    ['PATCH', { harbor: { id: 1 } }],
    ['PATCH', { next: { id: 1 } }],
    ['PATCH', { name: 'y' }],
  ] as const)('counts as changed, not as a wrong reference: %s %j', async (method, json) => {
    const database = await freshDatabase(kind);
    const actions = { _index: null, _entity: { methods: { PATCH: true, PUT: true } } };
    const app = await startApplication({
      app_main: { apis: { boat: { class: Boat, base_path: '/boats', base_role: 'STEER', actions } } } as Any,
      models: [Harbor, Boat],
      voters: [VesselVoter],
      databaseUrl: database.url,
      seed: async (em) => {
        em.create(Harbor, { name: 'h' });
        em.create(Boat, { name: 'b' });
      },
    });
    try {
      const em = app.application.mapper.em.fork();
      meanwhile = () =>
        em.transactional(async (own) => {
          await own.execute('delete from boat');
          await own.execute('delete from harbor');
        });
      expect((await app.request(method, '/boats/1.json', { json })).status).toBe(409);
    } finally {
      await app.close();
      await database.drop();
    }
  });
});
