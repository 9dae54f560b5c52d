import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiController } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Work = defineEntity({
  name: 'Work',
  abstract: true,
  discriminatorColumn: 'kind',
  properties: { id: p.integer().primary().groups('read'), title: p.string().groups('read', 'write') },
});
const Book = defineEntity({
  name: 'Book',
  extends: Work,
  discriminatorValue: 'book',
  properties: { pages: p.integer().nullable().groups('read', 'write') },
});
const Film = defineEntity({
  name: 'Film',
  extends: Work,
  discriminatorValue: 'film',
  properties: { minutes: p.integer().nullable().groups('read', 'write') },
});

/** Makes its API write entities. */
class HookedController extends ApiController {
  override beforeSerialize(): void {}
}

describe.each(databases)('models that do not declare the property of their discriminator, on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  beforeAll(async () => {
    database = await freshDatabase(kind);
    const actions = { _index: { methods: { GET: true, POST: true } }, _entity: { methods: { PATCH: true, PUT: true } } };
    app = await startApplication({
      app_main: {
        database: { url: database.url, schema: 'update' },
        apis: {
          work: { class: 'Work', base_path: '/plain/works', actions },
          film: { class: 'Film', base_path: '/plain/films', actions },
          hooked_work: { class: 'Work', controller: 'HookedController', base_path: '/hooked/works', actions },
          hooked_film: { class: 'Film', controller: 'HookedController', base_path: '/hooked/films', actions },
        },
      },
      models: [Work, Book, Film],
      controllers: [HookedController],
    } as never);
  });
  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });

  test.each(['/plain', '/hooked'])('can be created and changed below %s', async (base) => {
    const send = async (method: string, path: string, sent: unknown) => {
      const { status, json } = await app.request(method, base + path, { json: sent });
      const { id, ...shown } = json as { id: number };
      return { status, id, shown };
    };
    const book = await send('POST', '/works.json', { kind: 'book', title: 'a', pages: 3 });
    expect(book).toMatchObject({ status: 201, shown: { title: 'a', pages: 3 } });
    const film = await send('POST', '/films.json', { title: 'b', minutes: 90 });
    expect(film).toMatchObject({ status: 201, shown: { title: 'b', minutes: 90 } });
    const patched = await send('PATCH', `/works/${book.id}.json`, { title: 'c' });
    expect(patched).toMatchObject({ status: 200, shown: { title: 'c', pages: 3 } });
    const replaced = await send('PUT', `/films/${film.id}.json`, { title: 'd' });
    expect(replaced).toMatchObject({ status: 200, shown: { title: 'd', minutes: null } });
    const films = (await app.request('GET', `${base}/films.json`)).json as { results: { id: number }[] };
    expect(films.results.map(({ id }) => id)).toContain(film.id);
    expect(films.results.map(({ id }) => id)).not.toContain(book.id);
  });
});
