import { beforeEach, expect, test } from 'vitest';
import { aggregateAction } from '../../src/actions/aggregate.ts';
import { withParameters } from '../../src/actions/parameters.ts';

type Any = any;

/** The steps of a request, in order, and what each returns. */
let steps: unknown[][] = [];
let results: Record<string, unknown> = {};
const step =
  (name: string): Any =>
  (...given: unknown[]) => {
    steps.push([name, ...given]);
    const result = results[name];
    if (result instanceof Error) throw result;
    return result;
  };

const groups = { read: ['read'], embedded: [], write: [] };
const plan = { csvColumns: [['season'], ['n']] };
const list = { readAggregate: step('readAggregate'), plan: { ownSort: 'sort' } };
const api: Any = {
  framework: {
    declaration: { server: { baseUrl: 'https://api.example' } },
    tags: { ofAny: step('tag') },
    responses: { admit: step('admit') },
  },
  api: { pagination: { itemsPerPage: 50, maxItemsPerPage: 200, maxOffset: 0 } },
  overrides: new Set(),
  restricts: false,
  guardOf: (...given: unknown[]) => {
    steps.push(['guardOf', ...given]);
    return { check: step('check') };
  },
  grantsOf: (...given: unknown[]) => {
    steps.push(['grantsOf', ...given]);
    return { ofCollection: step('ofCollection') };
  },
  listOf: (...given: unknown[]) => {
    steps.push(['listOf', ...given]);
    return list;
  },
};
const store: Any = { page: step('page') };

async function run(format: string, query: object = {}, runtime: Any = api) {
  const handler: Any = aggregateAction(runtime, store, 'HEAD', format as Any);
  const request: Any = { method: 'HEAD', headers: {}, query, url: '/item.json?by=season' };
  withParameters((() => undefined) as Any, { names: ['year'], read: () => ({}) } as Any).beforeBody?.(request);
  const sent: string[] = [];
  const reply: Any = { header: (name: string, value: string) => sent.push(`${name}: ${value}`) };
  const body = await handler(request, reply).catch((error: Any) => {
    sent.push(error.message);
    return error.code ?? error.message;
  });
  return { body, request, sent };
}

const asked = { plan, condition: 'condition', sort: 'sort' };

beforeEach(() => {
  steps = [];
  results = {
    ofCollection: Promise.resolve(groups),
    readAggregate: { condition: 'condition', maxGroups: 2, plan },
    page: Promise.resolve({ count: 3, results: '{"season":1,"n":2},{"season":2,"n":1}' }),
    tag: '"t"',
  };
});

test('a page of groups is sent, once access to the list was granted', async () => {
  const query = { by: 'season' };
  const { body, request, sent } = await run('json', query);
  expect(JSON.parse(body)).toEqual({
    count: 3,
    results: [
      { season: 1, n: 2 },
      { season: 2, n: 1 },
    ],
    pagination: {
      more: true,
      next: 'https://api.example/item.json?by=season&page=2',
      previous: null,
      first: 0,
      items_per_page: 2,
    },
  });
  expect(sent).toEqual(['etag: "t"', 'content-type: application/json; charset=utf-8']);
  expect(steps.slice(0, -1)).toEqual([
    ['grantsOf', '_index', 'HEAD'],
    ['guardOf', '_index', 'HEAD'],
    ['check', null, null, request],
    ['ofCollection', request],
    ['listOf', '_index', groups],
    ['readAggregate', query, ['year'], true],
    ['page', request, null, { ...asked, limit: 2, offset: 0 }],
    ['tag', body, null],
  ]);
  results.check = new Error('denied');
  steps = [];
  expect((await run('json')).body).toBe('denied');
  expect(steps.map(([name]) => name)).toEqual(['grantsOf', 'guardOf', 'check']);
});

test('a page has at most as many groups as the list permits', async () => {
  const { request } = await run('json', { page: '3', items_per_page: '1' });
  expect(steps).toContainEqual(['page', request, null, { ...asked, limit: 1, offset: 2 }]);
  const { body } = await run('json', { page: '9' });
  expect(JSON.parse(body).pagination.previous).toBe('https://api.example/item.json?by=season&page=2');
  expect((await run('json', { items_per_page: '3' })).body).toBe('invalid_parameter');
});

test('the groups are those of the rows that customizeQuery of the list selects', async () => {
  results.customizeQuery = new Error('no rows');
  const { body, request } = await run('json', {}, { ...api, restricts: true, hooks: { customizeQuery: step('customizeQuery') } });
  expect(body).toBe('no rows');
  expect(steps.at(-1)?.slice(0, 3)).toEqual(['customizeQuery', '_index', request]);
});

test('an export has all groups, if the list permits as many', async () => {
  results.page = Promise.resolve({ count: 2, results: '{"season":1,"n":2},{"season":2,"n":1}' });
  const { body, request, sent } = await run('csv');
  expect(body.replaceAll('\r\n', '\n')).toBe('season,n\n1,2\n2,1\n');
  expect(sent).toContain('content-type: text/csv; charset=utf-8; header=present');
  expect(steps).toContainEqual(['readAggregate', {}, ['year'], false]);
  expect(steps).toContainEqual(['page', request, null, { ...asked, limit: 2, offset: 0 }]);
  expect((await run('csv', { page: '2' })).body).toBe('invalid_parameter');
  expect((await run('csv', { items_per_page: '1' })).body).toBe('invalid_parameter');
  results.page = Promise.resolve({ count: 3, results: '' });
  const refused = await run('csv');
  expect([refused.body, refused.sent]).toEqual(['aggregate_too_large', [expect.stringContaining('2')]]);
});
