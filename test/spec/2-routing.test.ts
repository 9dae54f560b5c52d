import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect } from 'vitest';
import { ApiController, type ApiRequest, createServer, type DeclarationErrors, defineApis } from '../../src/index.ts';
import { openApiDocument } from '../../src/openapi/document.ts';
import { describeRecords } from '../../src/route/describe.ts';
import { databases } from '../support/databases.ts';
import { test } from '../support/halves.ts';
import { everything, useApplication } from './fixtures/use-application.ts';

const Parcel = defineEntity({
  name: 'Parcel',
  properties: { id: p.integer().primary().groups('read'), label: p.string().groups('read', 'write') },
});

class ParcelController extends ApiController<object> {
  doItApi(id: number) {
    return { done: id };
  }
  'put-awayApi'(id: number) {
    return { away: id };
  }
  async recentApi(request: ApiRequest) {
    return this.paginate('recent', request, this.em.createQueryBuilder(Parcel, 'e'));
  }
}

const POST = { methods: { POST: true } } as const;
const parcel = { class: Parcel, controller: ParcelController } as const;
const status = {
  load: () => [
    {
      name: 'status',
      path: '/status.{_format}',
      methods: ['GET'],
      requirements: { _format: 'json' },
      handler: () => ({ ok: true }),
    },
    { name: 'root', path: '/', methods: ['GET'], handler: () => ({ root: true }) },
  ],
};
const loader = 'app_main_crud_route_loader:load';

const options = {
  app_main: {
    formats: ['json', 'xml', 'csv'],
    server: { base_url: 'https://depot.example' },
    apis: {
      parcel: {
        ...parcel,
        base_path: '/parcel',
        actions: {
          ...everything,
          'do-it': POST,
          'put-away': POST,
          recent: { methods: { GET: true }, 'single-collection': 'collection', requirements: { _format: 'json|csv' } },
        },
      },
      plain: {
        class: Parcel,
        base_path: '/plain',
        actions: {
          _index: { methods: { GET: true, POST: true }, requirements: { _format: 'json' } },
          _entity: { requirements: { _format: 'x.*' } },
        },
      },
    },
  },
  routes: {
    app_cruds: { resource: loader, type: 'service', prefix: '/depot/{hall}' },
    status: { resource: 'status:load', type: 'service', prefix: '/own' },
  },
  models: [Parcel],
  controllers: [ParcelController],
  services: { status },
} as const;

describe.each(databases)('routing on %s', (kind) => {
  const running = useApplication(kind, options as never);
  const get = (path: string) => running.request('GET', path);
  const base = '/depot/north';

  test('adds the prefix of a route entry to all its routes, links and Location headers', async () => {
    for (const label of ['a', 'b']) {
      const made = await running.request('POST', `${base}/parcel.json`, { json: { label } });
      expect(made.headers.get('location')).toBe(`https://depot.example${base}/parcel/${made.json.id}.json`);
      expect((await get(`${base}/parcel/${made.json.id}.json`)).json).toEqual(made.json);
    }
    const { json } = await get(`${base}/parcel.json?items_per_page=1`);
    expect(json.pagination.next).toContain(`https://depot.example${base}/parcel.json?`);
    expect((await get('/parcel.json')).status).toBe(404);
    const records = describeRecords(running.app.application.records);
    expect(records.find(({ name }) => name === 'app_api_single_plain__index')?.path).toBe('/depot/{hall}/plain.{_format}');
    const { paths } = openApiDocument(running.app.application, { title: 'x', version: '1' }) as any;
    expect(paths['/depot/{hall}/parcel/{id}.json'].get.parameters.map(({ name }: any) => name)).toContain('hall');
    expect(paths).not.toHaveProperty('/parcel.json');
  });

  test('adds a prefix to the routes of a service', async () => {
    expect((await get('/own/status.json')).json).toEqual({ ok: true });
    expect((await get('/own')).json).toEqual({ root: true });
    expect((await get('/status.json')).status).toBe(404);
  });

  test('restricts the format to its requirement', async () => {
    expect((await get(`${base}/plain.json`)).status).toBe(200);
    for (const format of ['xml', 'csv']) expect((await get(`${base}/plain.${format}`)).status).toBe(404);
    expect((await get(`${base}/plain/1.xml`)).status).toBe(200);
    expect((await get(`${base}/plain/1.json`)).json?.code ?? 'unknown_format').toBe('unknown_format');
    expect((await get(`${base}/parcel/recent.csv`)).status).toBe(200);
    expect((await get(`${base}/parcel/recent.xml`)).status).toBe(404);
    expect((await get('/own/status.xml')).status).toBe(404);
    const made = await running.request('POST', `${base}/plain.json`, { json: { label: 'c' } });
    expect(made.headers.get('location')).toBe(`https://depot.example${base}/plain/${made.json.id}.xml`);
    const { paths } = openApiDocument(running.app.application, { title: 'x', version: '1' }) as any;
    const plain = Object.keys(paths).filter((path) => path.includes('/plain') || path.includes('/own'));
    expect(plain.sort()).toEqual(['/depot/{hall}/plain.json', '/depot/{hall}/plain/{id}.xml', '/own', '/own/status.json']);
    const [index] = describeRecords(running.app.application.records).filter(({ name }) => name === 'app_api_single_plain__index');
    expect(index?.requirements).toEqual({ _format: 'json' });
  });

  test('finds the handler of an action with dashes in its name', async () => {
    expect((await running.request('POST', `${base}/parcel/1/do-it.json`)).json).toEqual({ done: 1 });
    expect((await running.request('POST', `${base}/parcel/1/put-away.json`)).json).toEqual({ away: 1 });
  });
});

describe('start errors', () => {
  async function mistakes(actions: object, more: object = {}, routes: object = {}): Promise<string[]> {
    try {
      const app = await createServer({
        ...options,
        app_main: { apis: { parcel: { ...parcel, base_path: '/parcel', actions, ...more } } },
        routes: { app_cruds: { resource: loader, type: 'service', ...routes } },
        databaseUrl: 'sqlite::memory:',
      } as never);
      await app.close();
      return [];
    } catch (error) {
      return (error as DeclarationErrors).errors.map(({ message }) => message);
    }
  }

  test('suggest a valid method name', async () => {
    const [message, ...others] = await mistakes({ 'send-it-back': POST });
    expect(message).toContain('write sendItBackApi(id, request, format) on ParcelController');
    expect(others).toEqual([]);
  });

  test('report two actions with the same handler method', async () => {
    const both = { 'do-it': POST, doIt: POST };
    expect(await mistakes(both)).toEqual([
      'the actions "do-it" and "doIt" are both handled by doItApi; rename one of them, or set its "controller_action"',
    ]);
    expect(await mistakes({ ...both, doIt: { ...POST, controller_action: 'doItApi' } })).toEqual([]);
  });

  test('list the formats if a requirement matches none', async () => {
    const [message] = await mistakes({ _index: { requirements: { _format: 'xml' } } });
    expect(message).toBe('no format of this action matches "xml"; its formats: json. Others are declared under "formats"');
    expect((await mistakes({ _index: { requirements: { _format: 'json|(j+)+' } } })).join()).toContain('catastrophically');
    expect((await mistakes({ _index: { requirements: { _format: '(' } } })).join()).toContain('not a regular expression');
  });

  test.each([
    ['App\\Entity\\Parcel', 'write "Parcel"'],
    ['App.Models.Parcel', 'write "Parcel"'],
    ['src/models/parcels#Parcel', 'write "Parcel"'],
    ['App\\Entity\\Parcell', 'write "Parcel"'],
    ['App\\Entity\\Other', 'known: Parcel'],
  ])('suggest a class name for %s', async (name, hint) => {
    const [message] = await mistakes({ _index: null }, { class: name });
    expect(message).toContain(hint);
  });

  test('report an invalid prefix, and a prefix that repeats a placeholder', async () => {
    for (const prefix of ['depot', '/depot/', '/{id}', '']) {
      const [message] = await mistakes({ _index: null }, {}, { prefix });
      expect(message).toContain('"prefix" must be a path such as');
    }
    const [message] = await mistakes({ _index: null }, { base_path: '/a/{hall}' }, { prefix: '/{hall}' });
    expect(message).toBe('the placeholder {hall} is in the prefix "/{hall}" and "base_path" twice; choose another name');
  });
});

test('the compiler checks the handler of an action with dashes in its name', () => {
  const declared = { ...parcel, base_path: '/parcel' } as const;
  defineApis({ parcel: { ...declared, actions: { 'do-it': POST, 'put-away': POST } } });
  // @ts-expect-error actions are handled by sendBackApi, which the controller does not have
  defineApis({ parcel: { ...declared, actions: { 'send-back': POST } } });
});
