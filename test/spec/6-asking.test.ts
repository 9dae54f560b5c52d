// @module-tag divided
import { defineEntity, type EntityManager, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest, type ModelQuery } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

type Any = any;

function models() {
  const Address = defineEntity({ name: 'Address', embeddable: true, properties: { city: p.string().nullable().groups('read') } });
  const Center = defineEntity({
    name: 'Center',
    properties: {
      id: p.integer().primary().groups('read'),
      name: p.string().groups('read'),
      budget: p.integer().default(0),
    },
  });
  const Tag = defineEntity({
    name: 'Tag',
    properties: { id: p.integer().primary().groups('read'), label: p.string().nullable().groups('read') },
  });
  const Pet: Any = defineEntity({
    name: 'Pet',
    properties: {
      id: p.integer().primary().groups('read'),
      name: p.string().groups('read'),
      owner: () => (p.manyToOne(Person as Any) as Any).groups('read'),
    },
  });
  const Person: Any = defineEntity({
    name: 'Person',
    discriminatorColumn: 'type',
    discriminatorValue: 'person',
    properties: {
      id: p.integer().primary().groups('read'),
      type: p.enum(['person', 'staff']).groups('read'),
      lastName: p.string().groups('read'),
      firstName: p.string().nullable().groups('read'),
      age: p.integer().nullable().groups('read'),
      birthdate: p.date().nullable().groups('read'),
      seen: p.datetime(3).groups('read'),
      active: p.boolean().groups('read'),
      amount: p.decimal().precision(10).scale(2).groups('read'),
      ratio: p.double().groups('read'),
      big: p.bigint().groups('read'),
      code: p.uuid().groups('read'),
      color: p.enum(['red', 'green']).groups('read'),
      level: p.enum([1, 2, 3]).groups('read'),
      at: p.time().nullable().groups('read'),
      note: p.text().groups('read').serializedName('remark'),
      salary: p.integer().default(7),
      data: p.json<object>().nullable().groups('read'),
      address: () => p.embedded(Address).groups('read'),
      center: () => (p.manyToOne(Center as Any) as Any).nullable().groups('read'),
      tags: () => (p.manyToMany(Tag as Any) as Any).groups('read'),
      pets: () => (p.oneToMany(Pet as Any) as Any).mappedBy('owner').groups('read'),
    },
  });
  const Staff = defineEntity({
    name: 'Staff',
    extends: Person as Any,
    discriminatorValue: 'staff',
    properties: { desk: p.string().nullable().groups('read') },
  });
  return [Person, Staff, Center, Tag, Pet, Address];
}

const list = {
  filters: {
    id: ['eq', 'in', 'lt', 'gte'],
    type: ['eq', 'ne', 'in'],
    lastName: ['eq', 'ne', 'contains', 'starts', 'ends', 'in', 'lt'],
    firstName: ['eq', 'ne', 'exists', 'contains'],
    age: ['eq', 'ne', 'lt', 'lte', 'gt', 'gte', 'in', 'exists'],
    birthdate: ['eq', 'gte', 'lt', 'in'],
    seen: ['eq', 'gte', 'lt', 'in'],
    active: ['eq', 'ne'],
    amount: ['eq', 'gt', 'in'],
    ratio: ['eq', 'gt', 'in'],
    big: ['eq', 'gt', 'in'],
    code: ['eq', 'in'],
    color: ['eq', 'ne', 'in'],
    level: ['eq', 'in'],
    at: ['eq', 'gt', 'in'],
    remark: ['eq', 'contains'],
    data: ['exists'],
    'address.city': ['eq', 'contains', 'exists', 'ne'],
    center: ['exists'],
    'center.id': ['eq', 'in', 'ne'],
    'center.name': ['eq', 'ne', 'contains', 'exists'],
    tags: ['exists'],
    'tags.label': ['eq', 'ne', 'in', 'contains', 'exists'],
    'pets.name': ['eq', 'starts'],
    pets: ['exists'],
    desk: ['eq', 'ne', 'exists'],
  },
  sort: ['lastName', 'age', 'birthdate', 'center.name', 'address.city', 'id', 'desk', 'amount'],
  search: ['firstName', 'lastName', 'center.name', 'tags.label'],
} as const;

class RestrictedController extends ApiController {
  override customizeQuery(_action: string, _request: ApiRequest, query: ModelQuery<Any>): void {
    query.andWhere({ id: { $lt: 5 } });
  }
}

class LimitedController extends ApiController {
  override customizeQuery(_action: string, _request: ApiRequest, query: ModelQuery<Any>): void {
    query.orderBy({ id: 'desc' }).limit(2);
  }
}

class EitherController extends ApiController {
  override customizeQuery(_action: string, _request: ApiRequest, query: ModelQuery<Any>): void {
    query.where({ id: 1 }).orWhere({ id: 4 });
  }
}

class JoinedController extends ApiController {
  override customizeQuery(_action: string, _request: ApiRequest, query: ModelQuery<Any>): void {
    (query as Any).leftJoin('e.tags', 't').where({ 't.id': { $ne: null } });
  }
}

class ListsController extends ApiController {
  mineApi(request: ApiRequest) {
    return this.paginate('mine', request, (this.em as Any).createQueryBuilder('Person', 'x').where({ id: { $gt: 1 } }));
  }
}

function optionsOf(url: string, compiledReads: boolean) {
  const all = models();
  const [Person] = all;
  const shared = { class: Person, actions: { _index: null }, ...list };
  return {
    app_main: {
      apis: {
        person: { ...shared, base_path: '/person' },
        plain: { class: Person, base_path: '/plain', actions: { _index: null } },
        capped: { ...shared, base_path: '/capped', pagination: { count: { capped: 2 }, max_or_depth: 1, max_or_groups: 2 } },
        limited: { ...shared, base_path: '/limited', controller: LimitedController },
        restricted: { ...shared, base_path: '/restricted', controller: RestrictedController },
        either: { ...shared, base_path: '/either', controller: EitherController },
        joined: { ...shared, base_path: '/joined', controller: JoinedController },
        lists: {
          ...shared,
          base_path: '/lists',
          controller: ListsController,
          actions: {
            _index: { filters: { age: ['lt'] }, sort: [], search: [], default_sort: ['-lastName'] },
            mine: { 'single-collection': 'collection', methods: { GET: true } },
          },
        },
      },
      formats: ['json', 'ndjson'],
      database: { url, schema: compiledReads ? ('none' as const) : ('update' as const) },
    },
    models: all,
    controllers: [RestrictedController, LimitedController, EitherController, JoinedController, ListsController],
    compiledReads,
  } as Any;
}

const uuidOf = (n: number) => `0000000${n}-0000-4000-8000-00000000000a`;

function fill(em: EntityManager): Promise<void> {
  const create = (name: string, data: object) => em.create(name as Any, data as Any) as Any;
  const north = create('Center', { id: 1, name: 'North' });
  const south = create('Center', { id: 2, name: 'South' });
  const tags = ['Red hair', 'left-handed', null].map((label, i) => create('Tag', { id: i + 1, label }));
  const shared = { active: true, amount: '1.50', ratio: 0.5, color: 'red', level: 1, note: '', salary: 1 };
  const rows: [string, object][] = [
    [
      'Person',
      {
        lastName: 'Ånn_Öst',
        firstName: 'Ann',
        age: 30,
        birthdate: '2000-01-01',
        seen: new Date('2026-11-15T10:00:00.000Z'),
        big: 9007199254740993n,
        at: '10:00:00',
        note: '100% \\ sure? ΟΔΟΣ',
        data: { a: 1 },
        address: { city: 'Bern' },
        center: north,
        tags: [tags[0], tags[1]],
      },
    ],
    [
      'Staff',
      {
        lastName: 'Berg',
        firstName: null,
        age: null,
        birthdate: null,
        center: south,
        desk: 'A1',
        tags: [tags[2]],
        active: false,
      },
    ],
    [
      'Person',
      {
        lastName: "O'Hara, Jr",
        firstName: 'Annabel',
        age: 40,
        birthdate: '2005-06-07',
        amount: '99.99',
        color: 'green',
        level: 3,
      },
    ],
    ['Staff', { lastName: 'annex', firstName: 'Zoë', age: 30, desk: null, center: north, ratio: 1e-7, big: -5n, at: '23:59:59' }],
    ['Person', { lastName: 'Ånn%Öst', firstName: '', age: 5, tags: [tags[1]], address: { city: 'Genève' } }],
    ['Person', { lastName: 'back\\slash', firstName: 'X', age: 0, level: 2 }],
  ];
  const people = rows.map(([name, data], i) => {
    const day = new Date(Date.UTC(2026, 0, i + 1));
    return create(name, {
      id: i + 1,
      seen: day,
      big: BigInt(i),
      code: uuidOf(i + 1),
      address: { city: null },
      ...shared,
      ...data,
    });
  });
  create('Pet', { id: 1, name: 'Rex', owner: people[0] });
  create('Pet', { id: 2, name: 'Rexa', owner: people[0] });
  create('Pet', { id: 3, name: 'Tom', owner: people[2] });
  return em.flush();
}

const everybody = [1, 2, 3, 4, 5, 6];

/** Conditions, and who fulfils them. */
const conditions: [query: string, ids: number[]][] = [
  ['', everybody],
  ['lastName=Berg', [2]],
  ['lastName=berg', []],
  ['lastName[eq]=Berg', [2]],
  ['lastName%5Beq%5D=Berg', [2]],
  ['lastName[ne]=Berg', [1, 3, 4, 5, 6]],
  ['lastName[contains]=ANN', [4]],
  ['lastName[contains]=åNN', [1, 5]],
  ['lastName[contains]=%25', [5]],
  ['lastName[contains]=_', [1]],
  ['lastName[contains]=%5C', [6]],
  ['lastName[contains]=%5C%5C', []],
  ['lastName[starts]=b', [2, 6]],
  ['lastName[ends]=ÖST', [1, 5]],
  ['lastName[starts]=', everybody],
  ["lastName[in]=Berg,O'Hara%5C, Jr,back%5C%5Cslash", [2, 3, 6]],
  ['lastName[in]=Berg', [2]],
  ['lastName[lt]=Z', [2, 3]],
  ['remark[contains]=100%25 %5C', [1]],
  // a sigma that ends a word has another form
  ['remark[contains]=ΔΟΣ', [1]],
  ['remark[contains]=οδοσ', [1]],
  ['remark=', [2, 3, 4, 5, 6]],
  ['firstName[ne]=Ann', [2, 3, 4, 5, 6]],
  ['firstName[exists]=false', [2]],
  ['firstName[exists]=true', [1, 3, 4, 5, 6]],
  ['firstName=', [5]],
  ['firstName[contains]=ann', [1, 3]],
  ['firstName[contains]=ZOË', [4]],
  ['age=30', [1, 4]],
  ['age[ne]=30', [2, 3, 5, 6]],
  ['age[gt]=5&age[lte]=30', [1, 4]],
  ['age[lt]=30', [5, 6]],
  ['age[gte]=30', [1, 3, 4]],
  ['age[in]=0,40,40', [3, 6]],
  ['age[exists]=false', [2]],
  ['birthdate=2000-01-01', [1]],
  ['birthdate[gte]=2000-01-01&birthdate[lt]=2005-06-07', [1]],
  ['birthdate[in]=2000-01-01,2005-06-07', [1, 3]],
  ['seen=2026-11-15T10:00:00.000Z', [1]],
  ['seen=2026-11-15T11:00:00%2B01:00', [1]],
  ['seen[gte]=2026-01-03&seen[lt]=2026-01-05', [3, 4]],
  ['seen[in]=2026-01-03,2026-11-15T10:00:00Z', [1, 3]],
  ['active=false', [2]],
  ['active[ne]=false', [1, 3, 4, 5, 6]],
  ['amount=1.5', [1, 2, 4, 5, 6]],
  ['amount[gt]=1.50', [3]],
  ['amount[in]=99.99,3', [3]],
  ['ratio=1e-7', [4]],
  ['ratio[gt]=0.25', [1, 2, 3, 5, 6]],
  ['ratio[in]=0.0000001', [4]],
  ['big=9007199254740993', [1]],
  ['big=9007199254740992', []],
  ['big[in]=9007199254740993,-5', [1, 4]],
  ['big[gt]=9007199254740992', [1]],
  [`code=${uuidOf(2).toUpperCase()}`, [2]],
  [`code[in]=${uuidOf(2)},${uuidOf(3)}`, [2, 3]],
  ['color=green', [3]],
  ['color[ne]=green', [1, 2, 4, 5, 6]],
  ['color[in]=green,red', everybody],
  ['level=3', [3]],
  ['level[in]=2,3', [3, 6]],
  ['level[in]=2&level[in]=3', [3, 6]],
  ['or[0][level][in]=2&or[0][level][in]=3,3', [3, 6]],
  ['at=10:00', [1]],
  ['at[gt]=10:00:00', [4]],
  ['at[in]=10:00,23:59:59', [1, 4]],
  ['data[exists]=true', [1]],
  ['type=staff', [2, 4]],
  ['type[ne]=staff', [1, 3, 5, 6]],
  ['type[in]=staff,person', everybody],
  ['desk=A1', [2]],
  ['desk[exists]=true', [2]],
  ['desk[ne]=A1', [1, 3, 4, 5, 6]],
  ['address.city=Bern', [1]],
  ['address.city[contains]=GENÈ', [5]],
  ['address.city[exists]=true', [1, 5]],
  ['address.city[ne]=Bern', [2, 3, 4, 5, 6]],
  ['center[exists]=true', [1, 2, 4]],
  ['center[exists]=false', [3, 5, 6]],
  ['center.id=1', [1, 4]],
  ['center.id[in]=1,2', [1, 2, 4]],
  ['center.id[ne]=1', [2, 3, 5, 6]],
  ['center.name=North', [1, 4]],
  ['center.name[ne]=North', [2, 3, 5, 6]],
  ['center.name[contains]=OUT', [2]],
  ['center.name[exists]=false', [3, 5, 6]],
  ['tags[exists]=true', [1, 2, 5]],
  ['tags[exists]=false', [3, 4, 6]],
  ['tags.label=left-handed', [1, 5]],
  ['tags.label[ne]=left-handed', [1, 2]],
  ['tags.label[in]=left-handed,Red hair', [1, 5]],
  ['tags.label[exists]=true', [1, 5]],
  ['tags.label[exists]=false', [2, 3, 4, 6]],
  ['tags.label[contains]=HAND&tags.label=Red hair', [1]],
  ['pets.name[starts]=rex', [1]],
  ['pets[exists]=true', [1, 3]],
  ['lastName=Berg&age[exists]=true', []],
  ['or[0][lastName]=Berg&or[1][age]=40', [2, 3]],
  ['or[0][lastName]=Berg&or[0][age]=40&or[7][age]=0', [6]],
  ['age[gt]=4&or[0][center.id]=1&or[1][firstName]=', [1, 4, 5]],
  ['or[0][or][0][age]=0&or[0][or][1][age]=5&or[0][level]=2&or[1][age]=40', [3, 6]],
  ['q=ann', [1, 3, 4]],
  ['q=ANN north', [1, 4]],
  ['q=north  left', [1]],
  ['q=zoë', [4]],
  ['q=', everybody],
  ['q=%25', [5]],
  ['q=ann&age=30', [1, 4]],
];

/** Orders, and the ids in them; null stands first or last as the database has it. */
const orders: [query: string, ids: number[], nullsMoved?: number[]][] = [
  ['sort=lastName', [2, 3, 4, 6, 5, 1]],
  ['sort=-lastName', [1, 5, 6, 4, 3, 2]],
  ['sort=age', [6, 5, 1, 4, 3], [2]],
  ['sort=age,-id', [6, 5, 4, 1, 3], [2]],
  ['sort=age&sort=-id', [6, 5, 4, 1, 3], [2]],
  ['sort=-age,lastName', [3, 4, 1, 5, 6], [2]],
  ['sort=-center.name', [2, 1, 4], [3, 5, 6]],
  ['sort=center.name,-lastName', [1, 4, 2], [5, 6, 3]],
  ['sort=address.city', [1, 5], [2, 3, 4, 6]],
  ['sort=desk', [2], [1, 3, 4, 5, 6]],
  ['sort=-amount', [3, 1, 2, 4, 5, 6]],
];

/** What is refused, with the code and a part of the detail. */
const refusals: [query: string, code: string, part: string | RegExp][] = [
  [
    'salary=1',
    'unknown_parameter',
    'unknown query parameter "salary"; allowed: page, items_per_page, after, before, fields, sort, q, id',
  ],
  ['center.budget=1', 'unknown_parameter', '"center.budget"'],
  ['nothing[eq]=1', 'unknown_parameter', '"nothing[eq]"'],
  ['lastname=1', 'unknown_parameter', '"lastname"'],
  ['__proto__=1', 'unknown_parameter', ''],
  ['constructor[eq]=1', 'unknown_parameter', ''],
  ['lastName[]=a', 'operator_not_allowed', '"lastName[]"'],
  ['lastName[gt]=a', 'operator_not_allowed', 'allowed: lastName, lastName[ne], lastName[contains]'],
  ['lastName[like]=a', 'operator_not_allowed', 'allowed: lastName,'],
  ['birthdate[ne]=2000-01-01', 'operator_not_allowed', 'allowed: birthdate, birthdate[gte], birthdate[lt], birthdate[in]'],
  ['lastName[contains][x]=a', 'operator_not_allowed', ''],
  ['lastName[contains=a', 'unknown_parameter', ''],
  ['lastName]=a', 'unknown_parameter', ''],
  ['or[0][lastName][gt]=a', 'operator_not_allowed', 'allowed: or[0][lastName], or[0][lastName][ne]'],
  ['lastName=a&lastName=b', 'invalid_parameter', '"lastName" must be given once'],
  ['lastName=a&lastName[eq]=b', 'invalid_parameter', 'must be given once'],
  ['age=ten', 'invalid_parameter', '"age" must be an integer'],
  ['age=', 'invalid_parameter', '"age" must be an integer'],
  ['age=1.5', 'invalid_parameter', 'integer'],
  ['age=007', 'invalid_parameter', 'integer'],
  ['age=99999999999', 'invalid_parameter', 'must be between -2147483648 and 2147483647'],
  [
    'age[in]=1,x',
    'invalid_parameter',
    '"age[in]" must be a list of values separated by commas, each of which must be an integer',
  ],
  ['age[exists]=yes', 'invalid_parameter', '"age[exists]" must be true or false'],
  ['lastName[in]=a%5Cb', 'invalid_parameter', 'backslash'],
  ['lastName[in]=a%5C&lastName[in]=b', 'invalid_parameter', 'backslash'],
  ['age[in]=1&age[in]=x', 'invalid_parameter', 'each of which must be an integer'],
  ['age[exists]=true&age[exists]=true', 'invalid_parameter', '"age[exists]" must be given once'],
  ['lastName[contains]=a&lastName[contains]=b', 'invalid_parameter', '"lastName[contains]" must be given once'],
  ['lastName=%00', 'invalid_parameter', 'well-formed'],
  [`lastName=${'x'.repeat(256)}`, 'invalid_parameter', 'longer than 255'],
  ['birthdate=2000-02-30', 'invalid_parameter', 'must be a date such as'],
  ['seen=yesterday', 'invalid_parameter', 'must be a date and time'],
  ['active=1', 'invalid_parameter', 'must be true or false'],
  ['amount=1.234', 'invalid_parameter', 'after the point'],
  ['ratio=NaN', 'invalid_parameter', 'must be a number'],
  ['ratio=1e999', 'invalid_parameter', 'must be a number'],
  ['big=9223372036854775808', 'invalid_parameter', 'between'],
  ['code=x', 'invalid_parameter', 'UUID'],
  ['color=blue', 'invalid_parameter', 'must be one of: red, green'],
  ['type=boss', 'invalid_parameter', 'must be one of: person, staff'],
  ['at=25:00', 'invalid_parameter', 'time'],
  ['sort=salary', 'sort_not_allowed', 'cannot sort by "salary"; allowed: lastName, age, birthdate, center.name'],
  ['sort=', 'sort_not_allowed', 'cannot sort by ""'],
  ['sort=lastName,', 'sort_not_allowed', ''],
  ['sort=%2BlastName', 'sort_not_allowed', ''],
  ['sort=lastName,-lastName', 'invalid_parameter', 'each field once'],
  ['sort=age&sort=-age', 'invalid_parameter', 'each field once'],
  ['sort=age&sort=salary', 'sort_not_allowed', 'cannot sort by "salary"'],
  ['fields=id,salary', 'field_not_readable', 'cannot contain "salary"; allowed: id, type, lastName'],
  ['fields=center.budget', 'field_not_readable', 'center.name'],
  ['fields=id.x', 'field_not_readable', ''],
  ['fields=data.a', 'field_not_readable', ''],
  ['fields=', 'field_not_readable', ''],
  ['fields=id&fields=salary', 'field_not_readable', 'cannot contain "salary"'],
  ['q=a&q=b', 'invalid_parameter', '"q" must be given once'],
  ['q=a b c d e f g h i', 'invalid_parameter', 'more than 8 words'],
  ['q=%00', 'invalid_parameter', 'well-formed'],
  ['or=1', 'unknown_parameter', ''],
  ['or[0]=1', 'unknown_parameter', ''],
  ['or[x][age]=1', 'invalid_parameter', 'number its groups'],
  ['or[0][salary]=1', 'unknown_parameter', '"or[0][salary]"'],
  ['or[0][age]=x', 'invalid_parameter', '"or[0][age]" must be an integer'],
  ['or[0][or][0][or][0][age]=1', 'too_many_groups', 'deeper than 2'],
  [Array.from({ length: 11 }, (_, i) => `or[${i}][age]=1`).join('&'), 'too_many_groups', 'exceeds the maximum of 10 groups'],
];

describe.each(databases)('list queries on %s', (database) => {
  let fresh: FreshDatabase;
  let apps: Record<'entities' | 'compiled', TestApplication>;
  beforeAll(async () => {
    fresh = await freshDatabase(database);
    const entities = await startApplication(optionsOf(fresh.url, false));
    await fill(entities.application.mapper.em.fork() as Any);
    apps = { entities, compiled: await startApplication(optionsOf(fresh.url, true)) };
  });
  afterAll(async () => {
    for (const app of Object.values(apps ?? {})) await app.close();
    await fresh?.drop();
  });

  describe.each(['entities', 'compiled'] as const)('through %s', (way) => {
    const get = async (path: string) => {
      const { json, status } = await apps[way].request('GET', path);
      expect([path, status, json?.detail]).toEqual([path, 200, undefined]);
      return json;
    };
    const idsOf = (json: { results: { id: number }[] }) => json.results.map(({ id }) => id);
    const ends = (ids: number[], nulls: number[], query: string) => {
      const isDown = /^sort=-/.test(query);
      return (database === 'postgresql') === isDown ? [...nulls, ...ids] : [...ids, ...nulls];
    };

    test.each(conditions)('?%s', async (query, ids) => {
      const json = await get(`/person.json?${query}`);
      expect([idsOf(json), json.count]).toEqual([ids, ids.length]);
    });

    test.each(orders)('?%s', async (query, ids, nulls = []) => {
      expect(idsOf(await get(`/person.json?${query}`))).toEqual(ends(ids, nulls, query));
    });

    test.each(orders)('?%s page by page, with next and previous links', async (query, ids, nulls = []) => {
      const seen: number[] = [];
      let last = '';
      for (let at: string | null = `/person.json?${query}&items_per_page=1&age[ne]=40`; at !== null; ) {
        const { pagination, results } = await get(at);
        seen.push(results[0].id);
        last = at;
        at = pagination.next;
        if (at !== null) expect(at).toMatch(/age\[ne\]=40.*&after=/);
      }
      const expected = ends(ids, nulls, query).filter((id) => id !== 3);
      expect(seen).toEqual(expected);
      const back: number[] = [];
      for (let at: string | null = last; at !== null; ) {
        const { pagination, results } = await get(at);
        back.push(results[0].id);
        at = pagination.previous;
      }
      expect(back).toEqual(expected.toReversed());
    });

    test.each(refusals)('rejects ?%s', async (query, code, part) => {
      apps[way].statements.length = 0;
      const { json, status } = await apps[way].request('GET', `/person.json?${query}`);
      expect([status, json.code]).toEqual([400, code]);
      if (part instanceof RegExp) expect(json.detail).toMatch(part);
      else expect(json.detail).toContain(part);
      expect(apps[way].statements).toEqual([]);
    });

    test('a page token is only valid for its own sort order', async () => {
      const { pagination } = await get('/person.json?sort=age&items_per_page=2');
      const { json, status } = await apps[way].request('GET', pagination.next.replace('sort=age', 'sort=-age'));
      expect([status, json.code]).toEqual([400, 'invalid_parameter']);
    });

    test('the fields parameter selects the shown fields and changes nothing else', async () => {
      const whole = await get('/person.json');
      const some = await get('/person.json?fields=lastName,id,center.name,tags.label,data,address.city,desk');
      const pick = ({ id, lastName, data, address, center, tags, ...rest }: Any) => ({
        id,
        lastName,
        data,
        address: { city: address.city },
        center: center && { name: center.name },
        tags: tags.map(({ label }: Any) => ({ label })),
        ...('desk' in rest && { desk: rest.desk }),
      });
      expect(some).toEqual({ ...whole, results: whole.results.map(pick) });
      expect(JSON.stringify(some.results[0])).toBe(JSON.stringify({ ...pick(whole.results[0]) }));
      const [first] = (await get('/person.json?fields=center,center.name&sort=-lastName')).results;
      expect(first).toEqual({ center: { id: 1, name: 'North' } });
    });

    test('links keep every parameter', async () => {
      const { pagination } = await get('/person.json?age[gte]=5&sort=-age&q=n&fields=id&items_per_page=1&or[0][active]=true');
      expect(pagination.next).toMatch(
        /^\/person\.json\?age\[gte\]=5&sort=-age&q=n&fields=id&items_per_page=1&or\[0\]\[active\]=true&page=2&after=/,
      );
    });

    test('the restriction of a controller applies to every filter and sort order', async () => {
      for (const [query, ids] of conditions) {
        const json = await get(`/restricted.json?${query}`);
        const expected = ids.filter((id) => id < 5);
        expect([query, idsOf(json), json.count]).toEqual([query, expected, expected.length]);
      }
      expect(idsOf(await get('/restricted.json?sort=-id&age[exists]=true'))).toEqual([4, 3, 1]);
    });

    test('an export contains the same rows as the list', async () => {
      const exported = async (path: string) => {
        const { status, text } = await apps[way].request('GET', path);
        expect([path, status]).toEqual([path, 200]);
        return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line).id]));
      };
      for (const [query, ids] of conditions) expect([query, await exported(`/person.ndjson?${query}`)]).toEqual([query, ids]);
      for (const [query, ids, nulls = []] of orders)
        expect([query, await exported(`/person.ndjson?${query}`)]).toEqual([query, ends(ids, nulls, query)]);
      expect(await exported('/restricted.ndjson?lastName[contains]=a&sort=-id')).toEqual([4, 3]);
    });

    test('restrictions with alternatives or joins apply to every filter and sort order', async () => {
      for (const query of ['lastName[ne]=x', 'or[0][age]=30&or[1][age]=40', 'q=n', 'tags.label=left-handed', 'sort=-id']) {
        const all = idsOf(await get(`/person.json?${query}`));
        expect(idsOf(await get(`/either.json?${query}`))).toEqual(all.filter((id) => [1, 4].includes(id)));
        const joined = await get(`/joined.json?${query}`);
        const expected = all.filter((id) => [1, 2, 5].includes(id));
        expect([idsOf(joined), joined.count]).toEqual([expected, expected.length]);
      }
    });

    test('filters and sort orders do not extend a row limit of a restriction', async () => {
      expect(idsOf(await get('/limited.json'))).toEqual([6, 5]);
      expect(await get('/limited.json?age[lte]=5&sort=age')).toMatchObject({ count: 2, results: [{ id: 6 }, { id: 5 }] });
      expect(await get('/limited.json?sort=id')).toMatchObject({ count: 2, results: [{ id: 5 }, { id: 6 }] });
      expect(await get('/limited.json?age=30')).toMatchObject({ count: 0, results: [] });
    });

    test('capped counts apply to the filtered rows', async () => {
      expect(await get('/capped.json?age[exists]=true')).toMatchObject({ count: 2, count_is: 'capped' });
      expect(await get('/capped.json?age=30')).toMatchObject({ count: 2 });
      const { json } = await apps[way].request('GET', '/capped.json?or[0][or][0][age]=1');
      expect(json.code).toBe('too_many_groups');
    });

    test('declarations of an action replace those of its API', async () => {
      expect(idsOf(await get('/lists.json?age[lt]=30'))).toEqual([5, 6]);
      for (const query of ['age=30', 'sort=id', 'q=x']) {
        expect((await apps[way].request('GET', `/lists.json?${query}`)).status).toBe(400);
      }
      expect(idsOf(await get('/lists/mine.json?center.id=1&sort=-id&own=parameter'))).toEqual([4]);
      expect((await get('/lists/mine.json?fields=id&q=berg')).results).toEqual([{ id: 2 }]);
      for (const query of ['center.id=x', 'sort=salary', 'salary[eq]=1', 'fields=salary']) {
        expect((await apps[way].request('GET', `/lists/mine.json?${query}`)).status).toBe(400);
      }
    });

    test('a list without declarations accepts only the fields parameter', async () => {
      expect((await get('/plain.json?fields=id&items_per_page=2')).results).toEqual([{ id: 1 }, { id: 2 }]);
      for (const query of ['lastName=x', 'sort=id', 'q=x', 'or[0][id]=1']) {
        const { json, status } = await apps[way].request('GET', `/plain.json?${query}`);
        expect([status, json.code]).toEqual([400, 'unknown_parameter']);
      }
    });
  });
});
