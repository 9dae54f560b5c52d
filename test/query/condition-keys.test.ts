import { defineEntity, p, raw } from '@mikro-orm/core';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { casesOn } from '../support/random.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

type Any = any;
type Restrict = (query: Any) => unknown;

const runs = Number(process.env.FC_RUNS ?? 15);

const Center: Any = defineEntity({
  name: 'Center',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read') },
});
const Person: Any = defineEntity({
  name: 'Person',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read'),
    tenant: p.string().groups('read'),
    age: p.integer().nullable().groups('read'),
    active: p.boolean().groups('read'),
    born: p.datetime(3).groups('read'),
    big: p.bigint().groups('read'),
    ratio: p.double().groups('read'),
    data: p.json().nullable().groups('read'),
    size: p.integer().formula((columns: Any) => `length(${columns.name})`),
    center: () => p.manyToOne(Center).nullable().groups('read'),
    note: p.string().default('').groups('write'),
  },
} as never);
const Visit: Any = defineEntity({
  name: 'Visit',
  properties: {
    id: p.integer().primary().groups('read'),
    person: () => p.manyToOne(Person).nullable().groups('read'),
    people: () => p.manyToMany(Person).groups('read'),
  },
} as never);

/** Texts that look like keys, parameters, separators or other values. */
const texts = [
  'a',
  'b',
  "it's",
  'null',
  '1',
  'true',
  'what?',
  'a;b',
  '*;',
  '#1',
  '#1 ',
  '`',
  '"',
  '\\',
  '',
  '?',
  ':1',
  '$1',
  '[::alias::]',
  '{}',
];
const times = [0, 1, 86_400_000, 1_000_000_000_000];
const bigs = [0n, 1n, -1n, 2n ** 53n + 1n];

const rowsOf = () =>
  texts.map((name, i) => ({
    id: i + 1,
    name,
    tenant: texts[(i * 7) % 5],
    age: i % 4 === 3 ? null : i % 4,
    active: i % 3 === 0,
    born: new Date(times[i % times.length] as number),
    big: bigs[i % bigs.length],
    ratio: i / 4,
    data: [null, { level: 1, label: '1' }, { level: '1', label: 'a' }, { level: 0, label: null }][i % 4],
    center: i % 5 === 4 ? null : (i % 2) + 1,
  }));

const text = fc.constantFrom(...texts);
const number = fc.constantFrom(0, 1, 2, -0, 1.5, 2 ** 31, 2 ** 53);
const list = <Value>(of: fc.Arbitrary<Value>) =>
  fc.oneof(
    { weight: 9, arbitrary: fc.array(of, { maxLength: 3 }) },
    of.map((value) => Array(1200).fill(value) as Value[]),
  );
const comparison = fc.constantFrom('$eq', '$ne', '$gt', '$gte', '$lt', '$lte');

const leaf: fc.Arbitrary<object> = fc.oneof(
  fc.record({ name: text }),
  fc.record({ tenant: text }),
  fc.record({ name: text, tenant: text }),
  fc.tuple(comparison, text).map(([by, value]) => ({ name: { [by]: value } })),
  list(text).map((values) => ({ name: values })),
  list(text).map((values) => ({ name: { $nin: values } })),
  fc.record({ age: fc.oneof(number, fc.constant(null), fc.constant(undefined)) }),
  fc.tuple(comparison, number).map(([by, value]) => ({ age: { [by]: value } })),
  fc.record({ age: fc.record({ $gte: number, $lt: number }) }),
  list(number).map((values) => ({ age: { $in: values } })),
  list(fc.constantFrom(1, 2, 3, 19)).map((values) => ({ id: values })),
  fc.constantFrom(
    {},
    { age: {} },
    { age: { $ne: null } },
    { age: { $in: [] } },
    { age: { $nin: [] } },
    { $and: [] },
    { $or: [] },
  ),
  fc.record({ active: fc.boolean() }),
  fc.constantFrom(...times).map((time) => ({ born: { $lte: new Date(time) } })),
  fc.constantFrom(...bigs).map((big) => ({ big })),
  fc.constantFrom(...bigs).map((big) => ({ big: { $lt: big } })),
  fc.constantFrom(0, 0.25, 1, 2.5).map((ratio) => ({ ratio: { $gt: ratio } })),
  // PostgreSQL casts the text of each row, in an order of its own
  fc.constantFrom(0, 1, true, false, '1', null).map((level) => ({ data: { level } })),
  fc.oneof(text, fc.constant(null)).map((label) => ({ data: { label } })),
  fc.constantFrom(1, 2, null).map((center) => ({ center })),
  fc.constantFrom(1, 2).map((id) => ({ center: { id } })),
  text.map((name) => ({ center: { name } })),
  fc.constantFrom(1, 2, 4).map((size) => ({ size })),
  text.map((value) => ({ [raw('e.name = ?', [value])]: [] })),
  fc.tuple(text, text).map(([one, other]) => ({ [raw('(e.name = ? or e.tenant = ?)', [one, other])]: [] })),
  fc
    .tuple(text, fc.constantFrom(0, 1, 1.5, 2 ** 40))
    .map(([one, other]) => ({ [raw('(e.name = ? or e.ratio > ?)', [one, other])]: [] })),
  fc.array(text, { minLength: 1, maxLength: 2 }).map((values) => ({ [raw('e.name in (?)', [values])]: [] })),
  fc.constantFrom(1, 2, 3).map((age) => ({ id: { $in: raw('select person.id from person where person.age > ?', [age]) } })),
);
const { condition } = fc.letrec<{ condition: object }>((tie) => ({
  condition: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    { weight: 5, arbitrary: leaf },
    fc.array(tie('condition'), { minLength: 1, maxLength: 3 }).map((parts) => ({ $and: parts })),
    fc.array(tie('condition'), { minLength: 1, maxLength: 3 }).map((parts) => ({ $or: parts })),
    tie('condition').map((part) => ({ $not: part })),
  ),
}));

const restriction: fc.Arbitrary<Restrict> = fc
  .tuple(fc.array(condition, { minLength: 1, maxLength: 2 }), fc.constantFrom('andWhere', 'andWhere', 'where', 'orWhere'))
  .map(([conditions, method]) => {
    const restrict: Restrict = (query) => {
      for (const each of conditions) query[method](each);
    };
    return Object.assign(restrict, { [fc.toStringMethod]: () => `${method} ${fc.stringify(conditions)}` });
  });

/** The restriction of each request, by a header. */
const restrictions = new Map<string, Restrict>();

class PersonController extends ApiController<Any> {
  override customizeQuery(_action: string, request: ApiRequest, query: Any) {
    restrictions.get(request.headers['x-restriction'] as string)?.(query);
  }
}

describe.each(databases)('restrictions on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication & Any;
  beforeAll(async () => {
    database = await freshDatabase(kind);
    app = await startApplication({
      models: [Center, Person, Visit],
      controllers: [PersonController],
      app_main: {
        database: { url: database.url, schema: 'update' },
        apis: {
          person: {
            class: Person,
            base_path: '/person',
            controller: PersonController,
            actions: { _index: { formats: ['json', 'ndjson'] }, _entity: { methods: { GET: true, PATCH: true } } },
            default_sort: ['center.name', '-age'],
          },
          visit: { class: Visit, base_path: '/visit', actions: { _index: null, _entity: null } },
        },
      },
      seed: async (em: Any) => {
        await em.insertMany(
          Center,
          ['a', 'b'].map((name, i) => ({ id: i + 1, name })),
        );
        await em.insertMany(Person, rowsOf());
        for (let id = 1; id <= texts.length; id++)
          em.create(Visit, { id, person: id, people: [id, (id % texts.length) + 1].map((key) => em.getReference(Person, key)) });
        await em.flush();
      },
    } as Any);
  });
  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });

  /** The ids of the rows that MikroORM itself selects; null if it fails. */
  async function selected(restrict: Restrict): Promise<number[] | null> {
    const query = app.application.mapper.em.fork().createQueryBuilder(Person, 'e');
    try {
      restrict(query);
      const rows = await query.select('id').execute('all');
      return rows.map(({ id }: Any) => Number(id)).sort((a: number, b: number) => a - b);
    } catch {
      return null;
    }
  }

  const get = (url: string, name: string, more: object = {}) =>
    app.app.inject({ method: 'GET', url, headers: { 'x-restriction': name }, ...more });

  const sorted = (ids: number[]) => [...ids].sort((a, b) => a - b);

  /** What a caller gets in each of the ways in which a restriction is used. */
  const ways: Record<string, (name: string, id: number) => Promise<unknown>> = {
    list: async (name) => {
      const response = await get('/person.json?items_per_page=200', name);
      if (response.statusCode !== 200) return response.statusCode;
      const { count, results } = response.json();
      expect(count).toBe(results.length);
      return sorted(results.map(({ id }: Any) => id));
    },
    pages: async (name) => {
      const found: number[] = [];
      for (let url = '/person.json?items_per_page=7'; url; ) {
        const response = await get(url, name);
        if (response.statusCode !== 200) return response.statusCode;
        const { pagination, results } = response.json();
        found.push(...results.map(({ id }: Any) => id));
        url = pagination.next ?? '';
      }
      return sorted(found);
    },
    export: async (name) => {
      const response = await get('/person.ndjson', name);
      if (response.statusCode !== 200) return response.statusCode;
      return sorted(
        response.body
          .split('\n')
          .filter(Boolean)
          .map((line: string) => JSON.parse(line).id),
      );
    },
    entity: async (name, id) => (await get(`/person/${id}.json`, name)).statusCode,
    change: async (name, id) =>
      (
        await app.app.inject({
          method: 'PATCH',
          url: `/person/${id}.json`,
          headers: { 'x-restriction': name, 'content-type': 'application/json' },
          payload: '{"note":"x"}',
        })
      ).statusCode,
    embedded: async (name) => {
      const response = await get('/visit.json?items_per_page=200', name);
      if (response.statusCode !== 200) return response.statusCode;
      const visits = response.json().results;
      const one = sorted(visits.flatMap(({ person }: Any) => (person ? [person.id] : [])));
      const many = sorted([...new Set<number>(visits.flatMap(({ people }: Any) => people.map(({ id }: Any) => id)))]);
      expect(many).toEqual(one);
      return one;
    },
    'embedded in one': async (name, id) => {
      const response = await get(`/visit/${id}.json`, name);
      return response.statusCode === 200 ? response.json().person !== null : response.statusCode;
    },
  };
  const expectedOf = (way: string, ids: number[] | null, id: number): unknown => {
    if (way === 'entity' || way === 'change') return ids?.includes(id) ? 200 : 404;
    return way === 'embedded in one' ? ids?.includes(id) : ids;
  };

  test('let through the same rows as MikroORM itself, for many callers at the same time', { timeout: 600_000 }, async () => {
    let number = 0;
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(restriction, { minLength: 2, maxLength: 4 }),
        fc.array(
          fc.record({
            which: fc.nat(3),
            way: fc.constantFrom(...Object.keys(ways)),
            id: fc.integer({ min: 1, max: texts.length }),
          }),
          { minLength: 4, maxLength: 16 },
        ),
        async (some, asked) => {
          const names = some.map((restrict) => {
            const name = String(number++);
            restrictions.set(name, restrict);
            return name;
          });
          const expected = await Promise.all(some.map(selected));
          const found = await Promise.all(
            asked.map(async ({ id, way, which }) => ({
              way,
              id,
              which,
              got: await (ways[way] as Any)(names[which % some.length], id),
            })),
          );
          for (const { got, id, way, which } of found) {
            const ids = expected[which % some.length] as number[] | null;
            if (ids === null) continue;
            compared++;
            expect({ way, id, got }).toEqual({ way, id, got: expectedOf(way, ids, id) });
          }
          for (const name of names) restrictions.delete(name);
        },
      ),
      { numRuns: runs, ...casesOn(kind) },
    );
    expect(compared).toBeGreaterThan(runs * 2);
  });
});
