// @module-tag divided
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { casesOn } from '../support/random.ts';
import { startApplication, type TestApplication, type TestRequest } from '../support/testing.ts';

const courses = join(import.meta.dirname, '..', '..', 'examples', 'courses');

const id = fc.oneof(
  { weight: 12, arbitrary: fc.integer({ min: 1, max: 40 }).map(String) },
  { weight: 1, arbitrary: fc.constantFrom('0', '9999', '99999999999999999999', '-1', 'x', '%31', '1.', '', '../1') },
);
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

/** What is declared, as far as a request can be made of it at random. */
const declared: readonly [path: string, methods: readonly string[]][] = [
  ['/api/center', ['GET', 'HEAD']],
  ['/api/person', ['GET', 'HEAD', 'POST']],
  ['/api/person/{id}', ['GET', 'HEAD', 'PATCH', 'PUT', 'DELETE']],
  ['/api/third-party/{id}', ['GET', 'HEAD']],
  ['/api/course', ['GET', 'HEAD']],
  ['/api/course/{id}', ['GET', 'HEAD', 'PATCH']],
  ['/api/course/{id}/tags', ['POST', 'DELETE']],
  ['/api/course/{id}/close', ['POST']],
  ['/api/course/{id}/participation', ['POST', 'DELETE']],
  ['/api/course/mine', ['GET', 'HEAD']],
  ['/api/tag/health', ['GET', 'HEAD']],
  ['/api/document', ['GET', 'POST']],
  ['/api/user/{id}', ['GET', 'PATCH']],
  ['/api/status', ['GET']],
  ['/api/nothing', ['GET']],
];
const request = fc
  .tuple(
    fc
      .constantFrom(...declared)
      .chain(([path, own]) => fc.tuple(fc.constant(path), fc.constantFrom(...own, ...own, ...own, ...methods))),
    id,
    fc.constantFrom(...Array<string>(20).fill('.json'), '.xml', '', '/'),
    fc.constantFrom(...Array<string>(20).fill(''), '?page=1', '?page=0', '?items_per_page=3', '?x=1', '?page=1&page=2'),
  )
  .map(([[path, method], value, suffix, query]) => ({ method, path: path.replace('{id}', value) + suffix + query }));
const user = fc.option(
  fc.record({
    id: fc.integer({ min: 1, max: 3 }),
    roles: fc.subarray(['ROLE_USER', 'ROLE_SUPERVISOR', 'ROLE_ADMIN']),
    centers: fc.subarray([1, 2, 3], { minLength: 1 }),
  }),
  { nil: undefined, freq: 9 },
);
const json = fc.option(
  fc.oneof(
    fc.constantFrom(
      { id: 1 },
      { id: 'health' },
      { id: 9999 },
      {},
      { firstName: 'Ada' },
      { title: '' },
      { title: 'T', tags: [{ id: 'health' }] },
    ),
    fc.constantFrom({ firstName: 'A', lastName: 'B', center: { id: 1 } }, { center: { id: 77 } }, { type: 'x' }, [], {
      nonsense: 1,
    }),
  ),
  { nil: undefined },
);
/** One of each outcome, whatever chance brings. */
const anyone = { id: 1, roles: ['ROLE_USER', 'ROLE_SUPERVISOR', 'ROLE_ADMIN'], centers: [1, 2, 3] };
const examples: [{ method: string; path: string }, typeof anyone | undefined, object | undefined][] = [
  [{ method: 'GET', path: '/api/person/1.json' }, anyone, undefined],
  [{ method: 'GET', path: '/api/person/1.json' }, undefined, undefined],
  [{ method: 'PATCH', path: '/api/person/1.json' }, anyone, { firstName: 'Ada' }],
];

describe.each(databases)('an explanation on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  beforeAll(async () => {
    database = await freshDatabase(kind);
    app = await startApplication({ directory: courses, databaseUrl: database.url });
  });
  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });

  test('has the status of the server response, and rejects the same callers', async () => {
    let written = 0;
    const outcomes = { answered: 0, refused: 0, failed: 0, stopped: 0 };
    await fc.assert(
      fc.asyncProperty(request, user, json, async ({ method, path }, as, body) => {
        const hasBody = body !== undefined && method !== 'GET' && method !== 'HEAD';
        const asked = { ...(as && { as }), ...(hasBody && { json: body }) };
        const explained = await app.explain(method, path, asked);
        app.statements.length = 0;
        const status = await send(app, method, path, asked);
        outcomes[explained.outcome]++;
        if (explained.outcome !== 'stopped') {
          expect(explained.status).toBe(status);
          expect(explained.reason === null).toBe(status < 400);
          // HEAD is answered without a body, and explained with all that GET is
          if (explained.reason) expect(explained.reason.code).not.toBeNull();
        } else if (explained.status === null) {
          // a handler of the application's own has the last word
          expect([401, 403, 404, 405]).not.toContain(status);
        } else if (!hasBody && explained.status !== 204) {
          expect(status).toBe(400);
        } else {
          // what only the change brings about
          expect([explained.status, 409]).toContain(status);
          const read = explained.steps.flatMap((step) => (step.kind === 'statement' ? [step.sql] : []));
          const sent = [...read, ...explained.changes.map(({ sql }) => sql)];
          if (explained.route?.compiled) expect(app.statements.slice(0, sent.length)).toEqual(sent);
          // MikroORM writes bodies that statements cannot; what follows the change reads the rows that the response embeds
          const further = app.statements.slice(sent.length).join('\n');
          if (explained.changes.length > 0) expect(further).not.toMatch(/\b(insert into|update|delete from)\b/);
          if (explained.changes.length > 0) written++;
        }
      }),
      { numRuns: Number(process.env.FC_RUNS ?? 125), examples: examples as never, ...casesOn(kind) },
    );
    // it was no agreement about nothing
    expect(written).toBeGreaterThan(0);
    expect(outcomes.failed).toBe(0);
    expect(Math.min(outcomes.answered, outcomes.refused, outcomes.stopped)).toBeGreaterThan(0);
  });
});

/** Sends the path as it is: `fetch` would tidy it up. */
async function send(app: TestApplication, method: string, path: string, { as, json: body }: TestRequest): Promise<number> {
  const { request } = process.getBuiltinModule('node:http');
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers = {
    ...(as && { authorization: `Bearer ${await app.tokenFor(as)}` }),
    ...(text !== undefined && { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) }),
  };
  const { hostname, port } = new URL(app.url);
  return new Promise((resolve, reject) => {
    const sending = request({ hostname, port, method, path, headers }, (response) => {
      response.resume();
      response.on('end', () => resolve(response.statusCode as number));
    });
    sending.on('error', reject);
    sending.end(text);
  });
}
