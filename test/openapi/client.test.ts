// @module-tag divided
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiError, createClient, type Problem, type Violation } from '../../examples/courses/client.ts';
import { call } from '../cli/call.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const directory = join(import.meta.dirname, '../../examples/courses');

test('the client of the example is up to date; otherwise: npm run generate', async () => {
  const { code, out, err } = await call(['client', directory]);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toBe(readFileSync(join(directory, 'client.ts'), 'utf8'));
});

test('a file that cannot be written is a usage error', async () => {
  const { code, err } = await call(['client', directory, '--out', 'no/such/directory/client.ts']);
  expect(code).toBe(2);
  expect(err).toContain('cannot write no/such/directory/client.ts');
});

describe.each(databases)('the client of the example on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  let client: ReturnType<typeof createClient>;

  const administrator = { id: 3, roles: ['ROLE_ADMIN'], centers: [1, 2, 3] };
  const clientOf = (user: { id: number; roles: string[]; centers: number[] }, send = fetch) =>
    createClient({ baseUrl: app.url, token: () => app.tokenFor(user), fetch: send });

  beforeAll(async () => {
    database = await freshDatabase(kind);
    app = await startApplication({ directory, databaseUrl: database.url });
    client = clientOf(administrator);
  });
  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });

  test('lists, follows the page links to the end, and fetches', async () => {
    const { count, results } = await client.person.list({ items_per_page: 2 });
    expect(results).toHaveLength(2);
    expect(count).toBeGreaterThan(6);
    const asked: string[] = [];
    const counting: typeof fetch = (address, options) => {
      asked.push(String(address));
      return fetch(address, options);
    };
    const all = [];
    for await (const person of clientOf(administrator, counting).person.all({ items_per_page: 3 })) all.push(person);
    expect(new Set(all.map(({ id }) => id)).size).toBe(count);
    expect(asked).toHaveLength(Math.ceil(count / 3));
    expect(asked.slice(1).every((address) => address.includes('after='))).toBe(true);
    const [first] = all;
    expect(await client.person.get(first?.id ?? 0)).toEqual(first);
  });

  test('a signal cancels any call, between the pages of a list too', async () => {
    const signal = AbortSignal.abort();
    const cancelled = expect.objectContaining({ name: 'AbortError' });
    await expect(client.person.list({}, { signal })).rejects.toEqual(cancelled);
    await expect(client.person.get(1, { signal })).rejects.toEqual(cancelled);
    await expect(client.course.mine({ signal })).rejects.toEqual(cancelled);
    await expect(client.person.remove(1, { signal })).rejects.toEqual(cancelled);
    const controller = new AbortController();
    const seen: number[] = [];
    const follow = async () => {
      for await (const { id } of client.person.all({ items_per_page: 1 }, { signal: controller.signal })) {
        seen.push(id);
        controller.abort();
      }
    };
    await expect(follow()).rejects.toEqual(cancelled);
    expect(seen).toHaveLength(1);
  });

  test('fetches only the pages that are consumed', async () => {
    let requests = 0;
    const counting: typeof fetch = (address, options) => {
      requests++;
      return fetch(address, options);
    };
    for await (const _ of clientOf(administrator, counting).person.all({ items_per_page: 3 })) break;
    expect(requests).toBe(1);
  });

  test('creates, updates an association, adds and removes', async () => {
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

  test('updates associations to one of several models, to null, and to many', async () => {
    const [course] = (await client.course.list()).results;
    const [person] = (await client.person.list()).results;
    const [thirdParty] = (await client.thirdParty.list()).results;
    const tags = (await client.tag.list()).results.slice(0, 2);
    const id = course?.id ?? 0;
    const patched = await client.course.update(id, {
      requestor: { type: 'person', id: person?.id },
      referrer: null,
      tags: tags.map((tag) => ({ id: tag.id })),
    });
    expect(patched).toMatchObject({ requestor: { type: 'person', id: person?.id }, referrer: null });
    expect(new Set(patched.tags.map((tag) => tag.id))).toEqual(new Set(tags.map((tag) => tag.id)));
    const other = await client.course.update(id, { requestor: { type: 'third_party', id: thirdParty?.id }, tags: [] });
    expect(other).toMatchObject({ requestor: { id: thirdParty?.id }, tags: [] });
  });

  test('repeats a request with an idempotency key, and it runs once', async () => {
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

  describe('a rejected request', () => {
    const failure = async (attempt: Promise<unknown>): Promise<Problem> => {
      const error = await attempt.catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(ApiError);
      expect((error as ApiError).response.status).toBe((error as ApiError).problem.status);
      return (error as ApiError).problem;
    };

    test('has a problem whose status determines its type', async () => {
      const [center] = (await client.center.list()).results;
      const problem = await failure(
        client.person.create({ firstName: 'x'.repeat(81), lastName: 'y', center: { id: center?.id ?? 0 } }),
      );
      // @ts-expect-error only one of 422 has violations
      problem.violations;
      const violations: Violation[] = problem.status === 422 ? (problem.violations ?? []) : [];
      expect(violations).toMatchObject([{ propertyPath: 'firstName' }]);
      expect(problem.status === 422 && problem.code).toBe('validation_failed' satisfies typeof problem.code);
    });

    test('returns 400 for invalid parameters or fields', async () => {
      const problem = await failure(client.person.list({ items_per_page: 0 }));
      // @ts-expect-error a request with a wrong form is never in conflict
      const isConflict = problem.status === 400 && problem.code === 'conflict';
      expect(isConflict).toBe(false);
      expect(problem).toMatchObject({ status: 400, code: 'invalid_parameter' });
      const unknown = { firstName: 'Ada', lastName: 'Byron', center: { id: 1 }, nationalNumber: '1' };
      expect(await failure(client.person.create(unknown))).toMatchObject({ status: 400 });
      expect(await failure(client.person.create({ ...unknown, center: { id: 999_999 } }))).toMatchObject({ status: 400 });
    });

    test('returns 404 for a missing entity', async () => {
      expect(await failure(client.person.get(999_999))).toMatchObject({ status: 404, code: 'entity_not_found' });
    });

    test('returns 401 for missing or invalid credentials', async () => {
      for (const token of [{}, { token: '' }, { token: () => undefined }]) {
        const nobody = createClient({ baseUrl: app.url, ...token });
        expect(await failure(nobody.person.list())).toMatchObject({ status: 401, code: 'authentication_required' });
      }
      const forged = createClient({ baseUrl: app.url, token: 'forged' });
      expect(await failure(forged.person.list())).toMatchObject({ status: 401, code: 'invalid_credentials' });
    });

    test('returns 403 if the caller may not list, add, change or remove', async () => {
      const [course] = (await client.course.list()).results;
      const [person] = (await client.person.list()).results;
      const refused = { status: 403, code: 'access_denied' };
      const stranger = clientOf({ id: 999, roles: ['ROLE_USER'], centers: [] });
      expect(await failure(stranger.person.list())).toMatchObject(refused);
      // sees the same, but is no administrator, and refers to no course
      const colleague = clientOf({ id: 999, roles: ['ROLE_USER'], centers: [1, 2, 3] });
      const id = course?.id ?? 0;
      expect(await colleague.course.get(id)).toEqual(course);
      expect(await failure(colleague.course.addTag(id, { id: 'health' }))).toMatchObject(refused);
      expect(await failure(colleague.course.update(id, { title: 'Mine' }))).toMatchObject(refused);
      expect(await failure(colleague.course.close(id))).toMatchObject(refused);
      expect(await failure(colleague.person.remove(person?.id ?? 0))).toMatchObject(refused);
      expect(await failure(colleague.user.list())).toMatchObject(refused);
      expect(await client.course.get(id)).toEqual(course);
      expect(await client.person.get(person?.id ?? 0)).toEqual(person);
    });
  });
});
