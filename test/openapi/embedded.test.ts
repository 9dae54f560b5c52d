import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openApiDocument } from '../../src/openapi/document.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const both = ['read', 'write'] as const;
const Door = defineEntity({
  name: 'Door',
  embeddable: true,
  properties: {
    colour: p
      .string()
      .nullable()
      .groups(...both),
    width: p
      .integer()
      .nullable()
      .groups(...both),
  },
});
const Roof = defineEntity({ name: 'Roof', embeddable: true, properties: { pitch: p.integer().groups(...both) } });
const Front = defineEntity({
  name: 'Front',
  embeddable: true,
  properties: {
    side: p.string().groups(...both),
    door: () => p.embedded(Door).groups(...both),
    roof: () => p.embedded(Roof).groups(...both),
  },
});
const House = defineEntity({
  name: 'House',
  properties: {
    id: p.integer().primary().groups('read'),
    door: () => p.embedded(Door).groups(...both),
    front: () =>
      p
        .embedded(Front)
        .nullable()
        .groups(...both),
  },
});

describe.each(databases)('an embedded object with only null values on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  beforeAll(async () => {
    database = await freshDatabase(kind);
    const actions = { _index: { methods: { GET: true, POST: true } }, _entity: null };
    app = await startApplication({
      app_main: { apis: { house: { class: House, base_path: '/house', actions } } },
      models: [House, Front, Door, Roof],
      databaseUrl: database.url,
    });
  });
  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });

  test('is null inside a nullable object, as the document describes', async () => {
    const nothing = { colour: null, width: null };
    const json = { door: nothing, front: { side: 'north', door: nothing, roof: { pitch: 30 } } };
    expect((await app.request('POST', '/house.json', { json })).status).toBe(201);
    const { json: shown } = await app.request('GET', '/house/1.json');
    expect(shown).toEqual({ id: 1, door: nothing, front: { side: 'north', door: null, roof: { pitch: 30 } } });
    const { components } = openApiDocument(app.application, { title: 'x', version: '1' }) as any;
    const door = { $ref: '#/components/schemas/Door' };
    expect(components.schemas.Front.properties).toMatchObject({
      door: { anyOf: [door, { type: 'null' }] },
      roof: { $ref: '#/components/schemas/Roof' },
    });
    expect(components.schemas.House.properties.door).toEqual(door);
  });
});
