import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiController } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Note = defineEntity({
  name: 'Note',
  properties: {
    id: p.integer().primary().groups('read'),
    title: p.string().groups('read', 'write'),
    text: p.text().nullable().lazy().groups('read', 'write'),
    data: p.json().nullable().lazy().groups('read', 'write'),
    version: p.integer().version().groups('read'),
  },
});

/** Makes its API write entities. */
class HookedController extends ApiController {
  override beforeSerialize(): void {}
}

describe.each(databases)('lazy columns on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  beforeAll(async () => {
    database = await freshDatabase(kind);
    const bulk = { POST: true, PATCH: true };
    const actions = {
      _index: { methods: { POST: true, PATCH: true }, bulk },
      _entity: { methods: { PATCH: true, PUT: true } },
    };
    app = await startApplication({
      app_main: {
        apis: {
          note: { class: Note, base_path: '/notes', actions },
          hooked: { class: Note, base_path: '/hooked', controller: HookedController, actions },
        },
      } as never,
      models: [Note],
      controllers: [HookedController],
      databaseUrl: database.url,
    });
  });
  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });

  describe.each(['/notes', '/hooked'])('at %s', (path) => {
    const made = async (json: object) => (await app.request('POST', `${path}.json`, { json })).json;

    test('are merged with the stored JSON, and written once', async () => {
      const { id, version } = await made({ title: 'a', text: 't', data: { a: 1, b: { c: 1 } } });
      expect(version).toBe(1);
      const patch = (json: object) => app.request('PATCH', `${path}/${id}.json`, { json });
      expect((await patch({ data: { b: { d: 2 } }, text: 'u' })).json).toEqual({
        id,
        title: 'a',
        text: 'u',
        data: { a: 1, b: { c: 1, d: 2 } },
        version: 2,
      });
      expect((await patch({ data: { a: null } })).json).toMatchObject({ data: { b: { c: 1, d: 2 } }, text: 'u', version: 3 });
    });

    test('are merged in lists as well', async () => {
      const ids = [await made({ title: 'a', data: { a: 1 } }), await made({ title: 'b', data: { b: 1 } })].map(({ id }) => id);
      const items = ids.map((id) => ({ id, data: { c: 1 } }));
      for (const json of [items, items.slice(0, 1)]) {
        const { results } = (await app.request('PATCH', `${path}.json`, { json })).json;
        const expected = [
          { id: ids[0], data: { a: 1, c: 1 }, version: 2 },
          { id: ids[1], data: { b: 1, c: 1 }, version: 2 },
        ];
        expect(results).toMatchObject(expected.slice(0, json.length));
      }
    });

    test('make a new version only if PUT changes them', async () => {
      const { id } = await made({ title: 'a' });
      const put = async () => (await app.request('PUT', `${path}/${id}.json`, { json: { title: 'a', text: 'x' } })).json;
      expect([await put(), await put()]).toMatchObject([
        { text: 'x', version: 2 },
        { text: 'x', version: 2 },
      ]);
    });
  });
});
