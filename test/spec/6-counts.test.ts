import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { ApiController, type ApiRequest, type ModelQuery } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { test } from '../support/halves.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Item = defineEntity({
  name: 'Item',
  properties: { id: p.integer().primary().groups('read'), part: p.integer().groups('read'), bulk: p.boolean() },
});

/** What the path names: a part of the items, some of them joined, grouped or cut. */
class PartController extends ApiController {
  override customizeQuery(_action: string, request: ApiRequest, query: ModelQuery<object>): void {
    const { part } = request.params as { part: string };
    query.andWhere({ bulk: false } as never);
    if (part === 'limited') query.limit(9);
    else if (part !== 'all') query.andWhere({ part: Number(part) } as never);
  }

  searchApi(request: ApiRequest): unknown {
    return this.paginate('search', request, this.em.createQueryBuilder(Item, 'i').where({ bulk: false }));
  }
}

const controller = PartController;
const search = { search: { methods: { GET: true }, 'single-collection': 'collection' } } as const;
const list = (count: 'exact' | 'estimated' | { capped: number }, base_path: string) =>
  ({ class: Item, base_path, controller, pagination: { count }, actions: { _index: null, ...search } }) as const;

const apis = {
  exact: list('exact', '/exact/{part}'),
  inherited: { class: Item, base_path: '/inherited/{part}', controller, actions: { _index: null } },
  cut: list({ capped: 8 }, '/cut/{part}'),
  even: list({ capped: 20 }, '/even/{part}'),
  over: list({ capped: 1000 }, '/over/{part}'),
  estimated: list('estimated', '/estimated/{part}'),
  plain: { class: Item, base_path: '/plain', pagination: { count: 'exact' }, actions: { _index: null } },
  plain_cut: { class: Item, base_path: '/plain-cut', pagination: { count: { capped: 8 } }, actions: { _index: null } },
  plain_estimated: { class: Item, base_path: '/plain-estimated', pagination: { count: 'estimated' }, actions: { _index: null } },
} as const;

const small = 20;
const bulk = 15_000;

describe.each(databases)('counts on %s', (database) => {
  let fresh: FreshDatabase;
  let apps: readonly TestApplication[];
  beforeAll(async () => {
    fresh = await freshDatabase(database);
    const start = (compiledReads: boolean) =>
      startApplication({
        app_main: {
          apis,
          pagination: { items_per_page: 6, count: { capped: 8 } },
          database: { url: fresh.url, schema: compiledReads ? 'none' : 'update' },
        },
        models: [Item],
        controllers: [PartController],
        compiledReads,
      });
    const plain = await start(false);
    apps = [await start(true), plain];
    const em = plain.application.mapper.em.fork();
    const series =
      database === 'postgresql'
        ? `select n, n % 4, n > ${small} from generate_series(1, ${small + bulk}) as n`
        : `with recursive s(n) as (select 1 union all select n + 1 from s where n < ${small + bulk}) select n, n % 4, n > ${small} from s`;
    await em.execute(`insert into item (id, part, bulk) ${series}`);
    if (database === 'postgresql') await em.execute('analyze item');
  });
  afterAll(async () => {
    for (const app of apps ?? []) await app.close();
    await fresh?.drop();
  });

  async function page(path: string) {
    const texts = [];
    for (const { app } of apps) {
      const { body, statusCode } = await app.inject(path);
      expect([path, statusCode]).toEqual([path, 200]);
      texts.push(body);
    }
    expect(texts[0]).toBe(texts[1]);
    return JSON.parse(texts[0] as string);
  }

  async function walk(path: string) {
    const pages = [];
    for (let at: string | null = path; at !== null; at = pages.at(-1).pagination.next) pages.push(await page(at));
    return pages;
  }

  test('are exact by default, without count_is', async () => {
    const { count, results, pagination, ...rest } = await page('/exact/all.json');
    expect([count, results.length, pagination.more, rest]).toEqual([small, 6, true, {}]);
    expect(Object.keys(await page('/plain.json'))).toEqual(['count', 'results', 'pagination']);
    expect((await page('/plain.json')).count).toBe(small + bulk);
  });

  test.each([
    ['/exact/all.json', small],
    ['/cut/all.json', small],
    ['/cut/limited.json', 9],
    ['/cut/1.json', 5],
    ['/over/all.json', small],
    ['/estimated/all.json', small],
    ['/cut/all/search.json', small],
    ['/plain-cut.json', small + bulk],
    ['/plain-estimated.json', small + bulk],
  ])('make a page past the end link to the last page with rows: %s', async (path, rows) => {
    for (const size of [1, 3, 6]) {
      const last = Math.ceil(rows / size);
      for (const asked of [last + 1, last + 2, last + 90]) {
        const { pagination, results } = await page(`${path}?items_per_page=${size}&page=${asked}`);
        expect([results, pagination.more]).toEqual([[], false]);
        expect(pagination.previous).toBe(`${path}?items_per_page=${size}&page=${last}`);
      }
      expect((await page(`${path}?items_per_page=${size}&page=${last}`)).results).not.toEqual([]);
    }
  });

  test('follow the application setting if the API has none', async () => {
    expect(await page('/inherited/all.json')).toMatchObject({ count: 8, count_is: 'capped' });
  });

  test('stop at the configured cap, and report it if there are more rows', async () => {
    expect(Object.keys(await page('/cut/all.json'))).toEqual(['count', 'count_is', 'results', 'pagination']);
    expect(await page('/cut/all.json')).toMatchObject({ count: 8, count_is: 'capped' });
    expect(await page('/plain-cut.json')).toMatchObject({ count: 8, count_is: 'capped' });
    expect(await page('/cut/1.json')).toMatchObject({ count: 5 });
    expect(await page('/cut/1.json')).not.toHaveProperty('count_is');
    for (const path of ['/even/all.json', '/over/all.json']) {
      expect(await page(path)).toMatchObject({ count: small });
      expect(await page(path)).not.toHaveProperty('count_is');
    }
    expect(await page('/cut/limited.json')).toMatchObject({ count: 8, count_is: 'capped' });
    expect(await page('/over/limited.json')).toMatchObject({ count: 9 });
  });

  test.each(['/cut/all.json', '/cut/limited.json', '/estimated/all.json', '/cut/all/search.json'])(
    'do not break links beyond the cap: %s',
    async (path) => {
      const expected = path.includes('limited') ? 9 : small;
      for (const size of [1, 3, 5, 10, expected]) {
        const pages = await walk(`${path}?items_per_page=${size}`);
        expect(pages).toHaveLength(Math.ceil(expected / size));
        expect(pages.flatMap(({ results }) => results.map(({ id }: { id: number }) => id))).toEqual(
          Array.from({ length: expected }, (_, i) => i + 1),
        );
        const numbered = await page(`${path}?items_per_page=${size}&page=${pages.length}`);
        expect(numbered).toMatchObject({ results: pages.at(-1).results, pagination: { more: false, next: null } });
      }
      const beyond = await page(`${path}?page=90`);
      expect([beyond.results, beyond.pagination.more, beyond.pagination.next]).toEqual([[], false, null]);
    },
  );

  test('are estimated only for many rows, and only on PostgreSQL', async () => {
    const few = await page('/estimated/all.json');
    expect([few.count, few.count_is]).toEqual([small, undefined]);
    const many = await page('/plain-estimated.json');
    if (database === 'sqlite') return expect([many.count, many.count_is]).toEqual([small + bulk, undefined]);
    expect(many.count_is).toBe('estimated');
    expect(many.count).toBeGreaterThan((small + bulk) * 0.5);
    expect(many.count).toBeLessThan((small + bulk) * 2);
    expect(many.pagination.more).toBe(true);
    // the last page tells what there is
    const last = await page(`/plain-estimated.json?items_per_page=200&page=${Math.ceil((small + bulk) / 200)}`);
    expect([last.count, last.count_is, last.pagination.more]).toEqual([small + bulk, undefined, false]);
  });

  test('are not queried if the page determines them, and stay correct after changes', async () => {
    const [compiled, plain] = apps as [TestApplication, TestApplication];
    const counted = async (path: string) => {
      compiled.statements.length = 0;
      const { count } = (await compiled.app.inject(path)).json();
      return [count, compiled.statements.filter((sql) => /count\(/.test(sql)).length];
    };
    await counted('/exact/2.json');
    expect(await counted('/exact/2.json')).toEqual([5, 0]);
    expect(await counted('/exact/2.json?page=1&items_per_page=5')).toEqual([5, 1]);
    expect(await counted('/exact/all.json?page=4')).toEqual([20, expect.any(Number)]);
    expect(await counted('/exact/all.json?page=4')).toEqual([20, 0]);
    expect(await counted('/exact/all.json?page=5')).toEqual([20, 1]);
    const em = plain.application.mapper.em.fork();
    await em.execute('update item set part = 2 where id in (1, 3, 5)');
    expect(await counted('/exact/2.json')).toEqual([8, 1]);
    await em.execute('update item set part = 1 where id in (1, 5)');
    await em.execute('update item set part = 3 where id = 3');
    expect((await counted('/exact/2.json'))[0]).toBe(5);
    expect(await counted('/exact/77.json')).toEqual([0, expect.any(Number)]);
    expect(await counted('/exact/77.json')).toEqual([0, 0]);
  });
});
