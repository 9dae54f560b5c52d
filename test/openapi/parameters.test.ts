import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessRows } from '../../src/cli/text/access-rows.ts';
import { parameterNames, parameterText } from '../../src/declaration/names/list-names.ts';
import { ApiController, type ApiRequest, type CodeOptions } from '../../src/index.ts';
import { accessMatrix } from '../../src/inspect/compare/matrix.ts';
import { clientSource } from '../../src/openapi/client/client.ts';
import { openApiDocument } from '../../src/openapi/document.ts';
import { describeRecords } from '../../src/route/describe.ts';
import { makeTemporary } from '../support/temporary.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Thing = defineEntity({
  name: 'Thing',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read', 'write') },
});

class ThingController extends ApiController<object> {
  touchApi(_id: number, request: ApiRequest) {
    return { ...request.parameters };
  }
  reportApi(request: ApiRequest) {
    return { ...request.parameters };
  }
}

const season = { type: 'integer', minimum: 2000, description: 'The year of the season.' } as const;
const options: CodeOptions = {
  app_main: {
    formats: ['json', 'csv'],
    apis: {
      thing: {
        class: Thing,
        base_path: '/thing',
        controller: ThingController,
        actions: {
          _index: { methods: { GET: true, POST: true }, parameters: { season: { ...season, required: true } } },
          _entity: { parameters: { state: { enum: ['draft', 'public'], default: 'public' } } },
          touch: { methods: { POST: true }, parameters: { 'dry-run': { type: 'boolean', required: true } } },
          report: {
            methods: { GET: true },
            'single-collection': 'collection',
            parameters: { names: { list: true }, day: { type: 'date' } },
          },
        },
      },
    },
  },
  models: [Thing],
  controllers: [ThingController],
  databaseUrl: 'sqlite::memory:',
  seed: (em: any) => void em.create(Thing, { name: 'one' }),
};

describe('declared query parameters', () => {
  let app: TestApplication;
  beforeAll(async () => {
    app = await startApplication(options);
  });
  afterAll(() => app?.close());

  test('are in the OpenAPI document', () => {
    const { paths } = openApiDocument(app.application, { title: 't', version: '1' } as never) as any;
    const own = (path: string, method: string) =>
      paths[path][method].parameters.filter(
        (each: any) => each.in === 'query' && !/^(page|items_per_page|after|before|fields)$/.test(each.name),
      );
    const required = {
      name: 'season',
      in: 'query',
      required: true,
      description: 'The year of the season.',
      schema: { type: 'integer', minimum: 2000, maximum: Number.MAX_SAFE_INTEGER },
    };
    expect(own('/thing.json', 'get')).toEqual([required]);
    expect(own('/thing.json', 'post')).toEqual([required]);
    expect(own('/thing.csv', 'get')).toEqual([required]);
    expect(own('/thing/{id}.json', 'get')).toEqual([
      { name: 'state', in: 'query', schema: { type: 'string', enum: ['draft', 'public'], default: 'public' } },
    ]);
    expect(own('/thing/report.json', 'get')).toEqual([
      {
        name: 'names',
        in: 'query',
        schema: { type: 'array', items: { type: 'string' }, minItems: 1 },
        style: 'form',
        explode: false,
      },
      { name: 'day', in: 'query', schema: { type: 'string', format: 'date' } },
    ]);
  });

  test('are arguments of the generated client', async () => {
    const document = openApiDocument(app.application, { title: 't', version: '1' } as never);
    const source = clientSource(document, app.application.records);
    expect(source).toContain('  /** The year of the season. */\n  season: number;\n');
    expect(source).toContain('list: (query: ThingQuery, options: CallOptions = {}): Promise<');
    expect(source).toContain('all: (query: ThingQuery, options: CallOptions = {}): AsyncGenerator<');
    expect(source).toMatch(/create: \(body: \w+, query: \{ season: number \}, options: CallOptions & Once = \{\}\)/);
    expect(source).toContain(
      'get: (id: number, query: { state?: "draft" | "public" } = {}, options: CallOptions = {}): Promise<',
    );
    expect(source).toContain('touch: (id: number, body: unknown | undefined, query: { "dry-run": boolean }, options');
    const file = join(mkdtempSync(join(makeTemporary('client').directory, 'client-')), 'client.ts');
    writeFileSync(file, source);
    const { createClient } = await import(file);
    const client = createClient({ baseUrl: app.url });
    expect(await client.thing.report({ names: ['a,b', 'c\\', ''], day: '2026-01-01' })).toEqual({
      names: ['a,b', 'c\\', ''],
      day: '2026-01-01',
    });
    expect(await client.thing.touch(1, undefined, { 'dry-run': true })).toEqual({ 'dry-run': true });
    await expect(client.thing.list({})).rejects.toThrow('"season" is required, as an integer from 2000');
    expect((await client.thing.list({ season: 2026 })).count).toBe(1);
  });

  test('are shown by routes and the access matrix', () => {
    const described = describeRecords(app.application.records);
    expect(described.find(({ name }) => name === 'app_api_single_thing_report')?.parameters).toEqual(['names', 'day']);
    const { action = null } = app.application.records.find(({ name }) => name === 'app_api_single_thing__index') ?? {};
    expect(parameterText(parameterNames(action) as never)).toBe('season (required)');
    const rows = accessRows(accessMatrix(app.application));
    expect(rows.map(({ methods, questions }) => [methods, questions])).toContainEqual([
      'GET,HEAD',
      expect.stringContaining('parameter state'),
    ]);
    expect(rows.map(({ methods, questions }) => [methods, questions])).toContainEqual([
      'POST',
      expect.stringContaining('parameter dry-run'),
    ]);
  });
});
