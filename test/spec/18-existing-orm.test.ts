// @module-tag divided
import type { MikroORM } from '@mikro-orm/core';
import Fastify from 'fastify';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createServer, declarest } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';
import { Audit, Country, Customer, Order, openShop } from './fixtures/shop.ts';
import { everything } from './fixtures/use-application.ts';

const list = { filters: { fullName: ['eq', 'contains'] }, sort: ['fullName'], search: ['fullName'] } as const;
const apis = {
  customer: { class: Customer, base_path: '/customer', actions: everything, ...list },
  order: { class: Order, base_path: '/order', actions: everything },
  country: { class: Country, base_path: '/country', actions: everything, sort: ['isoCode'] },
} as const;

describe.each(databases)('an existing MikroORM instance on %s', (kind) => {
  let database: FreshDatabase;
  let orm: MikroORM;
  let app: TestApplication;
  const audit = new Audit();

  beforeAll(async () => {
    database = await freshDatabase(kind);
    orm = await openShop(database, { subscribers: [audit] });
    await orm.schema.create();
    const em = orm.em.fork();
    const ada = em.create(Customer, { fullName: 'Ada' } as never);
    const gone = em.create(Customer, { fullName: 'Gone', deletedAt: new Date() } as never);
    em.create(Order, { customer: ada, orderNumber: 'A-1' } as never);
    em.create(Order, { customer: ada, orderNumber: 'A-2', deletedAt: new Date() } as never);
    em.create(Order, { customer: gone, orderNumber: 'G-1' } as never);
    em.create(Country as never, { isoCode: 'AT' } as never);
    await em.flush();
    app = await startApplication({ orm, app_main: { apis } });
  });
  afterAll(async () => {
    await app?.close();
    await orm?.close();
    await database?.drop();
  });

  const items = async (path: string) => (await app.request('GET', path)).json.results;

  test('lists, filters, sorts and searches by the columns of the naming strategy', async () => {
    expect(await items('/customer.json?fullName=Ada&sort=-fullName')).toEqual([{ id: 1, fullName: 'Ada', createdBy: 'audit' }]);
    expect(await items('/customer.json?q=ad')).toHaveLength(1);
    expect(app.statements.join()).toMatch(/.C_FULLNAME./);
    expect(await items('/country.json')).toEqual([{ id: 1, isoCode: 'AT' }]);
  });

  test('hides the rows of a global filter in lists, counts and single reads', async () => {
    const { json } = await app.request('GET', '/customer.json');
    expect(json).toMatchObject({ count: 1, results: [{ fullName: 'Ada' }] });
    expect((await app.request('GET', '/customer/2.json')).status).toBe(404);
    expect((await app.request('PATCH', '/customer/2.json', { json: { fullName: 'Back' } })).status).toBe(404);
    expect((await app.request('DELETE', '/customer/2.json')).status).toBe(404);
    expect((await app.request('GET', '/order/2.json')).status).toBe(404);
  });

  test('hides rows that point to a hidden one', async () => {
    expect((await items('/order.json')).map((item: { orderNumber: string }) => item.orderNumber)).toEqual(['A-1']);
    expect((await app.request('POST', '/order.json', { json: { orderNumber: 'X', customer: { id: 2 } } })).status).toBe(400);
  });

  test('runs the subscribers', async () => {
    const made = await app.request('POST', '/customer.json', { json: { fullName: 'Grace' } });
    expect(made.status).toBe(201);
    expect(made.json).toMatchObject({ fullName: 'Grace', createdBy: 'audit' });
    const path = `/customer/${made.json.id}.json`;
    expect((await app.request('PATCH', path, { json: { fullName: 'Hopper' } })).status).toBe(200);
    expect(audit.seen).toContain('updated Customer');
    expect((await app.request('DELETE', path)).status).toBe(204);
  });

  test('reports a duplicate by the name of the field', async () => {
    const response = await app.request('POST', '/customer.json', { json: { fullName: 'Ada' } });
    expect(response.status).toBe(409);
    expect(response.text).toContain('fullName');
  });

  test('writes models without filters and subscribers by compiled statements', async () => {
    app.statements.length = 0;
    expect((await app.request('POST', '/country.json', { json: { isoCode: 'DE' } })).status).toBe(201);
    expect(app.statements.join()).toContain('T_COUNTRY');
    // the alias in statements of MikroORM
    expect(app.statements.join()).not.toMatch(/\bc0\b/);
  });

  test('leaves the instance as it was, and open', async () => {
    const em = orm.em.fork();
    const ada = await em.findOneOrFail(Customer, { fullName: 'Ada' }, { populate: ['orders'] });
    expect(ada.orders.getItems().map(({ orderNumber }) => orderNumber)).toEqual(['A-1']);
    ada.fullName = 'Ada L.';
    await em.flush();
    expect((await items('/customer.json'))[0].fullName).toBe('Ada L.');
    ada.fullName = 'Ada';
    await em.flush();
    expect(Object.keys(orm.config.get('filters'))).toEqual(['notDeleted']);
    await app.close();
    expect(await orm.em.fork().count(Customer)).toBe(1);
    app = await startApplication({ orm, app_main: { apis } });
  });

  test('is mounted on the server of a host that has a request context of the same instance', async () => {
    const { RequestContext } = await import('@mikro-orm/core');
    const host = Fastify();
    host.addHook('onRequest', (_request, _reply, done) => RequestContext.create(orm.em, done));
    await host.register(declarest, { orm, app_main: { apis } });
    const statements = app.statements.length;
    const response = await host.inject({ url: '/customer.json' });
    expect(response.json().results).toHaveLength(1);
    const posted = await host.inject({ method: 'POST', url: '/customer.json', payload: { fullName: 'Hosted' } });
    expect(posted.statusCode).toBe(201);
    expect(app.statements.length).toBe(statements);
    await host.close();
    expect(await orm.em.fork().nativeDelete(Customer, { fullName: 'Hosted' })).toBe(1);
  });

  test('sends every statement through its onQuery', async () => {
    const marked = await openShop(database, { onQuery: (sql) => `${sql} /* marked */` });
    const other = await startApplication({ orm: marked, app_main: { apis } });
    expect((await other.request('GET', '/country.json')).json.results[0]).toEqual({ id: 1, isoCode: 'AT' });
    const reads = other.statements.filter((sql) => /select.*T_COUNTRY/.test(sql));
    expect(reads.length).toBeGreaterThan(0);
    expect(reads.filter((sql) => !sql.endsWith('/* marked */'))).toEqual([]);
    await other.close();
    await marked.close();
  });

  test('compares the schema by default, and changes nothing', async () => {
    const empty = await freshDatabase(kind);
    const other = await openShop(empty);
    await expect(createServer({ orm: other, app_main: { apis } })).rejects.toThrow(/T_CUSTOMER/);
    await other.close();
    await empty.drop();
  });
});
