// @module-tag divided
import { helper, Utils } from '@mikro-orm/core';
import { beforeEach, describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest, type ModelQuery, type Violation, Voter } from '../../src/index.ts';
import { databases } from '../support/databases.ts';
import { startApplication } from '../support/testing.ts';
import { clinicModels, Doctor, Nurse, Patient, Staff, seedClinic, Visitor, Ward } from './fixtures/clinic.ts';
import { everything, security, useApplication } from './fixtures/use-application.ts';

const calls: unknown[][] = [];
const asked: unknown[][] = [];

class WardVoter extends Voter {
  static override roles = ['WARD_BASE', 'WARD_METHOD', 'WARD_NEVER'];
  vote(role: string, subject: unknown) {
    asked.push([role, subject instanceof Ward ? `ward ${subject.id}` : subject]);
    return role === 'WARD_NEVER' ? ('deny' as const) : ('grant' as const);
  }
}

const name = (value: unknown) => (value instanceof Ward ? `ward ${value.name}` : Array.isArray(value) ? 'list' : value);

class WardController extends ApiController<Ward> {
  override customizeQuery(action: string, request: ApiRequest, query: ModelQuery<Ward>) {
    calls.push(['customizeQuery', action]);
    if (request.headers['x-see'] !== 'all') query.andWhere({ secret: false });
  }
  override afterFetch(action: string, request: ApiRequest, fetched: unknown) {
    return this.#record('afterFetch', action, request, fetched);
  }
  override afterAccessCheck(action: string, request: ApiRequest, subject: unknown) {
    return this.#record('afterAccessCheck', action, request, subject);
  }
  override validate(entity: object): Violation[] | Promise<Violation[]> {
    calls.push(['validate', name(entity)]);
    return super.validate(entity);
  }
  override afterValidation(action: string, request: ApiRequest, entity: unknown) {
    return this.#record('afterValidation', action, request, entity);
  }
  override afterCommit(action: string, request: ApiRequest, entity: unknown) {
    return this.#record('afterCommit', action, request, entity);
  }
  override async beforeSerialize(action: string, request: ApiRequest, value: unknown) {
    await Promise.resolve();
    return this.#record('beforeSerialize', action, request, value);
  }
  #record(hook: string, action: string, request: ApiRequest, value: unknown) {
    // a handler may return what was not loaded
    const isLoaded = !(Utils.isEntity(value) && !helper(value).isInitialized());
    const shown = isLoaded ? name(value) : value;
    calls.push([hook, action, typeof shown === 'object' && shown !== null ? shown.constructor.name : shown]);
    return request.headers['x-end'] === hook ? this.json({ endedBy: hook }, { status: 202 }) : 'not a reply';
  }

  singleApi(...args: unknown[]) {
    calls.push(['handler', ...args.map((arg) => (typeof arg === 'object' ? 'request' : arg))]);
    return { arguments: args.length, url: (args[1] as ApiRequest).url };
  }
  collectiveApi(...args: unknown[]) {
    calls.push(['handler', ...args.map((arg) => (typeof arg === 'object' ? 'request' : arg))]);
    return { arguments: args.length, url: (args[0] as ApiRequest).url };
  }
  otherwiseNamed() {
    return 'otherwise';
  }
  silentApi() {
    calls.push(['silent']);
    return 'never asked';
  }
  silentOneApi() {
    calls.push(['silent']);
    return 'never asked';
  }

  async valueApi(request: ApiRequest) {
    const ward = await this.em.findOneOrFail(Ward, { id: 1 });
    switch ((request.query as { of: string }).of) {
      case 'entity':
        return ward;
      case 'list':
        return [ward, ward];
      case 'collection':
        return (await this.em.populate(ward, ['staff'])).staff;
      case 'unloaded reference':
        return this.em.getReference(Ward, 2);
      case 'wrapped reference':
        return this.em.getReference(Ward, 2, { wrapped: true });
      case 'bare references':
        return [this.em.getReference(Visitor, 1), { inside: this.em.getReference(Visitor, 2, { wrapped: true }) }];
      case 'plain':
        return { deep: { list: [{ ward }], map: new Map([['a', ward]]), set: new Set([1]) }, absent: undefined, f: () => 1 };
      case 'date':
        return new Date('2026-11-15T00:00:00Z');
      case 'bigints':
        return [12n, 2n ** 53n - 1n, 2n ** 53n, -(2n ** 63n)];
      case 'bytes':
        return new Uint8Array([1, 2, 3]);
      case 'null':
        return null;
      case 'false':
        return false;
      case 'text':
        return 'text';
      case 'json':
        return this.json([ward], { groups: ['short'], status: 203, headers: { 'x-own': 'yes' } });
      case 'json of json':
        return this.json(this.json([ward], { groups: ['short'], headers: { 'x-own': 'yes' } }), { status: 203 });
      case 'json of nothing':
        return this.json(undefined);
      case 'no groups':
        return this.json(ward, { groups: [] });
      case 'several groups':
        return this.json(ward, { groups: ['short', 'beds'] });
      case 'page':
        return this.paginate('value', request, this.em.createQueryBuilder(Ward, 'w').where({ secret: false }));
      default:
        return undefined;
    }
  }

  async pageApi(request: ApiRequest) {
    const query = this.em.createQueryBuilder(Staff, 's').where({ name: { $ne: 'Banned' } });
    return this.paginate('page', request, query.orderBy({ name: 'asc' }));
  }
  async joinedPageApi(request: ApiRequest) {
    const query = this.em.createQueryBuilder(Ward, 'w').leftJoin('w.staff', 's').where({ secret: false });
    return this.paginate('joinedPage', request, query);
  }

  async loadApi(id: number, request: ApiRequest) {
    const again = await this.getEntity('load', id, request);
    const other = await this.getEntity('load', (request.query as { other?: string }).other ?? id, request);
    return { same: again === other, names: [again.name, other.name] };
  }
  async checkApi(id: number, request: ApiRequest) {
    const ward = await this.getEntity('check', id, request);
    await this.checkAccess('check', request, ward);
    return 'granted';
  }
  async checkNeverApi(request: ApiRequest) {
    await this.checkAccess('checkNever', request, null);
    return 'granted';
  }
  async deserializeApi(request: ApiRequest) {
    const { groups, types } = request.query as { groups?: string; types?: string };
    const allowed = types === 'one' ? Visitor : types === 'leaf' ? Nurse : types === 'root' ? Staff : [Visitor, Doctor, Patient];
    const entity = await this.deserialize<object>(request, allowed as never, groups ? { groups: [groups] } : {});
    return { class: entity.constructor.name, entity };
  }
  async validateApi(request: ApiRequest) {
    const patient = this.em.create(Patient, request.body as never, { partial: true });
    return super.validate(patient);
  }
  managerApi() {
    const { em } = this;
    return { same: em === this.em, own: em !== em.fork() && em.isInTransaction() === false };
  }
}

const custom = (more: object = {}) => ({
  methods: { GET: true, POST: true },
  'single-collection': 'collection' as const,
  ...more,
});
const single = (more: object = {}) => ({ methods: { GET: true, POST: true }, ...more });

const application = {
  models: clinicModels,
  controllers: [WardController],
  voters: [WardVoter],
  seed: seedClinic,
  app_main: {
    security,
    apis: {
      ward: {
        class: Ward,
        base_path: '/wards',
        controller: WardController,
        actions: {
          ...everything,
          single: single(),
          collective: custom(),
          named: custom({ controller_action: 'otherwiseNamed' }),
          silent: custom({ roles: { GET: 'WARD_NEVER' } }),
          silentOne: single({ roles: { GET: 'WARD_NEVER' } }),
          value: custom(),
          page: custom(),
          joinedPage: custom(),
          load: single(),
          check: single({ roles: { POST: 'WARD_METHOD' } }),
          checkNever: custom({ roles: { GET: 'WARD_METHOD', POST: 'WARD_METHOD' } }),
          deserialize: custom(),
          validate: custom(),
          manager: custom(),
        },
      },
      guarded: {
        class: Ward,
        base_path: '/guarded',
        base_role: 'WARD_BASE',
        controller: WardController,
        actions: { check: single({ roles: { POST: 'WARD_METHOD' } }), single: single(), collective: custom(), load: single() },
      },
      // an API without a controller of its own
      staff: { class: Staff, base_path: '/staff', actions: everything },
    },
  },
};

describe.each(databases)('a controller on %s', (kind) => {
  const clinic = useApplication(kind, application);
  const { request, rows } = clinic;
  beforeEach(() => {
    calls.length = 0;
    asked.length = 0;
  });

  describe('calls its handlers', () => {
    test('with the id, the request and the format, for single actions', async () => {
      const { json, status } = await request('GET', '/wards/1/single.json?q=1');
      expect(status).toBe(200);
      expect(json).toEqual({ arguments: 3, url: '/wards/1/single.json?q=1' });
      expect(calls.find(([what]) => what === 'handler')).toEqual(['handler', 1, 'request', 'json']);
    });
    test('with the request and the format, for collection actions', async () => {
      const { json } = await request('POST', '/wards/collective.json');
      expect(json).toEqual({ arguments: 2, url: '/wards/collective.json' });
      expect(calls.find(([what]) => what === 'handler')).toEqual(['handler', 'request', 'json']);
    });
    test('by the name in controller_action', async () => {
      expect((await request('GET', '/wards/named.json')).json).toBe('otherwise');
    });
    test('only if the entity exists and is visible', async () => {
      for (const id of ['99', '3', '99999999999999999999']) {
        const { status, json } = await request('GET', `/wards/${id}/single.json`);
        expect(status).toBe(404);
        expect(json.code).toBe('entity_not_found');
      }
      expect(calls.some(([what]) => what === 'handler')).toBe(false);
      expect((await request('GET', '/wards/3/single.json', { headers: { 'x-see': 'all' } })).status).toBe(200);
    });
  });

  describe('serializes the result of a handler:', () => {
    const north = { id: 1, name: 'North' };
    const value = (of: string) => request('GET', `/wards/value.json?of=${encodeURIComponent(of)}`);

    test('an entity in the read group', async () => {
      const { status, json, headers } = await value('entity');
      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(json).toMatchObject(north);
      expect(Object.keys(json).sort()).toEqual(['id', 'name', 'staff', 'visitors']);
      expect(json.staff.map(({ name }: { name: string }) => name)).toEqual(['House', 'Ada']);
    });
    test('a list', async () => {
      expect((await value('list')).json).toMatchObject([north, north]);
    });
    test('a MikroORM collection', async () => {
      expect((await value('collection')).json).toMatchObject([
        { name: 'House', specialty: 'all' },
        { name: 'Ada', shift: 'night' },
      ]);
    });
    test('a reference that was not loaded, as wrapped or plain reference', async () => {
      expect((await value('unloaded reference')).json).toMatchObject({ id: 2, name: 'South' });
      expect((await value('wrapped reference')).json).toMatchObject({ id: 2, name: 'South', staff: [{ name: 'Banned' }] });
      expect((await value('bare references')).json).toEqual([{ id: 1, name: 'Vera' }, { inside: { id: 2, name: 'Victor' } }]);
    });
    test('a plain object with entities inside', async () => {
      const { json } = await value('plain');
      expect(json.deep.list[0].ward).toMatchObject(north);
      expect(json.deep.map.a).toMatchObject(north);
      expect(json.deep.set).toEqual([1]);
      expect(json.deep.list[0].ward).not.toHaveProperty('budget');
      expect(json.absent).toBeNull();
      expect(json).not.toHaveProperty('f');
    });
    test('a date', async () => {
      expect((await value('date')).text).toBe('"2026-11-15T00:00:00.000Z"');
    });
    test('big integers beyond 2^53 as strings', async () => {
      expect((await value('bigints')).json).toEqual([12, 9007199254740991, '9007199254740992', '-9223372036854775808']);
    });
    test('bytes as base64', async () => {
      expect((await value('bytes')).json).toBe('AQID');
    });
    test.each([
      ['null', 'null'],
      ['false', 'false'],
      ['text', '"text"'],
    ])('%s', async (of, text) => {
      const response = await value(of);
      expect([response.status, response.text]).toEqual([200, text]);
    });
    test('undefined as 204', async () => {
      for (const of of ['undefined', 'json of nothing']) {
        const response = await value(of);
        expect([response.status, response.text]).toEqual([204, '']);
      }
    });
    test('this.json of a response with the groups and headers of this response', async () => {
      const { status, json, headers } = await value('json of json');
      expect([status, headers.get('x-own'), json]).toEqual([203, 'yes', [north]]);
    });
    test('this.json with its groups, status and headers', async () => {
      const { status, json, headers } = await value('json');
      expect([status, headers.get('x-own'), json]).toEqual([203, 'yes', [north]]);
      expect((await value('no groups')).json).toEqual({});
      expect((await value('several groups')).json).toEqual({
        ...north,
        beds: [
          { id: 1, code: 'N1' },
          { id: 2, code: 'N2' },
        ],
      });
    });
    test('the collection model that paginate returns', async () => {
      const { json } = await request('GET', '/wards/value.json?of=page&items_per_page=1');
      expect(json).toMatchObject({
        count: 2,
        results: [north],
        pagination: {
          more: true,
          next: '/wards/value.json?of=page&items_per_page=1&page=2',
          previous: null,
          first: 0,
          items_per_page: 1,
        },
      });
      expect(json.results[0].staff).toHaveLength(2);
    });
  });

  describe('paginates', () => {
    test("any query, also of another model, in the query's own order", async () => {
      const { json } = await request('GET', '/wards/page.json?items_per_page=2');
      expect(json.count).toBe(3);
      expect(json.results.map(({ name }: { name: string }) => name)).toEqual(['Ada', 'House']);
      const next = await request('GET', json.pagination.next);
      expect(next.json.results.map(({ name }: { name: string }) => name)).toEqual(['Wilson']);
      expect(next.json.pagination).toMatchObject({ more: false, next: null, first: 2 });
    });
    test('a query with a to-many join without counting a row twice', async () => {
      const { json } = await request('GET', '/wards/joinedPage.json');
      expect(json.count).toBe(2);
      expect(json.results.map(({ name }: { name: string }) => name)).toEqual(['North', 'South']);
    });
    test('and returns 400 for an invalid page', async () => {
      for (const page of ['0', '-1', '1.5', 'x', '1&page=2']) {
        expect((await request('GET', `/wards/page.json?page=${page}`)).status).toBe(400);
      }
    });
  });

  describe('has helpers:', () => {
    test('getEntity returns the loaded entity without another statement', async () => {
      const { statements } = clinic.app;
      statements.length = 0;
      await request('GET', '/wards/1/single.json');
      const needed = statements.length;
      statements.length = 0;
      calls.length = 0;
      const { json } = await request('GET', '/wards/1/load.json');
      expect(needed).toBeGreaterThan(0);
      expect(statements).toHaveLength(needed);
      expect(json).toEqual({ same: true, names: ['North', 'North'] });
      expect(calls.filter(([what]) => what === 'customizeQuery')).toHaveLength(1);
    });
    test('getEntity throws 404 for rows that customizeQuery hides or that do not exist', async () => {
      expect((await request('GET', '/wards/1/load.json?other=2')).json).toEqual({ same: false, names: ['North', 'South'] });
      for (const other of ['3', '99', 'x', '1.5', '']) {
        expect((await request('GET', `/wards/1/load.json?other=${other}`)).status).toBe(404);
      }
    });
    test('checkAccess checks the base role and the role of the method', async () => {
      expect((await request('POST', '/guarded/1/check.json')).json).toBe('granted');
      const both = [
        ['WARD_BASE', 'ward 1'],
        ['WARD_METHOD', 'ward 1'],
      ];
      expect(asked).toEqual([...both, ...both]);
    });
    test('checkAccess checks only the base role if the method has none', async () => {
      expect((await request('GET', '/guarded/1/check.json')).json).toBe('granted');
      expect(asked).toEqual([
        ['WARD_BASE', 'ward 1'],
        ['WARD_BASE', 'ward 1'],
      ]);
    });
    test('checkAccess throws 401 without a user and 403 with one', async () => {
      asked.length = 0;
      expect((await request('GET', '/wards/silent.json')).status).toBe(401);
      expect((await request('GET', '/wards/silent.json', { as: { id: 1 } })).status).toBe(403);
    });
    test('deserialize resolves a reference to one or several classes', async () => {
      const to = (types: string, json: unknown) => request('POST', `/wards/deserialize.json?types=${types}`, { json });
      expect((await to('one', { id: 2 })).json).toEqual({ class: 'Visitor', entity: { id: 2, name: 'Victor' } });
      expect((await to('one', { type: 'visitor', id: 2 })).json.class).toBe('Visitor');
      expect((await to('list', { type: 'patient', id: 1 })).json.class).toBe('Patient');
      expect((await to('list', { type: 'doctor', id: 1 })).json).toMatchObject({ class: 'Doctor', entity: { name: 'House' } });
      expect((await to('root', { id: 2 })).json.class).toBe('Nurse');
      for (const [types, json, detail] of [
        ['one', { id: 99 }, 'visitor id not found'],
        ['one', { type: 'patient', id: 1 }, 'visitor id not found'],
        ['list', { id: 1 }, 'visitor or doctor or patient id not found'],
        ['list', { type: 'nurse', id: 2 }, 'visitor or doctor or patient id not found'],
        ['list', { type: 'doctor', id: 2 }, 'visitor or doctor or patient id not found'],
        ['leaf', { id: 1 }, 'nurse id not found'],
      ] as const) {
        const { status, json: problem } = await to(types, json);
        expect([types, json, status, problem.detail]).toEqual([types, json, 400, detail]);
      }
    });
    test('deserialize with groups creates a new entity or changes the given one, and writes nothing', async () => {
      const to = (types: string, json: unknown) =>
        request('POST', `/wards/deserialize.json?types=${types}&groups=write`, { json });
      expect((await to('one', { name: 'New' })).json).toEqual({ class: 'Visitor', entity: { id: null, name: 'New' } });
      expect((await to('root', { type: 'nurse', name: 'N' })).json.class).toBe('Nurse');
      expect((await to('one', { id: 1, name: 'Changed' })).json.entity).toEqual({ id: 1, name: 'Changed' });
      expect((await to('one', { id: 99, name: 'Changed' })).status).toBe(400);
      expect((await to('one', { name: 5 })).json).toMatchObject({ status: 422, violations: [{ propertyPath: 'name' }] });
      expect((await to('one', { id: 1, hidden: true })).status).toBe(400);
      expect(await rows('select count(*) as n from visitor')).toEqual([{ n: expect.toSatisfy((n) => Number(n) === 3) }]);
      expect(await rows('select name from visitor where id = 1')).toEqual([{ name: 'Vera' }]);
    });
    test('validate returns every violation', async () => {
      const { json } = await request('POST', '/wards/validate.json', {
        json: { firstName: 'x'.repeat(21), lastName: 'X'.repeat(21), insurance: '5', weight: 0 },
      });
      expect(json.map(({ propertyPath, code }: Violation) => [propertyPath, code])).toEqual([
        ['firstName', 'too_long'],
        ['lastName', 'too_long'],
        ['insurance_number', 'constraint'],
        ['weight', 'constraint'],
        ['lastName', 'model'],
      ]);
    });
    test('em is the entity manager of the request', async () => {
      expect((await request('GET', '/wards/manager.json')).json).toEqual({ same: true, own: true });
    });
  });

  describe('cannot skip the access check', () => {
    test('of a collection action: it runs before the handler, with a null subject', async () => {
      expect((await request('GET', '/wards/silent.json', { as: { id: 1 } })).status).toBe(403);
      expect(asked).toEqual([['WARD_NEVER', null]]);
      expect(calls).toEqual([]);
      expect((await request('POST', '/wards/silent.json')).json).toBe('never asked');
    });
    test('of a single action: it runs before the handler, with the entity', async () => {
      expect((await request('GET', '/wards/1/silentOne.json', { as: { id: 1 } })).status).toBe(403);
      expect(asked).toEqual([['WARD_NEVER', 'ward 1']]);
      expect(calls).toEqual([
        ['customizeQuery', 'silentOne'],
        ['afterFetch', 'silentOne', 'ward North'],
      ]);
    });
    test('of a single action, but returns 404 for a hidden entity without calling voters', async () => {
      expect((await request('GET', '/wards/3/silentOne.json', { as: { id: 1 } })).status).toBe(404);
      expect(asked).toEqual([]);
    });
  });

  describe('calls its hooks in order', () => {
    // wards are embedded again, in the staff that they embed: two APIs are asked whether the caller sees them
    const looks = [
      ['customizeQuery', '_entity'],
      ['customizeQuery', '_entity'],
    ];
    const order = () => calls.map(([hook, action]) => (hook === 'validate' || hook === 'handler' ? hook : `${hook} ${action}`));

    test('on a list', async () => {
      await request('GET', '/wards.json');
      expect(calls).toEqual([
        ['afterAccessCheck', '_index', null],
        ['customizeQuery', '_index'],
        ['afterFetch', '_index', 'list'],
        ['beforeSerialize', '_index', 'Object'],
        ...looks,
      ]);
    });
    test('on a single entity', async () => {
      await request('GET', '/wards/1.json');
      expect(calls).toEqual([
        ['customizeQuery', '_entity'],
        ['afterFetch', '_entity', 'ward North'],
        ['afterAccessCheck', '_entity', 'ward North'],
        ['beforeSerialize', '_entity', 'ward North'],
        // its own was made for the entity
        ...looks.slice(1),
      ]);
    });
    test('on an update', async () => {
      await request('PATCH', '/wards/2.json', { json: { open: false } });
      expect(order()).toEqual([
        'customizeQuery _entity',
        'afterFetch _entity',
        'afterAccessCheck _entity',
        'validate',
        'afterValidation _entity',
        'afterCommit _entity',
        'beforeSerialize _entity',
        ...looks.slice(1).map((look) => look.join(' ')),
      ]);
    });
    test('on a creation and a deletion', async () => {
      const { json } = await request('POST', '/wards.json', { json: { name: 'Brief' } });
      expect(order()).toEqual([
        'afterAccessCheck _index',
        'validate',
        'afterValidation _index',
        'afterCommit _index',
        'beforeSerialize _index',
      ]);
      calls.length = 0;
      await request('DELETE', `/wards/${json.id}.json`);
      expect(order()).toEqual([
        'customizeQuery _entity',
        'afterFetch _entity',
        'afterAccessCheck _entity',
        'afterCommit _entity',
        'beforeSerialize _entity',
      ]);
    });
    test('on custom actions', async () => {
      await request('GET', '/wards/1/single.json');
      await request('GET', '/wards/collective.json');
      expect(order()).toEqual([
        'customizeQuery single',
        'afterFetch single',
        'afterAccessCheck single',
        'handler',
        'beforeSerialize single',
        'afterAccessCheck collective',
        'handler',
        'beforeSerialize collective',
      ]);
    });

    test.each([
      ['GET', '/wards.json', undefined, ['afterAccessCheck', 'afterFetch', 'beforeSerialize']],
      ['GET', '/wards/1.json', undefined, ['afterFetch', 'afterAccessCheck', 'beforeSerialize']],
      ['GET', '/wards/1/single.json', undefined, ['afterFetch', 'afterAccessCheck', 'beforeSerialize']],
      ['GET', '/wards/collective.json', undefined, ['afterAccessCheck', 'beforeSerialize']],
      ['PATCH', '/wards/2.json', { name: 'Ended' }, ['afterFetch', 'afterAccessCheck', 'afterValidation']],
      ['PUT', '/wards/2.json', { name: 'Ended' }, ['afterFetch', 'afterAccessCheck', 'afterValidation']],
      ['POST', '/wards.json', { name: 'Ended' }, ['afterAccessCheck', 'afterValidation']],
      ['DELETE', '/wards/2.json', undefined, ['afterFetch', 'afterAccessCheck']],
    ] as const)('and each can end %s %s with its reply, before anything is written', async (method, path, json, hooks) => {
      for (const hook of hooks) {
        calls.length = 0;
        const response = await request(method, path, { ...(json && { json }), headers: { 'x-end': hook } });
        expect([response.status, response.json]).toEqual([202, { endedBy: hook }]);
        expect(calls.at(-1)?.[0]).toBe(hook);
      }
      expect(await rows("select count(*) as n from ward where name = 'Ended'")).toEqual([
        { n: expect.toSatisfy((n) => Number(n) === 0) },
      ]);
      expect(await rows('select name from ward where id = 2')).toEqual([{ name: 'South' }]);
    });
    test.each(['afterCommit', 'beforeSerialize'])('and %s can replace the response after the commit', async (hook) => {
      const headers = { 'x-end': hook };
      const response = await request('POST', '/wards.json', { json: { name: hook }, headers });
      expect([response.status, response.json]).toEqual([202, { endedBy: hook }]);
      expect(response.headers.get('location')).toBeNull();
      expect(await rows(`select name from ward where name = '${hook}'`)).toEqual([{ name: hook }]);
    });
    test('and skips later hooks if validation fails', async () => {
      const { status } = await request('PATCH', '/wards/2.json', { json: { name: 'x'.repeat(21) } });
      expect(status).toBe(422);
      expect(order()).not.toContain('afterValidation _entity');
      expect(order()).not.toContain('afterCommit _entity');
    });
  });

  test('is optional: an API without a controller has the default actions', async () => {
    expect((await request('GET', '/staff/1.json')).json).toMatchObject({ id: 1, type: 'doctor', name: 'House' });
  });
});

describe('an invalid controller is a start error:', () => {
  const start = (api: object, controllers: unknown[] = []) =>
    startApplication({
      models: clinicModels,
      controllers: controllers as never,
      databaseUrl: 'sqlite::memory:',
      app_main: { apis: { ward: { class: Ward, base_path: '/wards', ...api } as never } },
    });
  class Alien {
    thingApi() {}
  }
  class Own extends ApiController<Ward> {
    thingApi() {}
  }
  test('it does not extend ApiController', async () => {
    await expect(start({ controller: Alien, actions: { thing: { methods: { GET: true } } } }, [Alien])).rejects.toThrow(
      /Alien must extend ApiController/,
    );
  });
  test('the method of a custom action does not exist', async () => {
    const actions = { think: { methods: { GET: true } }, thing: { methods: { GET: true }, controller_action: 'thinkApi' } };
    const error = await start({ controller: Own, actions }, [Own]).catch((e: Error) => e);
    expect(String(error)).toMatch(/"think" is handled by thinkApi, which Own does not have/);
    expect(String(error)).toMatch(/"thing" is handled by thinkApi/);
  });
  test('a custom action has no controller', async () => {
    await expect(start({ actions: { thing: { methods: { GET: true } } } })).rejects.toThrow(/thingApi/);
  });
});
