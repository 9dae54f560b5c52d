import { describe, expect, onTestFinished, test } from 'vitest';
import { databases, freshDatabase } from '../support/databases.ts';
import { startApplication } from '../support/testing.ts';
import { openModels, pullInto, runSql, schemaSql } from './databases.ts';

describe.each(databases)('an application that was pulled on %s', (kind) => {
  const started = async (name: string, methods: string[] = ['GET']) => {
    const database = await freshDatabase(kind);
    onTestFinished(() => database.drop());
    await runSql(kind, database, schemaSql(name, kind));
    const { directory } = await pullInto(database.url);
    openModels(directory, methods);
    const app = await startApplication({ directory, env: { DATABASE_URL: database.url } });
    onTestFinished(() => app.close());
    const as = { id: 1, roles: ['ROLE_USER'] };
    return (method: string, path: string, json?: unknown) =>
      app.request(method, path, { as, ...(json !== undefined && { json }) });
  };

  test('serves every table of the sample schemas', async () => {
    for (const name of ['tickets', 'rental']) {
      const request = await started(name);
      const { paths } = (await request('GET', '/openapi.json')).json as { paths: Record<string, object> };
      const lists = Object.keys(paths).filter((path) => !path.includes('{id}') && path.startsWith('/api/'));
      expect(lists.length).toBeGreaterThan(6);
      for (const path of lists) {
        const { json, status } = await request('GET', path.replace('{_format}', 'json'));
        expect([path, status, status === 200 ? '' : json]).toEqual([path, 200, '']);
      }
    }
  });

  test('writes rows with the defaults and generated values of the database', async () => {
    const request = await started('shop', ['GET', 'POST', 'PATCH']);
    const body = { email: 'grace@example.com', firstName: 'Grace', lastName: 'Hopper' };
    const created = await request('POST', '/api/customer.json', body);
    expect([created.status, created.json]).toMatchObject([
      201,
      { id: 3, fullName: 'Grace Hopper', newsletter: false, preferences: {} },
    ]);
    const order = await request('POST', '/api/order.json', { customer: { id: 3 } });
    expect([order.status, order.json]).toMatchObject([201, { id: 2, customer: { id: 3, firstName: 'Grace' }, state: 'draft' }]);
    const changed = await request('PATCH', '/api/order/2.json', { state: 'placed' });
    expect([changed.status, changed.json.state]).toEqual([200, 'placed']);
    const { json: products } = await request('GET', '/api/product.json');
    expect((await request('GET', '/api/product/A-1.json')).json).toEqual(products.results[0]);
    expect(products.results[0]).toMatchObject({ sku: 'A-1', price: '19.90', size: 'M', relateds: [{ sku: 'A-2' }] });
  });
});
