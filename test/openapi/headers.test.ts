import { defineEntity, p } from '@mikro-orm/core';
import { expect, test } from 'vitest';
import { ApiController, type ApiRequest, problem } from '../../src/index.ts';
import { openApiDocument, type Serving } from '../../src/openapi/document.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Leaf = defineEntity({
  name: 'Leaf',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read', 'write') },
});

class TreeController extends ApiController {
  pickApi(_request: ApiRequest): unknown {
    throw problem('bad_request', { reason: 'not yet' });
  }
}

const everything = {
  _index: { methods: { GET: true, POST: true } },
  _entity: { methods: { GET: true, PUT: true, PATCH: true, DELETE: true } },
};

async function withLeaves(server: object, apis: object, use: (app: TestApplication) => Promise<void>): Promise<void> {
  const app = await startApplication({
    app_main: { server, apis: { leaf: { class: Leaf, base_path: '/leaf', actions: everything }, ...apis } },
    models: [Leaf],
    controllers: [TreeController],
    databaseUrl: 'sqlite::memory:',
  } as Parameters<typeof startApplication>[0]);
  try {
    await use(app);
  } finally {
    await app.close();
  }
}

/** The headers of an answer, by name: true where it always has them. */
function headersOf(app: TestApplication, operation: string, status: string, serving?: Serving): Record<string, boolean> {
  const document = openApiDocument(app.application, { title: 'x', version: '1' }, serving) as any;
  const [method = '', path = ''] = operation.split(' ');
  const named = document.paths[path][method.toLowerCase()].responses[status];
  const answer = named.$ref ? document.components.responses[named.$ref.split('/').at(-1)] : named;
  const described = Object.entries<{ $ref: string }>(answer.headers ?? {});
  return Object.fromEntries(
    described.map(([name, { $ref }]) => [name, document.components.headers[$ref.split('/').at(-1) as string].required ?? false]),
  );
}

const pick = {
  tree: { class: Leaf, base_path: '/tree', controller: TreeController, actions: { pick: { methods: { GET: true } } } },
};

test('the document lists required and optional response headers', async () => {
  await withLeaves({}, pick, async (app) => {
    const id = { 'X-Request-Id': true };
    expect(headersOf(app, 'GET /leaf.json', '200')).toEqual({ ...id, ETag: true });
    expect(headersOf(app, 'GET /leaf.json', '304')).toEqual({ ...id, ETag: true });
    expect(headersOf(app, 'GET /leaf.json', '503')).toEqual({ ...id, 'Retry-After': true });
    expect(headersOf(app, 'GET /leaf.json', '400')).toEqual(id);
    const keyed = { ...id, 'Idempotency-Replayed': false };
    expect(headersOf(app, 'POST /leaf.json', '201')).toEqual({ ...keyed, ETag: true, Location: true });
    expect(headersOf(app, 'POST /leaf.json', '409')).toEqual({ ...id, 'Retry-After': false });
    expect(headersOf(app, 'POST /leaf.json', '507')).toEqual({ ...id, 'Retry-After': true });
    expect(headersOf(app, 'PUT /leaf/{id}.json', '200')).toEqual({ ...keyed, ETag: true, 'Content-Location': true });
    expect(headersOf(app, 'PATCH /leaf/{id}.json', '200')).toEqual({ ...keyed, ETag: true });
    expect(headersOf(app, 'DELETE /leaf/{id}.json', '204')).toEqual(keyed);
    // what a handler of the application's own gives has a tag only if it gives a value
    expect(headersOf(app, 'GET /tree/{id}/pick.json', '200')).toEqual({ ...id, ETag: false });
    expect(headersOf(app, 'GET /tree/{id}/pick.json', 'default')).toEqual(id);
    // and these are held to it as all answers of all tests are
    expect((await app.request('POST', '/leaf.json', { json: { name: 'a' } })).status).toBe(201);
    expect((await app.request('PUT', '/leaf/1.json', { json: { name: 'b' } })).status).toBe(200);
    expect((await app.request('PATCH', '/leaf/1.json', { json: { name: 'c' } })).status).toBe(200);
    expect((await app.request('DELETE', '/leaf/1.json')).status).toBe(204);
  });
});

test('the request ID header is documented if declared, and only on the server of Declarest', async () => {
  await withLeaves({ request_id: 'Trace' }, {}, async (app) => {
    expect(headersOf(app, 'DELETE /leaf/{id}.json', '404')).toEqual({ Trace: true });
    expect(headersOf(app, 'DELETE /leaf/{id}.json', '404', { ownServer: false })).toEqual({});
  });
  await withLeaves({ request_id: null }, {}, async (app) => {
    expect(headersOf(app, 'GET /leaf/{id}.json', '404')).toEqual({});
  });
});

test('rate limit headers are documented if there is a limit', async () => {
  const counted = { RateLimit: true, 'RateLimit-Policy': true };
  const uncertain = { RateLimit: false, 'RateLimit-Policy': false };
  const limit = { rate_limit: { limit: 2, window: 60, by: 'address' } };
  await withLeaves({ request_id: null, ...limit }, {}, async (app) => {
    expect(headersOf(app, 'GET /leaf.json', '200')).toEqual({ ...counted, ETag: true });
    expect(headersOf(app, 'GET /leaf.json', '304')).toEqual({ ...uncertain, ETag: true });
    expect(headersOf(app, 'GET /leaf.json', '429')).toEqual({ ...uncertain, 'Retry-After': true });
    expect(headersOf(app, 'GET /leaf/{id}.json', '404')).toEqual(uncertain);
    const asked = [await app.request('GET', '/leaf.json'), await app.request('GET', '/leaf/1.json')];
    expect([...asked, await app.request('GET', '/leaf.json')].map(({ status }) => status)).toEqual([200, 404, 429]);
  });
  // whoever writes a handler can refuse by this status without having counted
  await withLeaves({ request_id: null }, { tree: { ...pick.tree, ...limit } }, async (app) => {
    expect(headersOf(app, 'GET /leaf.json', '200')).toEqual({ ETag: true });
    expect(headersOf(app, 'GET /tree/{id}/pick.json', '429')).toEqual({ ...uncertain, 'Retry-After': false });
  });
});
