// @module-tag divided
import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import {
  ApiController,
  type ApiRequest,
  type DenormalizationContext,
  Denormalizer,
  type ModelQuery,
  TypeDenormalizer,
} from '../../src/index.ts';
import { databases, freshDatabase } from '../support/databases.ts';
import { startApplication } from '../support/testing.ts';
import {
  Appointment,
  Badge,
  Bed,
  clinicModels,
  Doctor,
  Drug,
  Equipment,
  Locker,
  Nurse,
  Patient,
  Secretive,
  Staff,
  seedClinic,
  ThirdParty,
  Visitor,
  Ward,
} from './fixtures/clinic.ts';
import { Chart, chartModels, StrictChart } from './fixtures/clinic-chart.ts';
import { everything, useApplication } from './fixtures/use-application.ts';

class VisitorController extends ApiController {
  override customizeQuery(action: string, _request: ApiRequest, query: ModelQuery<object>) {
    if (action === '_entity') query.andWhere({ hidden: false } as never);
  }
}

const seen: unknown[][] = [];

/** Takes `visitor:1` as well as an object. */
class CarerDenormalizer extends Denormalizer {
  static override properties = ['Patient.carer'];
  override denormalize(
    value: unknown,
    types: readonly (abstract new (...args: never[]) => object)[],
    context: DenormalizationContext,
  ) {
    seen.push([value, types.map(({ name }) => name)]);
    if (typeof value !== 'string') return context.resolve(value);
    const [type, id] = value.split(':');
    return context.resolve({ type, id: Number(id) }, type === 'visitor' ? types.slice(0, 1) : types);
  }
}

/** Serves what the subclasses inherit. */
class WardDenormalizer extends Denormalizer {
  static override properties = ['Staff.ward'];
  override denormalize(value: unknown, _types: readonly unknown[], { em }: DenormalizationContext) {
    const { name } = value as { name?: string };
    return name === 'nothing' ? null : em.findOne(Ward, name === undefined ? (value as never) : ({ name } as never));
  }
}

const api = (model: unknown, path: string, more: object = {}) => ({
  class: model,
  base_path: path,
  actions: everything,
  ...more,
});
const anyKey = { _index: everything._index, _entity: { ...everything._entity, requirements: { id: '[^/]+' } } };

const application = {
  models: [...clinicModels, ...chartModels],
  controllers: [VisitorController],
  denormalizers: [CarerDenormalizer, WardDenormalizer],
  seed: seedClinic,
  app_main: {
    apis: {
      staff: api(Staff, '/staff'),
      doctor: api(Doctor, '/doctors'),
      nurse: api(Nurse, '/nurses'),
      locker: api(Locker, '/lockers'),
      ward: api(Ward, '/wards'),
      bed: api(Bed, '/beds'),
      patient: api(Patient, '/patients'),
      visitor: api(Visitor, '/visitors', { controller: VisitorController }),
      third: api(ThirdParty, '/third-parties'),
      appointment: api(Appointment, '/appointments'),
      equipment: api(Equipment, '/equipment'),
      secretive: api(Secretive, '/secretives'),
      badge: api(Badge, '/badges', { actions: anyKey }),
      drug: api(Drug, '/drugs', { actions: anyKey }),
      chart: api(Chart, '/charts'),
      strict: api(StrictChart, '/strict'),
    } as never,
  },
};

describe.each(databases)('writing on %s', (kind) => {
  const { request, rows } = useApplication(kind, application);
  const get = async (path: string) => (await request('GET', path)).json;
  const refusal = async (method: string, path: string, json: unknown) => {
    const { status, json: problem } = await request(method, path, { json });
    return [status, problem.code];
  };
  const newNurse = async () => {
    const { status, json } = await request('POST', '/nurses.json', { json: { name: 'New' } });
    expect(status).toBe(201);
    return json.id as number;
  };

  describe('accepts only the fields of the write group:', () => {
    test.each([
      ['/staff/2.json', { trainees: [], id: 2, type: 'nurse', shift: 'day' }, 200, undefined],
      ['/patients/1.json', { fullName: 'X Y' }, 400, 'field_not_writable'],
      ['/patients/1.json', { nameLength: 5 }, 400, 'field_not_writable'],
      ['/wards/1.json', { staff: [] }, 400, 'field_not_writable'],
      ['/wards/1.json', { nothing: 1 }, 400, 'unknown_field'],
      ['/wards/1.json', { open: true }, 200, undefined],
    ])('%s %j returns %i %s', async (path, json, status, code) => {
      expect(await refusal('PATCH', path, json)).toEqual([status, code]);
    });
    test('the error names the rejected field and the writable ones', async () => {
      const { json } = await request('PATCH', '/wards/1.json', { json: { name: 'Other', staff: [] } });
      expect(json.detail).toBe('the field "staff" is not writable; writable fields: name, open, beds, visitors');
      expect((await get('/wards/1.json')).name).toBe('North');
    });
    test('a field that is hidden from the caller is rejected like an unknown field', async () => {
      for (const [path, hidden] of [
        ['/wards/1.json', 'budget'],
        ['/wards/1.json', 'secret'],
        ['/staff/1.json', 'salary'],
        ['/staff/1.json', 'pin'],
        ['/patients/1.json', 'diagnosis'],
        ['/patients/1.json', 'privateName'],
        ['/secretives/1.json', 'keeper'],
      ] as const) {
        const answer = await request('PATCH', path, { json: { [hidden]: 1 } });
        const other = await request('PATCH', path, { json: { no_such_thing: 1 } });
        expect(answer.status).toBe(400);
        expect(answer.text.replaceAll(hidden, 'no_such_thing')).toBe(other.text);
      }
      const inside = await request('PATCH', '/patients/1.json', { json: { address: { street: 'X', doorCode: '1' } } });
      expect([inside.status, inside.json.code]).toEqual([400, 'unknown_field']);
      expect(inside.json.detail).toContain('"address.doorCode"');
      expect(await refusal('PATCH', '/patients/1.json', { address: { street: 'X', alarm: '1' } })).toEqual([
        400,
        'unknown_field',
      ]);
    });
    test('a field of another subclass is rejected as unknown', async () => {
      expect(await refusal('PATCH', '/staff/2.json', { specialty: 'x' })).toEqual([400, 'unknown_field']);
      expect(await refusal('POST', '/staff.json', { type: 'doctor', name: 'x', specialty: 's', shift: 'day' })).toEqual([
        400,
        'unknown_field',
      ]);
    });
    test.each(['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', '__helper', '__meta', 'addVisitor', ''])(
      'the key %j is rejected',
      async (key) => {
        const headers = { 'content-type': 'application/json' };
        for (const value of ['1', '{}', '{"prototype":{"polluted":1}}']) {
          const body = `{${JSON.stringify(key)}:${value},"name":"Polluted"}`;
          for (const [method, path] of [
            ['PATCH', '/wards/1.json'],
            ['POST', '/wards.json'],
          ] as const) {
            expect((await request(method, path, { headers, body })).status).toBe(400);
          }
        }
        expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
        expect(await rows("select id from ward where name = 'Polluted'")).toEqual([]);
      },
    );
    test('a body that is not an object is rejected', async () => {
      for (const json of [[], [{}], 'text', 5, null, true]) {
        expect(await refusal('POST', '/wards.json', json)).toEqual([400, 'invalid_body']);
        expect(await refusal('PATCH', '/wards/1.json', json)).toEqual([400, 'invalid_body']);
        expect(await refusal('PUT', '/wards/1.json', json)).toEqual([400, 'invalid_body']);
      }
    });
  });

  describe('accepts id and type if they match the entity:', () => {
    test.each([
      [{ id: 2, type: 'nurse' }, 200],
      [{ id: 2 }, 200],
      [{ type: 'nurse' }, 200],
      [{ id: 1 }, 400],
      [{ id: null }, 400],
      [{ id: [2] }, 400],
      [{ id: { id: 2 } }, 400],
      [{ id: 2.5 }, 400],
      [{ type: 'doctor' }, 400],
      [{ type: 'staff' }, 400],
      [{ type: null }, 400],
      [{ type: ['nurse'] }, 400],
      [{ id: 2, type: 'doctor' }, 400],
    ])('PATCH and PUT %j returns %i', async (identity, status) => {
      for (const [path, method] of [
        ['/staff/2.json', 'PATCH'],
        ['/nurses/2.json', 'PATCH'],
        ['/nurses/2.json', 'PUT'],
      ] as const) {
        const response = await request(method, path, { json: { ...identity, name: 'Ada' } });
        expect(response.status).toBe(status);
        if (status === 400) expect(response.json.code).toBe('identity_mismatch');
        else expect(response.json).toMatchObject({ id: 2, type: 'nurse' });
      }
    });
    test('the type of a model without a discriminator is its name', async () => {
      expect(
        (await request('PATCH', '/third-parties/1.json', { json: { type: 'third_party', id: 1, company: 'Acme' } })).status,
      ).toBe(200);
      expect(await refusal('PATCH', '/third-parties/1.json', { type: 'ThirdParty' })).toEqual([400, 'identity_mismatch']);
    });
    test('an id is rejected for a new entity, because the server assigns it', async () => {
      for (const id of [5, 1, null, 'x']) {
        expect(await refusal('POST', '/wards.json', { id, name: 'Own id' })).toEqual([400, 'identity_mismatch']);
      }
    });
  });

  describe('the type of a new entity', () => {
    test('selects its class', async () => {
      const doctor = await request('POST', '/staff.json', { json: { type: 'doctor', name: 'Cuddy', specialty: 'all' } });
      expect([doctor.status, doctor.json.type, doctor.json.specialty]).toEqual([201, 'doctor', 'all']);
      expect(await rows(`select type from staff where id = ${doctor.json.id}`)).toEqual([{ type: 'doctor' }]);
      const nurse = await request('POST', '/staff.json', { json: { type: 'nurse', name: 'Jeff', shift: 'day' } });
      expect(await get(`/nurses/${nurse.json.id}.json`)).toEqual(nurse.json);
    });
    test.each([undefined, null, 'patient', 'staff', 'Doctor', 5, ['doctor'], {}, '__proto__', 'constructor'])(
      'is rejected if it is %j',
      async (type) => {
        const { status, json } = await request('POST', '/staff.json', { json: { type, name: 'x', specialty: 'y' } });
        expect([status, json.code]).toEqual([400, 'unknown_type']);
        expect(json.detail).toContain('doctor, nurse');
      },
    );
    test('is optional in the API of a subclass, but must match', async () => {
      expect((await request('POST', '/nurses.json', { json: { name: 'N' } })).json.type).toBe('nurse');
      expect((await request('POST', '/nurses.json', { json: { type: 'nurse', name: 'N' } })).status).toBe(201);
      expect((await request('POST', '/nurses.json', { json: { type: 'doctor', name: 'N', specialty: 'x' } })).status).toBe(400);
    });
    test('is the name of the class if each class has its own table', async () => {
      const pump = await request('POST', '/equipment.json', {
        json: { type: 'infusion_pump', label: 'P', rate: 3, ward: { id: 1 } },
      });
      expect([pump.status, pump.json]).toEqual([201, { id: expect.any(Number), label: 'P', rate: 3 }]);
      const path = `/equipment/${pump.json.id}.json`;
      expect(await get(path)).toEqual(pump.json);
      expect((await request('PATCH', path, { json: { type: 'infusion_pump', rate: 4, label: 'Q' } })).json).toMatchObject({
        rate: 4,
        label: 'Q',
      });
      expect(await get(path)).toMatchObject({ rate: 4, label: 'Q' });
      expect(await refusal('PATCH', path, { type: 'scanner' })).toEqual([400, 'identity_mismatch']);
      expect(await refusal('PATCH', path, { tesla: 1 })).toEqual([400, 'unknown_field']);
      expect(await refusal('POST', '/equipment.json', { label: 'P', rate: 3 })).toEqual([400, 'unknown_type']);
    });
  });

  describe('a to-one association', () => {
    test('is set by PATCH from {id} or {type, id}, also together with the own id and type', async () => {
      const body = { type: 'nurse', id: 2, mentor: { type: 'doctor', id: 4 } };
      const { status, json } = await request('PATCH', '/staff/2.json', { json: body });
      expect([status, json.mentor]).toEqual([200, { id: 4, type: 'doctor' }]);
      expect((await request('PATCH', '/staff/2.json', { json: { mentor: { id: 1 } } })).json.mentor).toEqual({
        id: 1,
        type: 'doctor',
      });
      expect((await get('/staff/2.json')).mentor).toEqual({ id: 1, type: 'doctor' });
    });
    test('is cleared by null, and kept if it is missing', async () => {
      const id = await newNurse();
      await request('PATCH', `/staff/${id}.json`, { json: { mentor: { id: 1 } } });
      expect((await request('PATCH', `/staff/${id}.json`, { json: { name: 'Same' } })).json.mentor).toEqual({
        id: 1,
        type: 'doctor',
      });
      expect((await request('PATCH', `/staff/${id}.json`, { json: { mentor: null } })).json.mentor).toBeNull();
      expect((await get(`/staff/${id}.json`)).mentor).toBeNull();
    });
    test('that is not nullable rejects null', async () => {
      const { status, json } = await request('PATCH', '/appointments/1.json', { json: { patient: null } });
      expect([status, json.violations]).toMatchObject([422, [{ propertyPath: 'patient', code: 'required' }]]);
    });
    test('can refer to the entity itself', async () => {
      const id = await newNurse();
      const { json } = await request('PATCH', `/staff/${id}.json`, { json: { mentor: { type: 'nurse', id } } });
      expect(json.mentor).toEqual({ id, type: 'nurse' });
    });

    test.each<[string, unknown]>([
      ['does not exist', { id: 99 }],
      ['does not exist', { type: 'doctor', id: 99 }],
      ['has another type', { type: 'nurse', id: 1 }],
      ['has another type, and is the entity itself', { type: 'doctor', id: 2 }],
      ['has another class', { type: 'ward', id: 1 }],
      ['has no such type', { type: 'constructor', id: 1 }],
      ['has no such type', { type: '__proto__', id: 1 }],
      ['has no such type', { type: null, id: 1 }],
      ['has no such type', { type: ['doctor'], id: 1 }],
      ['has further keys', { id: 1, name: 'Altered' }],
      ['has further keys', { id: 1, type: 'doctor', salary: 1 }],
      ['has no id', {}],
      ['has no id', { type: 'doctor' }],
      ['has the id null', { id: null }],
      ['has an object for an id', { id: { id: 1 } }],
      ['has an operator for an id', { id: { $gt: 0 } }],
      ['has a list for an id', { id: [1] }],
      ['has a boolean for an id', { id: true }],
      ['has a text for an id', { id: 'one' }],
      ['has an empty text for an id', { id: '' }],
      ['has the name of a prototype for an id', { id: '__proto__' }],
      ['has a fraction for an id', { id: 1.5 }],
      ['has a huge id', { id: 1e300 }],
      ['has a huge id', { id: 2 ** 53 }],
      ['has a huge id', { id: '99999999999999999999999' }],
      ['has a negative id', { id: -1 }],
      ['has an id in another notation', { id: '01' }],
    ])('returns 400 if the reference %s: %j', async (_, mentor) => {
      const before = await get('/staff/2.json');
      for (const [method, path, more] of [
        ['PATCH', '/staff/2.json', {}],
        ['PUT', '/nurses/2.json', { name: 'Ada' }],
        ['POST', '/nurses.json', { name: 'Refused' }],
      ] as const) {
        const { status, json } = await request(method, path, { json: { ...more, mentor } });
        expect([status, json.code]).toEqual([400, 'invalid_reference']);
        expect(json.detail).toContain('"mentor"');
      }
      expect(await get('/staff/2.json')).toEqual(before);
      expect(await rows('select name, salary from staff where id = 1')).toEqual([{ name: 'House', salary: 9 }]);
      expect(await rows("select id from staff where name = 'Refused'")).toEqual([]);
    });
    test.each([5, 'text', true, [], [{ id: 1 }]])('rejects %j with 422', async (mentor) => {
      const { status, json } = await request('PATCH', '/staff/2.json', { json: { mentor } });
      expect([status, json.violations]).toMatchObject([422, [{ propertyPath: 'mentor', code: 'type' }]]);
    });
    test('does not resolve rows that the API of their class hides from the caller', async () => {
      const { status, json } = await request('PATCH', '/patients/1.json', { json: { carer: { type: 'visitor', id: 3 } } });
      expect([status, json.code]).toEqual([400, 'invalid_reference']);
      expect(json.detail).toBe(
        (await request('PATCH', '/patients/1.json', { json: { carer: { type: 'visitor', id: 99 } } })).json.detail,
      );
      expect((await get('/patients/1.json')).carer).toBeNull();
      expect(await refusal('PATCH', '/wards/1.json', { visitors: [{ id: 1 }, { id: 3 }] })).toEqual([400, 'invalid_reference']);
      expect((await get('/wards/1.json')).visitors).toEqual([]);
    });
    test('of several types requires the type', async () => {
      expect(
        (await request('PATCH', '/patients/3.json', { json: { carer: { type: 'third_party', id: 1 } } })).json.carer,
      ).toEqual({
        id: 1,
        company: 'Acme',
      });
      expect(await rows('select carer_id from patient where id = 3')).toEqual([{ carer_id: 1 }]);
      for (const carer of [{ id: 1 }, { type: 'patient', id: 1 }, { type: 'ThirdParty', id: 1 }]) {
        const { status, json } = await request('PATCH', '/patients/3.json', { json: { carer } });
        expect([status, json.code]).toEqual([400, 'invalid_reference']);
        expect(json.detail).toContain('visitor, third_party');
      }
      expect((await get('/patients/3.json')).carer).toEqual({ id: 1, company: 'Acme' });
      expect((await request('PATCH', '/patients/3.json', { json: { carer: null } })).json.carer).toBeNull();
      expect((await get('/patients/3.json')).carer).toBeNull();
      expect(await rows('select carer_type from patient where id = 3')).toEqual([{ carer_type: null }]);
    });
    test('one-to-one can be written from its owning side', async () => {
      const id = await newNurse();
      expect((await request('PATCH', '/lockers/2.json', { json: { holder: { type: 'nurse', id } } })).json.holder).toMatchObject({
        id,
      });
      expect((await get(`/staff/${id}.json`)).locker).toMatchObject({ id: 2 });
      const taken = await request('PATCH', '/lockers/2.json', { json: { holder: { id: 1 } } });
      expect([taken.status, taken.json.code]).toEqual([409, 'conflict_unique']);
      expect(taken.json.detail).toContain('holder');
      expect((await request('PATCH', '/lockers/2.json', { json: { holder: null } })).json.holder).toBeNull();
      expect((await get(`/staff/${id}.json`)).locker).toBeNull();
    });
    test('one-to-one can be written from its inverse side', async () => {
      const id = await newNurse();
      const { status, json } = await request('PATCH', `/staff/${id}.json`, { json: { locker: { id: 2 } } });
      expect([status, json.locker]).toEqual([200, { id: 2, number: 12, holder: { id, type: 'nurse' } }]);
      expect((await get('/lockers/2.json')).holder).toMatchObject({ id });
      const cleared = await request('PATCH', `/staff/${id}.json`, { json: { locker: null } });
      expect([cleared.status, cleared.json.locker]).toEqual([200, null]);
      expect((await get('/lockers/2.json')).holder).toBeNull();
    });
  });

  describe('a to-many association', () => {
    const ids = (list: { id: number }[]) => list.map(({ id }) => id);
    test('is replaced by a list', async () => {
      const patch = (attendees: unknown) => request('PATCH', '/appointments/1.json', { json: { attendees } });
      expect(ids((await patch([{ type: 'nurse', id: 2 }, { id: 4 }])).json.attendees)).toEqual([2, 4]);
      expect(ids((await get('/appointments/1.json')).attendees)).toEqual([2, 4]);
      expect(ids((await patch([{ id: 1 }, { id: 1 }, { id: 4 }])).json.attendees)).toEqual([1, 4]);
      expect((await patch([])).json.attendees).toEqual([]);
      expect((await get('/appointments/1.json')).attendees).toEqual([]);
      expect(ids((await patch([{ id: 1 }])).json.attendees)).toEqual([1]);
      expect(ids((await request('PATCH', '/appointments/1.json', { json: { title: 'Visit' } })).json.attendees)).toEqual([1]);
    });
    test('is set when the entity is created, and emptied by a PUT without it', async () => {
      const json = { title: 'Team', starts: '2026-01-01T00:00:00Z', patient: { id: 1 }, attendees: [{ id: 1 }, { id: 2 }] };
      const created = await request('POST', '/appointments.json', { json });
      expect(ids(created.json.attendees)).toEqual([1, 2]);
      const path = `/appointments/${created.json.id}.json`;
      expect(await get(path)).toEqual(created.json);
      const { attendees: _, ...rest } = json;
      expect((await request('PUT', path, { json: rest })).json.attendees).toEqual([]);
      expect((await get(path)).attendees).toEqual([]);
    });
    test('on the inverse side changes the items', async () => {
      const [mentor, a, b] = [await newNurse(), await newNurse(), await newNurse()];
      const patch = (trainees: unknown) => request('PATCH', `/staff/${mentor}.json`, { json: { trainees } });
      expect((await patch([{ id: a }, { id: b }])).json.trainees).toEqual([
        { id: a, type: 'nurse' },
        { id: b, type: 'nurse' },
      ]);
      expect((await get(`/staff/${a}.json`)).mentor).toEqual({ id: mentor, type: 'nurse' });
      await patch([{ id: b }]);
      expect((await get(`/staff/${a}.json`)).mentor).toBeNull();
      expect((await get(`/staff/${b}.json`)).mentor).toEqual({ id: mentor, type: 'nurse' });
    });
    test('keeps items that cannot exist without it, and returns 422', async () => {
      const { status, json } = await request('PATCH', '/wards/1.json', { json: { beds: [{ id: 1 }] } });
      expect([status, json.violations]).toMatchObject([422, [{ propertyPath: 'beds' }]]);
      expect(await rows('select id from bed where ward_id = 1 order by id')).toEqual([{ id: 1 }, { id: 2 }]);
      expect((await request('PATCH', '/wards/1.json', { json: { beds: [{ id: 1 }, { id: 2 }] } })).status).toBe(200);
    });
    test.each([
      [[{ id: 1 }, { id: 99 }], 'attendees[1]'],
      [[{ id: 1, name: 'Altered' }], 'attendees[0]'],
      [[{ type: 'nurse', id: 1 }], 'attendees[0]'],
    ])('returns 400 and names the invalid item: %j', async (attendees, name) => {
      const before = await get('/appointments/1.json');
      const { status, json } = await request('PATCH', '/appointments/1.json', { json: { attendees } });
      expect([status, json.code]).toEqual([400, 'invalid_reference']);
      expect(json.detail).toContain(`"${name}"`);
      expect(await get('/appointments/1.json')).toEqual(before);
    });
    test.each([[[1]], [[null]], [[[{ id: 1 }]]]])('rejects an item that is not an object with 422: %j', async (attendees) => {
      const { status, json } = await request('PATCH', '/appointments/1.json', { json: { attendees } });
      expect([status, json.violations]).toMatchObject([422, [{ propertyPath: 'attendees[0]', code: 'type' }]]);
    });
    test.each([{ id: 1 }, {}, 5, 'text', true, null])('rejects %j with 422', async (attendees) => {
      const { status, json } = await request('PATCH', '/appointments/1.json', { json: { attendees } });
      expect([status, json.violations]).toMatchObject([422, [{ propertyPath: 'attendees' }]]);
    });
  });

  describe('a primary key set by the client', () => {
    const id = '00000000-0000-4000-8000-0000000000ab';
    test('is accepted when the row is created, and cannot be changed later', async () => {
      const created = await request('POST', '/badges.json', { json: { id: id.toUpperCase(), owner: 'A' } });
      expect([created.status, created.json]).toEqual([201, { id, owner: 'A' }]);
      expect(created.headers.get('location')).toBe(`/badges/${id}.json`);
      expect((await request('PATCH', `/badges/${id}.json`, { json: { id, owner: 'B' } })).json).toEqual({ id, owner: 'B' });
      expect((await request('PUT', `/badges/${id}.json`, { json: { id, owner: 'C' } })).json).toEqual({ id, owner: 'C' });
      expect((await request('PUT', `/badges/${id}.json`, { json: { owner: 'D' } })).json).toEqual({ id, owner: 'D' });
      expect(await refusal('PATCH', `/badges/${id}.json`, { id: id.replace('ab', 'cd') })).toEqual([400, 'identity_mismatch']);
      const again = await request('POST', '/badges.json', { json: { id, owner: 'A' } });
      expect([again.status, again.json.code]).toEqual([409, 'conflict_unique']);
      expect(await get(`/badges/${id}.json`)).toEqual({ id, owner: 'D' });
    });
    test('is required and must be valid', async () => {
      for (const json of [{ owner: 'A' }, { id: null, owner: 'A' }, { id: 'x', owner: 'A' }, { id: 5, owner: 'A' }]) {
        const response = await request('POST', '/badges.json', { json });
        expect([response.status, response.json.violations]).toMatchObject([422, [{ propertyPath: 'id' }]]);
      }
      for (const code of ['x'.repeat(11), 5, null, undefined]) {
        const response = await request('POST', '/drugs.json', { json: { code, name: 'X' } });
        expect([response.status, response.json.violations]).toMatchObject([422, [{ propertyPath: 'code' }]]);
      }
    });
    test('can be a string, and identifies the row', async () => {
      const created = await request('POST', '/drugs.json', { json: { code: 'é 1%', name: 'X', replaces: { code: 'ASA' } } });
      expect(created.json).toEqual({ code: 'é 1%', name: 'X', replaces: { code: 'ASA' } });
      expect(await get(created.headers.get('location') as string)).toEqual(created.json);
      const byId = await request('POST', '/drugs.json', { json: { code: 'B', name: 'B', replaces: { id: 'ASA' } } });
      expect([byId.status, byId.json.replaces]).toEqual([201, { code: 'ASA' }]);
      for (const key of ['asa', 'constructor', '__proto__', 5, ['ASA'], { $ne: '' }]) {
        expect(await refusal('PATCH', '/drugs/B.json', { replaces: { code: key } })).toEqual([400, 'invalid_reference']);
      }
    });
  });

  describe('PUT', () => {
    test('resets missing fields to their default or null', async () => {
      const full = {
        integer: 1,
        string: 'a',
        boolean: true,
        date: '2026-01-01',
        json: { a: 1 },
        dose: { amount: 1, unit: 'ml' },
      };
      const created = await request('POST', '/strict.json', { json: { ...full, color: 'green', counter: 1, colors: ['x'] } });
      const path = `/strict/${created.json.id}.json`;
      const { json } = await request('PUT', path, { json: { ...full, dose: { amount: 2 } } });
      expect(json).toMatchObject({ color: 'red', counter: 7, colors: [], dose: { amount: 2, unit: null } });
      expect(await get(path)).toEqual(json);
      const missing = await request('PUT', path, { json: { integer: 1 } });
      expect(missing.json.violations.map((v: { propertyPath: string }) => v.propertyPath)).toEqual([
        'string',
        'boolean',
        'date',
        'json',
        'dose',
      ]);
    });
    test('clears associations and nullable fields', async () => {
      const id = await newNurse();
      await request('PATCH', `/nurses/${id}.json`, { json: { mentor: { id: 1 }, shift: 'day', ward: { id: 1 } } });
      expect((await request('PUT', `/nurses/${id}.json`, { json: { name: 'N' } })).json).toMatchObject({
        mentor: null,
        shift: null,
        ward: null,
        trainees: [],
      });
    });
  });

  describe('PATCH merges', () => {
    test('objects of a JSON column, as in RFC 7396', async () => {
      const { json } = await request('POST', '/charts.json', { json: { json: { a: 1, b: { c: 2, d: [1, 2] }, e: null } } });
      const path = `/charts/${json.id}.json`;
      expect(json.json).toEqual({ a: 1, b: { c: 2, d: [1, 2] }, e: null });
      const patch = async (value: unknown) => (await request('PATCH', path, { json: { json: value } })).json.json;
      expect(await patch({ a: null, b: { d: [3] }, f: { g: null, h: 1 } })).toEqual({
        b: { c: 2, d: [3] },
        e: null,
        f: { h: 1 },
      });
      expect((await get(path)).json).toEqual({ b: { c: 2, d: [3] }, e: null, f: { h: 1 } });
      expect(await patch([1])).toEqual([1]);
      expect(await patch({ z: 1 })).toEqual({ z: 1 });
      expect(await patch('text')).toBe('text');
    });
    test('embeddables field by field, and null clears them', async () => {
      const dose = { amount: 1, unit: 'ml', given: '2026-01-01T00:00:00.000Z', lot: 5, warmth: { celsius: 4 } };
      const body = { inline: dose, object: dose, nested: { name: 'n', dose }, nestedObject: { name: 'n', dose }, list: [dose] };
      const { json } = await request('POST', '/charts.json', { json: body });
      const path = `/charts/${json.id}.json`;
      const change = { amount: 2, given: null, warmth: { celsius: 5 } };
      const patched = await request('PATCH', path, {
        json: { inline: change, object: change, nested: { dose: change }, nestedObject: { dose: change }, list: [{ amount: 9 }] },
      });
      const expected = { ...dose, ...change };
      expect(patched.json).toMatchObject({
        inline: expected,
        object: expected,
        nested: { name: 'n', dose: expected },
        nestedObject: { name: 'n', dose: expected },
        list: [{ amount: 9, unit: null, given: null, lot: null, warmth: null }],
      });
      expect(await get(path)).toEqual(patched.json);
      const cleared = await request('PATCH', path, {
        json: { inline: null, nested: { dose: null }, nestedObject: { dose: null } },
      });
      expect(cleared.json).toMatchObject({
        inline: null,
        nested: { name: 'n', dose: null },
        nestedObject: { name: 'n', dose: null },
      });
      expect(await get(path)).toEqual(cleared.json);
    });
    test('embeddables without changing their fields that are not writable', async () => {
      await request('PATCH', '/patients/1.json', { json: { address: { street: 'Other 2' } } });
      expect((await get('/patients/1.json')).address).toEqual({ street: 'Other 2', postal_code: '1234' });
      expect(await rows('select address_door_code, address_alarm from patient where id = 1')).toEqual([
        { address_door_code: '99', address_alarm: 'loud' },
      ]);
    });
    test('no value that is nested too deeply, and returns 4xx', async () => {
      const deep = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth);
      const headers = { 'content-type': 'application/json' };
      const { json } = await request('POST', '/charts.json', { json: { json: {} } });
      for (const value of [deep(50_000, '[', ']'), `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`]) {
        for (const [method, path] of [
          ['PATCH', `/charts/${json.id}.json`],
          ['PUT', `/charts/${json.id}.json`],
          ['POST', '/charts.json'],
        ] as const) {
          const response = await request(method, path, { headers, body: `{"json":${value}}` });
          expect(response.status).toBeGreaterThanOrEqual(400);
          expect(response.status).toBeLessThan(500);
        }
      }
    });
  });

  describe("an application's own denormalizer", () => {
    test('gets the value and the allowed types, and its result is used', async () => {
      seen.length = 0;
      const { json } = await request('PATCH', '/patients/1.json', { json: { carer: 'third_party:1' } });
      expect(json.carer).toEqual({ id: 1, company: 'Acme' });
      expect(seen).toEqual([['third_party:1', ['Visitor', 'ThirdParty']]]);
      expect((await request('PATCH', '/patients/1.json', { json: { carer: 'visitor:1' } })).json.carer).toEqual({
        id: 1,
        name: 'Vera',
      });
      expect((await request('PATCH', '/patients/1.json', { json: { carer: null } })).json.carer).toBeNull();
    });
    test('resolves only rows that the caller can see, and returns 400 if it finds none', async () => {
      for (const carer of ['visitor:3', 'visitor:99', 'third_party:x', 5, [], { id: 1 }]) {
        expect(await refusal('PATCH', '/patients/1.json', { carer })).toEqual([400, 'invalid_reference']);
      }
    });
    test('applies to the subclasses of its model', async () => {
      const { status, json } = await request('PATCH', '/nurses/2.json', { json: { ward: { name: 'South' } } });
      expect([status, json.ward]).toMatchObject([200, { id: 2, name: 'South' }]);
      expect(await refusal('PATCH', '/staff/2.json', { ward: { name: 'nothing' } })).toEqual([400, 'invalid_reference']);
      expect((await request('PATCH', '/staff/2.json', { json: { ward: { id: 1 } } })).json.ward).toMatchObject({ name: 'North' });
    });
  });
});

describe('a denormalizer causes a start error', () => {
  class Ready extends TypeDenormalizer {
    static override properties = ['Patient.carer'];
  }
  class Unserving extends TypeDenormalizer {}
  class Lost extends TypeDenormalizer {
    static override properties = ['Patient.nothing', 'Nobody.carer', 'carer', 'Patient.firstName'];
  }
  const start = (...denormalizers: unknown[]) =>
    startApplication({
      models: clinicModels,
      denormalizers: denormalizers as never,
      databaseUrl: 'sqlite::memory:',
      app_main: { apis: { patient: { class: Patient, base_path: '/patients', actions: everything } } },
    });
  test('if it serves nothing', async () => {
    await expect(start(Unserving)).rejects.toThrow(/Unserving must declare what it handles/);
  });
  test('if its target is not an association', async () => {
    const error = String(await start(Lost).catch((e: Error) => e));
    for (const name of ['Patient.nothing', 'Nobody.carer', 'carer', 'Patient.firstName']) {
      expect(error).toContain(`Lost handles "${name}", which is not an association of a model`);
    }
  });
  test('if two serve the same association', async () => {
    await expect(start(Ready, CarerDenormalizer)).rejects.toThrow(/CarerDenormalizer and Ready both handle Patient.carer/);
  });
  test('but not if it is valid', async () => {
    const app = await start(Ready);
    await app.close();
  });
});

describe.each(databases)('required parts of embedded objects that bodies cannot set, on %s', (kind) => {
  const Stop = defineEntity({
    name: 'Stop',
    embeddable: true,
    properties: { place: p.string().groups('read', 'write'), secret: p.string() },
  });
  const Tour = defineEntity({
    name: 'Tour',
    properties: {
      id: p.integer().primary().groups('read'),
      stops: () => p.embedded(Stop).array().groups('read', 'write'),
      start: () => p.embedded(Stop).object().groups('read', 'write'),
    },
  });

  test.each(['PUT', 'PATCH'])('do not reject %s if they have no value', async (method) => {
    const database = await freshDatabase(kind);
    const actions = { _index: { methods: { POST: true } }, _entity: { methods: { PATCH: true, PUT: true } } };
    const app = await startApplication({
      app_main: { apis: { tour: { class: Tour, base_path: '/tours', actions } } },
      models: [Tour, Stop],
      databaseUrl: database.url,
    } as never);
    try {
      await app.request('POST', '/tours.json', { json: { stops: [{ place: 'a' }], start: { place: 'a' } } });
      const json = { stops: [{ place: 'a' }, { place: 'b' }], start: { place: 'b' } };
      const changed = await app.request(method, '/tours/1.json', { json });
      expect([changed.status, changed.json]).toEqual([200, { id: 1, ...json }]);
    } finally {
      await app.close();
      await database.drop();
    }
  });
});
