import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { BulkActions } from '../../src/actions/bulk/bulk.ts';
import { withBody } from '../../src/actions/start/body-check.ts';
import { bulkParts, checkBulk } from '../../src/actions/start/bulk-parts.ts';
import { ApiController } from '../../src/index.ts';

type Any = any;

let steps: unknown[][] = [];
beforeEach(() => {
  steps = [];
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe('the parts of a method that accepts lists', () => {
  const api: Any = {
    framework: { declaration: { server: {} } },
    api: {},
    itemGuardOf: (method: string) => {
      steps.push(['itemGuardOf', method]);
      return { readsSubject: method === 'DELETE', check: (...given: unknown[]) => steps.push(['check', ...given]) };
    },
  };
  const action: Any = { bulk: { methods: ['POST', 'PATCH', 'DELETE'], maxItems: 3, single: true } };
  const partsOf = (method: Any, of = action) => bulkParts(api, of, method, 'json', null) as Any;

  test('are missing for other methods', () => {
    expect(partsOf('PUT')).toBeNull();
    expect(partsOf('POST', { bulk: null })).toBeNull();
    expect(partsOf('POST', { bulk: { methods: ['PATCH'], maxItems: 3 } })).toBeNull();
  });

  test('check access before the rows are read, if the roles do not depend on the row', () => {
    expect(partsOf('POST')).toMatchObject({ admit: null, isOptional: true });
    expect(partsOf('POST', { bulk: { ...action.bulk, single: false } }).isOptional).toBe(false);
    const request: Any = { user: { id: 1, roles: [] } };
    const [change, removal] = [partsOf('PATCH'), partsOf('DELETE')];
    expect([change.isOptional, removal.isOptional]).toEqual([false, false]);
    steps = [];
    change.admit(request);
    expect(steps).toEqual([['check', null, request.user, request]]);
    expect([removal.admit(request), steps.length]).toEqual([undefined, 1]);
  });

  test('run the list, with one object for all requests', async () => {
    const instances = new Set<unknown>();
    vi.spyOn(BulkActions.prototype, 'run').mockImplementation(async function (this: unknown, ...given: unknown[]) {
      instances.add(this);
      return given as Any;
    });
    const { act } = partsOf('PATCH');
    for (const _ of [1, 2]) expect(await act('request', 'store')).toEqual(['PATCH', 'request', 'store', 'json']);
    expect(instances.size).toBe(1);
  });
});

describe('lists that a controller would have to handle', () => {
  class Plain extends ApiController {}
  class Listing extends ApiController {
    override indexApi(): Any {}
  }
  class Loading extends ApiController {
    override getEntity(): Any {}
  }
  const found = (type: Any, methods: string[] | null) => {
    const messages: unknown[] = [];
    const other = { bulk: null, path: ['other'] };
    const actions = [other, { bulk: methods && { methods }, path: ['apis', 'item', 'actions', '_index'] }];
    checkBulk([{ actions, controller: type && { value: type } }] as Any, { add: (...given) => messages.push(given) });
    return messages;
  };
  const at = ['apis', 'item', 'actions', '_index', 'bulk'];

  test('are reported', () => {
    const list = 'Listing overrides indexApi, which does not handle lists; remove "bulk", or the method';
    for (const methods of [['POST'], ['POST', 'PATCH']]) expect(found(Listing, methods)).toEqual([[at, list, 'key']]);
    const rows =
      'Loading overrides getEntity, which loads one row at a time; remove PATCH and DELETE from "bulk", or restrict rows with customizeQuery instead';
    for (const methods of [['POST', 'PATCH'], ['DELETE']]) expect(found(Loading, methods)).toEqual([[at, rows, 'key']]);
  });

  test('do not exist otherwise', () => {
    for (const type of [Plain, Listing, Loading, null]) expect(found(type, null)).toEqual([]);
    expect([found(Loading, ['POST']), found(Plain, ['PATCH']), found(null, ['PATCH'])]).toEqual([[], [], []]);
  });
});

describe('a declared body', () => {
  const around = withBody(
    async ({ body }) => ({ checked: body }),
    (request, run) => [(request as Any).body, run()],
  );
  const run = async (method: string, body?: unknown) => around({ method, body } as Any, () => 'done');

  test('is checked before the handler runs, which gets the result', async () => {
    for (const method of ['POST', 'DELETE'])
      for (const body of [{ a: 1 }, null, 0]) expect(await run(method, body)).toEqual([{ checked: body }, 'done']);
  });

  test('is not read by GET and HEAD, may be missing from DELETE, and is required otherwise', async () => {
    for (const method of ['GET', 'HEAD'])
      for (const body of [{ a: 1 }, undefined]) expect(await run(method, body)).toEqual([body, 'done']);
    expect(await run('DELETE')).toEqual([undefined, 'done']);
    for (const method of ['POST', 'PUT', 'PATCH'])
      await expect(run(method)).rejects.toMatchObject({
        code: 'invalid_body',
        message: expect.stringContaining('it is missing'),
      });
  });
});
