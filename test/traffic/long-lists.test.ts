import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, vi } from 'vitest';
import { LongWork } from '../../src/response/turn.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { test } from '../support/halves.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Owner = defineEntity({
  name: 'Owner',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    pets: () => p.oneToMany(Pet).mappedBy('owner').groups('read'),
  },
});
const Pet = defineEntity({
  name: 'Pet',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read'),
    owner: () => p.manyToOne(Owner),
    visits: () => p.oneToMany(Visit).mappedBy('pet').groups('read'),
  },
});
const Visit = defineEntity({
  name: 'Visit',
  properties: { id: p.integer().primary().groups('read'), pet: () => p.manyToOne(Pet) },
});

const pets = 30_000;

describe.each(databases)('an entity with many embedded rows on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;

  beforeAll(async () => {
    database = await freshDatabase(kind);
    app = await startApplication({
      app_main: {
        apis: {
          owner: {
            class: Owner,
            base_path: '/owner',
            actions: { _index: null, _entity: { methods: { GET: true, PATCH: true } } },
          },
        },
      },
      models: [Owner, Pet, Visit],
      databaseUrl: database.url,
    });
    const numbers =
      kind === 'sqlite'
        ? `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${pets}) select i from n`
        : `select i from generate_series(1, ${pets}) as n(i)`;
    const em = app.application.mapper.em.fork();
    await em.execute("insert into owner (id, name) values (1, 'Ada'), (2, 'Grace')");
    await em.execute(`insert into pet (id, name, owner_id) select i, 'pet "' || i || '"', 1 from (${numbers}) as numbers`);
    await em.execute('insert into visit (id, pet_id) values (1, 5), (2, 5), (3, 29999)');
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
    ['GET', '/owner.json', undefined, (json: { results: { pets: object[] }[] }) => json.results[0]?.pets],
  ] as const)('is complete, and other requests are served meanwhile: %s %s', async (method, path, body, petsIn) => {
    const paused = vi.spyOn(LongWork.prototype, 'pause');
    let isOver = false;
    const asked = app.request(method, path, body && { json: body }).finally(() => {
      isOver = true;
    });
    const health = app.request('GET', '/health/live').then(({ status }) => [status, isOver]);
    const { json, status } = await asked;
    expect(status).toBe(200);
    expect(petsIn(json)).toEqual(all);
    expect(await health).toEqual([200, false]);
    expect(paused.mock.calls.length).toBeGreaterThan(0);
    paused.mockRestore();
  });
});
