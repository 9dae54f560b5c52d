import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest, type ModelQuery } from '../../src/index.ts';
import { accessMatrix } from '../../src/inspect/compare/matrix.ts';
import { clientSource } from '../../src/openapi/client/client.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

type Any = any;

/** Hides centers, except those that the request names. */
class CenterController extends ApiController {
  override customizeQuery(_action: string, request: ApiRequest, query: ModelQuery<Any>): void {
    if (request.headers['x-sees'] !== undefined) query.andWhere({ name: { $in: String(request.headers['x-sees']).split(',') } });
  }
}

/** Restricts the list in the form that the request names. */
class SaleController extends ApiController {
  override customizeQuery(action: string, request: ApiRequest, query: ModelQuery<Any>): void {
    expect(action).toBe('_index');
    const form = request.headers['x-form'];
    if (form === 'where') query.andWhere({ kind: 'a' });
    if (form === 'raw') query.andWhere('kind = ?', ['a']);
    if (form === 'join') query.leftJoin('e.tags', 't').andWhere({ 't.name': { $like: 't%' } });
    if (form === 'limit') query.orderBy({ id: 'desc' }).limit(2);
    if (form === 'to-one') query.andWhere({ center: { name: 'north' } });
  }
}

function optionsOf(url: string) {
  const named = () => ({ id: p.integer().primary().groups('read'), name: p.string().groups('read') });
  const Center = defineEntity({ name: 'Center', properties: { ...named(), secret: p.string().nullable() } });
  const Tag = defineEntity({ name: 'Tag', properties: named() });
  const Place = defineEntity({
    name: 'Place',
    embeddable: true,
    properties: { city: p.string().nullable().groups('read') },
  } as Any);
  const Sale: Any = defineEntity({
    name: 'Sale',
    properties: {
      id: p.integer().primary().groups('read'),
      kind: p.string().nullable().groups('read'),
      isPaid: p.boolean().nullable().groups('read'),
      amount: (p.decimal() as Any).precision(12).scale(2).nullable().groups('read'),
      pieces: p.integer().nullable().groups('read'),
      views: p.bigint('bigint').nullable().groups('read'),
      weight: p.double().nullable().groups('read'),
      soldOn: p.date().nullable().groups('read'),
      soldAt: (p.datetime() as Any).length(3).nullable().groups('read'),
      hidden: p.string().nullable(),
      center: () => (p.manyToOne(Center) as Any).nullable().groups('read'),
      tags: () => (p.manyToMany(Tag) as Any).groups('read'),
      place: () => (p.embedded(Place as Any) as Any).nullable().groups('read'),
    },
  });
  const all = ['sum', 'avg', 'min', 'max'];
  return {
    app_main: {
      formats: ['json', 'xml', 'csv'],
      apis: {
        sale: {
          class: Sale,
          base_path: '/sale',
          controller: SaleController,
          filters: { kind: ['eq', 'in'], 'center.name': ['eq'] },
          search: ['kind'],
          aggregate: {
            by: ['kind', 'isPaid', 'center.id', 'center.name', 'place.city', 'soldOn', 'soldOn:month', 'soldAt:year', 'soldAt'],
            of: { amount: all, pieces: all, views: all, weight: all, id: ['min', 'max'] },
          },
          actions: { _index: { roles: { GET: 'ROLE_SALES' } } },
        },
        center: { class: Center, base_path: '/center', controller: CenterController, actions: { _entity: null } },
      },
      database: { url, schema: 'update' },
    },
    models: [Sale, Center, Tag, Place],
    controllers: [SaleController, CenterController],
  } as Any;
}

describe.each(databases)('aggregates on %s', (kind) => {
  let fresh: FreshDatabase;
  let app: TestApplication;
  beforeAll(async () => {
    fresh = await freshDatabase(kind);
    const options = optionsOf(fresh.url);
    app = await startApplication(options);
    const em = app.application.mapper.em.fork() as Any;
    const [north, south] = ['north', 'south'].map((name, i) => em.create('Center', { id: i + 1, name }));
    const tags = ['t1', 't2'].map((name, i) => em.create('Tag', { id: i + 1, name }));
    const soldAt = new Date('2026-01-02T03:04:05.678Z');
    const rows = [
      { kind: 'a', isPaid: true, amount: '0.10', pieces: 2, views: 9223372036854775807n, weight: 0.5, center: north, tags },
      { kind: 'a', isPaid: false, amount: '0.20', pieces: 3, views: 9223372036854775807n, weight: 1, center: south, soldAt },
      { kind: 'b', isPaid: true, amount: '9999999999.99', pieces: null, views: -1n, soldOn: '2026-11-15', soldAt },
      { kind: '', amount: null, tags: [tags[0]], soldOn: '2026-11-30', place: { city: 'Zürich' }, center: north },
      { kind: null, amount: '-5.00', views: 5n, soldOn: '2025-12-31' },
    ];
    for (const [i, row] of rows.entries()) em.create('Sale', { id: i + 1, ...row });
    await em.flush();
  });
  afterAll(async () => {
    await app?.close();
    await fresh?.drop();
  });

  async function send(query: string, headers: Record<string, string> = {}, path = '/sale/aggregate.json') {
    return app.request('GET', `${path}?${query}`, { as: { id: 1, roles: ['ROLE_SALES'] }, headers });
  }
  async function results(query: string, headers: Record<string, string> = {}) {
    const reply = await send(query, headers);
    expect(reply.status, reply.text).toBe(200);
    return (reply.json as Any).results;
  }

  test('count all rows without parameters', async () => {
    const reply = await send('');
    expect(reply.json).toEqual({
      count: 1,
      results: [{ count: 5 }],
      pagination: { more: false, next: null, previous: null, first: 0, items_per_page: 1000 },
    });
  });

  test('group by fields, in the order of their values, groups without a value last', async () => {
    expect(await results('by=kind')).toEqual([
      { kind: '', count: 1 },
      { kind: 'a', count: 2 },
      { kind: 'b', count: 1 },
      { kind: null, count: 1 },
    ]);
    expect(await results('by=isPaid')).toEqual([
      { isPaid: false, count: 1 },
      { isPaid: true, count: 2 },
      { isPaid: null, count: 2 },
    ]);
    expect(await results('by=center.id,center.name')).toEqual([
      { 'center.id': 1, 'center.name': 'north', count: 2 },
      { 'center.id': 2, 'center.name': 'south', count: 1 },
      { 'center.id': null, 'center.name': null, count: 2 },
    ]);
    expect(await results('by=kind&by=isPaid&kind=a')).toEqual(await results('by=kind,isPaid&kind=a'));
    expect(await results('by=place.city')).toEqual([
      { 'place.city': 'Zürich', count: 1 },
      { 'place.city': null, count: 4 },
    ]);
  });

  test('group dates by periods', async () => {
    expect(await results('by=soldOn:month')).toEqual([
      { 'soldOn:month': '2025-12', count: 1 },
      { 'soldOn:month': '2026-11', count: 2 },
      { 'soldOn:month': null, count: 2 },
    ]);
    expect(await results('by=soldAt:year&sort=-soldAt:year')).toEqual([
      { 'soldAt:year': '2026', count: 2 },
      { 'soldAt:year': null, count: 3 },
    ]);
    expect(await results('by=soldAt')).toEqual([
      { soldAt: '2026-01-02T03:04:05.678Z', count: 2 },
      { soldAt: null, count: 3 },
    ]);
  });

  test('compute exact sums of decimals and 64-bit integers', async () => {
    expect(await results('of=amount:sum,views:sum,pieces:sum,weight:sum,pieces:avg,id:min,id:max')).toEqual([
      {
        count: 5,
        amount: { sum: '9999999995.29' },
        views: { sum: '18446744073709551618' },
        pieces: { sum: 5, avg: 2.5 },
        weight: { sum: 1.5 },
        id: { min: 1, max: 5 },
      },
    ]);
    expect(await results('by=kind&of=amount:sum&of=amount:min,amount:max,views:max&kind=a')).toEqual([
      { kind: 'a', count: 2, amount: { sum: '0.30', min: '0.10', max: '0.20' }, views: { max: '9223372036854775807' } },
    ]);
    expect(await results('of=amount:sum,views:avg&kind=none')).toEqual([
      { count: 0, amount: { sum: null }, views: { avg: null } },
    ]);
  });

  test('return null for sums beyond a double, and read double averages', async () => {
    expect(await results('of=weight:avg')).toEqual([{ count: 5, weight: { avg: 0.75 } }]);
    const em = app.application.mapper.em.fork() as Any;
    for (const id of [101, 102]) em.create('Sale', { id, kind: 'huge', weight: 1.5e308 });
    await em.flush();
    const [huge] = await results('kind=huge&of=weight:sum,weight:max');
    expect(huge).toEqual({ count: 2, weight: { sum: null, max: 1.5e308 } });
    expect((await send('kind=huge&of=weight:avg')).status).toBe(200);
    await em.nativeDelete('Sale', { kind: 'huge' });
  });

  test('are in the routes, the access matrix, the OpenAPI document and the client', async () => {
    const matrix = accessMatrix(app.application);
    const [route] = matrix.routes.filter(({ method, path }) => method === 'GET' && path === '/sale/aggregate.{_format}');
    expect(route).toMatchObject({ action: 'aggregate', restricted: { value: 'SaleController.customizeQuery' } });
    expect(route?.roles.map(({ role }) => role)).toEqual(['ROLE_SALES']);
    expect(route?.read.fields.map(({ path }) => path)).not.toContain('tags');
    expect(route?.read.fields.map(({ path }) => path)).toContain('amount');
    const { json: document } = await app.request('GET', '/openapi.json');
    expect(document.paths['/sale/aggregate.json'].get.operationId).toBe('aggregateSales');
    const source = clientSource(document, app.application.records);
    expect(source).toContain('aggregate: (query: { by?: Array<"kind" | "isPaid"');
    expect(source).toContain('Promise<SaleAggregateCollection>');
  });

  test('sort groups by the number of rows and by aggregates', async () => {
    const kinds = async (query: string) => (await results(query)).map((result: Any) => result.kind);
    expect(await kinds('by=kind&sort=-count')).toEqual(['a', '', 'b', null]);
    expect(await kinds('by=kind&sort=-amount:sum')).toEqual(['b', 'a', null, '']);
    expect(await kinds('by=kind&sort=views:sum&of=views:sum')).toEqual(['b', null, 'a', '']);
    expect(await kinds('by=kind&sort=-kind')).toEqual(['b', 'a', '', null]);
  });

  test('return groups in pages', async () => {
    const page = (await send('by=kind&items_per_page=3&page=2')).json as Any;
    expect(page).toMatchObject({ count: 4, results: [{ kind: null, count: 1 }], pagination: { more: false, first: 3 } });
    expect(((await send('by=kind&items_per_page=3')).json as Any).pagination.next).toBe(
      '/sale/aggregate.json?by=kind&items_per_page=3&page=2',
    );
    expect((await send('by=kind&page=9')).json as Any).toMatchObject({ count: 4, results: [] });
    expect((await send('page=2')).json as Any).toMatchObject({ count: 1, results: [] });
  });

  test('apply filters and searches', async () => {
    expect(await results('center.name=north')).toEqual([{ count: 2 }]);
    expect(await results('q=b')).toEqual([{ count: 1 }]);
    expect(await results('by=kind&or[0][kind]=a&or[1][kind]=b')).toHaveLength(2);
  });

  test.each([
    ['where', 2, [['a', 2]]],
    ['raw', 2, [['a', 2]]],
    [
      'join',
      2,
      [
        ['', 1],
        ['a', 1],
      ],
    ],
    [
      'limit',
      2,
      [
        ['', 1],
        [null, 1],
      ],
    ],
    [
      'to-one',
      2,
      [
        ['', 1],
        ['a', 1],
      ],
    ],
  ])('count each row of a restriction with %s once', async (form, count, groups) => {
    const headers = { 'x-form': form };
    expect(await results('', headers)).toEqual([{ count }]);
    const found = await results('by=kind', headers);
    expect(found.map((result: Any) => [result.kind, result.count])).toEqual(groups);
    const joined = await results('by=center.name', headers);
    expect(joined.reduce((sum: number, result: Any) => sum + result.count, 0)).toBe(count);
  });

  test('show rows that the caller does not see as null', async () => {
    const headers = { 'x-sees': 'north' };
    expect(await results('by=center.name', headers)).toEqual([
      { 'center.name': 'north', count: 2 },
      { 'center.name': null, count: 3 },
    ]);
    expect(await results('by=center.id', { 'x-sees': '' })).toEqual([{ 'center.id': null, count: 5 }]);
    expect(await results('by=center.id&center.name=south', headers)).toEqual([]);
  });

  test('require the roles of the list', async () => {
    expect((await app.request('GET', '/sale/aggregate.json')).status).toBe(401);
    expect((await app.request('GET', '/sale/aggregate.json', { as: { id: 1 } })).status).toBe(403);
  });

  test.each([
    ['by=hidden', 'aggregate_not_allowed'],
    ['by=nothing', 'aggregate_not_allowed'],
    ['by=center.secret', 'aggregate_not_allowed'],
    ['by=', 'aggregate_not_allowed'],
    ['of=amount', 'aggregate_not_allowed'],
    ['of=amount:median', 'aggregate_not_allowed'],
    ['of=kind:sum', 'aggregate_not_allowed'],
    ['of=hidden:min', 'aggregate_not_allowed'],
    ['by=kind,kind', 'invalid_parameter'],
    ['by=constructor', 'aggregate_not_allowed'],
    ['sort=kind', 'sort_not_allowed'],
    ['by=kind&sort=count,-count', 'invalid_parameter'],
    ['fields=id', 'unknown_parameter'],
    ['after=x&page=2', 'unknown_parameter'],
    ['items_per_page=1001', 'invalid_parameter'],
    ["by=kind';drop table sale", 'aggregate_not_allowed'],
  ])('reject %s', async (query, code) => {
    const reply = await send(query.replaceAll(' ', '%20'));
    expect([reply.status, (reply.json as Any).code]).toEqual([400, code]);
  });

  test('reject hidden and missing fields with the same message', async () => {
    const detail = async (name: string) => ((await send(`by=${name}`)).json as Any).detail.replace(name, '…');
    expect(await detail('hidden')).toBe(await detail('nothing'));
    expect(await detail('hidden')).not.toContain('hidden');
  });

  test('respond to HEAD as to GET, without a body', async () => {
    const head = await app.request('HEAD', '/sale/aggregate.json', { as: { id: 1, roles: ['ROLE_SALES'] } });
    expect([head.status, head.text, head.headers.get('etag')]).toEqual([200, '', (await send('')).headers.get('etag')]);
  });

  test('respond in XML and CSV, and with 304', async () => {
    const csv = await send('by=kind&of=amount:sum', {}, '/sale/aggregate.csv');
    expect(csv.text).toBe('kind,count,amount.sum\r\n"",1,\r\na,2,0.30\r\nb,1,9999999999.99\r\n,1,-5.00\r\n');
    expect(((await send('by=kind&page=1', {}, '/sale/aggregate.csv')).json as Any).code).toBe('unknown_parameter');
    expect((await send('by=kind&kind=a', {}, '/sale/aggregate.xml')).text).toContain(
      '<item><kind>a</kind><count>2</count></item>',
    );
    const first = await send('by=kind');
    const again = await send('by=kind', { 'if-none-match': String(first.headers.get('etag')) });
    expect([again.status, again.text]).toEqual([304, '']);
  });
});
