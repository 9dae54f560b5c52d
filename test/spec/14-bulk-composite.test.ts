// @module-tag divided
import { defineEntity, p } from '@mikro-orm/core';
import { beforeEach, describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest } from '../../src/index.ts';
import { databases } from '../support/databases.ts';
import { startApplication } from '../support/testing.ts';
import { useApplication } from './fixtures/use-application.ts';

type Any = any;

const Course: Any = defineEntity({
  name: 'Course',
  properties: {
    id: p.integer().primary().groups('read', 'write'),
    title: p.string().groups('read', 'write'),
    after: () => p.manyToOne(Course).nullable().groups('read', 'write'),
    enrolments: () => p.oneToMany(Enrolment).mappedBy('course').groups('read'),
  },
} as Any);
const Enrolment: Any = defineEntity({
  name: 'Enrolment',
  properties: {
    course: () => p.manyToOne(Course).primary().groups('read', 'write'),
    person: p.integer().primary().groups('read', 'write'),
    note: p.string().nullable().groups('read', 'write'),
  },
} as Any);
const Mark: Any = defineEntity({
  name: 'Mark',
  properties: {
    id: p.integer().primary().groups('read'),
    enrolment: () => (p.manyToOne(Enrolment) as Any).deleteRule('restrict').groups('read', 'write'),
  },
} as Any);
const Place: Any = defineEntity({
  name: 'Place',
  properties: {
    town: p.string().primary().groups('read', 'write'),
    day: p.date().primary().groups('read', 'write'),
    token: p.uuid().primary().serializedName('key').groups('read', 'write'),
    seats: p.integer().default(0).groups('read', 'write'),
  },
} as Any);
/** A part of its key is named `id`. */
const Invoice: Any = defineEntity({
  name: 'Invoice',
  properties: {
    tenant: p.integer().primary().groups('read', 'write'),
    id: p.integer().primary().groups('read', 'write'),
    total: p.integer().groups('read', 'write'),
    version: p.integer().version(),
  },
} as Any);

class EnrolmentController extends ApiController<Any> {
  override customizeQuery(_: string, __: ApiRequest, query: Any) {
    return query.andWhere({ person: { $lt: 1000 } });
  }
}

const actions = {
  _index: { methods: { GET: true, POST: true }, bulk: { POST: true, PATCH: true, DELETE: true } },
  _entity: { methods: { GET: true, PATCH: true, PUT: true, DELETE: true } },
} as const;
const options = {
  app_main: {
    apis: {
      course: { class: Course, base_path: '/course', nested: { enrolments: {} }, actions },
      enrolment: { class: Enrolment, base_path: '/enrolment', actions },
      seen: { class: Enrolment, base_path: '/seen', controller: EnrolmentController, actions },
      mark: { class: Mark, base_path: '/mark', actions },
      place: { class: Place, base_path: '/place', actions },
      invoice: { class: Invoice, base_path: '/invoice', actions },
    },
  },
  models: [Course, Enrolment, Mark, Place, Invoice],
  controllers: [EnrolmentController],
} as Any;

const token = '0198a5b0-0000-7000-8000-00000000000a';

describe.each(databases)('lists and composite keys on %s', (kind) => {
  describe.each([true, false])('compiled: %s', (compiledReads) => {
    const running = useApplication(kind, { ...options, compiledReads });
    const send = (method: string, path: string, json?: unknown) =>
      running.request(method, path, json === undefined ? {} : ({ json } as Any));
    const keysOf = ({ json }: Any) => json.results.map(({ course, person }: Any) => `${course.id},${person}`);

    beforeEach(async () => {
      for (const table of ['mark', 'enrolment', 'course', 'place', 'invoice']) await running.rows(`delete from ${table}`);
      const made = await send('POST', '/course.json', [
        { id: 1, title: 'a' },
        { id: 2, title: 'b' },
      ]);
      expect(made.status).toBe(201);
    });

    const enrol = async (...keys: (readonly [number, number])[]) => {
      const list = keys.map(([course, person]) => ({ course: { id: course }, person, note: `${course}-${person}` }));
      const made = await send('POST', '/enrolment.json', list);
      expect(made.status).toBe(201);
      return made;
    };

    test('POST creates the rows of a list by one statement, in its order', async () => {
      running.app.statements.length = 0;
      const made = await enrol([2, 9], [1, 3], [2, 1], [1, 1]);
      expect(keysOf(made)).toEqual(['2,9', '1,3', '2,1', '1,1']);
      expect(made.json.results[0]).toMatchObject({ note: '2-9', course: { id: 2, title: 'b' } });
      const inserts = running.app.statements.filter((sql) => /insert into [`"]enrolment/i.test(sql));
      expect(inserts).toHaveLength(1);
      if (compiledReads) expect(inserts[0]).toMatch(/_rows/);
      const places = ['b, "c"', 'a', 'a%2C'].map((town, seats) => ({ town, day: '2026-11-18', key: token, seats }));
      const created = await send('POST', '/place.json', places);
      expect([created.status, created.json.results]).toEqual([201, places]);
    });

    test('POST names the item whose key exists already, or twice in the list', async () => {
      await enrol([1, 1]);
      for (const [list, index] of [
        [
          [
            { course: { id: 1 }, person: 2 },
            { course: { id: 1 }, person: 1 },
          ],
          1,
        ],
        [
          [
            { course: { id: 1 }, person: 5 },
            { course: { id: 2 }, person: 5 },
            { course: { id: 1 }, person: 5 },
          ],
          2,
        ],
        [
          [
            { course: { id: 1 }, person: 6 },
            { course: { id: 9 }, person: 6 },
          ],
          1,
        ],
      ] as const) {
        const refused = await send('POST', '/enrolment.json', list);
        const isMissing = list.some(({ course }: Any) => course.id === 9);
        expect([refused.status, refused.json.code]).toEqual(isMissing ? [400, 'invalid_reference'] : [409, 'conflict_unique']);
        // without compiled statements, existing rows are not searched
        if (compiledReads || list.length === 3 || isMissing) expect(refused.json.index).toBe(index);
      }
      expect(keysOf(await send('GET', '/enrolment.json'))).toEqual(['1,1']);
    });

    test.each(['/enrolment.json', '/seen.json'])('PATCH on %s names rows by id or by the parts of the key', async (path) => {
      await enrol([1, 1], [1, 2], [2, 1], [2, 2]);
      const changed = await send('PATCH', path, [
        { id: '2,1', note: 'text' },
        { id: { course: 1, person: 2 }, note: 'object' },
        { course: { id: 1 }, person: 1, note: 'parts' },
        { id: [2, 2], note: 'list' },
      ]);
      expect([changed.status, changed.json.results?.map(({ note }: Any) => note)]).toEqual([
        200,
        ['text', 'object', 'parts', 'list'],
      ]);
      expect(keysOf(changed)).toEqual(['2,1', '1,2', '1,1', '2,2']);
      const removed = await send('DELETE', path, [{ id: '2,1' }, { course: 1, person: 2 }]);
      expect(removed.status).toBe(204);
      expect(keysOf(await send('GET', '/enrolment.json'))).toEqual(['1,1', '2,2']);
    });

    test.each([
      ['no key', [{ note: 'x' }], 400, 'invalid_list', 0],
      ['half a key', [{ id: '1,1' }, { course: { id: 1 }, note: 'x' }], 400, 'invalid_list', 1],
      ['null as a part', [{ course: null, person: 1 }], 400, 'invalid_list', 0],
      ['a number as an id', [{ id: 1 }], 400, 'invalid_list', 0],
      ['an id with one part', [{ id: '1' }], 404, 'entity_not_found', 0],
      ['an unknown id', [{ id: '1,1' }, { id: '1,99' }], 404, 'entity_not_found', 1],
      ['the same row twice', [{ id: '1,1' }, { course: { id: 1 }, person: 1 }], 400, 'duplicate_item', 1],
    ])('PATCH and DELETE refuse %s with the index of the item', async (_, list, status, code, index) => {
      await enrol([1, 1], [2, 2]);
      for (const method of ['PATCH', 'DELETE']) {
        const refused = await send(method, '/enrolment.json', list);
        expect([refused.status, refused.json.code, refused.json.index]).toEqual([status, code, index]);
      }
      expect(keysOf(await send('GET', '/enrolment.json'))).toEqual(['1,1', '2,2']);
    });

    test('PATCH keeps the key of a row', async () => {
      await enrol([1, 1]);
      const refused = await send('PATCH', '/enrolment.json', [{ id: '1,1', person: 2 }]);
      expect([refused.status, refused.json.code, refused.json.index]).toEqual([400, 'identity_mismatch', 0]);
    });

    test('rows outside the restriction are missing', async () => {
      await enrol([1, 1], [1, 1000]);
      for (const method of ['PATCH', 'DELETE']) {
        const refused = await send(method, '/seen.json', [{ id: '1,1' }, { id: '1,1000' }]);
        expect([refused.status, refused.json.index]).toEqual([404, 1]);
      }
    });

    test('_if_match is compared with the row of its item', async () => {
      await send('POST', '/invoice.json', [
        { tenant: 1, id: 1, total: 1 },
        { tenant: 1, id: 2, total: 1 },
      ]);
      const etag = (await send('GET', '/invoice/1,1.json')).headers.get('etag');
      const first = { tenant: 1, id: 1, total: 2, _if_match: etag };
      const stale = await send('PATCH', '/invoice.json', [first, { tenant: 1, id: 2, _if_match: etag }]);
      expect([stale.status, stale.json.index]).toEqual([412, 1]);
      expect((await send('PATCH', '/invoice.json', [first])).status).toBe(200);
    });

    test('a key that the client chooses never changes a row that the list refers to', async () => {
      for (const body of [
        { id: 1, title: 'taken', after: { id: 1 } },
        [
          { id: 3, title: 'c', after: { id: 1 }, enrolments: [] },
          { id: 1, title: 'taken' },
        ],
        [
          { id: 3, title: 'c', enrolments: [] },
          { id: 3, title: 'taken' },
        ],
      ]) {
        const refused = await send('POST', '/course.json', body);
        expect([refused.status, refused.json.code]).toEqual([409, 'conflict_unique']);
        if (Array.isArray(body)) expect(refused.json.index).toBe(1);
      }
      expect((await send('GET', '/course.json')).json.results.map(({ title }: Any) => title)).toEqual(['a', 'b']);
    });

    test('DELETE names the item that another row refers to', async () => {
      await enrol([1, 1], [1, 2], [2, 1]);
      expect((await send('POST', '/mark.json', { enrolment: { id: '1,2' } })).status).toBe(201);
      const refused = await send('DELETE', '/enrolment.json', [{ id: '2,1' }, { id: '1,1' }, { id: '1,2' }]);
      expect([refused.status, refused.json.code, refused.json.index]).toEqual([409, 'conflict_reference', 2]);
      expect(keysOf(await send('GET', '/enrolment.json'))).toHaveLength(3);
    });

    test('a part that is named id is not the whole key', async () => {
      const list = [
        { tenant: 1, id: 5, total: 1 },
        { tenant: 2, id: 5, total: 2 },
      ];
      expect((await send('POST', '/invoice.json', list)).json.results).toEqual(list);
      const changed = await send('PATCH', '/invoice.json', [
        { id: 5, tenant: 2, total: 20 },
        { id: 5, tenant: 1, total: 10 },
      ]);
      expect([changed.status, changed.json.results?.map(({ total }: Any) => total)]).toEqual([200, [20, 10]]);
      expect((await send('PUT', '/invoice/1,5.json', { tenant: 1, id: 5, total: 3 })).status).toBe(200);
      expect((await send('PUT', '/invoice/1,5.json', { tenant: 1, id: 6, total: 3 })).json.code).toBe('identity_mismatch');
      expect((await send('DELETE', '/invoice.json', [{ id: 5 }])).json.code).toBe('invalid_list');
      expect((await send('DELETE', '/invoice.json', [{ id: 5, tenant: 1 }])).status).toBe(204);
    });

    test('nested rows get the owner as a part of their key', async () => {
      const made = await send('POST', '/course.json', [
        { id: 7, title: 'x', enrolments: [{ person: 2, note: 'n' }, { person: 1 }] },
        { id: 8, title: 'y', enrolments: [{ person: 2 }] },
      ]);
      expect(made.status).toBe(201);
      expect(made.json.results.map(({ enrolments }: Any) => enrolments.map(({ person }: Any) => person).sort())).toEqual([
        [1, 2],
        [2],
      ]);
      expect(keysOf(await send('GET', '/enrolment.json'))).toEqual(['7,1', '7,2', '8,2']);
      const other = await send('POST', '/course.json', { id: 9, title: 'z', enrolments: [{ person: 2, course: { id: 7 } }] });
      expect([other.status, other.json.code]).toEqual([400, 'field_not_writable']);
    });
  });
});

test('items of a composite key are described by the parts of the key', async () => {
  const app = await startApplication({ ...options, databaseUrl: 'sqlite::memory:' });
  try {
    const { components, paths } = (await app.request('GET', '/openapi.json')).json;
    const { items } = paths['/enrolment.json'].patch.requestBody.content['application/json'].schema;
    const schema = components.schemas[items.$ref.split('/').at(-1)];
    expect(schema.required).toEqual(['course', 'person']);
    expect(Object.keys(schema.properties).sort()).toEqual(['_if_match', 'course', 'note', 'person']);
  } finally {
    await app.close();
  }
});
