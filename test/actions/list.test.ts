import { expect, test } from 'vitest';
import { listAction, listEntities } from '../../src/actions/list.ts';
import { withParameters } from '../../src/actions/parameters.ts';
import type { ActiveGroups } from '../../src/model/groups.ts';
import { JsonReply } from '../../src/response/json-reply.ts';
import { stateOf } from '../../src/store/request-state.ts';

type Any = any;

/** The steps of a request, in order. */
let steps: unknown[] = [];
const step =
  (name: string, result?: unknown, ...shown: ((given: Any[]) => unknown)[]): Any =>
  (...given: unknown[]) => {
    steps.push([name, ...shown.map((show) => show(given))].join(' '));
    if (result instanceof Error) throw result;
    return typeof result === 'function' ? result() : result;
  };

const groupsOf = (name: string): ActiveGroups => ({ read: [name], embedded: [], write: [] });
const [all, own] = ['all', 'own'].map(groupsOf) as [ActiveGroups, ActiveGroups];

/** What the action finds and decides. */
interface Given {
  readonly grants?: object;
  readonly json?: unknown;
  readonly tag?: unknown;
  readonly check?: unknown;
  readonly format?: string;
  readonly counted?: object;
  readonly query?: object;
  readonly choice?: Map<string, null>;
  /** The hooks of the controller, and what each returns. */
  readonly hooks?: Readonly<Record<string, unknown>>;
}

const counted = { count: 3, is: 'exact' };
const byRole = { fixed: null, ofCollection: step('ofCollection', Promise.resolve(own)) };

const meta = { className: 'Item', root: { tableName: 'item' } };
const entity = Object.defineProperty({ b: 1 }, '__helper', { value: { __meta: { class: 'Item' } } });

function partsOf(given: Given) {
  const { check, choice = null, grants = { fixed: all }, hooks = {}, json = '{"a":1},{"a":2}', tag = '"t"' } = given;
  const framework: Any = {
    mapper: { em: { fork: () => ({ getMetadata: () => ({ get: step('populate', meta) }) }) } },
    visibilityOf: () => ({}),
    declaration: { server: { baseUrl: 'https://api.example' } },
    tags: { ofAny: step('tag', tag, ([body, mark]) => `${body.length} ${mark}`) },
    responses: { admit: step('admit'), makeRoom: step('makeRoom', undefined, ([, , length, part]) => `${length} ${part}`) },
    serializer: step(
      'serializer',
      {
        planFor: () => ({ variants: new Map() }),
        planInside: () => ({ variants: new Map() }),
        serialize: (value: unknown) => value,
      },
      ([groups]) => groups.read,
    ),
  };
  const list = {
    read: (query: object, names: string[]) => {
      steps.push(`read ${Object.keys(query)} of ${names}`);
      return { condition: null, choice };
    },
    planOf: () => ({ seek: null }),
  };
  const api: Any = {
    framework,
    hooks: Object.fromEntries(
      ['afterFetch', 'beforeSerialize', 'afterAccessCheck'].map((name) => [
        name,
        step(name, hooks[name], ([action, , value]) => `${action} ${JSON.stringify(value)}`),
      ]),
    ),
    overrides: new Set(Object.keys(hooks)),
    meta,
    api: { pagination: { itemsPerPage: 2, maxItemsPerPage: 200 } },
    listOf: step('listOf', list, ([action, groups]) => `${action} ${groups.read}`),
    grantsOf: step('grantsOf', grants, (each) => each.join()),
    guardOf: step('guardOf', { check: step('check', check, ([subject]) => subject) }, (each) => each.join()),
    restricts: false,
  };
  const page = {
    counted: given.counted ?? counted,
    edges: {},
    entities: [entity],
    json: step('json', json),
  };
  const storeFor = (groups: ActiveGroups): Any => ({
    page: async (_request: unknown, restriction: unknown, { asked, pace, window }: Any) => {
      steps.push(`page ${groups.read} ${restriction} ${asked.condition} ${JSON.stringify(window)}`);
      await pace?.(10, 0.5);
      return page;
    },
  });
  return { api, storeFor };
}

function handlerOf(given: Given) {
  const { api, storeFor } = partsOf(given);
  return listAction(api, storeFor, 'GET', (given.format ?? 'json') as Any);
}

async function run(given: Given) {
  steps = [];
  const handler: Any = handlerOf(given);
  steps = [];
  const query = given.query ?? {};
  const request: Any = { method: 'GET', headers: {}, query, url: '/item.json?x=1' };
  const read = () => {
    steps.push('parameters');
    return {};
  };
  withParameters((() => undefined) as Any, { names: ['season'], read } as Any).beforeBody?.(request);
  const sent: unknown[] = [];
  const reply: Any = {
    header: (name: string, value: string) => sent.push(`${name}: ${value}`),
    code: () => reply,
    headers: (headers: object) => {
      sent.push(...Object.entries(headers).map((each) => each.join(': ')));
      return reply;
    },
    send: (body: unknown) => body,
  };
  const body = await handler(request, reply).catch((error: Any) => error.code ?? error.message);
  return { body, sent, steps };
}

const pagination = {
  more: true,
  next: 'https://api.example/item.json?x=1&page=2',
  previous: null,
  first: 0,
  items_per_page: 2,
};
const pageOf = (count: object) => JSON.stringify({ ...count, results: [{ a: 1 }, { a: 2 }], pagination });

const found = ['read  of season', 'page all null null {"offset":0,"limit":2}', 'makeRoom 10 0.5', 'json'];

test('the action and method decide about roles and groups', () => {
  steps = [];
  handlerOf({});
  expect([...steps].sort()).toEqual(['grantsOf _index,GET', 'guardOf _index,GET']);
});

test.each<[string, Given, string[]]>([
  ['every caller has the same groups', {}, ['check ', 'parameters', 'listOf _index all', ...found]],
  [
    'the check, the rows and the tag take time',
    { check: Promise.resolve(), json: Promise.resolve('{"a":1},{"a":2}'), tag: Promise.resolve('"t"') },
    ['check ', 'parameters', 'listOf _index all', ...found],
  ],
  [
    'roles decide about groups',
    { grants: byRole },
    ['check ', 'parameters', 'ofCollection', 'listOf _index own', ...found.map((each) => each.replace('all', 'own'))],
  ],
  [
    'the controller has a hook after the check',
    { hooks: { afterAccessCheck: undefined } },
    ['guardOf _index,GET', 'check ', 'parameters', 'afterAccessCheck _index null', 'listOf _index all', ...found],
  ],
])('a page is found and sent if %s', async (_, given, expected) => {
  const { body, sent, steps } = await run(given);
  expect(body).toBe(pageOf({ count: 3 }));
  expect(steps).toEqual([...expected, `tag ${body.length} null`, 'admit']);
  expect(sent).toEqual(['etag: "t"', 'content-type: application/json; charset=utf-8']);
});

test('a count that is not exact is marked', async () => {
  expect((await run({ counted: { count: 3, is: 'estimated' } })).body).toBe(pageOf({ count: 3, count_is: 'estimated' }));
});

test('the page is that of the query', async () => {
  const { steps } = await run({ query: { page: '2', items_per_page: '5' } });
  expect(steps).toContain('page all null null {"offset":5,"limit":5}');
  expect((await run({ query: { page: '0' } })).body).toBe('invalid_parameter');
});

test.each([
  [new Error('denied'), 'denied'],
  [() => Promise.reject(new Error('denied')), 'denied'],
])('nothing is read if access is denied', async (check, error) => {
  const { body, sent, steps } = await run({ check });
  expect([body, sent, steps]).toEqual([error, [], ['check ']]);
});

test('a page can be sent as XML', async () => {
  const { body, sent } = await run({ format: 'xml' });
  expect(body).toContain('<item><a>1</a></item><item><a>2</a></item>');
  expect(sent).toContain('content-type: application/xml; charset=utf-8');
});

test('a page of entities is sent after hooks, in the groups of the caller and with the chosen fields', async () => {
  const given = { grants: byRole, json: null, hooks: { afterFetch: undefined, beforeSerialize: undefined } };
  const { body, sent, steps } = await run({ ...given, choice: new Map() });
  const page = { count: 3, results: [{ b: 1 }], pagination };
  expect(JSON.parse(body)).toEqual({ ...page, results: [{}] });
  expect(JSON.parse((await run(given)).body)).toEqual(page);
  expect(sent).toContain('etag: "t"');
  expect(steps.slice(steps.indexOf('json'))).toEqual([
    'json',
    'afterFetch _index [{"b":1}]',
    'serializer own',
    'populate',
    `beforeSerialize _index ${JSON.stringify(page)}`,
    'serializer own',
    `tag ${body.length} null`,
    'admit',
  ]);
});

test.each(['afterFetch', 'beforeSerialize', 'afterAccessCheck'])(
  'a reply of the hook %s is sent instead of the page',
  async (name) => {
    const { body } = await run({ json: null, grants: byRole, hooks: { [name]: new JsonReply({ c: 3 }) } });
    expect(body).toBe('{"c":3}');
  },
);

test('a controller gets the page as entities, in the groups of the request', async () => {
  const { api, storeFor } = partsOf({ hooks: { afterFetch: undefined } });
  api.entities = storeFor(own);
  steps = [];
  const request: Any = { method: 'GET', headers: {}, query: {}, url: '/item.json?x=1' };
  stateOf(request, api.framework.mapper).groups = own;
  expect(await listEntities(api, request)).toEqual({ count: 3, results: [entity], pagination });
  expect(steps).toEqual([
    'listOf _index own',
    'read  of ',
    'page own null null {"offset":0,"limit":2}',
    'afterFetch _index [{"b":1}]',
    'serializer own',
    'populate',
  ]);
});
