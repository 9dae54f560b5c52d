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
    size: p.integer().defaultRaw('7').groups('read', 'write'),
    hint: p.string().nullable().defaultRaw("'by default'").groups('read', 'write'),
    label: p
      .string()
      .nullable()
      .onCreate(() => 'made')
      .groups('read', 'write'),
  },
});

/** Makes its API write entities. */
class HookedController extends ApiController {
  override beforeSerialize(): void {}
}

describe.each(databases)('values of a new row on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  beforeAll(async () => {
    database = await freshDatabase(kind);
    const actions = { _index: { methods: { POST: true }, bulk: { POST: true } }, _entity: null };
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

  describe.each(['/notes.json', '/hooked.json'])('at %s', (path) => {
    test('are the defaults in SQL of columns that other rows of the list set', async () => {
      const rows = [{ title: 'a' }, { title: 'b', size: 1 }, { title: 'c', hint: 'own' }, { title: 'd', hint: null }];
      const { json, status } = await app.request('POST', path, { json: rows });
      expect(status).toBe(201);
      const expected = [
        { title: 'a', size: 7, hint: 'by default' },
        { title: 'b', size: 1, hint: 'by default' },
        { title: 'c', size: 7, hint: 'own' },
        { title: 'd', size: 7, hint: null },
      ];
      expect(json.results).toEqual(expected.map((row) => ({ id: expect.any(Number), label: 'made', ...row })));
    });

    test('are made by onCreate if the body has null', async () => {
      const { json } = await app.request('POST', path, { json: { title: 'a', label: null } });
      expect(json).toMatchObject({ label: 'made' });
      const list = await app.request('POST', path, { json: [{ title: 'a', label: null }] });
      expect(list.json.results).toMatchObject([{ label: 'made' }]);
    });
  });
});
