// @module-tag divided
import { defineEntity, p } from '@mikro-orm/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ApiController, type StandardSchema, type Violation } from '../../src/index.ts';
import { databases } from '../support/databases.ts';
import { casesOn } from '../support/random.ts';
import { Appointment, clinicModels, Patient, Staff, seedClinic, Ward } from './fixtures/clinic.ts';
import { Chart, chartModels, StrictChart } from './fixtures/clinic-chart.ts';
import { everything, useApplication } from './fixtures/use-application.ts';

/** The whole model is judged by one schema. */
const BookingSchema = defineEntity({
  name: 'Booking',
  properties: {
    id: p.integer().primary().groups('read'),
    from: p.integer().serializedName('from_day').groups('read', 'write'),
    until: p.integer().groups('read', 'write'),
    note: p.string().length(5).nullable().groups('read', 'write'),
    tags: p.json<string[]>().nullable().groups('read', 'write'),
    guests: () => p.manyToMany(Patient).groups('read', 'write'),
  },
});
class Booking extends BookingSchema.class {
  static constraints = z
    .object({
      from: z.number().min(1, 'must be at least 1'),
      until: z.number(),
      tags: z.array(z.string().min(2, 'is too short')).nullish(),
      guests: z.array(z.unknown()).max(2, 'are too many').optional(),
    })
    .refine(({ from, until }) => until > from, { message: 'must be after from_day', path: ['until'] })
    .refine(({ from }) => from !== 13, 'must not be the thirteenth');
}
BookingSchema.setClass(Booking);

/** Any Standard Schema will do, an asynchronous one too. */
const even: StandardSchema = {
  '~standard': {
    validate: async (value) =>
      Number(value) % 2 === 0 ? {} : { issues: [{ message: 'must be even', path: [{ key: 'deep' }, 0] }] },
  },
};
const OddSchema = defineEntity({
  name: 'Odd',
  properties: {
    id: p.integer().primary().groups('read'),
    value: p.integer().nullable().groups('read', 'write'),
    mood: p.string().nullable().groups('read', 'write'),
  },
});
class Odd extends OddSchema.class {
  static constraints = { value: even };
  async validate() {
    if (this.mood === 'broken') throw new Error('a mistake of the model');
    if (this.mood === 'sulking') return undefined;
    return this.mood === 'bad'
      ? [
          { propertyPath: 'mood', title: 'must not be bad', code: 'mood', parameters: { was: this.mood } },
          { propertyPath: '', title: 'is in a bad mood' },
        ]
      : [];
  }
}
OddSchema.setClass(Odd);

class StrictController extends ApiController {
  override async validate(entity: object): Promise<Violation[]> {
    const found = await super.validate(entity);
    return (entity as { string?: string }).string === 'own' ? [...found, { propertyPath: 'string', title: 'is taken' }] : found;
  }
}

const api = (model: unknown, path: string, more: object = {}) => ({
  class: model,
  base_path: path,
  actions: everything,
  ...more,
});
const addRemove = { POST: true, DELETE: true };

const application = {
  models: [...clinicModels, ...chartModels, Booking, Odd],
  controllers: [StrictController],
  seed: seedClinic,
  app_main: {
    apis: {
      chart: api(Chart, '/charts'),
      strict: api(StrictChart, '/strict', { controller: StrictController }),
      patient: api(Patient, '/patients'),
      ward: api(Ward, '/wards'),
      staff: api(Staff, '/staff'),
      odd: api(Odd, '/odds'),
      booking: api(Booking, '/bookings', {
        actions: { ...everything, guests: { methods: addRemove, association: { property: 'guests' } } },
      }),
      appointment: api(Appointment, '/appointments'),
    } as never,
  },
};

const paths = (json: { violations?: Violation[] }) => json.violations?.map(({ propertyPath }) => propertyPath);

describe.each(databases)('validation on %s', (kind) => {
  const { request, rows } = useApplication(kind, application);
  const good = { integer: 1, string: 'a', boolean: true, date: '2026-01-01', json: {}, dose: { amount: 1 } };

  describe('a value of the wrong JSON type is a violation of its field:', () => {
    const nothingElse = [
      5,
      -1.5,
      true,
      'text',
      '',
      [],
      ['text'],
      [[]],
      {},
      { a: 1 },
      { amount: 1 },
      1e300,
      '5',
      '1e3',
      '2026-13-01',
    ];
    const accepted: Record<string, (value: unknown) => boolean> = {
      integer: (value) => value === 5,
      unsigned: (value) => value === 5,
      smallint: (value) => value === 5,
      tinyint: (value) => value === 5,
      bigint: (value) => value === 5 || value === '5',
      bigintText: (value) => value === 5 || value === '5',
      decimal: (value) => value === 5 || value === -1.5 || value === '5',
      decimalNumber: (value) => value === 5 || value === -1.5 || value === '5',
      precise: (value) => value === 5 || value === -1.5 || value === '5',
      minute: (value) => value === 5 || value === -1.5 || value === '5',
      float: (value) => value === 5 || value === -1.5,
      double: (value) => typeof value === 'number',
      boolean: (value) => value === true,
      string: (value) => typeof value === 'string' && value.length <= 5,
      plainString: (value) => typeof value === 'string',
      text: (value) => typeof value === 'string',
      character: (value) => typeof value === 'string' && value.length <= 3,
      uuid: () => false,
      date: () => false,
      datetime: () => false,
      second: () => false,
      time: () => false,
      enum: () => false,
      numberEnum: () => false,
      enumArray: (value) => Array.isArray(value) && value.length === 0,
      strings: (value) => Array.isArray(value) && !Array.isArray(value[0]),
      numbers: (value) => Array.isArray(value) && value.length === 0,
      json: () => true,
      contact: () => false,
      contacts: (value) => Array.isArray(value) && value.length === 0,
      blob: (value) => value === '' || value === 'text',
      temperature: () => false,
      inline: (value) => value !== null && typeof value === 'object' && 'amount' in value,
      object: (value) => value !== null && typeof value === 'object' && 'amount' in value,
      list: (value) => Array.isArray(value) && value.length === 0,
      nested: () => false,
      nestedObject: () => false,
    };
    test.each(Object.entries(accepted))('%s', async (field, accepts) => {
      for (const value of nothingElse) {
        const { status, json } = await request('POST', '/charts.json', { json: { [field]: value } });
        const isUnknownKey =
          status === 400 && ['unknown_field', 'unknown_type'].includes(json.code) && json.detail.includes(`"${field}.`);
        if (accepts(value)) expect([value, status]).toEqual([value, 201]);
        else if (!isUnknownKey) {
          expect([value, status]).toEqual([value, 422]);
          for (const path of paths(json) as string[])
            expect(path === field || path.startsWith(`${field}.`) || path.startsWith(`${field}[`)).toBe(true);
        }
      }
    });

    test.each<[string, unknown[]]>([
      ['integer', [2 ** 31, -(2 ** 31) - 1, '1', 1.5]],
      ['unsigned', [-1, 2 ** 31, 2 ** 32]],
      ['smallint', [32768]],
      ['tinyint', [128, 255]],
      ['bigint', ['9223372036854775808', 2 ** 53, '1.0', '0x10', ' 1', '١', '+1']],
      ['decimal', ['1.234', '12345678901', '1e3', '.5', '5.', ' 1', '1 ', 'NaN', 1e21, '1,5']],
      ['decimalNumber', ['1.2345', '123456']],
      ['float', [1e39, 1e-50]],
      ['string', ['123456', '😀😀😀😀😀😀', 'a\0']],
      ['plainString', ['x'.repeat(256)]],
      ['text', ['\0']],
      ['character', ['abcd']],
      [
        'uuid',
        ['00000000-0000-4000-8000-00000000000', '00000000000040008000000000000000', '{00000000-0000-4000-8000-000000000000}'],
      ],
      ['date', ['2026-02-29', '2026-1-1', '0000-01-01', '10000-01-01', '2026-01-01T00:00:00Z', '-001-01-01']],
      [
        'datetime',
        [
          '2026-01-01',
          '2026-01-01T00:00:00',
          '2026-02-30T00:00:00Z',
          '2026-01-01T24:00:00Z',
          '0001-01-01T00:00:00+01:00',
          '9999-12-31T23:59:59-01:00',
          0,
        ],
      ],
      ['second', ['9999-12-31T23:59:59.999-00:01']],
      ['time', ['24:00:00', '1:00', '13:60', '13:45:61', '13:45:01.5', '13:45:00Z']],
      ['enum', ['RED', 'blue', 0]],
      ['numberEnum', ['1', 0, 4]],
      ['enumArray', [['a', 'x'], 'a', [['a']]]],
      ['strings', [[null], [1], ['a\0']]],
      ['blob', ['a', 'abc', '====', 'ab c', 'é']],
      ['temperature', [{ celsius: 'hot' }, { celsius: 1000 }, 37]],
    ])('%s out of range', async (field, values) => {
      for (const value of values) {
        const { status, json } = await request('POST', '/charts.json', { json: { [field]: value } });
        expect([value, status, paths(json)]).toEqual([value, 422, [field]]);
        expect(json.violations[0]).toEqual({
          propertyPath: field,
          title: expect.any(String),
          code: expect.any(String),
          parameters: expect.any(Object),
        });
      }
    });
    test('a JSON number that is too large', async () => {
      const headers = { 'content-type': 'application/json' };
      for (const field of ['double', 'float', 'integer', 'json', 'decimal']) {
        for (const value of ['1e999', '-1e999', ...(field === 'json' ? ['{"a":[1e999]}'] : [])]) {
          const { status, json } = await request('POST', '/charts.json', { headers, body: `{"${field}":${value}}` });
          expect([field, status, paths(json)]).toEqual([field, 422, [field]]);
        }
      }
    });
    test('the length of a text is measured in code points', async () => {
      expect((await request('POST', '/charts.json', { json: { string: '👩‍🚀ab' } })).status).toBe(201);
      const { json } = await request('POST', '/charts.json', { json: { string: '😀'.repeat(6) } });
      expect(json.violations).toEqual([
        { propertyPath: 'string', title: 'must not be longer than 5 characters', code: 'too_long', parameters: { max: 5 } },
      ]);
    });
    test('fields of embeddables have their own paths', async () => {
      const dose = { amount: 'x', unit: 'kg', given: 'now', lot: 1.5 };
      const { status, json } = await request('POST', '/charts.json', {
        json: {
          inline: dose,
          object: { unit: 'ml' },
          list: [{ amount: 1 }, dose, 5],
          nested: { name: 'x'.repeat(11), dose: { amount: null } },
        },
      });
      expect(status).toBe(422);
      expect(paths(json)).toEqual([
        'inline.amount',
        'inline.unit',
        'inline.given',
        'inline.lot',
        'object.amount',
        'list[1].amount',
        'list[1].unit',
        'list[1].given',
        'list[1].lot',
        'list[2]',
        'nested.name',
        'nested.dose.amount',
      ]);
    });
  });

  describe('all violations are reported together:', () => {
    test('those of the body', async () => {
      const wrong = {
        integer: 'x',
        string: 'long',
        boolean: 0,
        date: 'x',
        json: null,
        dose: 5,
        color: 'blue',
        counter: null,
        colors: 'x',
      };
      for (const [method, path] of [
        ['POST', '/strict.json'],
        ['PUT', '/strict/1.json'],
        ['PATCH', '/strict/1.json'],
      ] as const) {
        if (method !== 'POST') await request('POST', '/strict.json', { json: good });
        const { status, json, headers } = await request(method, path, { json: wrong });
        expect(status).toBe(422);
        expect(headers.get('content-type')).toMatch(/^application\/problem\+json/);
        expect(json.code).toBe('validation_failed');
        expect(paths(json)).toEqual(Object.keys(wrong));
      }
    });
    test('missing fields', async () => {
      const { id } = (await request('POST', '/strict.json', { json: good })).json;
      const { json } = await request('POST', '/strict.json', { json: {} });
      expect(json.violations).toEqual(
        Object.keys(good).map((propertyPath) => ({ propertyPath, title: 'is required', code: 'required', parameters: {} })),
      );
      expect((await request('PATCH', `/strict/${id}.json`, { json: {} })).status).toBe(200);
    });
    test('violations of the body, the constraints and the model', async () => {
      const { status, json } = await request('POST', '/patients.json', {
        json: { firstName: 'same', lastName: 'SAME', insurance_number: 'x', weight: 0, born: 'yesterday' },
      });
      expect(status).toBe(422);
      expect(json.violations.map(({ propertyPath, code }: Violation) => [propertyPath, code])).toEqual([
        ['born', 'type'],
        ['insurance_number', 'constraint'],
        ['weight', 'constraint'],
        ['lastName', 'model'],
      ]);
      expect(json.detail).toContain('lastName: must differ from the first name');
    });
    test('one violation for a field with a wrong type', async () => {
      const { json } = await request('POST', '/patients.json', {
        json: { firstName: 'a', lastName: 'b', weight: 'x', insurance_number: 5 },
      });
      expect(paths(json)).toEqual(['insurance_number', 'weight']);
    });
    test('even if the rules of the model throw because a field is missing', async () => {
      for (const body of [{}, { firstName: 5 }, { firstName: null, lastName: 'x' }, { lastName: 'x'.repeat(300) }]) {
        const { status, json } = await request('POST', '/patients.json', { json: body });
        expect(status).toBe(422);
        expect(paths(json)).toContain('firstName');
      }
    });
  });

  describe('static constraints', () => {
    const booking = { from_day: 1, until: 2 };
    test('of the whole model apply to POST, PATCH and PUT', async () => {
      const created = await request('POST', '/bookings.json', { json: booking });
      expect(created.status).toBe(201);
      const path = `/bookings/${created.json.id}.json`;
      for (const [method, at] of [
        ['POST', '/bookings.json'],
        ['PATCH', path],
        ['PUT', path],
      ] as const) {
        const { status, json } = await request(method, at, { json: { from_day: 3, until: 2 } });
        expect([status, json.violations]).toEqual([
          422,
          [{ propertyPath: 'until', title: 'must be after from_day', code: 'constraint', parameters: {} }],
        ]);
      }
      // a rule across fields sees those that were not sent
      expect((await request('PATCH', path, { json: { from_day: 2 } })).status).toBe(422);
      expect((await request('GET', path)).json).toMatchObject(booking);
    });
    test('use JSON field names in violations, and can apply to no single field', async () => {
      expect(paths((await request('POST', '/bookings.json', { json: { from_day: 0, until: 2 } })).json)).toEqual(['from_day']);
      expect(paths((await request('POST', '/bookings.json', { json: { from_day: 13, until: 14 } })).json)).toEqual(['']);
      const tags = ['ok', 'x'];
      expect(paths((await request('POST', '/bookings.json', { json: { ...booking, tags } })).json)).toEqual(['tags[1]']);
    });
    test('apply together with the rules of the column types', async () => {
      const { json } = await request('POST', '/bookings.json', { json: { from_day: 0, until: 'x', note: '123456' } });
      expect(paths(json)?.sort()).toEqual(['from_day', 'note', 'until']);
    });
    test('apply when items are added and removed', async () => {
      const { json } = await request('POST', '/bookings.json', { json: { ...booking, guests: [{ id: 1 }, { id: 2 }] } });
      const path = `/bookings/${json.id}/guests.json`;
      const added = await request('POST', path, { json: { id: 3 } });
      expect([added.status, added.json.violations]).toEqual([
        422,
        [{ propertyPath: 'guests', title: 'are too many', code: 'constraint', parameters: {} }],
      ]);
      expect(await rows(`select count(*) as n from booking_guests where booking_id = ${json.id}`)).toEqual([
        { n: expect.toSatisfy((n) => Number(n) === 2) },
      ]);
      expect((await request('DELETE', path, { json: { id: 1 } })).status).toBe(200);
      expect((await request('POST', path, { json: { id: 3 } })).status).toBe(200);
      // what was in order when it was made, and is no longer, cannot be left that way
      await rows(`update booking set "from" = 13, until = 14 where id = ${json.id}`);
      expect((await request('DELETE', path, { json: { id: 3 } })).status).toBe(422);
      expect(await rows(`select count(*) as n from booking_guests where booking_id = ${json.id}`)).toEqual([
        { n: expect.toSatisfy((n) => Number(n) === 2) },
      ]);
    });
    test('of a property can be any Standard Schema, also asynchronous', async () => {
      expect((await request('POST', '/odds.json', { json: { value: 2 } })).status).toBe(201);
      const { status, json } = await request('POST', '/odds.json', { json: { value: 3 } });
      expect([status, json.violations]).toEqual([
        422,
        [{ propertyPath: 'value.deep[0]', title: 'must be even', code: 'constraint', parameters: {} }],
      ]);
    });
    test('get dates as Date objects', async () => {
      const json = { title: 'x', patient: { id: 1 }, starts: '2026-01-02T00:00:00Z', ends: '2026-01-01T00:00:00Z' };
      expect((await request('POST', '/appointments.json', { json })).json.violations).toMatchObject([
        { propertyPath: 'ends', title: 'must be after the start' },
      ]);
    });
  });

  describe("the model's own validate()", () => {
    test('can be async, and can return code and parameters', async () => {
      const { status, json } = await request('POST', '/odds.json', { json: { value: 2, mood: 'bad' } });
      expect([status, json.violations]).toEqual([
        422,
        [
          { propertyPath: 'mood', title: 'must not be bad', code: 'mood', parameters: { was: 'bad' } },
          { propertyPath: '', title: 'is in a bad mood', code: 'model', parameters: {} },
        ],
      ]);
    });
    test('can return nothing', async () => {
      expect((await request('POST', '/odds.json', { json: { value: 2, mood: 'sulking' } })).status).toBe(201);
    });
    test('that throws returns 500, and nothing is written', async () => {
      const { status, json, text } = await request('POST', '/odds.json', { json: { value: 2, mood: 'broken' } });
      expect([status, json.code]).toEqual([500, 'internal_error']);
      expect(text).not.toContain('mistake');
      expect(await rows("select id from odd where mood = 'broken'")).toEqual([]);
    });
    test('is called on updates too', async () => {
      const { json } = await request('POST', '/patients.json', { json: { firstName: 'a', lastName: 'b' } });
      for (const method of ['PATCH', 'PUT']) {
        const response = await request(method, `/patients/${json.id}.json`, { json: { firstName: 'b', lastName: 'B' } });
        expect([response.status, paths(response.json)]).toEqual([422, ['lastName']]);
      }
      expect((await request('GET', `/patients/${json.id}.json`)).json).toMatchObject({ firstName: 'a', lastName: 'b' });
    });
  });

  test("a controller's own rules apply in addition", async () => {
    const { status, json } = await request('POST', '/strict.json', { json: { ...good, string: 'own' } });
    expect([status, json.violations]).toEqual([
      422,
      [{ propertyPath: 'string', title: 'is taken', code: 'invalid', parameters: {} }],
    ]);
  });

  describe('random bodies', () => {
    const dose = fc.record(
      {
        amount: fc.integer({ min: -1000, max: 1000 }),
        unit: fc.constantFrom('mg', 'ml', null),
        given: fc
          .date({ min: new Date(0), noInvalidDate: true })
          .map((date) => (date.getUTCFullYear() > 9999 ? null : date.toISOString())),
        lot: fc.bigInt({ min: -(2n ** 63n) + 1n, max: 2n ** 63n - 1n }).map(String),
      },
      { requiredKeys: ['amount'] },
    );
    const unlikely = fc.oneof(
      { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
      { weight: 1, arbitrary: fc.constantFrom(null, true, 0, -1, 1.5, 1e300, '', 'a\0b', '\ud800', [], {}, [null], '__proto__') },
    );
    const likely: Record<string, fc.Arbitrary<unknown>> = {
      integer: fc.integer(),
      unsigned: fc.integer(),
      smallint: fc.integer({ min: -40000, max: 40000 }),
      tinyint: fc.integer({ min: -150, max: 150 }),
      bigint: fc.oneof(fc.integer(), fc.bigInt({ min: -(2n ** 63n) + 1n, max: 2n ** 63n }).map(String)),
      bigintText: fc.oneof(fc.maxSafeInteger(), fc.bigInt({ min: -(2n ** 63n) + 1n, max: 2n ** 63n - 1n }).map(String)),
      decimal: fc.tuple(fc.integer({ min: -999999, max: 999999 }), fc.nat(999)).map(([whole, part]) => `${whole}.${part}`),
      decimalNumber: fc
        .tuple(fc.integer({ min: -99999, max: 99999 }), fc.nat(999))
        .map(([whole, part]) => Number(`${whole}.${part}`)),
      precise: fc.tuple(fc.maxSafeInteger(), fc.nat(9999)).map(([whole, part]) => `${whole}.${part}`),
      minute: fc.nat(1_000_000).map((part) => `0.${String(part).padStart(12, '0')}`),
      float: fc.oneof(fc.float({ noNaN: true, noDefaultInfinity: true }), fc.double({ noNaN: true, noDefaultInfinity: true })),
      double: fc.double({ noNaN: true, noDefaultInfinity: true }),
      boolean: fc.boolean(),
      string: fc.string({ maxLength: 6, unit: 'binary' }),
      plainString: fc.string({ maxLength: 300, unit: 'grapheme' }),
      text: fc.string({ unit: 'binary' }),
      character: fc.string({ maxLength: 3 }),
      uuid: fc.uuid(),
      date: fc.date({ noInvalidDate: true }).map((date) => date.toISOString().slice(0, 10)),
      datetime: fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
      second: fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
      time: fc.nat(24 * 3600).map((n) => new Date(n * 1000).toISOString().slice(11, n % 2 ? 19 : 16)),
      enum: fc.constantFrom('red', 'green', 'blue'),
      numberEnum: fc.nat(4),
      enumArray: fc.array(fc.constantFrom('a', 'b', 'c', 'd')),
      numbers: fc.array(fc.integer()),
      strings: fc.array(fc.stringMatching(/^[a-z]{1,5}$/)),
      json: fc.jsonValue(),
      blob: fc.uint8Array().map((bytes) => Buffer.from(bytes).toString('base64')),
      temperature: fc.record({ celsius: fc.integer({ min: -1100, max: 1100 }) }),
      inline: dose,
      object: dose,
      list: fc.array(dose, { maxLength: 3 }),
      nested: fc.record({ name: fc.string({ maxLength: 11 }), dose }),
      nestedObject: fc.record({ name: fc.string({ maxLength: 11 }), dose }),
      contact: fc.record({ by: fc.constantFrom('phone', 'phone', 'mail'), label: fc.string(), number: fc.string() }),
    };
    const body = fc.record(
      Object.fromEntries(
        Object.entries(likely).map(([field, arbitrary]) => [
          field,
          fc.oneof({ weight: 12, arbitrary }, { weight: 1, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: unlikely }),
        ]),
      ),
      { requiredKeys: [] },
    );
    /** A few fields at a time, so that enough bodies are accepted. */
    const fewFields = fc
      .tuple(body, fc.subarray(Object.keys(likely), { minLength: 1, maxLength: 6 }))
      .map(([full, names]) =>
        Object.fromEntries(names.filter((name) => Object.hasOwn(full, name)).map((name) => [name, full[name]])),
      );

    test('never return 5xx, and accepted values equal the next GET', async () => {
      let accepted = 0;
      await fc.assert(
        fc.asyncProperty(fewFields, fewFields, async (first, second) => {
          const created = await request('POST', '/charts.json', { json: first });
          expect(created.status).toBeLessThan(500);
          if (created.status !== 201) return;
          accepted++;
          const path = `/charts/${created.json.id}.json`;
          expect((await request('GET', path)).json).toEqual(created.json);
          for (const [field, value] of Object.entries(first)) expect(agrees(field, value, created.json[field])).toBe(true);
          for (const method of ['PATCH', 'PUT']) {
            const changed = await request(method, path, { json: second });
            expect(changed.status).toBeLessThan(500);
            const shown = (await request('GET', path)).json;
            if (changed.status === 200) expect(shown).toEqual(changed.json);
          }
        }),
        { numRuns: 50, ...casesOn(kind) },
      );
      expect(accepted).toBeGreaterThan(10);
    });
    test('of any shape never return 5xx', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.oneof(fc.jsonValue(), fc.dictionary(fc.constantFrom(...Object.keys(likely), 'id', 'type'), unlikely)),
          fc.constantFrom('/charts.json', '/patients.json', '/staff.json', '/appointments.json', '/bookings.json'),
          async (json, path) => {
            expect((await request('POST', path, { json })).status).toBeLessThan(500);
            expect((await request('PATCH', path.replace('.json', '/1.json'), { json })).status).toBeLessThan(500);
          },
        ),
        { numRuns: 50, ...casesOn(kind) },
      );
    });
  });
});

/** Whether what is shown is what was given, up to the notation that the column has for it. */
function agrees(field: string, given: unknown, shown: unknown): boolean {
  if (given === null || shown === null) return given === shown;
  switch (field) {
    case 'bigint':
    case 'bigintText':
      return BigInt(given as string) === BigInt(shown as string);
    case 'decimal':
    case 'precise':
    case 'minute':
    case 'decimalNumber':
      return Number(given) === Number(shown);
    case 'float':
      return Math.fround(given as number) === Math.fround(shown as number);
    case 'datetime':
      return new Date(given as string).getTime() === new Date(shown as string).getTime();
    case 'second':
      return Math.abs(new Date(given as string).getTime() - new Date(shown as string).getTime()) < 1000;
    case 'time':
      return (shown as string).startsWith(given as string);
    case 'uuid':
      return (given as string).toLowerCase() === shown;
    case 'character':
      return (given as string).trimEnd() === (shown as string).trimEnd();
    case 'blob':
      return Buffer.from(given as string, 'base64').equals(Buffer.from(shown as string, 'base64'));
    default:
      return isWithin(given, shown);
  }
}

/** Every leaf of what was given is in what is shown. */
function isWithin(given: unknown, shown: unknown): boolean {
  if (Array.isArray(given)) {
    return Array.isArray(shown) && given.length === shown.length && given.every((item, n) => isWithin(item, shown[n]));
  }
  if (typeof given === 'object' && given !== null && typeof shown === 'object' && shown !== null) {
    return Object.entries(given).every(([key, value]) => isWithin(value, (shown as Record<string, unknown>)[key]));
  }
  // a lot number is shown as a number where it fits
  return Object.is(given, shown) || given === shown || (typeof given === 'string' && String(shown) === given);
}
