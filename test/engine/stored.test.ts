import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Spec = defineEntity({
  name: 'Spec',
  embeddable: true,
  properties: {
    color: p.string().nullable().groups('read', 'write'),
    size: p.integer().nullable().groups('read', 'write'),
    // in no group
    cost: p.integer().nullable(),
  },
});

/** Shows nothing of itself. */
const Lining = defineEntity({ name: 'Lining', embeddable: true, properties: { cost: p.integer().nullable() } });
/** Shows a part of which nothing is shown. */
const Cover = defineEntity({
  name: 'Cover',
  embeddable: true,
  properties: { cost: p.integer().nullable(), lining: () => p.embedded(Lining).groups('read') },
});
const Covered = defineEntity({
  name: 'Covered',
  properties: { id: p.integer().primary().groups('read'), cover: () => p.embedded(Cover).nullable().groups('read') },
});

const part = (name: string, isObject: boolean) => {
  const schema: any = defineEntity({
    name,
    properties: {
      id: p.integer().primary().groups('read'),
      title: p.string().groups('read', 'write'),
      data: p.json().nullable().groups('read', 'write'),
      spec: () => (isObject ? p.embedded(Spec).object() : p.embedded(Spec)).nullable().groups('read', 'write'),
    },
  } as never);
  return schema;
};
const Inline = part('Inline', false);
const Stored = part('Stored', true);
/** The same through entities: it has a rule. */
const ruledSchema: any = defineEntity({
  name: 'Ruled',
  properties: {
    id: p.integer().primary().groups('read'),
    title: p.string().groups('read', 'write'),
    data: p.json().nullable().groups('read', 'write'),
    spec: () => p.embedded(Spec).nullable().groups('read', 'write'),
  },
} as never);
class Ruled extends ruledSchema.class {
  validate() {
    return [];
  }
}
ruledSchema.setClass(Ruled);

const models = { inline: Inline, stored: Stored, ruled: Ruled } as const;

describe.each(databases)('stored data on %s', (database) => {
  let fresh: FreshDatabase;
  let app: TestApplication;

  beforeAll(async () => {
    fresh = await freshDatabase(database);
    const actions = {
      _index: { methods: { GET: true, POST: true } },
      _entity: { methods: { GET: true, PATCH: true, PUT: true, DELETE: true } },
    };
    const apis = Object.fromEntries(
      Object.entries(models).map(([name, model]) => [name, { class: model, base_path: `/${name}`, actions }]),
    );
    app = await startApplication({
      app_main: {
        apis: { ...apis, covered: { class: Covered, base_path: '/covered', actions } },
        database: { url: fresh.url, schema: 'update' },
      },
      models: [Spec, Lining, Cover, Covered, ...Object.values(models)],
      seed: async (em: any) => {
        em.create(Covered, { cover: { cost: 7, lining: { cost: 7 } } });
        em.create(Covered, { cover: null });
        for (const model of Object.values(models)) {
          em.create(model, { title: 'one', spec: { color: 'red', size: 1, cost: 7 } });
          em.create(model, { title: 'two', spec: { cost: 7 } });
          em.create(model, { title: 'three', spec: null });
        }
      },
    } as never);
  });

  afterAll(async () => {
    await app?.close();
    await fresh?.drop();
  });

  const costs = async (name: string) => {
    const rows = await (app as any).application.mapper.em.fork().find((models as any)[name], {}, { orderBy: { id: 'asc' } });
    return rows.map(({ spec }: any) => spec?.cost ?? null);
  };

  describe.each(Object.keys(models))('of the model "%s"', (name) => {
    test('equals the response of a write, which has the ETag of the next GET', async () => {
      const bodies = [
        { title: 'new', data: { b: 1, a: { d: 2, c: 3 } }, spec: { color: null, size: null } },
        { title: 'other', data: [1, { z: 1, y: 2 }], spec: { color: 'blue', size: 3 } },
        { title: 'third', data: null, spec: null },
      ];
      for (const json of bodies) {
        const created = await app.request('POST', `/${name}.json`, { json });
        expect(created.status).toBe(201);
        const path = `/${name}/${created.json.id}.json`;
        const fetched = await app.request('GET', path);
        expect([created.text, created.headers.get('etag')]).toEqual([fetched.text, fetched.headers.get('etag')]);
        for (const [method, change] of [
          ['PATCH', { data: { y: 1, x: 2 } }],
          ['PATCH', { spec: { color: 'green' } }],
          ['PATCH', { spec: null }],
          ['PUT', { title: 'put', data: { q: 1, b: 2 }, spec: { size: 4 } }],
          ['PUT', { title: 'bare' }],
        ] as const) {
          const changed = await app.request(method, path, { json: change });
          expect(changed.status, changed.text).toBe(200);
          const next = await app.request('GET', path);
          expect([changed.text, changed.headers.get('etag')]).toEqual([next.text, next.headers.get('etag')]);
        }
        await app.request('DELETE', path);
      }
    });

    test('in hidden embedded fields is kept, whatever the body contains', async () => {
      expect(await costs(name)).toEqual([7, 7, null]);
      for (const [method, json] of [
        ['PATCH', { spec: null }],
        ['PATCH', { spec: { color: 'blue' } }],
        ['PUT', { title: 'put', spec: { size: 2 } }],
        ['PUT', { title: 'put', spec: null }],
        ['PUT', { title: 'put' }],
      ] as const) {
        for (const id of [1, 2]) expect((await app.request(method, `/${name}/${id}.json`, { json })).status).toBe(200);
        expect(await costs(name)).toEqual([7, 7, null]);
      }
    });

    test('in hidden embedded fields does not affect whether the object is null', async () => {
      for (const id of [2, 3]) await app.request('PATCH', `/${name}/${id}.json`, { json: { spec: null, title: 'same' } });
      const [hidden, none] = [await app.request('GET', `/${name}/2.json`), await app.request('GET', `/${name}/3.json`)];
      expect(hidden.json.spec).toEqual(none.json.spec);
      const { json } = await app.request('GET', `/${name}.json`);
      expect(json.results[1].spec).toEqual(json.results[2].spec);
    });
  });

  test('of embedded fields is not revealed if no field of the object is readable', async () => {
    const [hidden, none] = (await app.request('GET', '/covered.json')).json.results;
    expect(hidden).toEqual({ id: 1, cover: null });
    expect(none).toEqual({ id: 2, cover: null });
  });
});
