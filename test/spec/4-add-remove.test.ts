// @module-tag divided
import { beforeEach, describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest, type ModelQuery, problem, Voter, violationsProblem } from '../../src/index.ts';
import { databases } from '../support/databases.ts';
import { startApplication } from '../support/testing.ts';
import { Appointment, clinicModels, Patient, Staff, seedClinic, ThirdParty, Visitor, Ward } from './fixtures/clinic.ts';
import { everything, security, useApplication } from './fixtures/use-application.ts';

const calls: string[] = [];

class TeamVoter extends Voter {
  static override roles = ['TEAM'];
  vote(_role: string, subject: unknown, user: { id: unknown } | null) {
    calls.push(`vote on ${subject instanceof Appointment ? `appointment ${subject.id}` : subject}`);
    return user ? ('grant' as const) : ('deny' as const);
  }
}

class AppointmentController extends ApiController<Appointment> {
  override customizeQuery(_action: string, _request: ApiRequest, query: ModelQuery<Appointment>) {
    query.andWhere({ title: { $ne: 'Hidden' } });
  }
  override afterValidation(action: string, request: ApiRequest) {
    calls.push(`afterValidation ${action}`);
    return request.headers['x-end'] ? this.json('ended', { status: 202 }) : undefined;
  }
  override afterCommit(action: string) {
    calls.push(`afterCommit ${action}`);
  }
  attendeesApi(id: number, request: ApiRequest) {
    return this.addRemove('attendees', id, request, { property: 'attendees', type: Staff, groups: ['read'] });
  }
  guardedApi(id: number, request: ApiRequest) {
    return this.addRemove('guarded', id, request, { property: 'attendees', type: Staff });
  }
  companionsApi(id: number, request: ApiRequest) {
    return this.addRemove('companions', id, request, { property: 'companions', type: [Visitor, ThirdParty] });
  }

  participationApi(id: number, request: ApiRequest) {
    return this.#participate('participation', id, request, request.method === 'DELETE');
  }
  loadedApi(id: number, request: ApiRequest) {
    return this.#participate('loaded', id, request, true);
  }
  /** Returns the violations themselves, after it has written. */
  async listedApi(id: number, request: ApiRequest) {
    const appointment = await this.getEntity('listed', id, request);
    await this.em.populate(appointment, ['attendees']);
    appointment.addAttendee(await this.deserialize(request, Staff));
    const violations = await this.validate(appointment);
    await this.em.flush();
    return violations.length > 0 ? violations : this.json(appointment, { groups: ['read'] });
  }
  /** SPEC 4.5, step by step. */
  async #participate(action: string, id: number, request: ApiRequest, load: boolean) {
    const appointment = await this.getEntity(action, id, request);
    const staff = await this.deserialize(request, Staff);
    await this.checkAccess(action, request, appointment);
    if (load) await this.em.populate(appointment, ['attendees']);
    if (request.method === 'POST') appointment.addAttendee(staff);
    else if (request.method === 'DELETE') appointment.removeAttendee(staff);
    else throw problem('method_not_supported');
    const violations = await this.validate(appointment);
    if (violations.length > 0) throw violationsProblem(violations);
    await this.em.flush();
    return this.json(staff, { groups: ['read'] });
  }
}

class WardController extends ApiController<Ward> {
  briefApi(id: number, request: ApiRequest) {
    return this.addRemove('brief', id, request, { property: 'visitors', type: Visitor, groups: ['short'] });
  }
}

class VisitorController extends ApiController {
  override customizeQuery(action: string, request: ApiRequest, query: ModelQuery<object>) {
    if (action === '_entity' && !request.headers['x-see']) query.andWhere({ hidden: false } as never);
  }
}

const all = { GET: true, HEAD: true, POST: true, DELETE: true, PUT: true, PATCH: true };
const addRemove = { POST: true, DELETE: true };

const application = {
  models: clinicModels,
  controllers: [AppointmentController, WardController, VisitorController],
  voters: [TeamVoter],
  seed: seedClinic,
  app_main: {
    security,
    apis: {
      appointment: {
        class: Appointment,
        base_path: '/appointments',
        controller: AppointmentController,
        actions: {
          ...everything,
          attendees: { methods: all },
          guarded: { methods: addRemove, roles: { POST: 'TEAM', DELETE: 'TEAM' } },
          companions: { methods: addRemove },
          participation: { methods: { ...addRemove, PUT: true }, roles: { POST: 'TEAM' } },
          loaded: { methods: addRemove, roles: { POST: 'TEAM' } },
          listed: { methods: { POST: true } },
          judged: { association: { property: 'attendees' }, roles: { POST: 'TEAM', DELETE: 'TEAM' } },
          declared: { methods: all, association: { property: 'attendees' } },
          firms: { methods: addRemove, association: { property: 'firms' } },
        },
      },
      ward: {
        class: Ward,
        base_path: '/wards',
        actions: {
          ...everything,
          visitors: { methods: addRemove, association: { property: 'visitors' } },
          children: { methods: addRemove, association: { property: 'children' } },
          mixed: { methods: addRemove, association: { property: 'companies', types: [Visitor] } },
          staff: { methods: addRemove, association: { property: 'staff' } },
          beds: { methods: addRemove, association: { property: 'beds' } },
        },
      },
      brief_ward: {
        class: Ward,
        base_path: '/brief',
        controller: WardController,
        actions: { brief: { methods: { ...addRemove, GET: false, HEAD: false, PUT: false, PATCH: false } } },
      },
      party: {
        class: Appointment,
        base_path: '/parties',
        actions: {
          _entity: null,
          companion: { methods: addRemove, association: { property: 'companions', types: [Visitor, ThirdParty] } },
        },
      },
      visitor: { class: Visitor, base_path: '/visitors', controller: VisitorController, actions: everything },
      patient: { class: Patient, base_path: '/patients', actions: everything },
      staff: { class: Staff, base_path: '/staff', actions: { _entity: null } },
    },
  },
};

describe.each(databases)('add and remove on %s', (kind) => {
  const { request, rows } = useApplication(kind, application);
  const number = async (sql: string) => Number(Object.values((await rows(sql))[0] ?? {})[0]);
  const attendees = async () =>
    (await request('GET', '/appointments/1.json')).json.attendees.map(({ id }: { id: number }) => id) as number[];
  beforeEach(() => {
    calls.length = 0;
  });

  test('POST adds the item and DELETE removes it, with responses in the groups of the handler', async () => {
    const added = await request('POST', '/appointments/1/attendees.json', { json: { type: 'nurse', id: 2 } });
    expect(added.status).toBe(200);
    expect(added.json).toMatchObject({ id: 1, title: 'Visit' });
    expect(added.json.attendees.map(({ id }: { id: number }) => id)).toEqual([1, 2]);
    expect(await attendees()).toEqual([1, 2]);
    const removed = await request('DELETE', '/appointments/1/attendees.json', { json: { type: 'nurse', id: 2 } });
    expect(removed.status).toBe(200);
    expect(removed.json).toMatchObject({ id: 2, type: 'nurse', name: 'Ada' });
    expect(await attendees()).toEqual([1]);
  });

  test.each([
    ['attendees', '/appointments/1.json'],
    ['declared', '/appointments/1.json'],
    ['participation', '/staff/2.json'],
    ['loaded', '/staff/2.json'],
  ])('POST adds the item by type and id, and DELETE removes it: %s', async (action, result) => {
    const path = `/appointments/1/${action}.json`;
    const body = { json: { type: 'nurse', id: 2 }, as: { id: 'me' } };
    const stored = async () =>
      (await rows('select staff_id as id from appointment_attendees where appointment_id = 1 order by 1')).map(({ id }) => id);
    const added = await request('POST', path, body);
    expect([added.status, added.json]).toEqual([200, (await request('GET', result)).json]);
    expect(await stored()).toEqual([1, 2]);
    const removed = await request('DELETE', path, body);
    expect([removed.status, removed.json]).toEqual([200, (await request('GET', '/staff/2.json')).json]);
    expect(await stored()).toEqual([1]);
  });

  test('both respond in the groups that the handler sets', async () => {
    const added = await request('POST', '/brief/2/brief.json', { json: { type: 'visitor', id: 1 } });
    expect([added.status, added.json]).toEqual([200, { id: 2, name: 'South' }]);
    const removed = await request('DELETE', '/brief/2/brief.json', { json: { type: 'visitor', id: 1 } });
    expect([removed.status, removed.json], 'no field of a visitor is in the group').toEqual([200, {}]);
    expect(await number('select count(*) from ward_visitors where ward_id = 2')).toBe(0);
  });

  test('both are idempotent', async () => {
    for (const [method, expected] of [
      ['POST', [1, 4]],
      ['POST', [1, 4]],
      ['DELETE', [1]],
      ['DELETE', [1]],
    ] as const) {
      const { status } = await request(method, '/appointments/1/attendees.json', { json: { id: 4 } });
      expect(status).toBe(200);
      expect(await attendees()).toEqual(expected);
    }
  });

  test.each(['attendees', 'declared', 'participation'])(
    'thirty concurrent adds of one item by %s leave one row, and thirty removes leave none',
    async (action) => {
      const thirty = (method: string) =>
        Promise.all(
          Array.from({ length: 30 }, () =>
            request(method, `/appointments/1/${action}.json`, { json: { type: 'nurse', id: 2 }, as: { id: 'me' } }),
          ),
        );
      const count = 'select count(*) from appointment_attendees where staff_id = 2';
      expect((await thirty('POST')).map(({ status }) => status)).toEqual(Array(30).fill(200));
      expect(await number(count)).toBe(1);
      expect((await thirty('DELETE')).map(({ status }) => status)).toEqual(Array(30).fill(200));
      expect(await number(count)).toBe(0);
    },
  );

  test('thirty concurrent adds to a loaded collection add one row, and return only 200 or 409', async () => {
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => request('POST', '/appointments/1/loaded.json', { json: { id: 2 }, as: { id: 'me' } })),
    );
    for (const { status, json } of answers) {
      expect([200, 409]).toContain(status);
      if (status === 409)
        expect(json).toMatchObject({
          code: 'conflict_version',
          detail: expect.stringMatching(/^another request has changed the appointment/),
        });
    }
    expect(answers.some(({ status }) => status === 200)).toBe(true);
    expect(await number('select count(*) from appointment_attendees where staff_id = 2')).toBe(1);
    await request('DELETE', '/appointments/1/loaded.json', { json: { id: 2 } });
    expect(await attendees()).toEqual([1]);
  });

  test('concurrent adds and removes of different items lose no change', async () => {
    const change = (method: string, id: number) => request(method, '/appointments/1/attendees.json', { json: { id } });
    const answers = await Promise.all([2, 4, 2, 4, 2, 4].map((id) => change('POST', id)));
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(200));
    expect(await attendees()).toEqual([1, 2, 4]);
    const mixed = await Promise.all([change('DELETE', 2), change('DELETE', 4), change('POST', 1), change('DELETE', 2)]);
    expect(mixed.map(({ status }) => status)).toEqual(Array(4).fill(200));
    expect(await attendees()).toEqual([1]);
  });

  describe("the model's own methods", () => {
    test('are called by their singular names, and the entity they return is the response', async () => {
      const added = await request('POST', '/wards/2/visitors.json', { json: { id: 1 } });
      expect(added.json).toMatchObject({ id: 2, name: 'South', visitors: [{ id: 1, name: 'Vera' }] });
      const removed = await request('DELETE', '/wards/2/visitors.json', { json: { id: 1 } });
      expect(removed.json).toEqual({ id: 1, name: 'Vera' });
    });
    test('can have an irregular name and be async, and a result other than an entity is ignored', async () => {
      const added = await request('POST', '/wards/2/children.json', { json: { type: 'patient', id: 2 } });
      expect(added.json).toMatchObject({ id: 2, firstName: 'Pia' });
      expect(await number('select count(*) from ward_children where ward_id = 2')).toBe(1);
      const removed = await request('DELETE', '/wards/2/children.json', { json: { id: 2 } });
      expect(removed.json).toMatchObject({ id: 2, name: 'South' });
      expect(await number('select count(*) from ward_children where ward_id = 2')).toBe(0);
    });
    test('are called even if only one of the two exists', async () => {
      const before = await number('select budget from ward where id = 1');
      expect((await request('POST', '/wards/1/mixed.json', { json: { id: 1 } })).status).toBe(200);
      expect(await number('select budget from ward where id = 1')).toBe(before + 1);
      expect(await number('select count(*) from ward_companies where ward_id = 1')).toBe(1);
      expect((await request('DELETE', '/wards/1/mixed.json', { json: { id: 1 } })).status).toBe(200);
      expect(await number('select count(*) from ward_companies where ward_id = 1')).toBe(0);
    });
    test('are optional: without them, the collection is changed directly', async () => {
      expect((await request('POST', '/appointments/1/firms.json', { json: { id: 1 } })).json).toEqual({ id: 1, company: 'Acme' });
      expect(await number('select count(*) from appointment_firms')).toBe(1);
      await request('DELETE', '/appointments/1/firms.json', { json: { id: 1 } });
      expect(await number('select count(*) from appointment_firms')).toBe(0);
    });
    test('change the item if the item owns the association', async () => {
      expect((await request('POST', '/wards/2/staff.json', { json: { type: 'doctor', id: 4 } })).json).toMatchObject({
        id: 4,
        ward: { id: 2 },
      });
      expect(await number('select ward_id from staff where id = 4')).toBe(2);
      expect((await request('DELETE', '/wards/2/staff.json', { json: { id: 4 } })).json).toMatchObject({ id: 4, ward: null });
      expect(await rows('select ward_id from staff where id = 4')).toEqual([{ ward_id: null }]);
    });
    test('return 422 if the item cannot exist without its owner', async () => {
      const { status, json } = await request('DELETE', '/wards/1/beds.json', { json: { id: 1 } });
      expect(status).toBe(422);
      expect(json.violations).toMatchObject([{ propertyPath: 'beds' }]);
      expect(await number('select ward_id from bed where id = 1')).toBe(1);
    });
  });

  describe('an item of one of several types', () => {
    test.each(['/appointments/1/companions.json', '/parties/1/companion.json'])('is resolved by its type at %s', async (path) => {
      expect((await request('POST', path, { json: { type: 'visitor', id: 1 } })).json).toEqual({ id: 1, name: 'Vera' });
      expect((await request('POST', path, { json: { type: 'third_party', id: 1 } })).json).toEqual({ id: 1, company: 'Acme' });
      const { json } = await request('GET', '/appointments/1.json');
      expect([json.guests, json.firms]).toEqual([[{ id: 1, name: 'Vera' }], [{ id: 1, company: 'Acme' }]]);
      for (const type of ['visitor', 'third_party']) {
        expect((await request('DELETE', path, { json: { type, id: 1 } })).status).toBe(200);
      }
      const after = await request('GET', '/appointments/1.json');
      expect([after.json.guests, after.json.firms]).toEqual([[], []]);
    });
    test.each([
      [{ id: 1 }],
      [{ type: 'patient', id: 1 }],
      [{ type: 'ThirdParty', id: 1 }],
      [{ type: 'third_party', id: 99 }],
      [{ type: ['visitor'], id: 1 }],
      [{ type: null, id: 1 }],
    ])('is not found with %j', async (json) => {
      const response = await request('POST', '/appointments/1/companions.json', { json });
      expect([response.status, response.json.detail]).toEqual([400, 'visitor or third_party id not found']);
    });
  });

  describe('the body', () => {
    const path = '/appointments/1/attendees.json';
    test.each([
      [{ id: 99 }],
      [{ type: 'nurse', id: 99 }],
      [{ type: 'doctor', id: 2 }],
      [{ type: 'patient', id: 1 }],
      [{ type: 'staff', id: 1 }],
      [{}],
      [{ type: 'nurse' }],
      [{ id: null }],
      [{ id: 1.5 }],
      [{ id: -1 }],
      [{ id: 1e300 }],
      [{ id: 2 ** 53 }],
      [{ id: 'two' }],
      [{ id: '99999999999999999999' }],
      [{ id: true }],
      [{ id: [2] }],
      [{ id: { id: 2 } }],
      [{ id: { $gt: 0 } }],
      [{ id: '__proto__' }],
      [{ type: 'constructor', id: 2 }],
    ])('%j resolves to no row: returns 400 with the name of the model', async (json) => {
      for (const method of ['POST', 'DELETE']) {
        const response = await request(method, path, { json });
        expect([response.status, response.json.code, response.json.detail]).toEqual([
          400,
          'reference_not_found',
          'staff id not found',
        ]);
      }
      expect(await attendees()).toEqual([1]);
    });
    test.each([[[]], [[{ id: 2 }]], ['text'], [5], [null], [true]])('%j, which is not an object, returns 400', async (json) => {
      const response = await request('POST', path, { json });
      expect([response.status, response.json.code]).toEqual([400, 'invalid_body']);
    });
    test('that is missing or invalid JSON returns 400', async () => {
      expect((await request('POST', path)).json).toMatchObject({ status: 400, code: 'invalid_body' });
      const headers = { 'content-type': 'application/json' };
      expect((await request('POST', path, { headers })).json).toMatchObject({ status: 400, code: 'invalid_body' });
      expect((await request('POST', path, { headers, body: '{"id":' })).json).toMatchObject({ status: 400 });
    });
    test('with other keys returns 400, and the item stays unchanged', async () => {
      const { status, json } = await request('POST', path, { json: { type: 'nurse', id: 2, name: 'Other' } });
      expect([status, json.code]).toEqual([400, 'unknown_field']);
      expect(json.detail).toContain('"name"');
      expect(await attendees()).toEqual([1]);
      expect(await rows('select name from staff where id = 2')).toEqual([{ name: 'Ada' }]);
    });
    test.each(['{"__proto__":{"id":2},"id":2}', '{"constructor":{"prototype":{}},"id":2}'])('%s returns 400', async (body) => {
      const headers = { 'content-type': 'application/json' };
      expect((await request('POST', path, { body, headers })).status).toBe(400);
      expect(await attendees()).toEqual([1]);
    });
    test('with an item that is hidden from the caller returns the same as for a missing item', async () => {
      for (const [item, see, expected] of [
        ['/wards/1/visitors.json', {}, 400],
        ['/appointments/1/companions.json', {}, 400],
        ['/wards/1/visitors.json', { 'x-see': '1' }, 200],
      ] as const) {
        const response = await request('POST', item, { json: { type: 'visitor', id: 3 }, headers: see });
        expect(response.status).toBe(expected);
        if (expected === 400) expect(response.json.detail).toMatch(/^visitor( or third_party)? id not found$/);
      }
      // what cannot be seen cannot be removed either
      expect((await request('DELETE', '/wards/1/visitors.json', { json: { id: 3 } })).status).toBe(400);
      expect(await number('select count(*) from ward_visitors where visitor_id = 3')).toBe(1);
    });
  });

  describe('a method that the action does not handle', () => {
    test.each(['GET', 'PUT', 'PATCH'])('returns 400: %s', async (method) => {
      for (const action of ['attendees', 'declared']) {
        const json = method === 'GET' ? undefined : { id: 2 };
        const response = await request(method, `/appointments/1/${action}.json`, json && { json });
        expect([response.status, response.json.detail]).toEqual([400, 'this method is not supported']);
      }
    });
    test('returns 400 from a custom handler', async () => {
      const response = await request('PUT', '/appointments/1/participation.json', { json: { id: 2 } });
      expect([response.status, response.json.detail]).toEqual([400, 'this method is not supported']);
    });
    test('returns 400 for HEAD, without a body', async () => {
      for (const action of ['attendees', 'declared']) {
        const { status, text } = await request('HEAD', `/appointments/1/${action}.json`);
        expect([status, text]).toEqual([400, '']);
      }
    });
    test.each(['GET', 'HEAD', 'PUT', 'PATCH'])('returns 405 if only POST and DELETE are enabled: %s', async (method) => {
      const json = method === 'GET' || method === 'HEAD' ? undefined : { id: 1 };
      for (const path of ['/appointments/1/guarded', '/appointments/1/judged', '/appointments/1/loaded', '/brief/1/brief']) {
        const response = await request(method, `${path}.json`, { json, as: { id: 'me' } });
        expect([path, response.status, response.headers.get('allow')]).toEqual([path, 405, 'POST, DELETE']);
      }
    });
    test('returns 405 if it is not enabled', async () => {
      const response = await request('PUT', '/appointments/1/guarded.json', { json: { id: 2 } });
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST, DELETE']);
    });
  });

  describe('the order of steps', () => {
    test('is: load, access, resolve, change, validate, flush', async () => {
      const me = { id: 'me' };
      expect((await request('POST', '/appointments/99/guarded.json', { json: { id: 99 } })).status).toBe(404);
      expect(calls).toEqual([]);
      expect((await request('POST', '/appointments/1/guarded.json', { json: { id: 99 } })).status).toBe(401);
      expect(calls).toEqual(['vote on appointment 1']);
      expect((await request('POST', '/appointments/1/guarded.json', { json: { id: 99 }, as: me })).status).toBe(400);
      calls.length = 0;
      expect((await request('POST', '/appointments/1/guarded.json', { json: { id: 2 }, as: me })).status).toBe(200);
      expect(calls).toEqual(['vote on appointment 1', 'afterValidation guarded', 'afterCommit guarded']);
      await request('DELETE', '/appointments/1/guarded.json', { json: { id: 2 }, as: me });
    });
    test.each(['guarded', 'judged', 'participation', 'loaded'])(
      '%s loads the entity, checks the role with it, and then reads the body',
      async (action) => {
        const post = (id: number, as?: { id: string }) =>
          request('POST', `/appointments/${id}/${action}.json`, { json: { id: 99 }, ...(as && { as }) });
        expect((await post(99)).status).toBe(404);
        expect(calls).toEqual([]);
        expect((await post(1)).status).toBe(401);
        expect(calls).toEqual(['vote on appointment 1']);
        const unresolved = await post(1, { id: 'me' });
        expect([unresolved.status, unresolved.json.detail]).toEqual([400, 'staff id not found']);
      },
    );
    test.each(['attendees', 'declared', 'loaded'])('violations return 422, and %s persists nothing', async (action) => {
      const before = await attendees();
      const path = `/appointments/1/${action}.json`;
      const { status, json } = await request('POST', path, { json: { id: 3 }, as: { id: 'me' } });
      expect(status).toBe(422);
      expect(json.violations).toEqual([
        { propertyPath: 'attendees', title: 'must not include who is banned', code: 'model', parameters: {} },
      ]);
      expect(await attendees()).toEqual(before);
      expect(calls.some((call) => /^(before|after)[A-Z]/.test(call))).toBe(false);
    });
    test('a hook that ends the request before the flush prevents the change', async () => {
      const before = await attendees();
      const response = await request('POST', '/appointments/1/attendees.json', { json: { id: 4 }, headers: { 'x-end': '1' } });
      expect([response.status, response.json]).toEqual([202, 'ended']);
      expect(await attendees()).toEqual(before);
    });
    test('an entity that the controller hides returns 404', async () => {
      const created = await request('POST', '/appointments.json', {
        json: { title: 'Hidden', starts: '2026-01-01T00:00:00Z', patient: { id: 1 } },
      });
      expect(created.status).toBe(201);
      for (const action of ['attendees', 'declared', 'participation']) {
        const path = `/appointments/${created.json.id}/${action}.json`;
        expect((await request('POST', path, { json: { id: 2 }, as: { id: 'me' } })).status).toBe(404);
      }
    });
  });

  describe('a handwritten handler', () => {
    const as = { id: 'me' };
    test('loads, deserializes, checks, changes, validates, flushes and responds', async () => {
      const path = '/appointments/1/participation.json';
      expect((await request('POST', path, { json: { id: 2 } })).status).toBe(401);
      expect((await request('POST', path, { json: { id: 99 }, as })).json.detail).toBe('staff id not found');
      expect((await request('POST', path, { json: { type: 'nurse', id: 2 }, as })).json).toMatchObject({ id: 2, name: 'Ada' });
      expect(await attendees()).toEqual([1, 2]);
      expect((await request('DELETE', path, { json: { id: 2 }, as })).status).toBe(200);
      expect(await attendees()).toEqual([1]);
    });
    test('can return the violations: 422 with the list as JSON, and nothing is persisted', async () => {
      const before = await attendees();
      const { status, headers, json } = await request('POST', '/appointments/1/listed.json', { json: { id: 3 } });
      expect([status, headers.get('content-type')]).toEqual([422, 'application/json; charset=utf-8']);
      expect(json).toMatchObject([{ propertyPath: 'attendees', title: 'must not include who is banned' }]);
      expect(await attendees()).toEqual(before);
    });
  });
});

describe('an association with a wrong declaration is a start error:', () => {
  const start = (association: object, model: unknown = Ward) =>
    startApplication({
      models: clinicModels,
      databaseUrl: 'sqlite::memory:',
      app_main: {
        apis: { x: { class: model, base_path: '/x', actions: { thing: { methods: { POST: true }, association } } } as never },
      },
    });
  test('the property does not exist', async () => {
    await expect(start({ property: 'bedz' })).rejects.toThrow(/Ward has no to-many association "bedz".*beds/);
  });
  test('the property is to-one', async () => {
    await expect(start({ property: 'patient' }, Appointment)).rejects.toThrow(/no to-many association "patient"/);
  });
  test('the methods exist but the type cannot be inferred', async () => {
    await expect(start({ property: 'companions' }, Appointment)).rejects.toThrow(/declare its types/);
  });
});
