import { type Collection, defineEntity, p, wrap } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { test } from '../support/halves.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Owner = defineEntity({
  name: 'Owner',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read'),
    since: p.datetime(3).nullable(),
    data: p.json<{ level: number }>().nullable(),
  },
});
const Cover = defineEntity({
  name: 'Cover',
  embeddable: true,
  properties: {
    color: p.string().groups('read'),
    note: p.string().hidden().nullable(),
  },
});
const Page = defineEntity({
  name: 'Page',
  properties: {
    id: p.integer().primary().groups('read'),
    text: p.string().groups('read'),
    book: () => p.manyToOne(Book),
  },
});
const schema = defineEntity({
  name: 'Book',
  properties: {
    id: p.integer().primary().groups('read'),
    title: p.string().groups('read', 'write'),
    size: p.integer().default(0).groups('read'),
    printed: p.datetime(3).nullable().groups('read'),
    data: p.json<{ level: number }>().nullable().groups('read'),
    cover: p.embedded(Cover).groups('read'),
    owner: () => p.manyToOne(Owner).nullable().groups('read', 'write'),
    pages: () => p.oneToMany(Page).mappedBy('book').groups('read'),
  },
});

/** A book whose rule does more or less, as its title says. */
class Book extends schema.class {
  async validate() {
    const pages = this.pages as unknown as Collection<{ text: string }>;
    const owner = this.owner as unknown as { name: string };
    if (this.title === 'noting') this.cover.note = 'noted';
    if (this.title === 'counting') this.size = (await pages.loadItems()).length;
    if (this.title === 'rewriting') for (const page of await pages.loadItems()) page.text = 'rewritten';
    if (this.title === 'naming' || this.title === 'renaming') {
      await wrap(owner).init();
      if (this.title === 'renaming') owner.name = 'renamed';
      else this.size = owner.name.length;
    }
    return [];
  }
}
schema.setClass(Book);

describe.each(databases)('rules that load more than their own row, on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  beforeAll(async () => {
    database = await freshDatabase(kind);
    app = await startApplication({
      models: [Cover, Owner, Page, Book],
      app_main: {
        database: { url: database.url, schema: 'update' },
        apis: { book: { class: Book, base_path: '/book', actions: { _entity: { methods: { GET: true, PATCH: true } } } } },
      },
    });
    const em = app.application.mapper.em.fork();
    const rest = { since: new Date(0), data: { level: 1 } };
    await em.insertMany(Owner, [
      { id: 1, name: 'one', ...rest },
      { id: 2, name: 'another', ...rest },
    ]);
    await em.insert(Book, {
      id: 1,
      title: 'a',
      size: 0,
      owner: 1,
      printed: new Date(0),
      data: { level: 1 },
      cover: { color: 'red', note: null },
    } as never);
    await em.insertMany(Page, ['p', 'q'].map((text, i) => ({ id: i + 1, text, book: 1 })) as never);
  });
  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });

  const patch = (json: object) => app.request('PATCH', '/book/1.json', { json });
  const stored = async () => (await app.request('GET', '/book/1.json')).json;

  test('may read loaded rows', async () => {
    const response = await patch({ title: 'counting' });
    expect(response.json).toMatchObject({ size: 2, printed: '1970-01-01T00:00:00.000Z', data: { level: 1 } });
    expect(response.json).toEqual(await stored());
  });

  test('may load a referenced row, whether the body or the stored row refers to it', async () => {
    expect((await patch({ title: 'naming' })).json.size).toBe(3);
    expect((await patch({ title: 'naming', owner: { id: 2 } })).json.size).toBe(7);
    expect(await stored()).toMatchObject({ size: 7, owner: { id: 2 } });
  });

  test('may change a hidden field of an embedded object', async () => {
    const { status } = await patch({ title: 'noting' });
    const notes = await app.application.mapper.em.fork().execute('select cover_color, cover_note from book');
    expect({ status, notes }).toEqual({ status: 200, notes: [{ cover_color: 'red', cover_note: 'noted' }] });
  });

  test.each([
    ['an item of an association', 'rewriting'],
    ['a referenced row', 'renaming'],
  ])('return 500 and write nothing if they change %s', async (_, title) => {
    const before = await stored();
    expect((await patch({ title })).status).toBe(500);
    expect(await stored()).toEqual(before);
  });
});
