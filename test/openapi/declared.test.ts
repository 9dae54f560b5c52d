// @module-tag divided
import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ApiController, type ApiRequest, DeclarationErrors } from '../../src/index.ts';
import { clientSource } from '../../src/openapi/client/client.ts';
import { openApiDocument } from '../../src/openapi/document.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { takeObjections } from '../support/documents/watch-responses.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Tag = defineEntity({
  name: 'Tag',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read') },
});
const Box = defineEntity({
  name: 'Box',
  properties: {
    id: p.integer().primary().groups('read'),
    label: p.string().length(5).groups('read', 'write'),
    tags: () => p.manyToMany(Tag).groups('read'),
  },
});

class BoxController extends ApiController<object> {
  echoApi(_id: unknown, { body }: ApiRequest) {
    return { body: body ?? null };
  }
  plainApi({ body }: ApiRequest) {
    return { body: body ?? null };
  }
  dueApi({ body }: ApiRequest) {
    return { isDate: (body as { due: unknown }).due instanceof Date, body };
  }
}

const plain = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: {
    count: { type: 'integer', minimum: 1 },
    parts: { type: 'array', items: { $ref: '#/$defs/part' } },
    colour: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }] },
  },
  required: ['count'],
  additionalProperties: false,
  $defs: {
    part: { type: 'object', properties: { name: { type: 'string', maxLength: 3 }, inner: { $ref: '#' } }, required: ['name'] },
  },
};

const due = z.object({ due: z.iso.datetime().transform((text) => new Date(text)), note: z.string().min(2).optional() });

function appMain(actions: object = {}): object {
  return {
    apis: {
      box: {
        class: 'Box',
        base_path: '/box',
        controller: 'BoxController',
        actions: {
          _index: { methods: { GET: true, POST: true } },
          refer: {
            controller_action: 'echoApi',
            methods: { GET: true, POST: true, DELETE: true },
            body: { reference: Tag },
            result: 'Box',
          },
          copy: {
            controller_action: 'plainApi',
            'single-collection': 'collection',
            methods: { POST: true },
            body: Box,
            result: { list: 'Box' },
          },
          plain: {
            'single-collection': 'collection',
            methods: { POST: true, PUT: true },
            body: plain,
            result: { collection: Box },
          },
          due: {
            'single-collection': 'collection',
            methods: { POST: true },
            body: due,
            result: z.object({ isDate: z.boolean() }),
          },
          free: { controller_action: 'plainApi', 'single-collection': 'collection', methods: { POST: true } },
          tags: { association: { property: 'tags' } },
          ...actions,
        },
      },
    },
  };
}

const given = (app_main: object) =>
  ({ app_main, models: [Box, Tag], controllers: [BoxController] }) as Parameters<typeof startApplication>[0];

describe.each(databases)('declared handler bodies on %s', (kind) => {
  // the handlers give back what they got, whatever was declared of their results
  afterEach(async () => void (await takeObjections()));

  let database: FreshDatabase;
  let app: TestApplication;

  beforeAll(async () => {
    database = await freshDatabase(kind);
    app = await startApplication({ ...given(appMain()), databaseUrl: database.url });
    await app.request('POST', '/box.json', { json: { label: 'a' } });
  });
  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });

  const violationsOf = async (path: string, json: unknown, method = 'POST') => {
    const response = await app.request(method, path, { json });
    expect({ status: response.status, code: response.json.code }).toEqual({ status: 422, code: 'validation_failed' });
    return response.json.violations.map(({ propertyPath, code }: { propertyPath: string; code: string }) => [propertyPath, code]);
  };

  test('are validated by a JSON Schema, with all errors reported together', async () => {
    const json = { count: 2, parts: [{ name: 'abc', inner: { count: 1 } }], colour: ['red'] };
    expect(await app.request('POST', '/box/plain.json', { json })).toMatchObject({ status: 200, json: { body: json } });
    expect(await violationsOf('/box/plain.json', { count: 0, parts: [{ name: 'abcd' }, {}], more: 1, colour: 5 }, 'PUT')).toEqual(
      expect.arrayContaining([
        ['count', 'range'],
        ['parts[0].name', 'too_long'],
        ['parts[1].name', 'required'],
        ['more', 'constraint'],
        ['colour', 'constraint'],
      ]),
    );
    expect(await violationsOf('/box/plain.json', { count: 1, parts: [{ name: 'a', inner: {} }] })).toEqual([
      ['parts[0].inner.count', 'required'],
    ]);
    expect(await violationsOf('/box/plain.json', [])).toEqual([['', 'type']]);
    // a large body is refused as well, by the first thing that is wrong with it
    expect(await violationsOf('/box/plain.json', { count: 1, parts: Array(20_000).fill({ name: 1 }) })).toHaveLength(1);
  });

  test('are validated by a Standard Schema, and the handler gets its output', async () => {
    const answer = await app.request('POST', '/box/due.json', { json: { due: '2026-11-15T00:00:00Z', other: 1 } });
    expect(answer.json).toEqual({ isDate: true, body: { due: '2026-11-15T00:00:00.000Z' } });
    expect(await violationsOf('/box/due.json', { due: 'never', note: 'x' })).toEqual([
      ['due', 'constraint'],
      ['note', 'constraint'],
    ]);
  });

  test('are validated by a model, or by a reference to one', async () => {
    expect((await app.request('POST', '/box/copy.json', { json: { label: 'abc' } })).status).toBe(200);
    expect(await violationsOf('/box/copy.json', { label: 'abcdef', id: 1 })).toEqual(
      expect.arrayContaining([
        ['label', 'too_long'],
        ['id', 'constraint'],
      ]),
    );
    expect((await app.request('POST', '/box/1/refer.json', { json: { id: 5 } })).json).toEqual({ body: { id: 5 } });
    expect(await violationsOf('/box/1/refer.json', { id: 'x' }, 'DELETE')).toEqual([['id', 'type']]);
  });

  test('are required except for DELETE, and undeclared bodies are not read', async () => {
    expect(await app.request('POST', '/box/plain.json')).toMatchObject({ status: 400, json: { code: 'invalid_body' } });
    expect(await app.request('DELETE', '/box/1/refer.json')).toMatchObject({ status: 200, json: { body: null } });
    expect(await app.request('GET', '/box/1/refer.json')).toMatchObject({ status: 200 });
    expect(await app.request('POST', '/box/free.json')).toMatchObject({ status: 200 });
    // what is not there is told before what is wrong
    expect((await app.request('POST', '/box/9/refer.json', { json: {} })).status).toBe(404);
  });

  test('are in the document and in the client', () => {
    const document = openApiDocument(app.application, { title: 'x', version: '1' }) as any;
    const bodyOf = (path: string, method = 'post') => document.paths[path][method].requestBody;
    const resultOf = (path: string, method = 'post') =>
      document.paths[path][method].responses[200].content['application/json'].schema;
    const { schemas } = document.components;
    expect(bodyOf('/box/plain.json')).toEqual({
      required: true,
      content: { 'application/json': { schema: { $ref: '#/components/schemas/BoxPlainBody' } } },
    });
    expect(schemas.BoxPlainBody).toMatchObject({
      properties: { parts: { items: { $ref: '#/components/schemas/BoxPlainBodyPart' } } },
    });
    expect(schemas.BoxPlainBody).not.toHaveProperty('$defs');
    expect(schemas.BoxPlainBodyPart.properties.inner).toEqual({ $ref: '#/components/schemas/BoxPlainBody' });
    expect(schemas.BoxDueBody).toMatchObject({ type: 'object', properties: { due: { type: 'string' } }, required: ['due'] });
    expect(schemas.BoxDueResult.properties).toEqual({ isDate: { type: 'boolean' } });
    expect(bodyOf('/box/copy.json').content['application/json'].schema).toEqual({ $ref: '#/components/schemas/BoxCreate' });
    expect(bodyOf('/box/{id}/refer.json').content['application/json'].schema).toEqual({
      $ref: '#/components/schemas/TagReference',
    });
    expect(bodyOf('/box/{id}/refer.json', 'delete').required).toBe(false);
    expect(bodyOf('/box/{id}/refer.json', 'get')).toBeUndefined();
    expect(bodyOf('/box/free.json').required).toBe(false);
    expect(resultOf('/box/{id}/refer.json')).toEqual({ $ref: '#/components/schemas/Box' });
    expect(resultOf('/box/copy.json')).toEqual({ type: 'array', items: { $ref: '#/components/schemas/Box' } });
    expect(resultOf('/box/plain.json')).toEqual({ $ref: '#/components/schemas/BoxCollection' });
    // nothing of the model's own is in the way: what is added is what is given
    expect(resultOf('/box/{id}/tags.json')).toEqual({ $ref: '#/components/schemas/Tag' });
    const client = clientSource(document, app.application.records);
    expect(client).toMatch(/copy: \(body: BoxCreate\b.*\): Promise<Box\[\]> =>/);
    expect(client).toMatch(/plainPost: \(body: BoxPlainBody\b.*\): Promise<BoxCollection> =>/);
    expect(client).toMatch(/referDelete: \(id: number, body\?: TagReference\b.*\): Promise<Box> =>/);
    expect(client).toMatch(/free: \(body\?: unknown\b.*\): Promise<unknown> =>/);
  });
});

test.each([
  [{ _index: { result: 'Box' } }, 'actions._index.result: Declarest knows the result of _index; "result" is allowed for'],
  [{ _index: { body: 'Box' } }, 'actions._index.body: Declarest knows the body of _index; "body" is allowed for'],
  [{ tags: { association: { property: 'tags' }, body: 'Box' } }, 'actions.tags.body: Declarest knows the body of an association'],
  [{ plain: { methods: { GET: true }, body: 'Box' } }, 'actions.plain.body: "body" needs a method with a request body'],
  [{ plain: { methods: { POST: true }, body: 'Bix' } }, 'unknown model class "Bix"; did you mean "Box"?'],
  [
    { plain: { methods: { POST: true }, body: 5 } },
    '"body" must be the name of a model class, { reference: <model> } or a JSON Schema, or null',
  ],
  [
    { plain: { 'single-collection': 'collection', methods: { POST: true }, body: { type: 'objekt' } } },
    '"body" is not a usable JSON Schema',
  ],
  [
    { plain: { 'single-collection': 'collection', methods: { POST: true }, body: { $ref: '#/nowhere' } } },
    '"body" is not a usable JSON Schema',
  ],
])('%j is rejected at start', async (actions, message) => {
  const attempt = startApplication({ ...given(appMain(actions)), databaseUrl: 'sqlite::memory:' });
  const error = await attempt.then(
    async (app) => app.close(),
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(DeclarationErrors);
  expect((error as DeclarationErrors).message).toContain(message);
});
