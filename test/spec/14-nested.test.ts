// @module-tag divided
import { defineEntity, p } from '@mikro-orm/core';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Voter } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Dose = defineEntity({
  name: 'Dose',
  properties: {
    id: p.integer().primary().groups('read'),
    amount: p.integer().groups('read', 'write'),
    vaccination: () => p.manyToOne(Vaccination).groups('write'),
  },
});
const Vaccination = defineEntity({
  name: 'Vaccination',
  properties: {
    id: p.integer().primary().groups('read'),
    date: p.date().groups('read', 'write'),
    lot: p.string().nullable(),
    number: p.integer().nullable().unique().groups('write'),
    person: () => p.manyToOne(Person).groups('write'),
    doses: () => p.oneToMany(Dose).mappedBy('vaccination').groups('read'),
  },
});
const PersonSchema = defineEntity({
  name: 'Person',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    vaccinations: () => p.oneToMany(Vaccination).mappedBy('person').groups('read'),
    tags: () => p.manyToMany(Tag).groups('read', 'write'),
  },
});
class Person extends PersonSchema.class {
  validate() {
    const wrong = this.vaccinations.getItems().some(({ person }) => person.name !== this.name);
    return wrong ? [{ propertyPath: 'vaccinations', title: 'must be of this person' }] : [];
  }
}
PersonSchema.setClass(Person);
const Tag = defineEntity({
  name: 'Tag',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read', 'write') },
});

let votes = 0;
class MedicalVoter extends Voter {
  static override roles = ['MEDICAL'];
  vote(_: string, subject: unknown, user: { roles: readonly string[] } | null) {
    votes++;
    return subject === null && user?.roles.includes('doctor') ? ('grant' as const) : ('deny' as const);
  }
}

const as = { id: 1, roles: ['doctor'] };

function options(url: string, nested: object): any {
  const actions = {
    _index: { methods: { GET: true, POST: true }, bulk: { POST: true } },
    _entity: { methods: { GET: true, PATCH: true } },
  };
  return {
    app_main: {
      database: { url, schema: 'update' },
      apis: { person: { class: 'Person', base_path: '/api/person', nested, actions } },
    },
    models: [PersonSchema, Vaccination, Dose, Tag],
    voters: [MedicalVoter],
  };
}

describe.each(databases)('nested creation on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  beforeEach(async () => {
    database = await freshDatabase(kind);
    const nested = { vaccinations: { max_items: 3, role: 'MEDICAL' }, 'vaccinations.doses': { max_items: 2 } };
    app = await startApplication(options(database.url, nested));
    votes = 0;
  });
  afterEach(async () => {
    await app.close();
    await database.drop();
  });
  const post = (json: unknown, more: object = { as }) => app.request('POST', '/api/person.json', { json, ...more });
  const count = async () => (await app.request('GET', '/api/person.json')).json.count;

  test('POST creates the rows of an association together with their owner, to the declared depth', async () => {
    const created = await post({
      name: 'Ada',
      vaccinations: [{ date: '2026-01-02', doses: [{ amount: 1 }, { amount: 2 }] }, { date: '2026-01-03' }],
    });
    expect(created.status).toBe(201);
    expect(created.json.vaccinations).toMatchObject([
      { id: 1, date: '2026-01-02', doses: [{ amount: 1 }, { amount: 2 }] },
      { id: 2, date: '2026-01-03', doses: [] },
    ]);
    expect(votes).toBe(1);
  });

  test('a list of owners is created with their rows in one flush', async () => {
    app.statements.length = 0;
    const list = Array.from({ length: 20 }, (_, i) => ({
      name: `n${i}`,
      vaccinations: [{ date: '2026-01-02' }, { date: '2026-01-03' }],
    }));
    const created = await post(list);
    expect([created.status, created.json.count]).toEqual([201, 20]);
    expect(created.json.results.every(({ vaccinations }: any) => vaccinations.length === 2)).toBe(true);
    expect(votes).toBe(1);
    expect(app.statements.length).toBeLessThan(15);
  });

  test('violations of all rows are returned together, with their paths', async () => {
    const refused = await post({ vaccinations: [{ date: '2026-01-02' }, { date: 'soon', doses: [{}] }, 5] });
    expect(refused.status).toBe(422);
    expect(refused.json.violations.map(({ propertyPath }: any) => propertyPath).sort()).toEqual([
      'name',
      'vaccinations[1].date',
      'vaccinations[1].doses[0].amount',
      'vaccinations[2]',
    ]);
    const listed = await post([{ name: 'Ada' }, { name: 'Bob', vaccinations: [{}] }]);
    expect(listed.json.violations.map(({ propertyPath }: any) => propertyPath)).toEqual(['[1].vaccinations[0].date']);
    expect(await count()).toBe(0);
  });

  test('a conflict of a nested row names the item of its owner', async () => {
    const withLot = (lot: number) => ({ name: 'a', vaccinations: [{ date: '2026-01-02' }, { date: '2026-01-02', number: lot }] });
    expect((await post([withLot(1), withLot(2)])).status).toBe(201);
    for (const list of [
      [withLot(3), withLot(4), withLot(2)],
      [withLot(3), { name: 'b' }, withLot(3)],
    ]) {
      const refused = await post(list);
      expect([refused.status, refused.json.code, refused.json.index]).toEqual([409, 'conflict_unique', 2]);
    }
    expect(await count()).toBe(2);
  });

  test.each([
    [
      'an unknown field',
      { name: 'a', vaccinations: [{ date: '2026-01-02', x: 1 }] },
      400,
      'unknown_field',
      /"vaccinations\[0\]\.x"/,
    ],
    [
      'a field that is not writable',
      { name: 'a', vaccinations: [{ date: '2026-01-02', lot: 'x' }] },
      400,
      'unknown_field',
      /lot/,
    ],
    ['another owner', { name: 'a', vaccinations: [{ date: '2026-01-02', person: { id: 1 } }] }, 400, 'unknown_field', /person/],
    ['an id', { name: 'a', vaccinations: [{ date: '2026-01-02', id: 7 }] }, 400, 'identity_mismatch', /vaccinations\[0\]\.id/],
    [
      'too many rows',
      { name: 'a', vaccinations: new Array(4).fill({ date: '2026-01-02' }) },
      413,
      'too_many_items',
      /"vaccinations"/,
    ],
    [
      'too many rows of rows',
      { name: 'a', vaccinations: [{ date: '2026-01-02', doses: new Array(3).fill({ amount: 1 }) }] },
      413,
      'too_many_items',
      /doses/,
    ],
    ['null for a list', { name: 'a', vaccinations: null }, 422, 'validation_failed', /list of objects/],
    ['rows of an association that is not declared', { name: 'a', tags: [{ name: 'x' }] }, 400, 'invalid_reference', /tags/],
  ])('POST refuses %s and creates nothing', async (_, body, status, code, detail) => {
    const refused = await post(body);
    expect([refused.status, refused.json.code]).toEqual([status, code]);
    expect(refused.json.detail).toMatch(detail);
    expect(await count()).toBe(0);
  });

  test('the role is required only for bodies that create rows', async () => {
    const body = { name: 'Ada', vaccinations: [{ date: '2026-01-02' }] };
    expect((await post(body, {})).status).toBe(401);
    expect((await post(body, { as: { id: 2, roles: ['clerk'] } })).status).toBe(403);
    expect((await post({ name: 'Ada' }, {})).status).toBe(201);
    expect(await count()).toBe(1);
  });

  test('PATCH creates no rows', async () => {
    await post({ name: 'Ada' });
    const refused = await app.request('PATCH', '/api/person/1.json', { json: { vaccinations: [{ date: '2026-01-02' }] } });
    expect([refused.status, refused.json.code]).toEqual([400, 'field_not_writable']);
  });
});

test.each([
  [{ shots: {} }, 'Person has no association "shots"'],
  [{ tags: {} }, 'Person.tags is a many-to-many association'],
  [{ name: {} }, 'Person.name is not a one-to-many association'],
  [{ 'vaccinations.doses': {} }, 'is inside of "vaccinations", which is not declared'],
  [{ vaccinations: { role: 'NOBODY' } }, 'no voter judges the role "NOBODY"'],
  [{ vaccinations: { max_items: 0 } }, 'must be an integer from 1'],
])('a start error explains the mistake in nested: %j', async (nested, message) => {
  await expect(startApplication(options('sqlite::memory:', nested))).rejects.toThrow(message);
});
