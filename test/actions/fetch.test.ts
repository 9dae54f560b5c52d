import { beforeEach, expect, test } from 'vitest';
import { fetchAction } from '../../src/actions/fetch.ts';
import { withParameters } from '../../src/actions/parameters.ts';
import type { ActiveGroups } from '../../src/model/groups.ts';
import { JsonReply } from '../../src/response/json-reply.ts';

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
const [all, before, own] = ['all', 'before', 'own'].map(groupsOf) as [ActiveGroups, ActiveGroups, ActiveGroups];

/** What the action finds and decides. */
interface Given {
  readonly grants?: object;
  readonly found?: object | null;
  readonly json?: unknown;
  readonly tag?: unknown;
  readonly check?: unknown;
  readonly format?: string;
  readonly hasKey?: boolean;
  readonly declares?: string;
  readonly query?: object;
  readonly malformed?: boolean;
  /** What the hook `beforeSerialize` returns, if the controller has it. */
  readonly hooked?: unknown;
}

const fixed = { fixed: all, readsSubject: false };
const byRole = { fixed: null, readsSubject: false, beforeRow: async () => before };
const byRow = {
  fixed: null,
  readsSubject: true,
  beforeRow: step('beforeRow', Promise.resolve(before)),
  ofEntity: step('ofEntity', own),
};

function handlerOf(given: Given) {
  const { check, declares, found, format = 'json', grants = fixed, hasKey = true, json = '{"a":1}', tag = '"t"' } = given;
  const row = { key: 1, entity: { b: 2 }, versionText: '3', json: step('json', json, ([groups]) => groups?.read) };
  const framework: Any = {
    mapper: { em: { fork: () => ({}) } },
    visibilityOf: () => ({}),
    tags: { mark: step('mark', 'mark'), ofAny: step('tag', tag, ([body, mark]) => `${body.trim()} ${mark}`) },
    responses: { admit: step('admit') },
    serializer: step(
      'serializer',
      {
        planFor: () => ({ variants: new Map() }),
        serialize: (value: unknown, { subjects }: Any) => {
          steps.push(`serialize ${subjects.has(value)}`);
          return value;
        },
      },
      ([groups]) => groups.read,
    ),
  };
  const guard = { readsSubject: false, check: step('check', check, ([subject]) => subject) };
  const api: Any = {
    framework,
    hooks: {
      afterFetch: step('afterFetch', undefined, ([action]) => action),
      beforeSerialize: step('beforeSerialize', given.hooked, ([action, , entity]) => `${action} ${JSON.stringify(entity)}`),
    },
    overrides: new Set('hooked' in given ? ['afterFetch', 'beforeSerialize'] : []),
    meta: { className: 'Item', root: { tableName: 'item' } },
    api: {
      actions: [
        { kind: 'index', parameters: ['x'] },
        { kind: 'entity', parameters: [] },
        { kind: declares, parameters: ['a'] },
      ],
    },
    keyIn: () => (hasKey ? 1 : undefined),
    grantsOf: step('grantsOf', grants, (given) => given.join()),
    guardOf: step('guardOf', guard, (given) => given.join()),
    restricts: false,
  };
  const storeFor = (groups: ActiveGroups): Any => ({
    find: step('find', Promise.resolve(found === undefined ? row : found), ([, key, restriction]) =>
      [groups.read, key, restriction].join(),
    ),
  });
  return fetchAction(api, storeFor, 'GET', format as Any);
}

async function run(given: Given, handler = handlerOf(given)) {
  steps = [];
  const request: Any = { method: 'GET', headers: {}, query: given.query ?? {} };
  const read = () => {
    steps.push('parameters');
    if (given.malformed) throw new Error('malformed');
    return {};
  };
  withParameters((() => undefined) as Any, { names: ['a'], read } as Any).beforeBody?.(request);
  const sent: unknown[] = [];
  const reply: Any = {
    header: (name: string, value: string) => sent.push(`${name}: ${value}`),
    code: (status: number) => (status === 200 ? reply : sent.push(status)),
    headers: (headers: object) => {
      sent.push(
        ...Object.entries(headers)
          .map((each) => each.join(': '))
          .reverse(),
      );
      return reply;
    },
    send: (body: unknown) => body,
  };
  const body = await (handler as Any)(request, reply).catch((error: Any) => error.code ?? error.message);
  return { body, sent, steps };
}

beforeEach(() => {
  steps = [];
});

const last = ['mark', 'tag {"a":1} mark', 'admit'];

test('the action and method decide about roles and groups', () => {
  handlerOf({});
  expect(steps).toEqual(['grantsOf _entity,GET', 'guardOf _entity,GET']);
});

test.each<[string, Given, string[]]>([
  ['every caller has the same groups', {}, ['find all,1,', 'check ', 'json ', ...last]],
  ['roles of the user decide about groups', { grants: byRole }, ['find before,1,', 'check ', 'json ', ...last]],
  [
    'voters that read the row decide about groups',
    { grants: byRow },
    ['beforeRow', 'find before,1,', 'check ', 'ofEntity', 'json own', ...last],
  ],
  [
    'the check, the JSON and the tag take time',
    { check: Promise.resolve(), json: Promise.resolve('{"a":1}'), tag: Promise.resolve('"t"') },
    ['find all,1,', 'check ', 'json ', ...last],
  ],
  ['the actions declare parameters', { declares: 'entity' }, ['parameters', 'find all,1,', 'check ', 'json ', ...last]],
  ['only lists declare parameters', { declares: 'index' }, ['find all,1,', 'check ', 'json ', ...last]],
])('a row is found, checked and sent if %s', async (_, given, expected) => {
  const { body, sent, steps } = await run(given);
  expect(steps).toEqual(expected);
  expect([body, sent]).toEqual(['{"a":1}', ['etag: "t"', 'content-type: application/json; charset=utf-8']]);
});

test.each<[string, Given, string, string[]]>([
  ['the row does not exist', { found: null }, 'entity_not_found', ['find all,1,']],
  ['no row can have the key', { hasKey: false, declares: 'entity' }, 'entity_not_found', []],
  ['access is denied', { check: new Error('denied') }, 'denied', ['find all,1,', 'check ']],
  ['access is denied later', { check: () => Promise.reject(new Error('denied')) }, 'denied', ['find all,1,', 'check ']],
  ['a parameter is not declared', { query: { b: '1' } }, 'unknown_parameter', ['find all,1,', 'check ']],
  ['a parameter is malformed', { declares: 'entity', malformed: true }, 'malformed', ['parameters', 'check ']],
])('nothing is sent if %s', async (_, given, error, expected) => {
  const { body, sent, steps } = await run(given);
  expect([body, sent, steps]).toEqual([error, [], expected]);
});

test('the columns of CSV are made once for each set of groups', async () => {
  const given = { format: 'csv', grants: byRow };
  const handler = handlerOf(given);
  expect((await run(given, handler)).steps).toEqual([
    'beforeRow',
    'find before,1,',
    'check ',
    'ofEntity',
    'json own',
    'serializer own',
    'mark',
    'tag  mark',
    'admit',
  ]);
  const again = await run(given, handler);
  expect(again.steps).not.toContain('serializer own');
  expect(again.sent).toEqual(['etag: "t"', 'content-type: text/csv; charset=utf-8; header=present']);
});

test('a row that is an entity is sent in the groups of the caller, after the hook beforeSerialize', async () => {
  const { body, sent, steps } = await run({ json: null, grants: byRow, hooked: undefined });
  expect([body, sent]).toEqual(['{"b":2}', ['etag: "t"', 'content-type: application/json; charset=utf-8']]);
  expect(steps).toEqual([
    'beforeRow',
    'find before,1,',
    'afterFetch _entity',
    'check ',
    'ofEntity',
    'json own',
    'beforeSerialize _entity {"b":2}',
    'serializer own',
    'serialize true',
    'tag {"b":2} null',
    'admit',
  ]);
});

test('a reply of the hook beforeSerialize is sent instead of the row', async () => {
  const grants = { ...byRow, fixed: null, ofCollection: step('ofCollection', all) };
  const { body, steps } = await run({ json: null, grants, hooked: new JsonReply({ c: 3 }) });
  expect(body).toBe('{"c":3}');
  expect(steps).toContain('serializer own');
});
