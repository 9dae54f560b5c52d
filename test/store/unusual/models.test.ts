// @module-tag divided
import { describe, expect, test } from 'vitest';
import { ApiController } from '../../../src/index.ts';
import { databases, freshDatabase } from '../../support/databases.ts';
import { startApplication } from '../../support/testing.ts';
import { type Unusual, unusual } from './models.ts';

/** Makes its API read and write entities. */
class HookedController extends ApiController {
  override beforeSerialize(): void {}
}

type Exchange = readonly [request: string, status: number, body: string];

const entityMethods = { GET: true, PUT: true, PATCH: true, DELETE: true };

/** Sends requests to an API over the first model, and returns the responses. */
async function exchanges(kind: (typeof databases)[number], make: () => Unusual, controller?: string): Promise<Exchange[]> {
  const { bodies, ids, models, nested, patch, rows = [] } = make();
  const database = await freshDatabase(kind);
  const actions = {
    _index: { methods: { GET: true, POST: true } },
    _entity: { methods: entityMethods, ...(ids && { requirements: { id: ids } }) },
  };
  const [{ meta }] = models;
  const app = await startApplication({
    app_main: {
      database: { url: database.url, schema: 'update' },
      formats: ['json', 'xml', 'csv', 'ndjson'],
      apis: {
        a: { class: meta.className, base_path: '/a', actions, ...(nested && { nested }), ...(controller && { controller }) },
      },
    },
    models: [...models],
    controllers: [HookedController],
    seed: async (em: { insertMany(model: unknown, rows: unknown): Promise<unknown> }) => {
      for (const [model, those] of rows) await em.insertMany(model, those);
    },
  } as never);
  const seen: Exchange[] = [];
  const send = async (method: string, path: string, json?: unknown) => {
    const response = await app.request(method, path, json === undefined ? {} : { json });
    seen.push([`${method} ${path}`, response.status, response.text]);
    return response;
  };
  /** Sends a write, whose response is what a GET returns. */
  const write = async (method: string, path: string, json: unknown) => {
    const { headers, status, text } = await send(method, path, json);
    const place = headers.get('location') ?? path;
    if (status >= 300) return null;
    const { status: there, text: stored } = await send('GET', place);
    // a default filter can hide what was written
    if (there === 200) expect([method, path, text]).toEqual([method, path, stored]);
    return place;
  };
  try {
    const made: [path: string, body: unknown][] = [];
    for (const body of bodies) {
      const place = await write('POST', '/a.json', body);
      if (place) made.push([place, body]);
    }
    for (const format of ['json', 'csv', 'ndjson', 'xml']) await send('GET', `/a.${format}`);
    for (const [place] of made) await write('PATCH', place, patch);
    for (const [place, body] of made) await write('PUT', place, body);
    await send('GET', '/a.json');
    for (const [place] of made) await send('DELETE', place);
    await send('GET', '/a.json');
  } finally {
    await app.close();
    await database.drop();
  }
  return seen;
}

describe.each(databases)('statements and entities give the same responses on %s, with', (kind) => {
  const possible = unusual.filter((make) => (make().only ?? kind) === kind);
  test.each(possible.map((make) => [make().name, make] as const))('%s', async (_, make) => {
    const byStatements = await exchanges(kind, make);
    expect(byStatements.filter(([, status]) => status >= 500)).toEqual([]);
    expect(byStatements.some(([, status]) => status === 201)).toBe(true);
    expect(await exchanges(kind, make, 'HookedController')).toEqual(byStatements);
  });
});
