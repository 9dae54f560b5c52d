// Runs the data providers of docs/how-to/admin-interfaces.md against its application.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startApplication, type TestApplication } from '../support/testing.ts';
import { blocksOf, root } from './markdown.ts';

// Inside of the repository, so that packages are found; var/ is not under version control.
const directory = join(root, 'var', `docs-admin-interfaces-${process.pid}`);
let app: TestApplication;

/** test/docs/snippets.test.ts checks the types of both: those of React would add to the types of every other test. */
type Provider = any;

async function providerOf(file: string): Promise<Provider> {
  const { dataProvider } = await import(pathToFileURL(join(directory, file)).href);
  return dataProvider(`${app.url}/api`, () => null);
}

beforeAll(() => {
  for (const { marks, text } of blocksOf('docs/how-to/admin-interfaces.md')) {
    if (!marks.file) continue;
    mkdirSync(dirname(join(directory, marks.file)), { recursive: true });
    writeFileSync(join(directory, marks.file), text);
  }
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

beforeEach(async () => {
  app = await startApplication({ directory });
  const create = (path: string, json: object) => app.request('POST', `/api/${path}.json`, { json });
  for (const name of ['Ada', 'Bea']) await create('author', { name });
  for (const [i, title] of ['Apples', 'Birds', 'Cats', 'Dogs'].entries())
    await create('book', { title, pages: (i + 1) * 100, author: { id: (i % 2) + 1 } });
  return () => app.close();
});

const titles = (rows: readonly { title?: string }[]) => rows.map(({ title }) => title);
const sort = { field: 'id', order: 'ASC' } as const;
const pagination = { page: 1, perPage: 2 };

describe('the data provider of react-admin', () => {
  let provider: Provider;
  beforeEach(async () => {
    provider = await providerOf('react-admin.ts');
  });

  test('lists pages, in an order, with filters and a search', async () => {
    const first = await provider.getList('book', { pagination, sort, filter: {} });
    expect([titles(first.data), first.total]).toEqual([['Apples', 'Birds'], 4]);
    const second = await provider.getList('book', {
      pagination: { page: 2, perPage: 3 },
      sort: { field: 'title', order: 'DESC' },
      filter: {},
    });
    expect(titles(second.data)).toEqual(['Apples']);
    const filter = { pages: { gte: 200 }, author: { id: 2 }, title: { contains: 'S' } };
    expect(titles((await provider.getList('book', { pagination, sort, filter })).data)).toEqual(['Birds', 'Dogs']);
    expect(titles((await provider.getList('book', { pagination, sort, filter: { q: 'cat' } })).data)).toEqual(['Cats']);
  });

  test('gets one row, many rows, and the rows that refer to a row', async () => {
    expect((await provider.getOne('book', { id: 2 })).data.title).toBe('Birds');
    expect(titles((await provider.getMany('book', { ids: [4, 1] })).data).sort()).toEqual(['Apples', 'Dogs']);
    const ids = Array.from({ length: 150 }, (_, i) => i + 1);
    expect((await provider.getMany('book', { ids })).data).toHaveLength(4);
    const params = { target: 'author.id', id: 1, pagination, sort, filter: {} };
    const { data, total } = await provider.getManyReference('book', params);
    expect([titles(data), total]).toEqual([['Apples', 'Cats'], 2]);
  });

  test('creates, updates what has changed, and deletes', async () => {
    const { data: made } = await provider.create('book', { data: { title: 'Eels', author: { id: 1, name: 'Ada' } } });
    expect(made).toMatchObject({ title: 'Eels', author: { id: 1, name: 'Ada' } });
    const data = { ...made, title: 'Eagles', author: { id: 2, name: 'Ada' } };
    const { data: updated } = await provider.update('book', { id: made.id, data, previousData: made });
    expect(updated).toMatchObject({ id: made.id, title: 'Eagles', author: { id: 2, name: 'Bea' } });
    expect(await provider.updateMany('book', { ids: [1, 2], data: { pages: 7 } })).toEqual({ data: [1, 2] });
    expect((await provider.getOne('book', { id: 2 })).data.pages).toBe(7);
    expect((await provider.delete('book', { id: made.id, previousData: updated })).data).toEqual(updated);
    expect(await provider.deleteMany('book', { ids: [1, 2] })).toEqual({ data: [1, 2] });
    expect((await provider.getList('book', { pagination, sort, filter: {} })).total).toBe(2);
  });

  test('reports violations by field, and statuses', async () => {
    const long = provider.create('book', { data: { title: 'x'.repeat(81), author: { id: 1 } } });
    await expect(long).rejects.toMatchObject({ status: 422, body: { errors: { title: expect.stringContaining('80') } } });
    await expect(provider.getOne('book', { id: 99 })).rejects.toMatchObject({ status: 404, message: 'no book has this id' });
    const signal = AbortSignal.abort();
    await expect(provider.getList('book', { pagination, sort, filter: {}, signal })).rejects.toThrow('abort');
  });
});

describe('the data provider of Refine', () => {
  let provider: Provider;
  beforeEach(async () => {
    provider = await providerOf('refine.ts');
  });

  test('lists pages, in an order, with filters, groups and a search', async () => {
    const resource = 'book';
    const sorters = [{ field: 'title', order: 'desc' }] as const;
    const { data, total } = await provider.getList({
      resource,
      pagination: { currentPage: 2, pageSize: 3 },
      sorters: [...sorters],
    });
    expect([titles(data), total]).toEqual([['Apples'], 4]);
    const filtered = async (...filters: object[]) =>
      titles((await provider.getList({ resource, filters: filters as never })).data);
    const long = { field: 'pages', operator: 'gte', value: 300 };
    expect(await filtered(long, { field: 'title', operator: 'contains', value: 'dog' })).toEqual(['Dogs']);
    const either = { operator: 'or', value: [{ field: 'title', operator: 'eq', value: 'Apples' }, long] };
    expect(await filtered(either)).toEqual(['Apples', 'Cats', 'Dogs']);
    expect(await filtered({ field: 'author.id', operator: 'in', value: [2] })).toEqual(['Birds', 'Dogs']);
    expect(await filtered({ field: 'q', operator: 'eq', value: 'bird' })).toEqual(['Birds']);
    await expect(filtered({ field: 'title', operator: 'containss', value: 'x' })).rejects.toThrow('no operator for "containss"');
  });

  test('gets, creates, updates and deletes rows', async () => {
    const resource = 'book';
    expect(provider.getApiUrl()).toBe(`${app.url}/api`);
    expect((await provider.getOne({ resource, id: 2 })).data.title).toBe('Birds');
    expect(titles((await provider.getMany({ resource, ids: [1, 3] })).data)).toEqual(['Apples', 'Cats']);
    const { data: made } = await provider.create({ resource, variables: { title: 'Eels', author: { id: 1, name: 'Ada' } } });
    const id = made.id ?? 0;
    const { data } = await provider.update({ resource, id, variables: { title: 'Eagles' } });
    expect(data).toMatchObject({ id, title: 'Eagles', author: { id: 1 } });
    expect((await provider.deleteOne({ resource, id })).data).toEqual({ id });
    await expect(provider.getOne({ resource, id })).rejects.toMatchObject({ statusCode: 404 });
    const long = provider.create({ resource, variables: { title: 'x'.repeat(81), author: { id: 1 } } });
    await expect(long).rejects.toMatchObject({ statusCode: 422, errors: { title: expect.stringContaining('80') } });
  });
});
