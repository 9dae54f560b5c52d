import { join } from 'node:path';
import { startApplication, type TestApplication } from 'declarest/testing';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const sam = { id: 2, roles: ['ROLE_USER'], centers: [2] };
let app: TestApplication;

beforeAll(async () => {
  app = await startApplication({ directory: join(import.meta.dirname, '..'), databaseUrl: 'sqlite::memory:' });
});
afterAll(() => app.close());

describe('a user of one center', () => {
  const center = (id: number) => ({ center: { id } });
  const name = { firstName: 'Ann', lastName: 'Other' };

  test('creates people in this center', async () => {
    expect((await app.request('POST', '/api/person.json', { as: sam, json: { ...name, ...center(2) } })).status).toBe(201);
  });

  test.each([
    ['POST', '/api/person.json', { ...name, ...center(1) }],
    ['PUT', '/api/person/2.json', { ...name, ...center(1) }],
    ['PATCH', '/api/person/2.json', center(1)],
  ] as const)('cannot put people into another one: %s', async (method, path, json) => {
    const response = await app.request(method, path, { as: sam, json });
    expect(response.status).toBe(422);
    expect(response.json.violations).toMatchObject([{ propertyPath: 'center', title: 'must be a center that you work in' }]);
    expect((await app.request('GET', '/api/person/2.json', { as: sam })).json.center.id).toBe(2);
  });
});
