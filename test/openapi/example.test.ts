// @module-tag divided
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type OpenApiDocument, openApiDocument } from '../../src/openapi/document.ts';
import { exampleOf } from '../../src/openapi/example.ts';
import type { JsonSchema } from '../../src/openapi/json-schema.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication, type TestUser } from '../support/testing.ts';

const directory = join(import.meta.dirname, '../../examples/courses');
const admin: TestUser = { id: 3, roles: ['ROLE_ADMIN'], centers: [1, 2, 3] };

interface Operation {
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly schema: JsonSchema }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> };
}

describe.each(databases)('the document of the example on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  let document: OpenApiDocument;

  beforeAll(async () => {
    database = await freshDatabase(kind);
    app = await startApplication({ directory, databaseUrl: database.url });
    document = openApiDocument(app.application, { title: 'courses', version: '1.0.0' });
  });
  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });

  const operations = () =>
    Object.entries(document.paths as Record<string, Record<string, Operation>>).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
    );

  const address = async (path: string): Promise<string[]> => {
    if (!path.includes('{id}')) return [path];
    const list = path.replace(/\/\{id\}.*$/, '.json');
    const { json } = await app.request('GET', list, { as: admin });
    const ids: unknown[] = (json?.results ?? [{ id: 1 }]).slice(0, 3).map(({ id }: { id: unknown }) => id);
    return ids.map((id) => path.replace('{id}', String(id)));
  };

  // that answers are as described is seen to for every test
  test('describes the responses to authenticated and anonymous callers', async () => {
    let answered = 0;
    for (const { path, method, operation } of operations()) {
      const schema = operation.requestBody?.content['application/json']?.schema;
      const schemas = (document.components as { schemas: Record<string, JsonSchema> }).schemas;
      for (const target of await address(path)) {
        const json = schema && exampleOf(schema, schemas);
        for (const as of [admin, { id: 1, roles: ['ROLE_USER'], centers: [1] }, null]) {
          if (method === 'DELETE' && !schema && as) continue;
          const response = await app.request(method, target, { ...(schema && { json }), ...(as && { as }) });
          if (response.status < 300) answered++;
        }
      }
    }
    // so that it is not a document of refusals that was held to them
    expect(answered).toBeGreaterThan(60);
  });

  test('describes every parameter of every list', async () => {
    for (const { path, method, operation } of operations()) {
      for (const { name, in: place, schema } of operation.parameters) {
        if (place !== 'query' || name === 'after' || name === 'before' || name === 'fields') continue;
        const value = encodeURIComponent(String(exampleOf(schema, {})));
        const response = await app.request(method, `${path}?${encodeURIComponent(name)}=${value}`, { as: admin });
        expect({ path, name, status: response.status, text: response.status === 200 ? '' : response.text }).toEqual({
          path,
          name,
          status: 200,
          text: '',
        });
      }
    }
  });

  test('contains no field that no group shows', () => {
    expect(JSON.stringify(document)).not.toContain('nationalNumber');
  });
});
