import { describe, expect, test } from 'vitest';
import { type HookName, hookNames, hookNeeds } from '../../src/actions/hooks.ts';
import { app, pathOf, stores, useRunning } from './application.ts';

/** Every kind of request that runs an action of an API. */
const requests = {
  list: { method: 'GET', path: '.json' },
  'list as XML': { method: 'GET', path: '.xml' },
  'HEAD of a list': { method: 'HEAD', path: '.json' },
  'NDJSON export': { method: 'GET', path: '.ndjson' },
  'CSV export': { method: 'GET', path: '.csv' },
  fetch: { method: 'GET', path: '/1.json' },
  'fetch as CSV': { method: 'GET', path: '/1.csv' },
  'HEAD of an entity': { method: 'HEAD', path: '/1.json' },
  create: { method: 'POST', path: '.json', json: { name: 'new', code: 'N' } },
  PATCH: { method: 'PATCH', path: '/1.json', json: { num: 7 } },
  PUT: { method: 'PUT', path: '/1.json', json: { name: 'new', code: 'N' } },
  DELETE: { method: 'DELETE', path: '/1.json' },
  add: { method: 'POST', path: '/1/tags.json', json: { id: 2 } },
  remove: { method: 'DELETE', path: '/1/tags.json', json: { id: 1 } },
  'GET of a single action': { method: 'GET', path: '/1/work.json' },
  'POST of a single action': { method: 'POST', path: '/1/work.json', json: {} },
  'GET of a collection action': { method: 'GET', path: '/all.json' },
  'POST of a collection action': { method: 'POST', path: '/all.json', json: {} },
} as const;

type RequestName = keyof typeof requests;

const lists = {
  list: 'page',
  'list as XML': 'page',
  'HEAD of a list': 'page',
  'NDJSON export': 'page',
  'CSV export': 'page',
} as const;
const fetches = { fetch: '', 'fetch as CSV': '', 'HEAD of an entity': '' } as const;
const found = 'Item 1';

/**
 * What each hook is called with, as `<action> <value>`, during each request; a request that is left out does not call it. A hook that is
 * left out does not compile.
 */
const expected = {
  customizeQuery: {
    ...each(lists, '_index Item'),
    ...each(fetches, '_entity Item'),
    ...each(['PATCH', 'PUT', 'DELETE'], '_entity Item'),
    ...each(['add', 'remove'], 'tags Item'),
    ...each(['GET of a single action', 'POST of a single action'], 'work Item'),
  },
  afterFetch: {
    ...each(lists, '_index [1,2,3]'),
    ...each(fetches, `_entity ${found}`),
    ...each(['PATCH', 'PUT', 'DELETE'], `_entity ${found}`),
    ...each(['add', 'remove'], `tags ${found}`),
    ...each(['GET of a single action', 'POST of a single action'], `work ${found}`),
  },
  checkAccess: {
    ...each(lists, '_index null'),
    create: '_index null',
    ...each(fetches, `_entity ${found}`),
    ...each(['PATCH', 'PUT', 'DELETE'], `_entity ${found}`),
    ...each(['add', 'remove'], `tags ${found}`),
    ...each(['GET of a single action', 'POST of a single action'], `work ${found}`),
    ...each(['GET of a collection action', 'POST of a collection action'], 'all null'),
  },
  afterAccessCheck: {
    ...each(lists, '_index null'),
    create: '_index null',
    ...each(fetches, `_entity ${found}`),
    ...each(['PATCH', 'PUT', 'DELETE'], `_entity ${found}`),
    ...each(['add', 'remove'], `tags ${found}`),
    ...each(['GET of a single action', 'POST of a single action'], `work ${found}`),
    ...each(['GET of a collection action', 'POST of a collection action'], 'all null'),
  },
  validate: {
    create: 'Item',
    ...each(['PATCH', 'PUT', 'add', 'remove'], found),
  },
  beforeValidation: {
    create: '_index Item',
    ...each(['PATCH', 'PUT'], `_entity ${found}`),
    ...each(['add', 'remove'], `tags ${found}`),
  },
  afterValidation: {
    create: '_index Item',
    ...each(['PATCH', 'PUT'], `_entity ${found}`),
    ...each(['add', 'remove'], `tags ${found}`),
  },
  afterCommit: {
    create: '_index Item 4',
    ...each(['PATCH', 'PUT', 'DELETE'], `_entity ${found}`),
    ...each(['add', 'remove'], `tags ${found}`),
  },
  beforeSerialize: {
    ...each(lists, '_index page [1,2,3]'),
    ...each(fetches, `_entity ${found}`),
    create: '_index JsonReply',
    ...each(['PATCH', 'PUT'], `_entity ${found}`),
    DELETE: '_entity JsonReply',
    ...each(['add', 'remove'], 'tags JsonReply'),
    ...each(['GET of a single action', 'POST of a single action'], 'work Object'),
    ...each(['GET of a collection action', 'POST of a collection action'], 'all Object'),
  },
} satisfies Record<HookName, Partial<Record<RequestName, string>>> as Record<HookName, Partial<Record<RequestName, string>>>;

function each(names: readonly RequestName[] | object, value: string): Partial<Record<RequestName, string>> {
  return Object.fromEntries((Array.isArray(names) ? names : Object.keys(names)).map((name) => [name, value]));
}

/** The statuses without a hook that ends the request. */
const statuses: Partial<Record<RequestName, number>> = { create: 201, DELETE: 204 };

describe.each(stores)('a controller with one hook, through $store', ({ compiledReads }) => {
  const running = useRunning(compiledReads);

  async function send(hook: HookName, name: RequestName) {
    const { method, path, ...body } = requests[name];
    const { status, text, headers } = await running.request(method, pathOf(hook) + path, body);
    const called = app.calls.filter((call) => call.startsWith(`${hook} `)).map((call) => call.slice(hook.length + 1));
    return { status, text, headers, called };
  }

  describe.each(hookNames)('%s', (hook) => {
    test.each(Object.keys(requests) as RequestName[])('is called at most once: %s', async (name) => {
      const { called, status } = await send(hook, name);
      const wanted = expected[hook][name];
      expect({ called, status }).toEqual({ called: wanted === undefined ? [] : [wanted], status: statuses[name] ?? 200 });
    });

    test.each(Object.keys(expected[hook]) as RequestName[])('can end the request: %s', async (name) => {
      const before = await running.rows();
      app.reply = hook;
      const { called, headers, status, text } = await send(hook, name);
      expect(called).toHaveLength(1);
      if (hook === 'validate') {
        expect([status, JSON.parse(text).violations]).toMatchObject([422, [{ propertyPath: 'num', title: 'is wrong' }]]);
      } else if (hookNeeds[hook].replies && hook !== 'customizeQuery') {
        expect([status, headers.get('x-by')]).toEqual([202, hook]);
        if (requests[name].method !== 'HEAD') expect(text).toContain(hook);
      } else {
        expect([status, headers.get('x-by')]).toEqual([statuses[name] ?? 200, null]);
      }
      // what comes before the write leaves everything as it was
      const isBefore = !['afterCommit', 'beforeSerialize', 'customizeQuery', 'checkAccess'].includes(hook);
      if (isBefore) expect(await running.rows()).toEqual(before);
    });
  });

  test('customizeQuery hides rows from every action', async () => {
    const base = pathOf('customizeQuery');
    for (const name of [
      'fetch',
      'HEAD of an entity',
      'PATCH',
      'PUT',
      'DELETE',
      'add',
      'remove',
      'GET of a single action',
    ] as const) {
      const { method, path, ...body } = requests[name];
      const { status } = await running.request(method, base + path.replace('/1', '/3'), body);
      expect([name, status]).toEqual([name, 404]);
    }
    expect((await running.request('GET', `${base}.json`)).json).toMatchObject({ count: 2, results: [{ id: 1 }, { id: 2 }] });
  });
});
