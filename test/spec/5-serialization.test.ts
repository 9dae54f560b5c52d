// @module-tag divided
import { describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest } from '../../src/index.ts';
import { databases } from '../support/databases.ts';
import {
  Appointment,
  Badge,
  Bed,
  clinicModels,
  Doctor,
  Drug,
  Equipment,
  InfusionPump,
  Locker,
  Nurse,
  Patient,
  Scanner,
  Secretive,
  Staff,
  seedClinic,
  Ward,
} from './fixtures/clinic.ts';
import { Chart, chartModels } from './fixtures/clinic-chart.ts';
import { everything, useApplication } from './fixtures/use-application.ts';

class SecretiveController extends ApiController {
  async everythingApi(_id: number, request: ApiRequest) {
    const secretive = await this.em.findOneOrFail(Secretive, { name: 'S' }, { populate: ['ward', 'keeper'] });
    const groups = (request.query as { groups?: string }).groups?.split(',') ?? [];
    return this.json(secretive, { groups });
  }
}

const api = (model: unknown, path: string, more: object = {}) => ({
  class: model,
  base_path: path,
  actions: everything,
  ...more,
});

const application = {
  models: [...clinicModels, ...chartModels],
  controllers: [SecretiveController],
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
      appointment: api(Appointment, '/appointments'),
      equipment: api(Equipment, '/equipment'),
      scanner: api(Scanner, '/scanners'),
      pump: api(InfusionPump, '/pumps'),
      secretive: api(Secretive, '/secretives', {
        controller: SecretiveController,
        actions: { ...everything, everything: { methods: { GET: true } } },
      }),
      badge: api(Badge, '/badges', {
        actions: { _index: everything._index, _entity: { ...everything._entity, requirements: { id: '[^/]+' } } },
      }),
      drug: api(Drug, '/drugs', {
        actions: { _index: everything._index, _entity: { ...everything._entity, requirements: { id: '[^/]+' } } },
      }),
      chart: api(Chart, '/charts'),
    } as never,
  },
};

describe.each(databases)('serialization on %s', (kind) => {
  const clinic = useApplication(kind, application);
  const { request, rows } = clinic;
  const get = async (path: string) => (await request('GET', path)).json;

  describe('groups fail closed:', () => {
    test('a field without groups is absent, also in embedded entities', async () => {
      for (const path of ['/staff/1.json', '/staff.json', '/wards/1.json', '/patients/1.json', '/appointments/1.json']) {
        const { text, status } = await request('GET', path);
        expect(status).toBe(200);
        for (const name of ['salary', 'budget', 'secret', 'diagnosis', 'doorCode', 'privateName', 'appointments', 'children']) {
          expect(text).not.toContain(`"${name}"`);
        }
      }
    });
    test('a primary key and a discriminator without groups are absent', async () => {
      const one = await get('/secretives/1.json');
      expect(Object.keys(one).sort()).toEqual(['name', 'ward']);
      expect(await get('/secretives.json')).toMatchObject({ results: [{ name: 'S' }] });
    });
    test('a hidden field is absent, even if it is in the group', async () => {
      for (const path of ['/staff/2.json', '/patients/1.json', '/wards/1.json']) {
        const { text } = await request('GET', path);
        expect(text).not.toContain('"pin"');
        expect(text).not.toContain('alarm');
        expect(text).not.toContain('loud');
      }
    });
    test('a field that is only in another group is absent', async () => {
      expect(await get('/wards/1.json')).not.toHaveProperty('open');
      expect(await get('/wards/1.json')).not.toHaveProperty('beds');
    });
    test('without any group nothing is shown', async () => {
      expect(await get('/secretives/1/everything.json')).toEqual({});
      expect(await get('/secretives/1/everything.json?groups=nonsense')).toEqual({});
    });
    test('the groups apply to embedded entities too', async () => {
      expect(await get('/secretives/1/everything.json?groups=read,short')).toMatchObject({ ward: { id: 1, name: 'North' } });
      // the association itself is in read only, its fields are in both
      expect(await get('/secretives/1/everything.json?groups=short')).toEqual({});
    });
    test('an embeddable shows its own fields of the group, with their own names', async () => {
      expect((await get('/patients/1.json')).address).toEqual({ street: 'Main 1', postal_code: '1234' });
    });
    test('an association outside the groups is not loaded', async () => {
      expect(await get('/equipment/1.json')).toEqual({ id: 1, label: 'MRI', tesla: 1.5 });
    });
  });

  describe('an association', () => {
    test('is loaded with the same number of statements for one row and for many', async () => {
      const { statements } = clinic.app;
      const needed = async (path: string) => {
        statements.length = 0;
        await request('GET', path);
        return statements.length;
      };
      expect(await needed('/patients.json?items_per_page=3')).toBe(await needed('/patients.json?items_per_page=1'));
    });
    test('is embedded with the read fields of its own model', async () => {
      const { doctor } = await get('/patients/1.json');
      expect(doctor).toMatchObject({ id: 1, type: 'doctor', name: 'House', specialty: 'all' });
      expect(Object.keys(doctor).sort()).toEqual(
        ['id', 'locker', 'mentor', 'name', 'patients', 'specialty', 'trainees', 'type', 'ward'].sort(),
      );
    });
    test('is null or an empty list if it is empty', async () => {
      expect(await get('/staff/3.json')).toMatchObject({ mentor: null, trainees: [], locker: null });
    });
    test('to its own class is shown as a reference, also with inheritance', async () => {
      const ada = await get('/staff/2.json');
      expect(ada.mentor).toEqual({ id: 1, type: 'doctor' });
      const house = await get('/staff/1.json');
      expect(house.trainees).toEqual([
        { id: 2, type: 'nurse' },
        { id: 4, type: 'doctor' },
      ]);
      expect((await get('/nurses/2.json')).mentor).toEqual({ id: 1, type: 'doctor' });
    });
    test('back to the parent entity is shown as a reference', async () => {
      const { ward } = await get('/staff/1.json');
      expect(ward).toMatchObject({ id: 1, name: 'North' });
      expect(ward.staff).toEqual([
        { id: 1, type: 'doctor' },
        { id: 2, type: 'nurse' },
      ]);
      const north = await get('/wards/1.json');
      expect(north.staff[0].ward).toEqual({ id: 1 });
      const pat = await get('/patients/1.json');
      expect(pat.doctor.patients).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }]);
    });
    test('to-many is embedded, ordered by key', async () => {
      const north = await get('/wards/1.json');
      expect(north.staff.map(({ id, name, specialty, shift }: Record<string, unknown>) => [id, name, specialty, shift])).toEqual([
        [1, 'House', 'all', undefined],
        [2, 'Ada', undefined, 'night'],
      ]);
    });
    test('one-to-one is embedded from both sides', async () => {
      expect((await get('/lockers/1.json')).holder).toMatchObject({ id: 1, name: 'House', locker: { id: 1 } });
      expect((await get('/staff/1.json')).locker).toEqual({ id: 1, number: 11, holder: { id: 1, type: 'doctor' } });
      expect(await get('/lockers/2.json')).toEqual({ id: 2, number: 12, holder: null });
    });
    test('of several types shows the fields of the actual type', async () => {
      await request('PATCH', '/patients/2.json', { json: { carer: { type: 'third_party', id: 1 } } });
      expect((await get('/patients/2.json')).carer).toEqual({ id: 1, company: 'Acme' });
      await request('PATCH', '/patients/2.json', { json: { carer: { type: 'visitor', id: 1 } } });
      expect((await get('/patients/2.json')).carer).toEqual({ id: 1, name: 'Vera' });
      await request('PATCH', '/patients/2.json', { json: { carer: null } });
      expect((await get('/patients/2.json')).carer).toBeNull();
    });
  });

  describe('a field', () => {
    test('can be computed by a getter', async () => {
      const { fullName, summary } = await get('/patients/1.json');
      expect(fullName).toBe('Pat Smith');
      // whatever it gives is serialized by the same rules
      expect(summary).toEqual({
        at: '1970-01-01T00:00:00.000Z',
        size: '1152921504606846976',
        parts: [{ name: 'Smith' }],
        address: { street: 'Main 1', postal_code: '1234' },
      });
    });
    test('can be lazy, and is still shown', async () => {
      expect((await get('/patients/1.json')).history).toBe('history of Pat');
      expect((await get('/patients.json')).results.map(({ history }: { history: string }) => history)).toContain(
        'history of Pia',
      );
    });
    test('can be a formula', async () => {
      expect((await get('/patients/1.json')).nameLength).toBe(5);
    });
    test('can be renamed, for reads and writes', async () => {
      const patched = await request('PATCH', '/patients/3.json', { json: { insurance_number: 'A1' } });
      expect(patched.json).toMatchObject({ insurance_number: 'A1' });
      expect(patched.json).not.toHaveProperty('insurance');
      expect(await get('/patients/3.json')).toMatchObject({ insurance_number: 'A1' });
      const byProperty = await request('PATCH', '/patients/3.json', { json: { insurance: 'A2' } });
      expect([byProperty.status, byProperty.json.code]).toEqual([400, 'unknown_field']);
    });
    test('can have its own serializer', async () => {
      expect((await get('/patients/1.json')).weight).toBe('unknown');
      expect((await request('PATCH', '/patients/1.json', { json: { weight: 70_000 } })).json.weight).toBe('70000 g');
      expect((await get('/patients/1.json')).weight).toBe('70000 g');
    });
  });

  describe('a discriminator', () => {
    test('selects the fields of each row in a root API', async () => {
      const { results } = await get('/staff.json');
      expect(results.map(({ type, specialty, shift }: Record<string, unknown>) => [type, specialty, shift])).toEqual([
        ['doctor', 'all', undefined],
        ['nurse', undefined, 'night'],
        ['nurse', undefined, null],
        ['doctor', 'tumours', undefined],
      ]);
      expect(results[0]).not.toHaveProperty('shift');
    });
    test('limits the API of a subclass to its rows', async () => {
      expect((await get('/nurses.json')).count).toBe(2);
      expect((await request('GET', '/nurses/1.json')).status).toBe(404);
      expect((await get('/doctors/1.json')).type).toBe('doctor');
    });
    test('is not needed if each class has its own table', async () => {
      expect((await get('/equipment.json')).results).toEqual([
        { id: 1, label: 'MRI', tesla: 1.5 },
        { id: 2, label: 'Pump', rate: 5 },
      ]);
      expect(await get('/pumps/2.json')).toEqual({ id: 2, label: 'Pump', rate: 5 });
      expect((await request('GET', '/pumps/1.json')).status).toBe(404);
      expect(await get('/scanners.json')).toMatchObject({ count: 1 });
    });
  });

  test('rows are addressed by UUID and string keys', async () => {
    expect(await get('/badges/00000000-0000-4000-8000-000000000001.json')).toEqual({
      id: '00000000-0000-4000-8000-000000000001',
      owner: 'House',
    });
    expect(await get('/drugs/ASA.json')).toEqual({ code: 'ASA', name: 'Aspirin', replaces: null });
    for (const path of ['/badges/x.json', '/badges/1.json', '/drugs/asa.json', `/drugs/${'x'.repeat(11)}.json`]) {
      expect((await request('GET', path)).status).toBe(404);
    }
  });

  describe('a column of every type returns the written value, in the response and in the next GET:', () => {
    const dose = { amount: 5, unit: 'ml', given: '2026-11-15T13:45:00.123Z', lot: '9007199254740993', warmth: { celsius: 4 } };
    const plainDose = { amount: 1, unit: null, given: null, lot: null, warmth: null };
    test.each<[string, unknown, unknown?]>([
      ['integer', 2147483647],
      ['integer', -2147483648],
      ['integer', 0],
      ['unsigned', 2147483647],
      ['smallint', -32768],
      ['tinyint', 127],
      ['bigint', 12],
      ['bigint', '12', 12],
      ['bigint', 9007199254740991],
      ['bigint', '9007199254740992'],
      ['bigint', '9223372036854775807'],
      ['bigint', '-9223372036854775807'],
      ['bigint', '-0', 0],
      ['bigintText', '9007199254740993'],
      ['bigintText', 5],
      ['decimal', '12.50'],
      ['decimal', '12.5', '12.50'],
      ['decimal', 12.5, '12.50'],
      ['decimal', '0012.500', '12.50'],
      ['decimal', '-0', '0.00'],
      ['decimal', '-0.10'],
      ['decimal', '9999999999.99'],
      ['precise', '12345678901.2345'],
      ['precise', '-0.0001'],
      ['minute', '0.000000001700'],
      ['minute', '-0.000000000001'],
      ['decimalNumber', '1.500'],
      ['decimalNumber', 1.5, '1.500'],
      ['float', 0.1],
      ['float', 1 / 3, 0.33333334],
      ['float', 16777217, 16777216],
      ['float', -3.4e38],
      ['float', 2 ** -149, 1e-45],
      ['double', 1 / 3],
      ['double', 5e-324],
      ['double', 1.7976931348623157e308],
      ['boolean', true],
      ['boolean', false],
      ['string', ''],
      ['string', '😀😀😀😀😀'],
      ['plainString', 'é'.repeat(255)],
      ['text', 'x'.repeat(5000)],
      ['text', 'line\nbreak\t"quoted" \\ \u2028'],
      ['character', 'abc'],
      ['character', 'a'],
      ['character', 'ab ', 'ab'],
      ['uuid', '00000000-0000-4000-8000-00000000000a'],
      ['uuid', '00000000-0000-4000-8000-00000000000A', '00000000-0000-4000-8000-00000000000a'],
      ['date', '2026-11-15'],
      ['date', '0001-01-01'],
      ['date', '9999-12-31'],
      ['date', '2024-02-29'],
      ['datetime', '2026-11-15T13:45:00.123Z'],
      ['datetime', '2026-11-15T13:45:00+02:00', '2026-11-15T11:45:00.000Z'],
      ['datetime', '2026-11-15T13:45Z', '2026-11-15T13:45:00.000Z'],
      ['datetime', '0001-01-01T00:00:00.000Z'],
      ['datetime', '1800-06-01T12:00:00.000Z'],
      ['datetime', '9999-12-31T23:59:59.999Z'],
      ['second', '2026-11-15T13:45:00.000Z'],
      ['time', '13:45:01'],
      ['time', '13:45', '13:45:00'],
      ['enum', 'green'],
      ['numberEnum', 2],
      ['enumArray', []],
      ['enumArray', ['a', 'c', 'a']],
      ['strings', []],
      ['strings', ['a', 'b c', 'd,e', 'f"g', '{h}', 'i\\j', '', 'é']],
      ['json', { a: [1, null, { b: null }], c: { d: {} } }],
      ['json', []],
      ['json', {}],
      ['json', 'text'],
      ['json', '{"a":1}'],
      ['json', 'null'],
      ['json', ''],
      ['json', 0],
      ['json', false],
      ['json', 1.5e300],
      ['blob', ''],
      ['blob', 'AAEC/w=='],
      ['numbers', [1, -2.5, 0]],
      ['contact', { by: 'phone', label: null, number: '1' }],
      ['contact', { by: 'mail', label: 'home', address: 'a@b' }],
      [
        'contacts',
        [
          { by: 'mail', label: null, address: 'a@b' },
          { by: 'phone', label: 'x', number: '1' },
        ],
      ],
      ['temperature', { celsius: 37.5 }],
      ['inline', plainDose],
      ['inline', dose],
      ['object', dose],
      ['list', []],
      ['list', [dose, plainDose]],
      ['nested', { name: 'n', dose }],
      ['nested', { name: 'n', dose: null }],
      ['nestedObject', { name: 'n', dose }],
      ['nestedObject', { name: 'n', dose: null }],
    ])('%s %j', async (field, given, expected = given) => {
      const created = await request('POST', '/charts.json', { json: { [field]: given } });
      expect([created.status, created.json[field]]).toEqual([201, expected]);
      const path = created.headers.get('location') as string;
      expect((await get(path))[field]).toEqual(expected);
      // sending back what was shown changes nothing
      const patched = await request('PATCH', path, { json: { [field]: created.json[field] } });
      expect([patched.status, patched.json[field]]).toEqual([200, expected]);
      expect((await get(path))[field]).toEqual(expected);
      const cleared = await request('PATCH', path, { json: { [field]: null } });
      expect([cleared.status, cleared.json[field]]).toEqual([200, null]);
      expect((await get(path))[field]).toBeNull();
    });

    test('null for every column that was not sent', async () => {
      const { json } = await request('POST', '/charts.json', { json: {} });
      const { id, ...others } = await get(`/charts/${json.id}.json`);
      expect(Object.values(others).every((value) => value === null)).toBe(true);
      expect(json).toEqual({ id, ...others });
      expect(Object.keys(others)).toHaveLength(37);
    });
    test('a decimal with more digits than the database can store is rejected, never rounded', async () => {
      const precise = '12345678901234.5678';
      const { status, json } = await request('POST', '/charts.json', { json: { precise } });
      if (kind === 'sqlite') expect([status, json.violations]).toMatchObject([422, [{ propertyPath: 'precise', code: 'range' }]]);
      else expect([status, json.precise, (await get(`/charts/${json.id}.json`)).precise]).toEqual([201, precise, precise]);
    });
    test('a custom type stores its own representation of the value', async () => {
      const { json } = await request('POST', '/charts.json', { json: { temperature: { celsius: 36.6 } } });
      expect(await rows(`select temperature from chart where id = ${json.id}`)).toEqual([{ temperature: '36.6C' }]);
    });
    test('the response of a write equals the next GET, including computed fields', async () => {
      const created = await request('POST', '/patients.json', { json: { firstName: 'Quinn', lastName: 'Xi', history: 'h' } });
      expect(created.status).toBe(201);
      expect(created.json).toEqual(await get(`/patients/${created.json.id}.json`));
      const path = `/patients/${created.json.id}.json`;
      for (const method of ['PATCH', 'PUT']) {
        const changed = await request(method, path, {
          json: { firstName: 'Quinn', lastName: `Longer${method}`, doctor: { id: 4 } },
        });
        expect(changed.json).toMatchObject({ fullName: `Quinn Longer${method}`, doctor: { name: 'Wilson' } });
        expect(changed.json).toEqual(await get(path));
      }
    });
  });
});
