import { join } from 'node:path';
import { defineEntity, type EntityManager, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { ApiController, type ApiRequest, type ModelQuery, Voter } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { test } from '../support/halves.ts';
import { partOf } from '../support/random.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';
import { everything, security, useApplication } from './fixtures/use-application.ts';

type Any = any;

const example = join(import.meta.dirname, '../../examples/courses');
const bodies = ['POST', 'PUT', 'PATCH', 'DELETE'];

/** A value that a requirement lets through. */
const idFor = (requirement = '') =>
  ['1', 'a', '00000000-0000-4000-8000-000000000000'].find((id) => new RegExp(`^(?:${requirement || '.*'})$`).test(id)) as string;

describe.each(databases)('a rejected request to the example on %s', (database) => {
  let fresh: FreshDatabase;
  let app: TestApplication;
  beforeAll(async () => {
    fresh = await freshDatabase(database);
    app = await startApplication({ directory: example, databaseUrl: fresh.url } as Any);
  });
  afterAll(async () => {
    await app?.close();
    await fresh?.drop();
  });

  const paths = () =>
    app.application.records.map(({ methods, path, requirements, single }) => ({
      methods,
      single,
      path: path.replace('{id}', idFor(requirements.id)).replace(/\.?\{_format\}/, '.json'),
    }));

  async function statementsOf(method: string, path: string, headers: Record<string, string> = {}) {
    app.statements.length = 0;
    const body = bodies.includes(method) ? { json: {} } : {};
    const { status } = await app.request(method, path, { ...body, headers });
    return { status, statements: [...app.statements] };
  }

  test('with wrong credentials does not reach the database, on every route and method', async () => {
    const wrong = [
      { authorization: 'Bearer a.b.c' },
      { authorization: 'Bearer' },
      { authorization: 'Basic YTpi' },
      { authorization: `Bearer ${(await app.tokenFor({ id: 1, roles: ['ROLE_ADMIN'] })).slice(0, -4)}AAAA` },
    ];
    let asked = 0;
    for (const { methods, path } of paths()) {
      for (const method of methods) {
        for (const headers of wrong) {
          const { status, statements } = await statementsOf(method, path, headers);
          expect({ method, path, status, statements }).toEqual({ method, path, status: 401, statements: [] });
          asked++;
        }
      }
    }
    expect(asked).toBeGreaterThan(100);
  });

  test('for an unknown path or method does not reach the database', async () => {
    for (const { path } of paths()) {
      expect(await statementsOf('GET', `${path}x`)).toEqual({ status: 404, statements: [] });
      expect(await statementsOf('OPTIONS', path)).toEqual({ status: 405, statements: [] });
    }
  });

  test('of a caller without the roles does not reach the database, unless a row is needed', async () => {
    const nobody = { authorization: `Bearer ${await app.tokenFor({ id: 1, roles: [] })}` };
    const refused = new Map<string, number>();
    for (const { methods, path, single } of paths()) {
      if (single) continue;
      for (const method of methods) {
        for (const [status, headers] of [
          [401, {}],
          [403, nobody],
        ] as const) {
          const given = await statementsOf(method, path, headers);
          if (given.status !== status) continue;
          expect({ method, path, ...given }).toEqual({ method, path, status, statements: [] });
          refused.set(String(status), (refused.get(String(status)) ?? 0) + 1);
        }
      }
    }
    expect(refused.get('401')).toBeGreaterThan(5);
    expect(refused.get('403')).toBeGreaterThan(5);
  });
});

const Letter = defineEntity({
  name: 'Letter',
  properties: {
    id: p.integer().primary().groups('read'),
    owner: p.string().groups('read', 'write'),
  },
});

const asked: string[] = [];
class LetterVoter extends Voter {
  static override roles = ['LETTER_SEE'];
  override async vote(_role: string, _subject: unknown, user: Any) {
    asked.push(String(user?.id));
    await new Promise((resolve) => setTimeout(resolve, 2));
    return user?.id.startsWith('good') ? ('grant' as const) : ('deny' as const);
  }
}
class OwnController extends ApiController {
  override customizeQuery(_action: string, request: ApiRequest, query: ModelQuery<Any>) {
    query.andWhere({ owner: String(request.user?.id) });
  }
}

describe.each(
  databases.flatMap((database, turn) => partOf([true, false], 2, turn).map((compiledReads) => ({ database, compiledReads }))),
)('concurrent requests of many callers on $database, compiled: $compiledReads', ({ database, compiledReads }) => {
  const { request } = useApplication(database, {
    compiledReads,
    models: [Letter] as Any[],
    voters: [LetterVoter],
    controllers: [OwnController],
    app_main: {
      security,
      apis: {
        all: { class: Letter, base_path: '/all', base_role: 'LETTER_SEE', actions: everything },
        own: { class: Letter, base_path: '/own', controller: OwnController, actions: everything },
        closed: { class: Letter, base_path: '/closed', base_role: 'ROLE_CLERK', actions: everything },
      } as Any,
    },
    seed: async (em: EntityManager) => {
      for (let i = 0; i < 30; i++) em.persist(em.create(Letter as Any, { owner: `good${i % 5}` } as Any));
      await em.flush();
    },
  });
  const callers = Array.from({ length: 40 }, (_, i) => (i % 2 === 0 ? `good${i % 5}` : `bad${i}`));

  test.each(['/all.json', '/all/3.json'])('are checked one by one, although %s uses the same statement for all', async (path) => {
    asked.length = 0;
    const answers = await Promise.all(callers.map((id) => request('GET', path, { as: { id } })));
    expect(answers.map(({ status }) => status)).toEqual(callers.map((id) => (id.startsWith('good') ? 200 : 403)));
    expect(asked.toSorted()).toEqual(callers.toSorted());
    for (const { status, text } of answers) if (status === 403) expect(text).not.toContain('owner');
  });

  test('get their own rows and counts for the same path', async () => {
    const answers = await Promise.all(callers.map((id) => request('GET', '/own.json?items_per_page=4', { as: { id } })));
    for (const [i, { json }] of answers.entries()) {
      const isKnown = (callers[i] as string).startsWith('good');
      expect(json.count).toBe(isKnown ? 6 : 0);
      expect(json.results.map(({ owner }: Any) => owner)).toEqual(isKnown ? Array(4).fill(callers[i]) : []);
    }
  });

  test('are checked again each time', async () => {
    const as = { id: 'x', roles: ['ROLE_CLERK'] };
    expect((await request('GET', '/closed/1.json', { as })).status).toBe(200);
    expect((await request('GET', '/closed/1.json', { as: { id: 'x', roles: [] } })).status).toBe(403);
    expect((await request('GET', '/closed/1.json')).status).toBe(401);
    expect((await request('GET', '/closed/1.json', { as })).status).toBe(200);
  });

  test('are rejected before the body is read if the user lacks the role', async () => {
    const headers = { 'content-type': 'application/json' };
    const body = '[1, 2';
    expect((await request('POST', '/closed.json', { headers, body })).status).toBe(401);
    expect((await request('POST', '/closed.json', { headers, body, as: { id: 'x' } })).status).toBe(403);
    expect((await request('POST', '/closed.json', { headers, body, as: { id: 'x', roles: ['ROLE_CLERK'] } })).status).toBe(400);
    expect((await request('POST', '/closed.json', { headers, body: 'x'.repeat(2_000_000) })).status).toBe(401);
  });
});
