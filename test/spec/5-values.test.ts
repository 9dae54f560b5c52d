import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { loadApplication } from '../../src/application.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { test } from '../support/halves.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Tag = defineEntity({
  name: 'Tag',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read') },
});
const Slot = defineEntity({
  name: 'Slot',
  embeddable: true,
  properties: {
    number: p.integer().groups('read', 'write'),
    tag: () => p.manyToOne(Tag).nullable().groups('read', 'write'),
  },
});
const Thing = defineEntity({
  name: 'Thing',
  properties: {
    id: p.integer().primary().groups('read'),
    slot: () => p.embedded(Slot).nullable().groups('read', 'write'),
    words: p.array().nullable().groups('read', 'write'),
    counted: p.integer().defaultRaw('7').groups('read', 'write'),
    made: p
      .datetime()
      .onCreate(() => new Date(0))
      .groups('read', 'write'),
    big: p.bigint().nullable().groups('read', 'write'),
    span: p.interval().nullable().groups('read', 'write'),
  },
});
const Holiday = defineEntity({
  name: 'Holiday',
  properties: { day: p.date().primary().groups('read'), name: p.string().groups('read') },
});
const actions = {
  _index: { methods: { GET: true, POST: true } },
  _entity: { methods: { GET: true, PUT: true, PATCH: true } },
} as const;

describe.each(databases)('values on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  let byEntities: TestApplication;

  beforeAll(async () => {
    database = await freshDatabase(kind);
    const options = {
      app_main: {
        apis: {
          thing: { class: Thing, base_path: '/things', actions },
          holiday: {
            class: Holiday,
            base_path: '/holidays',
            actions: { _entity: { requirements: { id: '[^/]+' } } },
          },
        },
      },
      models: [Tag, Slot, Thing, Holiday],
      databaseUrl: database.url,
    };
    app = await startApplication({
      ...options,
      seed: async (em) => {
        em.create(Tag, { name: 'red' });
        em.create(Holiday, { day: '2026-12-25', name: 'Christmas' });
      },
    });
    byEntities = await startApplication({ ...options, compiledReads: false });
  });
  afterAll(async () => {
    await byEntities.close();
    await app.close();
    await database.drop();
  });

  async function create(json: object): Promise<number> {
    const response = await app.request('POST', '/things.json', { json });
    expect(response.status).toBe(201);
    return response.json.id;
  }

  test.each([[[' a ', 'null', 'x\n"y', '', '\\', '{', ',']], [['']], [[]], [['[1]', '"']]])(
    'a list of strings is returned unchanged: %j',
    async (words) => {
      const id = await create({ words });
      expect((await app.request('GET', `/things/${id}.json`)).json.words).toEqual(words);
    },
  );

  test('an association in an embeddable is embedded in the response of a write and in the next GET', async () => {
    const slot = { number: 1, tag: { id: 1, name: 'red' } };
    const written = await app.request('POST', '/things.json', { json: { slot: { number: 1, tag: { id: 1 } } } });
    expect(written.json.slot).toEqual(slot);
    expect((await app.request('GET', `/things/${written.json.id}.json`)).json.slot).toEqual(slot);
  });

  test('PUT resets missing fields to the defaults of a new row', async () => {
    const id = await create({ counted: 9, made: '2026-01-01T00:00:00Z', words: ['a'] });
    const replaced = await app.request('PUT', `/things/${id}.json`, { json: {} });
    expect(replaced.json).toMatchObject({ counted: 7, made: '1970-01-01T00:00:00.000Z', words: null, slot: null });
    expect((await app.request('GET', `/things/${id}.json`)).text).toBe(replaced.text);
  });

  test.each(['-9223372036854775807', '9223372036854775807'])('the 64-bit integer %s is stored exactly', async (big) => {
    const id = await create({ big });
    expect((await app.request('GET', `/things/${id}.json`)).json.big).toBe(big);
  });

  test('the only 64-bit integer that SQLite cannot read exactly is rejected, not rounded', async () => {
    const response = await app.request('POST', '/things.json', { json: { big: '-9223372036854775808' } });
    expect([response.status, response.json.violations[0].propertyPath]).toEqual([422, 'big']);
  });

  test.each(['1 day 02:00:00', '1e5', '5', '1.5', '-3 days', '00:00:00.25', '9007199254740993', 'P1Y2M'])(
    'the interval %j is a string, the same with entities and with compiled reads',
    async (span) => {
      const created = await app.request('POST', '/things.json', { json: { span } });
      if (created.status === 422) return;
      const { id } = created.json;
      const compiled = await app.request('GET', `/things/${id}.json`);
      const entity = await byEntities.request('GET', `/things/${id}.json`);
      expect([typeof created.json.span, typeof compiled.json.span]).toEqual(['string', 'string']);
      expect(entity.text).toBe(compiled.text);
      const patched = await byEntities.request('PATCH', `/things/${id}.json`, { json: { counted: 8 } });
      expect(patched.json.span).toBe(compiled.json.span);
      expect((await byEntities.request('GET', `/things/${id}.json`)).json.span).toBe(compiled.json.span);
    },
  );

  test('an integer key that is sent as a string is rejected in references and as id', async () => {
    const id = await create({});
    const reference = await app.request('PATCH', `/things/${id}.json`, { json: { slot: { number: 1, tag: { id: '1' } } } });
    expect([reference.status, reference.json.code]).toEqual([400, 'invalid_reference']);
    const identity = await app.request('PATCH', `/things/${id}.json`, { json: { id: String(id) } });
    expect([identity.status, identity.json.code]).toEqual([400, 'identity_mismatch']);
  });

  test.each([
    ['2026-12-25', 200],
    ['2026-12-24', 404],
    ['2026-13-45', 404],
    ['2026-12-25T00:00:00Z', 404],
    ['garbage', 404],
  ])('a date as key: %s returns %i', async (day, status) => {
    expect((await app.request('GET', `/holidays/${day}.json`)).status).toBe(status);
  });
});

test('a primary key with several notations is a start error', async () => {
  const Moment = defineEntity({ name: 'Moment', properties: { at: p.datetime().primary().groups('read') } });
  const app_main = { apis: { moment: { class: Moment, base_path: '/moments', actions: { _index: null } } } };
  await expect(loadApplication({ app_main, models: [Moment] })).rejects.toThrow(
    'app_main.apis.moment.class: the primary key of Moment is of the kind "datetime"; to be addressed by {id} it must be an integer, a string, a UUID, an enum or a date',
  );
});
