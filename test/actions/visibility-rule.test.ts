import { beforeEach, describe, expect, test } from 'vitest';
import { visibilityRuleOf } from '../../src/actions/start/visibility-rule.ts';
import { Problem, problem } from '../../src/errors.ts';
import { running } from '../../src/model/running-code.ts';
import { currentState, stateOf } from '../../src/store/request-state.ts';

type Any = any;

/** The calls of access checks and hooks, in order, and what each returns. */
let steps: unknown[][] = [];
let results: Record<string, unknown> = {};
const step =
  (name: string): Any =>
  async (...given: unknown[]) => {
    steps.push([name, ...given]);
    const result = results[name];
    const value = typeof result === 'function' ? result() : result;
    if (value instanceof Error) throw value;
    return value;
  };
const thrown = (promise: Promise<unknown>): Promise<Any> =>
  promise.then(
    () => null,
    (error: unknown) => error,
  );

const mapper: Any = {};
const meta: Any = { className: 'Item' };
const subject = { id: 1 };
const parameter: Any = {
  name: 'season',
  type: 'integer',
  default: 7,
  required: false,
  list: false,
  enum: [],
  minimum: null,
  maximum: null,
  pattern: null,
};
const requestOf = (): Any => ({ user: { id: 'anna', roles: [] }, query: {}, method: 'POST' });

interface Given {
  readonly entity?: readonly string[] | null;
  readonly index?: readonly string[] | null;
  readonly parameters?: readonly object[];
  readonly readsSubject?: boolean;
  readonly checks?: boolean;
  readonly restricts?: boolean;
}

function ruleOf({
  checks = false,
  entity = null,
  index = null,
  parameters = [],
  readsSubject = false,
  restricts = false,
}: Given) {
  const roles = { GET: 'OF_GET', PATCH: 'OF_PATCH', PUT: 'OF_PUT' };
  const action = (kind: string, methods: readonly string[] | null) =>
    methods ? [{ kind, name: `_${kind}`, methods, roles, parameters: kind === 'entity' ? parameters : [] }] : [];
  const runtime: Any = {
    api: {
      actions: [...action('custom', ['GET']), ...action('index', index), ...action('entity', entity)],
      baseRole: 'BASE',
      defaultSort: 'sort',
    },
    meta,
    restricts,
    checks,
    framework: { mapper },
    hooks: { customizeQuery: step('customizeQuery'), checkAccess: step('checkAccess') },
  };
  return visibilityRuleOf(runtime, (names) => {
    steps.push(['guardFor', ...names]);
    return { readsSubject, check: step('check') } as Any;
  });
}

beforeEach(() => {
  steps = [];
  results = {};
});

describe('a row of an API is visible', () => {
  test.each<[Given, string | null, boolean]>([
    [{ entity: ['PUT', 'PATCH', 'GET'], index: ['GET'] }, 'OF_GET', false],
    [{ entity: ['DELETE', 'PUT', 'PATCH'], index: ['GET'] }, 'OF_PATCH', false],
    [{ entity: ['DELETE', 'PUT'], index: ['GET'] }, 'OF_PUT', false],
    [{ entity: ['DELETE'], index: ['POST', 'GET'] }, 'OF_GET', true],
    [{ index: ['GET'] }, 'OF_GET', true],
    [{ entity: ['DELETE'], index: ['POST'] }, null, false],
    [{ index: ['POST'] }, null, false],
    [{}, null, false],
  ])('with the roles of %j: %s', async (given, role, isList) => {
    for (const readsSubject of [true, false]) {
      for (const checks of [true, false]) {
        steps = [];
        const rule = ruleOf({ ...given, readsSubject, checks });
        const request = requestOf();
        expect(await rule.admits(request, subject)).toBe(role !== null);
        expect(rule.readsSubject).toBe(role !== null && !isList && (readsSubject || checks));
        const judged = isList ? null : subject;
        const check = checks
          ? ['checkAccess', isList ? '_index' : '_entity', request, judged]
          : ['check', judged, request.user, request];
        expect(steps).toEqual(role === null ? [] : [['guardFor', 'BASE', role], check]);
      }
    }
  });

  test('unless the check rejects the caller; other errors are thrown', async () => {
    const rejection = (statusCode: unknown) => Object.assign(new Error('no'), { statusCode });
    for (const checks of [true, false]) {
      const rule = ruleOf({ entity: ['GET'], checks });
      const name = checks ? 'checkAccess' : 'check';
      for (const error of [problem('access_denied'), problem('internal_error' as Any), rejection(400), rejection(499)]) {
        results[name] = error;
        expect(await rule.admits(requestOf(), subject)).toBe(false);
      }
      for (const error of [new Error('broken'), rejection(399), rejection(500), rejection('404')]) {
        results[name] = error;
        expect(await thrown(rule.admits(requestOf(), subject))).toBe(error);
      }
      for (const none of [null, undefined]) {
        results[name] = () => Promise.reject(none);
        expect(await thrown(rule.admits(requestOf(), subject).then(() => 'passed'))).toBe(none);
      }
    }
  });

  test('and a check of the controller runs on behalf of the request', async () => {
    const rule = ruleOf({ entity: ['GET'], checks: true });
    const request = requestOf();
    results.checkAccess = () => {
      expect(currentState()).toBe(stateOf(request, mapper));
    };
    expect(await rule.admits(request, subject)).toBe(true);
  });
});

describe('the restriction of visible rows', () => {
  test('is that of customizeQuery for _entity, as code of the application', async () => {
    expect(ruleOf({ entity: ['GET'] })).toMatchObject({ meta, restrict: null, sort: 'sort' });
    const request = requestOf();
    results.customizeQuery = () => {
      expect([currentState(), running().isApplication]).toEqual([stateOf(request, mapper), true]);
      return 'reply';
    };
    const restrict = (ruleOf({ restricts: true }).restrict as Any)(request);
    expect(await restrict('query')).toBe('reply');
    expect(steps.at(-1)).toEqual(['customizeQuery', '_entity', request, 'query']);
  });

  test('fails with the problem of a rejection, and with any other error itself', async () => {
    const run = (): Promise<unknown> => (ruleOf({ restricts: true }).restrict as Any)(requestOf())('query');
    results.customizeQuery = problem('access_denied');
    expect(await thrown(run())).toBe(results.customizeQuery);
    results.customizeQuery = Object.assign(new Error('no'), { statusCode: 403 });
    const rejected = await thrown(run());
    expect([rejected instanceof Problem, rejected.status]).toEqual([true, 403]);
    results.customizeQuery = new Error('broken');
    expect(await thrown(run())).toBe(results.customizeQuery);
  });

  test('and the check get the defaults of the parameters of _entity', async () => {
    const rule = ruleOf({ entity: ['GET'], restricts: true, checks: true, parameters: [parameter] });
    await (rule.restrict as Any)(requestOf())('query');
    await rule.admits(requestOf(), subject);
    const given = steps.slice(1).map(([name, , request]: Any) => [name, { ...request.parameters }, request.user.id]);
    expect(given).toEqual([
      ['customizeQuery', { season: 7 }, 'anna'],
      ['checkAccess', { season: 7 }, 'anna'],
    ]);
  });
});
