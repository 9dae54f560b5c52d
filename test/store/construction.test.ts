import { randomUUID } from 'node:crypto';
import { Collection, defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, beforeEach, describe, expect } from 'vitest';
import { routeStores } from '../../src/inspect/stores.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { test } from '../support/halves.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const calls = { constructor: 0, validate: 0 };

const Tag = defineEntity({
  name: 'Tag',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read', 'write') },
});

const NoteSchema = defineEntity({
  name: 'Note',
  properties: {
    id: p.uuid().primary().groups('read'),
    title: p.string().groups('read', 'write'),
    state: p.string().groups('read', 'write'),
    hint: p.string().nullable().default('by default').groups('read'),
    made: p.datetime(3).groups('read'),
    level: p.integer().nullable().groups('read', 'write'),
    stamp: p
      .string()
      .onCreate(() => 'stamped')
      .groups('read'),
    label: p.string().persist(false).getter().groups('read'),
    tags: () => p.manyToMany(Tag).groups('read', 'write'),
  },
});
/** A constructor, initializers, a getter and a method, as in many models. */
class Note extends NoteSchema.class {
  override id = randomUUID();
  override state = 'draft';
  override hint: string | null = null;
  override stamp = null as never;
  override tags = new Collection<object>(this as never) as never;

  constructor() {
    super();
    calls.constructor++;
    this.made = new Date(5);
    if (calls.constructor < 0) this.level = 1;
  }

  override get label(): string {
    return `note ${this.title}`;
  }

  publish(): void {
    this.state = 'published';
  }
}
NoteSchema.setClass(Note as never);

const RuledSchema = defineEntity({
  name: 'Ruled',
  properties: {
    id: p.uuid().primary().groups('read'),
    title: p.string().groups('read', 'write'),
    state: p.string().groups('read', 'write'),
    size: p.integer().nullable().groups('read'),
    tag: () => p.manyToOne(Tag).nullable().groups('read', 'write'),
  },
});
class Ruled extends RuledSchema.class {
  override id = randomUUID();
  override state = 'draft';
  #tagged = 0;

  validate(): { propertyPath: string; title: string }[] {
    calls.validate++;
    this.#tagged = (this.tag as unknown as { name: string } | null)?.name.length ?? 0;
    this.size = this.title.length + this.#tagged;
    return this.state === 'wrong' ? [{ propertyPath: 'state', title: 'is wrong' }] : [];
  }
}
RuledSchema.setClass(Ruled as never);

/** The keys that the model makes go down. */
let lastKey = 1000;
const KeyedSchema = defineEntity({
  name: 'Keyed',
  properties: {
    id: p
      .integer()
      .primary()
      .onCreate(() => --lastKey)
      .groups('read'),
    title: p.string().groups('read', 'write'),
    slug: p.string().nullable().groups('read'),
  },
});
class Keyed extends KeyedSchema.class {
  validate(): { propertyPath: string; title: string }[] {
    calls.validate++;
    this.slug = `${this.id} ${this.title}`;
    return [];
  }
}
KeyedSchema.setClass(Keyed as never);
const Numbered = defineEntity({
  name: 'Numbered',
  properties: {
    id: p
      .integer()
      .primary()
      .onCreate(() => --lastKey)
      .groups('read'),
    title: p.string().groups('read', 'write'),
  },
});

const ParameterSchema = defineEntity({
  name: 'Given',
  properties: { id: p.integer().primary().groups('read'), title: p.string().groups('read', 'write') },
});
class Given extends ParameterSchema.class {
  constructor(title: string) {
    super();
    this.title = `${title}!`;
  }
}
ParameterSchema.setClass(Given as never);

describe.each(databases)('the constructor of a model, on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  const reasons = new Map<string, string | null>();
  beforeAll(async () => {
    database = await freshDatabase(kind);
    const methods = { GET: true, POST: true };
    app = await startApplication({
      models: [Tag, Note as never, Ruled as never, Given as never, Keyed as never, Numbered],
      app_main: {
        database: { url: database.url, schema: 'update' },
        apis: {
          note: { class: Note, base_path: '/note', actions: { _index: { methods }, _entity: { requirements: { id: '.+' } } } },
          ruled: { class: Ruled, base_path: '/ruled', actions: { _index: { methods }, _entity: { requirements: { id: '.+' } } } },
          keyed: { class: Keyed, base_path: '/keyed', actions: { _index: { methods, bulk: { POST: true } }, _entity: null } },
          numbered: {
            class: Numbered,
            base_path: '/numbered',
            actions: { _index: { methods, bulk: { POST: true } }, _entity: null },
          },
          given: { class: Given, base_path: '/given', actions: { _index: { methods } } },
        },
      },
    });
    for (const { record, method, reason } of await routeStores(app.application))
      if (method === 'POST') reasons.set(record.api?.name ?? '', reason);
    await app.application.mapper.em.fork().insert(Tag, { id: 1, name: 'red' } as never);
  });
  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });
  beforeEach(() => Object.assign(calls, { constructor: 0, validate: 0 }));

  test('leaves creation to compiled statements, unless it has parameters', () => {
    expect(Object.fromEntries(reasons)).toEqual({
      note: null,
      ruled: null,
      keyed: null,
      numbered: null,
      given: 'the constructor of Given has parameters',
    });
  });

  const post = (path: string, json: object) => app.request('POST', path, { json });

  test('runs once for a new row, and its values are stored', async () => {
    const made = await post('/note.json', { title: 'a' });
    expect(made.status).toBe(201);
    expect(calls.constructor).toBe(1);
    expect(made.json).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      title: 'a',
      state: 'draft',
      hint: null,
      made: '1970-01-01T00:00:00.005Z',
      level: null,
      stamp: 'stamped',
      label: 'note a',
      tags: [],
    });
    expect((await app.request('GET', `/note/${made.json.id}.json`)).json).toEqual(made.json);
  });

  test('gives way to the body', async () => {
    expect((await post('/note.json', { title: 'b', state: 'sent', level: 3 })).json).toMatchObject({ state: 'sent', level: 3 });
  });

  test('runs before the rules, which see its values and those of the body', async () => {
    const made = await post('/ruled.json', { title: 'abc', tag: { id: 1 } });
    expect(made.json).toMatchObject({ state: 'draft', size: 6, tag: { id: 1 } });
    expect(calls.validate).toBe(1);
    expect((await app.request('GET', `/ruled/${made.json.id}.json`)).json).toEqual(made.json);
    const before = (await app.request('GET', '/ruled.json')).json.count;
    expect((await post('/ruled.json', { title: 'abc', state: 'wrong' })).status).toBe(422);
    expect((await app.request('GET', '/ruled.json')).json.count).toBe(before);
  });

  test('leaves keys to onCreate, which rules see', async () => {
    const { json } = await post('/keyed.json', { title: 'a' });
    expect(json).toEqual({ id: lastKey, title: 'a', slug: `${lastKey} a` });
    expect(calls.validate).toBe(1);
  });

  test.each(['/keyed.json', '/numbered.json'])(
    'returns lists with keys of its own in the order of the request: %s',
    async (path) => {
      const { json, status } = await app.request('POST', path, { json: [{ title: 'a' }, { title: 'b' }, { title: 'c' }] });
      expect([status, json.results.map(({ title }: { title: string }) => title)]).toEqual([201, ['a', 'b', 'c']]);
    },
  );

  test('receives its parameters', async () => {
    expect((await post('/given.json', { title: 'c' })).json).toMatchObject({ title: 'c!' });
  });
});
