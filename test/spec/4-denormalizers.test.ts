import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest, type DenormalizationContext, Denormalizer, type ModelClass } from '../../src/index.ts';
import { openApiDocument } from '../../src/openapi/document.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const named = { id: p.integer().primary().groups('read'), name: p.string().groups('read') };
const Alpha = defineEntity({ name: 'Alpha', properties: named });
const Mid = defineEntity({ name: 'Mid', properties: { ...named, hidden: p.boolean().default(false) } });
const Zeta = defineEntity({ name: 'Zeta', properties: named });
const ShelfSchema = defineEntity({
  name: 'Shelf',
  properties: {
    id: p.integer().primary().groups('read'),
    // in another order than the classes are found
    top: () => p.manyToOne([Zeta, Mid, Alpha]).nullable().groups('read', 'write'),
    mids: () => p.manyToMany(Mid).groups('read'),
    alphas: () => p.manyToMany(Alpha).groups('read'),
  },
});
class Shelf extends ShelfSchema.class {
  addThing(thing: object): void {
    if (thing instanceof Mid.class) this.mids.add(thing as never);
    else this.alphas.add(thing as never);
  }
  removeThing(thing: object): void {
    if (thing instanceof Mid.class) this.mids.remove(thing as never);
    else this.alphas.remove(thing as never);
  }
}
ShelfSchema.setClass(Shelf);

const given: { readonly value: unknown; readonly types: readonly string[] }[] = [];

/** Takes {"type": "zeta", "id": 1}, and in short "zeta/1". */
class ShortDenormalizer extends Denormalizer {
  static override properties = ['Shelf.top'];
  static override actions = ['shelf.pick', 'shelf.find', 'shelf.thing', 'shelf.put'];
  override denormalize(value: unknown, types: readonly ModelClass[], context: DenormalizationContext) {
    given.push({ value, types: types.map(({ name }) => name) });
    if (value === 'shelf') return context.em.findOneOrFail(Shelf, 1);
    if (typeof value !== 'string') return context.resolve(value);
    const [type, id] = value.split('/');
    return context.resolve({ type, id: Number(id) }, types);
  }
}

class ShelfController extends ApiController<Shelf> {
  pickApi(_id: number, request: ApiRequest) {
    return this.deserialize(request, [Zeta, Mid, Alpha] as never);
  }
  findApi(request: ApiRequest) {
    return this.deserialize(request, [Mid, Alpha] as never);
  }
  plainApi(request: ApiRequest) {
    return this.deserialize(request, [Mid, Alpha] as never);
  }
  thingApi(id: number, request: ApiRequest) {
    return this.addRemove('thing', id, request, { property: 'things', type: [Mid, Alpha] as never });
  }
}
class MidController extends ApiController {
  override customizeQuery(_action: string, _request: ApiRequest, query: never) {
    (query as { andWhere(condition: object): unknown }).andWhere({ hidden: false });
  }
}

const POST = { methods: { POST: true } };
const application = {
  models: [Alpha, Mid, Shelf, Zeta],
  controllers: [ShelfController, MidController],
  denormalizers: [ShortDenormalizer],
  app_main: {
    apis: {
      shelf: {
        class: Shelf,
        base_path: '/shelves',
        controller: ShelfController,
        actions: {
          _entity: { methods: { GET: true, PATCH: true } },
          pick: POST,
          find: { ...POST, 'single-collection': 'collection' },
          plain: { ...POST, 'single-collection': 'collection' },
          thing: { methods: { POST: true, DELETE: true } },
          put: { association: { property: 'alphas' } },
        },
      },
      mid: { class: Mid, base_path: '/mids', controller: MidController, actions: { _entity: null } },
    },
  },
  seed: (em: { create(model: unknown, data: object): unknown }) => {
    for (const model of [Alpha, Mid, Zeta]) em.create(model, { name: 'one' });
    em.create(Mid, { name: 'two', hidden: true });
    em.create(Shelf, {});
  },
};

describe.each(databases)('denormalizers on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  beforeAll(async () => {
    database = await freshDatabase(kind);
    app = await startApplication({ ...application, databaseUrl: database.url } as never);
  });
  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });
  beforeEach(() => {
    given.length = 0;
  });
  const send = (path: string, json: unknown, method = 'POST') => app.request(method, path, { json });

  test('read the body of an action that calls deserialize, once, with the types in call order', async () => {
    for (const body of ['zeta/1', { type: 'zeta', id: 1 }]) {
      const { status, json } = await send('/shelves/1/pick.json', body);
      expect([status, json]).toEqual([200, { id: 1, name: 'one' }]);
    }
    expect(given).toEqual([
      { value: 'zeta/1', types: ['Zeta', 'Mid', 'Alpha'] },
      { value: { type: 'zeta', id: 1 }, types: ['Zeta', 'Mid', 'Alpha'] },
    ]);
  });

  test('read the body of an action without an id', async () => {
    expect((await send('/shelves/find.json', 'alpha/1')).json).toEqual({ id: 1, name: 'one' });
    expect(given).toEqual([{ value: 'alpha/1', types: ['Mid', 'Alpha'] }]);
  });

  test('do not apply to other actions, which accept references', async () => {
    expect((await send('/shelves/plain.json', 'alpha/1')).status).toBe(400);
    expect((await send('/shelves/plain.json', { type: 'alpha', id: 1 })).status).toBe(200);
    expect(given).toEqual([]);
  });

  test('read the item of an action that calls addRemove, and of a declared association', async () => {
    expect((await send('/shelves/1/thing.json', 'mid/1')).status).toBe(200);
    expect((await send('/shelves/1/put.json', { id: 1 })).status).toBe(200);
    const { json } = await app.request('GET', '/shelves/1.json');
    expect([json.mids, json.alphas]).toEqual([[{ id: 1, name: 'one' }], [{ id: 1, name: 'one' }]]);
    expect(given.map(({ types }) => types)).toEqual([['Mid', 'Alpha'], ['Alpha']]);
    expect((await send('/shelves/1/thing.json', 'mid/1', 'DELETE')).status).toBe(200);
    expect((await app.request('GET', '/shelves/1.json')).json.mids).toEqual([]);
  });

  test('get the types of a property in the order of the model', async () => {
    expect((await send('/shelves/1.json', { top: 'mid/1' }, 'PATCH')).json.top).toEqual({ id: 1, name: 'one' });
    expect(given).toEqual([{ value: 'mid/1', types: ['Zeta', 'Mid', 'Alpha'] }]);
    const refused = await send('/shelves/1.json', { top: 'mid/9' }, 'PATCH');
    expect(refused.json.detail).toContain('zeta or mid or alpha id not found; type is one of: zeta, mid, alpha');
  });

  test('do not resolve rows that their API hides', async () => {
    const { status, json } = await send('/shelves/1/pick.json', 'mid/2');
    expect([status, json.detail]).toEqual([400, 'zeta or mid or alpha id not found']);
  });

  test('that return an entity of another type make the request return 500', async () => {
    expect((await send('/shelves/1/pick.json', 'shelf')).status).toBe(500);
  });

  test('allow any body for a declared association in the OpenAPI document', () => {
    const { paths } = openApiDocument(app.application, { title: 'shelves', version: '1' }) as { paths: Record<string, object> };
    expect(paths['/shelves/{id}/put.json']).toMatchObject({
      post: { requestBody: { content: { 'application/json': { schema: { description: 'Read by code of the application.' } } } } },
    });
  });

  test('are not called if there is no body', async () => {
    expect((await app.request('POST', '/shelves/1/pick.json')).json.code).toBe('invalid_body');
    expect(given).toEqual([]);
  });
});

describe('a denormalizer causes a start error', () => {
  const start = (...denormalizers: unknown[]) =>
    startApplication({ ...application, denormalizers, databaseUrl: 'sqlite::memory:' } as never);
  const bound = (...actions: string[]) =>
    class Bound extends ShortDenormalizer {
      static override properties = [];
      static override actions = actions;
    };

  test('if it serves an action of an unknown API', async () => {
    await expect(start(bound('shelv.pick'))).rejects.toThrow(/Bound handles the action "shelv.pick".*shelf/);
  });
  test('if it serves an unknown action', async () => {
    await expect(start(bound('shelf.pic'))).rejects.toThrow(/Bound handles the action "shelf.pic".*shelf\.pick/);
  });
  test('if it serves a default action', async () => {
    await expect(start(bound('shelf._entity'))).rejects.toThrow(/Bound handles the action "shelf._entity"/);
  });
  test('if another denormalizer serves the action', async () => {
    await expect(start(ShortDenormalizer, bound('shelf.pick'))).rejects.toThrow(
      /Bound and ShortDenormalizer both handle shelf.pick/,
    );
  });
  test('if it serves nothing', async () => {
    await expect(start(bound())).rejects.toThrow(/Bound must declare what it handles/);
  });
});
