import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { databases } from '../support/databases.ts';
import { openLibrary, views, type RunningLibrary } from './fixtures/library.ts';
describe.each(databases)('try %s', (kind) => {
  let app: RunningLibrary;
  beforeAll(async () => { app = await openLibrary(kind); });
  afterAll(() => app?.close());
  test('x', async () => {
    console.log(JSON.stringify((await app.request('GET', '/api/books.json?items_per_page=2')).json, null, 1));
    for (const base of ['views', 'ranked']) for (const view of Object.keys(views)) {
      const all: number[] = []; let count = -1; let trouble = '';
      for (let page = 1; page < 40; page++) {
        const r = await app.request('GET', `/api/${base}/${view}/books.json?items_per_page=4&page=${page}`);
        if (r.status !== 200) { trouble = r.text; break; }
        count = r.json.count; all.push(...r.json.results.map((b: any) => b.id));
        if (!r.json.pagination.more) break;
      }
      console.log(kind, base, view, count, all.length, new Set(all).size, trouble, JSON.stringify(all));
    }
    const r = await app.request('GET', '/api/loans.json'); console.log(r.json?.count, r.json?.results?.length, r.text.slice(0, 300));
    const r2 = await app.request('GET', '/api/loan-views/all/loans.json'); console.log(r2.json?.count, r2.json?.results?.length);
    const r3 = await app.request('GET', '/api/loans/6.json'); console.log(r3.text);
    const r4 = await app.request('GET', '/api/loan-views/all/loans/6.json'); console.log(r4.text);
  });
});
