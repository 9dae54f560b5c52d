import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

type Any = any;

function optionsOf(url: string) {
  const Center = defineEntity({
    name: 'Center',
    properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read') },
  });
  const Book = defineEntity({
    name: 'Book',
    properties: {
      id: p.integer().primary().groups('read'),
      title: p.string().groups('read'),
      subtitle: p.text().nullable().groups('read'),
      center: () => (p.manyToOne(Center) as Any).nullable().groups('read'),
    },
  });
  const api = (base_path: string, search: unknown) => ({ class: Book, base_path, actions: { _index: null }, search });
  return {
    app_main: {
      apis: {
        trigram: api('/trigram', { fields: ['title', 'center.name'], using: 'trigram' }),
        fulltext: api('/fulltext', { fields: ['title', 'subtitle'], using: 'fulltext' }),
      },
      database: { url, schema: 'update' },
    },
    models: [Book, Center],
  } as Any;
}

describe.each(databases)('a search with an index on %s', (database) => {
  let fresh: FreshDatabase;
  let app: TestApplication;
  beforeAll(async () => {
    fresh = await freshDatabase(database);
    app = await startApplication(optionsOf(fresh.url));
    const em = app.application.mapper.em.fork() as Any;
    const north = em.create('Center', { id: 1, name: 'North' });
    em.create('Book', { id: 1, title: 'The housing question', subtitle: null, center: north });
    em.create('Book', { id: 2, title: 'A warehouse', subtitle: "It's HOUSING & more" });
    em.create('Book', { id: 3, title: 'Élan', subtitle: 'back\\slash (and) | !more' });
    await em.flush();
  });
  afterAll(async () => {
    await app?.close();
    await fresh?.drop();
  });
  const ids = async (path: string) => {
    const { json, status } = await app.request('GET', path);
    expect([path, status, json.detail]).toEqual([path, 200, undefined]);
    return json.results.map(({ id }: Any) => id);
  };

  test('by trigrams finds the same rows as without an index', async () => {
    expect(await ids('/trigram.json?q=HOUSE')).toEqual([2]);
    expect(await ids('/trigram.json?q=hous+north')).toEqual([1]);
    expect(await ids('/trigram.json?q=éLAN')).toEqual([3]);
    expect(await ids('/trigram.json?q=%25')).toEqual([]);
  });

  test('by full text finds words by prefix on PostgreSQL', async () => {
    expect(await ids('/fulltext.json?q=hous')).toEqual(database === 'postgresql' ? [1, 2] : [1, 2]);
    expect(await ids('/fulltext.json?q=house')).toEqual(database === 'postgresql' ? [] : [2]);
    expect(await ids('/fulltext.json?q=more+ware')).toEqual([2]);
    expect(await ids("/fulltext.json?q=it's")).toEqual([2]);
    for (const word of ["'", '\\', '|', '!', '(', ':*', '&', "a'b\\c"]) {
      expect((await app.request('GET', `/fulltext.json?q=${encodeURIComponent(word)}`)).status).toBe(200);
    }
  });

  test('creates its index once, together with the tables', async () => {
    const em = app.application.mapper.em.fork() as Any;
    if (database === 'sqlite') {
      expect(await em.execute("select name from sqlite_master where sql like '%gin%'")).toEqual([]);
      return;
    }
    const made = async () =>
      (
        await em.execute(
          "select indexdef from pg_indexes where schemaname = 'public' and indexdef like '%USING gin%' order by indexdef",
        )
      ).map((row: Any) => row.indexdef);
    const indexes = await made();
    expect(indexes).toHaveLength(3);
    expect(indexes.join('\n')).toMatch(/ON public.center USING gin \(name gin_trgm_ops\)/);
    expect(indexes.join('\n')).toMatch(/ON public.book USING gin \(title gin_trgm_ops\)/);
    const again = await startApplication(optionsOf(fresh.url));
    expect(again.statements.filter((sql) => /create index|drop index/i.test(sql))).toEqual([]);
    await again.close();
    expect(await made()).toEqual(indexes);
  });

  test('uses its index if there is one', async () => {
    if (database === 'sqlite') {
      expect(await ids('/fulltext.json?q=no+such+title')).toEqual([]);
      return;
    }
    const em = app.application.mapper.em.fork() as Any;
    await em.execute(
      "insert into book (id, title, subtitle) select n, 'title ' || n, 'sub ' || n from generate_series(100, 20000) as n",
    );
    await em.execute('analyze book');
    app.statements.length = 0;
    expect(await ids('/fulltext.json?q=title+19999')).toEqual([19999]);
    const page = app.statements.find((text) => text.includes('to_tsvector')) as string;
    const words = "'''title'':* & ''19999'':*'";
    const plan = await em.execute(
      `explain ${page
        .replace('$1', () => words)
        .replace('$2', '50')
        .replace('$3', '0')}`,
    );
    expect(JSON.stringify(plan)).toContain('book_fulltext');
  });
});
