import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { databases, freshDatabase } from '../support/databases.ts';
import { numbersOn, Random, seed } from '../support/random.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

type Any = any;

const cases = Number(process.env.FC_RUNS ?? 1);
const requests = process.env.FC_RUNS ? 30 : 8;

const both = ['read', 'write'] as const;

const Size: Any = defineEntity({
  name: 'Size',
  embeddable: true,
  properties: {
    width: p
      .integer()
      .nullable()
      .groups(...both),
    unit: p
      .string()
      .nullable()
      .groups(...both),
  },
} as Any);
const Tag: Any = defineEntity({
  name: 'Tag',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p
      .string()
      .nullable()
      .groups(...both),
    revision: p.integer().version().groups('read'),
    notes: () => (p.manyToMany(Note) as Any).mappedBy('tags').groups(...both),
  },
} as Any);
/** Refers to itself, embeds objects in each way, and has columns whose names need quotes. */
const Note: Any = defineEntity({
  name: 'Note',
  properties: {
    id: p.integer().primary().groups('read'),
    code: p
      .string()
      .unique()
      .nullable()
      .groups(...both),
    title: p
      .string()
      .serializedName('headline')
      .fieldName('the title')
      .groups(...both),
    size: () => (p.embedded(Size) as Any).nullable().groups(...both),
    sizes: () =>
      (p.embedded(Size) as Any)
        .array()
        .nullable()
        .groups(...both),
    stored: () =>
      (p.embedded(Size) as Any)
        .object()
        .nullable()
        .groups(...both),
    length: p
      .integer()
      .formula((columns: Any) => `length(${columns.code})`)
      .groups('read'),
    parent: () => (p.manyToOne(Note) as Any).nullable().groups(...both),
    children: () => (p.oneToMany(Note) as Any).mappedBy('parent'),
    pet: () => (p.oneToOne(Pet) as Any).nullable().owner(),
    tags: () => (p.manyToMany(Tag) as Any).inversedBy('notes').groups(...both),
    friends: () => (p.manyToMany(Note) as Any).groups(...both),
    revision: p.integer().version().serializedName('number').fieldName('re vision').groups('read'),
  },
} as Any);
/** The side without a column of a one-to-one association. */
const Pet: Any = defineEntity({
  name: 'Pet',
  properties: {
    id: p
      .uuid()
      .primary()
      .onCreate(() => crypto.randomUUID()),
    keeper: () => (p.oneToOne(Note) as Any).mappedBy('pet'),
    changed: p.datetime(3).version(),
  },
} as Any);
/** A table for each type. */
const Being: Any = defineEntity({
  name: 'Being',
  inheritance: 'tpt',
  abstract: true,
  properties: {
    id: p.integer().primary().groups('read'),
    name: p
      .string()
      .nullable()
      .groups(...both),
    revision: p.integer().version().groups('read'),
  },
} as Any);
const Human: Any = defineEntity({
  name: 'Human',
  extends: Being,
  properties: {
    job: p
      .string()
      .nullable()
      .groups(...both),
    home: () => (p.manyToOne(Note) as Any).nullable().groups(...both),
  },
} as Any);
const Robot: Any = defineEntity({
  name: 'Robot',
  extends: Being,
  properties: { tags: () => (p.manyToMany(Tag) as Any).groups(...both) },
} as Any);
/** Has a key of several columns, and is removed with its note. */
const Slot: Any = defineEntity({
  name: 'Slot',
  properties: {
    note: () =>
      (p.manyToOne(Note) as Any)
        .primary()
        .deleteRule('cascade')
        .groups(...both),
    place: p
      .integer()
      .primary()
      .groups(...both),
    text: p
      .string()
      .nullable()
      .groups(...both),
    helper: () => (p.manyToOne(Human) as Any).nullable().groups(...both),
    tags: () => (p.manyToMany(Tag) as Any).groups(...both),
    revision: p.integer().version().groups('read'),
  },
} as Any);

const links: Record<string, readonly string[]> = {
  tag: ['notes'],
  note: ['tags', 'friends', 'children'],
  human: [],
  robot: ['tags'],
  slot: ['tags'],
};
const classes = { tag: Tag, note: Note, human: Human, robot: Robot, slot: Slot } as const;
type Name = keyof typeof classes;

const actions = {
  _index: { methods: { GET: true, POST: true }, bulk: { POST: true, PATCH: true, DELETE: true } },
  _entity: { methods: { GET: true, PATCH: true, PUT: true, DELETE: true } },
} as const;

function options(url: string, compiledReads: boolean): Any {
  const apis = Object.entries(classes).map(([name, type]) => {
    const association = (property: string) => ({ methods: { POST: true, DELETE: true }, association: { property } });
    const own = Object.fromEntries((links[name] ?? []).map((property) => [property, association(property)]));
    return [name, { class: type, base_path: `/${name}`, actions: { ...actions, ...own } }];
  });
  return {
    models: [Size, Tag, Note, Pet, Being, Human, Robot, Slot],
    compiledReads,
    app_main: { database: { url, schema: 'update' }, apis: Object.fromEntries(apis) },
    seed: async (em: Any) => {
      for (let i = 1; i <= 3; i++) em.create(Tag, { name: `tag ${i}` });
      await em.flush();
      for (let i = 1; i <= 4; i++)
        em.create(Note, {
          title: `note ${i}`,
          code: i < 3 ? `c${i}` : null,
          tags: i === 1 ? [1, 2] : [],
          pet: em.create(Pet, {}),
        });
      await em.flush();
      for (const home of [1, 2]) em.create(Human, { home });
      em.create(Robot, { tags: [1] });
      await em.flush();
      for (const note of [1, 2, 3]) em.create(Slot, { note, place: 1, helper: 1 });
      await em.flush();
    },
  };
}

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly json?: unknown;
  /** The row whose tag `If-Match` has, if it has one. */
  readonly row: string;
  readonly match: 'none' | 'current' | 'first';
}

function randomRequest(random: Random): Asked {
  const reference = (most: number) => (random.chance(0.2) ? null : { id: 1 + random.below(most) });
  const references = (most: number) => random.some([1, 2, 3, 4].slice(0, most)).map((id) => ({ id }));
  const size = () => random.of<unknown>([null, {}, { width: random.below(3) }, { unit: 'm' }, { width: 1, unit: 'm' }]);
  const text = () => random.of(['a', 'A', 'a ', 'b']);
  const fields: Record<Name, Record<string, () => unknown>> = {
    tag: { name: text, notes: () => references(4) },
    note: {
      headline: text,
      code: () => random.of(['c1', 'c2', 'c9', null]),
      size,
      stored: size,
      sizes: () => random.of<unknown>([null, [], [{ width: random.below(2) }]]),
      parent: () => reference(4),
      tags: () => references(3),
      friends: () => references(4),
    },
    human: { name: text, job: text, home: () => reference(4) },
    robot: { name: text, tags: () => references(3) },
    slot: { text, helper: () => reference(2), tags: () => references(3) },
  };
  const name = random.of<Name>(['tag', 'note', 'note', 'note', 'human', 'robot', 'slot', 'slot']);
  const body = (share: number) =>
    Object.fromEntries(Object.entries(fields[name]).flatMap(([key, value]) => (random.chance(share) ? [[key, value()]] : [])));
  const number = name === 'robot' ? 3 : 1 + random.below(name === 'note' ? 4 : name === 'tag' ? 3 : 2);
  const id = name === 'slot' ? `${number},1` : number;
  const key = name === 'slot' ? { note: { id: number }, place: 1 } : { id };
  const [row, list] = [`/${name}/${id}.json`, `/${name}.json`];
  const whole = { ...(name === 'note' && { headline: 'put' }), ...body(0.7) };
  const link = links[name]?.length ? `/${name}/${id}/${random.of(links[name])}.json` : null;
  const asked = random.of<() => Pick<Asked, 'json' | 'method' | 'path'>>([
    () => ({ method: 'PATCH', path: row, json: body(0.4) }),
    () => ({ method: 'PATCH', path: row, json: body(0.4) }),
    () => ({ method: 'PATCH', path: list, json: [{ ...key, ...body(0.4) }] }),
    () => ({ method: 'PUT', path: row, json: whole }),
    () => ({ method: 'POST', path: list, json: { ...whole, ...(name === 'slot' && key) } }),
    () => ({ method: 'DELETE', path: random.chance(0.5) ? row : '/note/4.json' }),
    () => ({ method: random.of(['POST', 'DELETE']), path: link ?? row, json: { id: 1 + random.below(3) } }),
  ])();
  return { ...asked, row, match: random.of(['none', 'none', 'current', 'first']) };
}

/** An application with the tags that rows had when they were first asked for. */
class Side {
  readonly #app: TestApplication;
  readonly #first = new Map<string, string>();

  constructor(app: TestApplication) {
    this.#app = app;
  }

  /** The response to a request, and all rows after it. The tags of two applications differ. */
  async outcome({ json, match, method, path, row }: Asked) {
    const current = (await this.#app.request('GET', row)).headers.get('etag');
    if (current && !this.#first.has(row)) this.#first.set(row, current);
    const tag = match === 'none' ? null : match === 'current' ? current : (this.#first.get(row) ?? null);
    const headers = tag === null ? {} : { 'if-match': tag };
    const sent = await this.#app.request(method, path, { headers, ...(json !== undefined && { json }) });
    expect([method, path, sent.status < 500]).toEqual([method, path, true]);
    const rows: Record<string, unknown> = {};
    for (const name of Object.keys(classes)) rows[name] = (await this.#app.request('GET', `/${name}.json`)).json.results;
    expect(Object.values(rows)).not.toContain(undefined);
    const etag = String(sent.headers.get('etag')).replace(/[0-9a-f]{16}/g, '#');
    return { status: sent.status, json: sent.json, etag, rows };
  }
}

describe.each(databases)('models with versions on %s', (kind) => {
  test.each(numbersOn(kind, cases))(
    'are written alike by statements and through entities: case %i',
    async (number) => {
      const random = new Random(seed + number * 977);
      const fresh = [await freshDatabase(kind), await freshDatabase(kind)] as const;
      const apps: TestApplication[] = [];
      try {
        for (const [i, { url }] of fresh.entries()) apps.push(await startApplication(options(url, i === 0)));
        const [compiled, plain] = apps.map((app) => new Side(app)) as [Side, Side];
        for (let i = 0; i < requests; i++) {
          const asked = randomRequest(random);
          // a repeated request finds the values that it sends
          for (let times = random.of([1, 1, 2]); times > 0; times--) {
            const expected = await plain.outcome(asked);
            expect({ seed, number, i, asked, ...(await compiled.outcome(asked)) }).toEqual({
              seed,
              number,
              i,
              asked,
              ...expected,
            });
          }
        }
      } finally {
        for (const app of apps) await app.close();
        for (const each of fresh) await each.drop();
      }
    },
    600_000,
  );
});
