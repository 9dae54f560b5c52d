import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiError, createClient } from '../../examples/courses/client.ts';
import { startApplication, type TestApplication } from '../../src/testing.ts';
import { call } from '../cli/call.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';

const directory = join(import.meta.dirname, '../../examples/courses');

test('the client of the example is what the command makes of it', async () => {
  const { code, out, err } = await call(['client', directory]);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toBe(readFileSync(join(directory, 'client.ts'), 'utf8'));
});

test('a file that cannot be written is the fault of the call', async () => {
  const { code, err } = await call(['client', directory, '--out', 'no/such/directory/client.ts']);
  expect(code).toBe(2);
  expect(err).toContain('no/such/directory/client.ts cannot be written');
});

describe.each(databases)('the client of the example on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  let client: ReturnType<typeof createClient>;

  beforeAll(async () => {
    database = await freshDatabase(kind);
    app = await startApplication({ directory, databaseUrl: database.url });
    const token = () => app.tokenFor({ id: 3, roles: ['ROLE_ADMIN'], centers: [1, 2, 3] });
    client = createClient({ baseUrl: app.url, token });
  });
  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });

  test('lists, pages to the end, and fetches', async () => {
    const { count, results } = await client.person.list({ items_per_page: 2 });
    expect(results).toHaveLength(2);
    const all = [];
    for await (const person of client.person.all({ items_per_page: 3 })) all.push(person);
    expect(new Set(all.map(({ id }) => id)).size).toBe(count);
    const [first] = all;
    expect(await client.person.get(first?.id ?? 0)).toEqual(first);
  });

  test('creates, changes an association, adds, removes', async () => {
    const [north, south] = (await client.center.list()).results;
    const created = await client.person.create({ firstName: 'Ada', lastName: 'Byron', center: { id: north?.id ?? 0 } });
    expect(created.center).toEqual(north);
    const moved = await client.person.update(created.id, { center: { id: south?.id ?? 0 } });
    expect(moved).toMatchObject({ firstName: 'Ada', center: south });
    await client.person.remove(created.id);
    const [course] = (await client.course.list()).results;
    const [tag] = (await client.tag.list()).results;
    const id = course?.id ?? 0;
    await client.course.addTag(id, { id: tag?.id ?? '' });
    expect((await client.course.get(id)).tags).toContainEqual(tag);
    await client.course.removeTag(id, { id: tag?.id ?? '' });
    expect((await client.course.get(id)).tags).not.toContainEqual(tag);
  });

  test('sends a request with a key as often as it likes, and it is done once', async () => {
    const [center] = (await client.center.list()).results;
    const body = { firstName: 'Once', lastName: 'Only', center: { id: center?.id ?? 0 } };
    const options = { idempotencyKey: '8e03978e-40d5-43e8-bc93-6894a57f9324' };
    const first = await client.person.create(body, options);
    expect(await client.person.create(body, options)).toEqual(first);
    const removing = { idempotencyKey: '0d4e4b8c-5c41-4b5c-8a0e-2a3b2c1d0e9f' };
    await client.person.remove(first.id, removing);
    await client.person.remove(first.id, removing);
    await expect(client.person.create({ ...body, lastName: 'Twice' }, options)).rejects.toMatchObject({
      problem: { status: 422, code: 'idempotency_key_reused' },
    });
  });

  test('tells violations and refusals by their status', async () => {
    const failure = async (attempt: Promise<unknown>) => {
      const error = await attempt.catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(ApiError);
      return (error as ApiError).problem;
    };
    const [center] = (await client.center.list()).results;
    const violated = await failure(
      client.person.create({ firstName: 'x'.repeat(81), lastName: 'y', center: { id: center?.id ?? 0 } }),
    );
    expect(violated).toMatchObject({ status: 422, violations: [{ propertyPath: 'firstName' }] });
    expect(await failure(client.person.get(999_999))).toMatchObject({ status: 404, code: 'entity_not_found' });
    const nobody = createClient({ baseUrl: app.url });
    expect(await failure(nobody.person.list())).toMatchObject({ status: 401 });
  });
});
