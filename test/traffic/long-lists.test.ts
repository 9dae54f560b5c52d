// @module-tag divided
import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiController } from '../../src/index.ts';
import { longestTurn } from '../support/cpu-time.ts';
import { parseCsv } from '../support/csv.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const pets = 30_000;

/** A condition that an association has beyond the reference. */
const firstPets = { id: { $lte: pets + 3000 } };

const Owner = defineEntity({
  name: 'Owner',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    pets: () => p.oneToMany(Pet).mappedBy('owner').groups('read'),
    first: () => p.oneToMany(Pet).mappedBy('owner').where(firstPets).groups('first'),
    few: () =>
      p
        .oneToMany(Pet)
        .mappedBy('owner')
        .where({ id: { $lte: 2 } })
        .groups('few'),
    last: () => p.oneToMany(Pet).mappedBy('owner').orderBy({ id: 'desc' }).groups('last'),
  },
});
const Pet = defineEntity({
  name: 'Pet',
  properties: {
    id: p.integer().primary().groups('read', 'first', 'few', 'last'),
    name: p.string().groups('read'),
    owner: () => p.manyToOne(Owner),
    visits: () => p.oneToMany(Visit).mappedBy('pet').groups('read'),
  },
});
const Visit = defineEntity({
  name: 'Visit',
  properties: { id: p.integer().primary().groups('read'), pet: () => p.manyToOne(Pet) },
});

/** Makes its API read and write entities. */
class HookedController extends ApiController {
  override beforeSerialize(): void {}
}

describe.each(databases)('an entity with many embedded rows on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;

  beforeAll(async () => {
    database = await freshDatabase(kind);
    app = await startApplication({
      app_main: {
        server: { response_limit: 2_500_000 },
        formats: ['json', 'csv', 'ndjson'],
        apis: {
          owner: {
            class: Owner,
            base_path: '/owner',
            actions: { _index: null, _entity: { methods: { GET: true, PATCH: true } } },
          },
          first: {
            class: Owner,
            controller: HookedController,
            base_path: '/first',
            groups: { read: ['first'] },
            actions: { _index: null, _entity: { methods: { GET: true } } },
          },
          few: {
            class: Owner,
            controller: HookedController,
            base_path: '/few',
            groups: { read: ['few'] },
            actions: { _index: null, _entity: { methods: { GET: true } } },
          },
          last: {
            class: Owner,
            controller: HookedController,
            base_path: '/last',
            groups: { read: ['last'] },
            actions: { _index: null, _entity: { methods: { GET: true } } },
          },
          hooked: {
            class: Owner,
            controller: HookedController,
            base_path: '/hooked',
            actions: {
              _index: { methods: { GET: true }, bulk: { PATCH: true } },
              _entity: { methods: { GET: true, PATCH: true } },
            },
          },
        },
      },
      models: [Owner, Pet, Visit],
      controllers: [HookedController],
      databaseUrl: database.url,
    });
    const numbers =
      kind === 'sqlite'
        ? `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${pets}) select i from n`
        : `select i from generate_series(1, ${pets}) as n(i)`;
    const em = app.application.mapper.em.fork();
    await em.execute("insert into owner (id, name) values (1, 'Ada'), (2, 'Grace'), (3, 'Barbara'), (4, 'Margaret')");
    await em.execute(`insert into pet (id, name, owner_id) select i, 'pet "' || i || '"', 1 from (${numbers}) as numbers`);
    await em.execute(
      `insert into pet (id, name, owner_id) select i + ${pets}, 'pet "' || i || '"', 3 from (${numbers}) as numbers where i <= 5000`,
    );
    const long = 'x'.repeat(255);
    await em.execute(
      `insert into pet (id, name, owner_id) select i + 50000, '${long}', 4 from (${numbers}) as numbers where i <= 9990`,
    );
    await em.execute('insert into visit (id, pet_id) values (1, 5), (2, 5), (3, 29999), (4, 30005)');
  });
  afterAll(async () => {
    await app.close();
    await database.drop();
  });

  const visits: Record<number, object[]> = { 5: [{ id: 1 }, { id: 2 }], 29999: [{ id: 3 }] };
  const all = Array.from({ length: pets }, (_, i) => ({ id: i + 1, name: `pet "${i + 1}"`, visits: visits[i + 1] ?? [] }));

  test.each([
    ['GET', '/owner/1.json', undefined, (json: { pets: object[] }) => json.pets],
    ['PATCH', '/owner/1.json', { name: 'Ada' }, (json: { pets: object[] }) => json.pets],
    ['GET', '/owner.json?items_per_page=3', undefined, (json: { results: { pets: object[] }[] }) => json.results[0]?.pets],
  ] as const)('is complete, and other requests are served meanwhile: %s %s', async (method, path, body, petsIn) => {
    let isOver = false;
    const asked = app.request(method, path, body && { json: body }).finally(() => {
      isOver = true;
    });
    const health = app.request('GET', '/health/live').then(({ status }) => [status, isOver]);
    const { json, status } = await asked;
    expect(status).toBe(200);
    expect(petsIn(json)).toEqual(all);
    expect(await health).toEqual([200, false]);
  });

  test.each([
    ['csv', (text: string) => parseCsv(text).rows[0] ?? []],
    ['ndjson', (text: string) => Object.values(JSON.parse(text.split('\n')[0] as string))],
  ] as const)('is complete in a line of %s, and other requests are served meanwhile', async (format, cellsOf) => {
    let [status, text] = [0, ''];
    const { longest, total } = await longestTurn(async () => {
      ({ status, text } = await app.request('GET', `/owner.${format}`));
    });
    const [id, name, list] = cellsOf(text);
    expect([status, Number(id), name]).toEqual([200, 1, 'Ada']);
    expect(typeof list === 'string' ? JSON.parse(list) : list).toEqual(all);
    expect(longest / total).toBeLessThan(1 / 4);
  });

  const many = Array.from({ length: 5000 }, (_, i) => ({
    id: pets + i + 1,
    name: `pet "${i + 1}"`,
    visits: i === 4 ? [{ id: 4 }] : [],
  }));

  test.each([
    ['GET', '/hooked/3.json', undefined],
    ['PATCH', '/hooked/3.json', { name: 'Barbara' }],
    ['PATCH', '/hooked.json', [{ id: 3, name: 'Barbara' }]],
  ] as const)('is complete if entities are read: %s %s', async (method, path, body) => {
    const { json, status } = await app.request(method, path, body && { json: body });
    expect(status).toBe(200);
    expect((Array.isArray(json.results) ? json.results[0] : json).pets).toEqual(many);
  });

  test('has the order and the condition of its association if entities are read', async () => {
    const ids = many.map(({ id }) => ({ id }));
    expect((await app.request('GET', '/first/3.json')).json).toEqual({ first: ids.slice(0, 3000) });
    expect((await app.request('GET', '/last/3.json')).json).toEqual({ last: ids.toReversed() });
    // of 30,000 rows that refer to the owner, the condition leaves few
    expect((await app.request('GET', '/few/1.json')).json).toEqual({ few: [{ id: 1 }, { id: 2 }] });
  });

  test.each([
    ['PATCH', '/hooked/4.json', { name: 'Changed' }, 'response_too_large'],
    ['PATCH', '/hooked/1.json', { name: 'Changed' }, 'too_many_items'],
    [
      'PATCH',
      '/hooked.json',
      [
        { id: 3, name: 'Changed' },
        { id: 4, name: 'Changed' },
      ],
      'response_too_large',
    ],
  ] as const)('is not written if the response would be too large: %s %s', async (method, path, body, code) => {
    const { json } = await app.request(method, path, { json: body });
    expect(json).toMatchObject({ status: 413, code });
    const em = app.application.mapper.em.fork();
    expect(await em.execute('select name from owner order by id')).toEqual(
      ['Ada', 'Grace', 'Barbara', 'Margaret'].map((name) => ({ name })),
    );
  });

  test('is written if the response to statements would be too large, which the response says; with a key it is not', async () => {
    const names = async () => {
      const rows = await app.application.mapper.em.fork().execute('select name from owner where id = 4');
      return rows.map(({ name }) => name);
    };
    const patched = (name: string, headers = {}) => app.request('PATCH', '/owner/4.json', { json: { name }, headers });
    const keyed = (await patched('Keyed', { 'idempotency-key': 'too-large' })).json;
    expect([keyed.status, keyed.code, await names()]).toEqual([413, 'response_too_large', ['Margaret']]);
    const { json } = await patched('Written');
    expect([json.status, json.code, await names()]).toEqual([413, 'written_response_too_large', ['Written']]);
    expect((await app.request('GET', '/owner/4.json')).json).toMatchObject({ status: 413, code: 'response_too_large' });
    await patched('Margaret');
  });

  test('is rejected if more than 10,000 entities would be read', async () => {
    const { json } = await app.request('GET', '/hooked/1.json');
    expect(json).toMatchObject({
      status: 413,
      code: 'too_many_items',
      detail: 'the embedded list "pets" must not have more than 10000 items',
    });
  });
});
