// @module-tag divided
import { setTimeout as sleep } from 'node:timers/promises';
import { defineEntity, p } from '@mikro-orm/core';
import { afterEach, describe, expect, test } from 'vitest';
import { type Vote, Voter } from '../../src/access/voter.ts';
import { ApiController, type ApiRequest, problem } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

type Self = Record<string, any>;

interface World {
  properties?: (models: { Place: any; Outer: any; Kept: any }) => object;
  rows?: (places: { a: object; b: object }) => object[];
  get?: (self: Self) => unknown;
  validate?: (this: Self) => unknown;
  vote?: (subject: Self) => unknown;
  work?: (controller: Self, entity: Self, Thing: any) => Promise<unknown>;
}

const methods = { GET: true, PATCH: true, POST: true };
const opened: { app: TestApplication; database: FreshDatabase }[] = [];

afterEach(async () => {
  for (const { app, database } of opened.splice(0)) {
    // a leaked transaction must not hold up the other tests
    await Promise.race([app.close(), sleep(3000)]);
    await Promise.race([database.drop(), sleep(3000)]);
  }
});

async function start(
  kind: (typeof databases)[number],
  { get, properties, rows, validate, vote, work }: World,
  compiledReads = true,
) {
  const database = await freshDatabase(kind);
  const Place = defineEntity({
    name: 'Place',
    properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read') },
  });
  const Inner = defineEntity({
    name: 'Inner',
    embeddable: true,
    properties: { x: p.integer().nullable(), y: p.integer().nullable() },
  });
  const Outer = defineEntity({
    name: 'Outer',
    embeddable: true,
    properties: { a: p.string().nullable(), inner: () => p.embedded(Inner).nullable() },
  });
  const Kept = defineEntity({
    name: 'Kept',
    embeddable: true,
    properties: { a: p.string().nullable(), b: p.string().nullable() },
  });
  const schema = defineEntity({
    name: 'Thing',
    properties: {
      id: p.integer().primary().groups('read'),
      name: p.string().groups('read', 'write'),
      num: p.integer().groups('read', 'write'),
      ...(get && { given: p.json<unknown>().persist(false).getter().groups('read') }),
      ...properties?.({ Place, Outer, Kept }),
    } as never,
  }) as any;
  class Thing extends schema.class {}
  if (get)
    Object.defineProperty(Thing.prototype, 'given', {
      configurable: true,
      get() {
        return get(this) ?? 'nothing';
      },
    });
  if (validate) Object.defineProperty(Thing.prototype, 'validate', { value: validate, configurable: true, writable: true });
  schema.setClass(Thing);
  class ThingVoter extends Voter<Self> {
    static override roles = ['THING'];
    override async vote(_role: string, subject: Self | null): Promise<Vote> {
      return subject === null || (await vote?.(subject)) ? 'grant' : 'deny';
    }
  }
  class ThingController extends ApiController<any> {
    async workApi(id: number, request: ApiRequest) {
      const entity = await this.getEntity('work', id, request);
      await work?.(this, entity, Thing);
      return { done: true };
    }
  }
  const app = await startApplication({
    app_main: {
      formats: ['json', 'csv'],
      apis: {
        thing: {
          class: Thing,
          base_path: '/t',
          ...(vote && { base_role: 'THING' }),
          ...(work && { controller: ThingController }),
          actions: { _index: { methods }, _entity: { methods }, ...(work && { work: { methods: { POST: true } } }) },
        },
      },
    },
    models: [Place, Inner, Outer, Kept, Thing],
    ...(work && { controllers: [ThingController] }),
    ...(vote && { voters: [ThingVoter] }),
    databaseUrl: database.url,
    compiledReads,
    seed: async (em: any) => {
      const a = em.create(Place, { name: 'A' });
      const b = em.create(Place, { name: 'B' });
      await em.flush();
      for (const row of rows?.({ a, b }) ?? [{}, {}]) em.create(Thing, { name: 'n', num: 1, ...row });
      await em.flush();
    },
  } as never);
  opened.push({ app, database });
  return app;
}

/** The answers of an application through entities, and through rows. */
async function answers(kind: (typeof databases)[number], world: World, calls: readonly (readonly [string, string, unknown?])[]) {
  const given: unknown[][] = [];
  for (const compiledReads of [false, true]) {
    const app = await start(kind, world, compiledReads);
    const own: unknown[] = [];
    for (const [method, path, json] of calls) {
      const { status, text } = await app.request(method, path, { json } as never);
      own.push([status, text]);
    }
    given.push(own);
  }
  return given as [unknown[], unknown[]];
}

async function expectSame(
  kind: (typeof databases)[number],
  world: World,
  calls: readonly (readonly [string, string, unknown?])[],
) {
  const [entities, rows] = await answers(kind, world, calls);
  expect(rows).toEqual(entities);
}

const reads = [
  ['GET', '/t/1.json'],
  ['GET', '/t.json'],
  ['GET', '/t.csv'],
] as const;

describe.each(databases)('a handler on %s', (kind) => {
  test('that fails while its transaction starts leaves no lock', async () => {
    const app = await start(kind, {
      work: async (controller, entity) => {
        entity.num = 5;
        await Promise.all([controller.em.flush(), Promise.reject(problem('bad_request', { reason: 'mail' }))]);
      },
    });
    expect((await app.request('POST', '/t/1/work.json', { json: {} })).status).toBe(400);
    await sleep(100);
    const patched = app.request('PATCH', '/t/1.json', { json: { num: 7 } }).then(({ status }) => status);
    expect(await Promise.race([patched, sleep(3000, 'still waiting')])).toBe(200);
  });

  test.each<[string, NonNullable<World['work']>]>([
    [
      'native updates at the same time',
      (controller, _entity, Thing) =>
        Promise.all([
          controller.em.nativeUpdate(Thing, { id: 1 }, { num: 50 }),
          controller.em.nativeUpdate(Thing, { id: 2 }, { num: 51 }),
        ]),
    ],
    [
      'a query builder',
      (controller, _entity, Thing) => controller.em.createQueryBuilder(Thing).update({ num: 50 }).where({ id: 1 }).execute(),
    ],
  ])('that fails writes nothing with %s', async (_name, write) => {
    const app = await start(kind, {
      work: async (controller, entity, Thing) => {
        await write(controller, entity, Thing);
        throw problem('bad_request', { reason: 'after the write' });
      },
    });
    expect((await app.request('POST', '/t/1/work.json', { json: {} })).status).toBe(400);
    expect((await app.request('GET', '/t.json')).text).not.toMatch(/"num":5/);
  });

  test('can flush twice at the same time', async () => {
    const app = await start(kind, {
      work: async (controller, entity) => {
        entity.num = 5;
        await Promise.all([controller.em.flush(), controller.em.flush()]);
      },
    });
    expect((await app.request('POST', '/t/1/work.json', { json: {} })).status).toBe(200);
    expect((await app.request('GET', '/t/1.json')).text).toContain('"num":5');
  });

  test('that catches a failed flush does not overwrite the conflicting change', async () => {
    const app = await start(kind, {
      work: async (controller, entity, Thing) => {
        await app.application.mapper.em.fork().nativeUpdate(Thing, { id: 1 } as never, { num: 1000 } as never);
        entity.num += 1;
        await controller.em.flush().catch(() => undefined);
        await controller.em.flush();
      },
    });
    const { status } = await app.request('POST', '/t/1/work.json', { json: {} });
    expect((await app.request('GET', '/t/1.json')).text).toContain('"num":1000');
    expect(status).toBe(409);
  });
});

describe.each(databases)('model code on %s', (kind) => {
  const one = {
    properties: ({ Place }: any) => ({ o: () => p.manyToOne(Place).nullable().groups('read', 'write') }),
    rows: ({ a }: any) => [{ o: a }],
  };
  const write = [['PATCH', '/t/1.json', { num: 2 }]] as const;

  test('can load a collection that contains a referenced row', async () => {
    const world: World = {
      properties: ({ Place }) => ({ o: () => p.manyToOne(Place).nullable(), os: () => p.manyToMany(Place) }),
      rows: ({ a, b }) => [{ o: a, os: [a, b] }],
      vote: async (subject) => (await subject.os.loadItems()).length === 2,
    };
    await expectSame(kind, world, [...write, ['GET', '/t/1.json']]);
  });

  test('validates a row that the body refers to', async () => {
    const world: World = {
      ...one,
      validate() {
        return this.o.name === 'B' ? [{ propertyPath: 'o', title: 'is B' }] : [];
      },
    };
    await expectSame(kind, world, [
      ['PATCH', '/t/1.json', { o: { id: 2 } }],
      ['PATCH', '/t/1.json', { o: { id: 77 } }],
    ]);
  });

  test('validates a wrapped reference of the body', async () => {
    const world: World = {
      properties: ({ Place }) => ({ o: () => p.manyToOne(Place).ref().nullable().groups('read', 'write') }),
      rows: ({ a }) => [{ o: a }],
      validate() {
        return this.o.unwrap().id === 9 ? [{ propertyPath: 'o', title: 'is 9' }] : [];
      },
    };
    await expectSame(kind, world, [['PATCH', '/t/1.json', { o: { id: 2 } }]]);
  });

  test('may correct a value during validation', async () => {
    const world: World = {
      validate() {
        this.name = this.name.trim();
        return [];
      },
    };
    await expectSame(kind, world, [['PATCH', '/t/1.json', { name: ' x ' }]]);
  });

  test('keeps changes within a JSON value', async () => {
    const world: World = {
      properties: () => ({ data: p.json<any>().groups('read') }),
      rows: () => [{ data: { a: 1 } }],
      validate() {
        this.data.checked = true;
        return [];
      },
    };
    await expectSame(kind, world, write);
  });

  const eager: World = {
    properties: ({ Place }) => ({ o: () => p.manyToOne(Place).eager().nullable() }),
    rows: ({ a }) => [{ o: a }],
  };
  test('reads an eager association in a getter', () => expectSame(kind, { ...eager, get: (self) => self.o.name }, reads));
  test('reads an eager association in a voter', () =>
    expectSame(kind, { ...eager, vote: (self) => self.o.name === 'A' }, [...write, ['GET', '/t/1.json']]));

  test('reads an eager collection in a getter', () =>
    expectSame(
      kind,
      {
        properties: ({ Place }) => ({ os: () => p.manyToMany(Place).eager() }),
        rows: ({ a }) => [{ os: [a] }],
        get: (self) => self.os.getItems().length,
      },
      reads,
    ));

  const formula: World = { properties: () => ({ twice: p.integer().formula('(num * 2)') }) };
  test('reads a formula in a getter', () => expectSame(kind, { ...formula, get: (self) => self.twice }, reads));
  test('reads a formula in a voter', () =>
    expectSame(kind, { ...formula, vote: (self) => self.twice > 0 }, [...write, ['GET', '/t/1.json']]));
  test('reads a formula in a rule', () =>
    expectSame(
      kind,
      {
        ...formula,
        validate() {
          return this.twice > 0 ? [] : [{ propertyPath: 'num', title: 'is low' }];
        },
      },
      write,
    ));

  test('reads a nullable embeddable if only its inner embeddable has values', () =>
    expectSame(
      kind,
      {
        properties: ({ Outer }) => ({ outer: () => p.embedded(Outer).nullable() }),
        rows: () => [{ outer: { inner: { x: 1 } } }],
        get: (self) => self.outer?.inner?.x,
      },
      reads,
    ));

  test('reads a JSON embeddable without its missing members', () =>
    expectSame(
      kind,
      {
        properties: ({ Kept }) => ({ kept: () => p.embedded(Kept).object() }),
        rows: () => [{ kept: { a: 'x' } }],
        get: (self) => Object.keys(self.kept),
      },
      reads,
    ));

  test('counts items in a getter, whatever fields are requested', async () => {
    const world: World = {
      properties: ({ Place }) => ({ places: () => p.manyToMany(Place).groups('read') }),
      rows: ({ a, b }) => [{ places: [a, b] }, { places: [a] }],
      get: (self) => self.places.length,
    };
    const asked = ['', '?fields=id,given', '?fields=given', '?fields=id,given,places.id', '?fields=id'];
    await expectSame(
      kind,
      world,
      asked.flatMap((query) => [
        ['GET', `/t.json${query}`],
        ['GET', `/t.csv${query}`],
      ]),
    );
  });

  test('reads a wrapped value', () =>
    expectSame(
      kind,
      { properties: () => ({ text: p.string().ref() }), rows: () => [{ text: 'x' }], get: (self) => self.text.unwrap() },
      reads,
    ));
});

describe.each(databases)('a new row of a model with code on %s', (kind) => {
  const referring: World = {
    properties: ({ Place }) => ({
      o: () => p.manyToOne(Place).groups('read', 'write'),
      copy: () =>
        p
          .manyToOne(Place)
          .nullable()
          .onCreate((self: any) => self.o)
          .groups('read'),
      label: p
        .string()
        .onCreate((self: any) => `${self.name} in ${self.o.name}`)
        .groups('read'),
      state: p.string().default('new').groups('read', 'write'),
      note: p.string().nullable().groups('read', 'write'),
    }),
    rows: ({ a }) => [{ o: a, label: 'x' }],
  };

  test('has the values that the model derives from the body and from referenced rows', async () => {
    await expectSame(kind, referring, [
      ['POST', '/t.json', { name: 'x', num: 1, o: { id: 2 } }],
      ['GET', '/t/2.json'],
      ['POST', '/t.json', { name: 'x', num: 1, o: { id: 2 }, state: 'old', note: null }],
      ['GET', '/t/3.json'],
      ['POST', '/t.json', { name: 'x', num: 1, o: { id: 77 } }],
      ['POST', '/t.json', { name: 'x', num: 1 }],
      ['POST', '/t.json', { name: 'x', num: 'y', o: { id: 1 } }],
    ]);
  });

  test('is validated by rules that read the whole row', async () => {
    const world: World = {
      ...referring,
      validate() {
        if (this.name === 'trim ') this.name = this.name.trim();
        if (this.state === 'new' && this.note === undefined) this.note = 'made';
        return this.o.name === 'B' && this.num > 5 ? [{ propertyPath: 'num', title: 'too much for B' }] : [];
      },
    };
    await expectSame(kind, world, [
      ['POST', '/t.json', { name: 'trim ', num: 9, o: { id: 1 } }],
      ['GET', '/t/2.json'],
      ['POST', '/t.json', { name: 'x', num: 9, o: { id: 2 } }],
      ['POST', '/t.json', { name: 'x', num: 2, o: { id: 2 }, note: 'given' }],
      ['GET', '/t.json'],
    ]);
  });

  test('has the getters of its class', async () => {
    const world: World = {
      get: (self) => `${self.name}!`,
      validate() {
        return this.given === 'no!' ? [{ propertyPath: 'name', title: 'is no' }] : [];
      },
    };
    await expectSame(kind, world, [
      ['POST', '/t.json', { name: 'no', num: 1 }],
      ['POST', '/t.json', { name: 'yes', num: 1 }],
    ]);
  });

  test('has empty collections before it is written', async () => {
    const world: World = {
      properties: ({ Place }) => ({ places: () => p.manyToMany(Place).groups('read') }),
      validate() {
        return this.places.length === 0 && this.places.isInitialized() ? [] : [{ propertyPath: 'places', title: 'not empty' }];
      },
    };
    await expectSame(kind, world, [['POST', '/t.json', { name: 'x', num: 1 }]]);
  });
});
