import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ApiController, Voter } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

type Any = any;

const Tag = defineEntity({ name: 'Tag', properties: { id: p.integer().primary().groups('read') } });
/** Each of its classes has a table of its own, and a pivot table of its own. */
const Animal: Any = defineEntity({
  name: 'Animal',
  inheritance: 'tpt',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    tags: () => p.manyToMany(Tag).groups('read', 'write'),
    home: () => (p.manyToOne(Home) as Any).nullable().groups('write'),
  },
} as Any);
const Cat: Any = defineEntity({
  name: 'Cat',
  extends: Animal,
  properties: { lives: p.integer().nullable().groups('read', 'write') },
} as Any);
const Dog: Any = defineEntity({ name: 'Dog', extends: Animal, properties: {} } as Any);
const Home: Any = defineEntity({
  name: 'Home',
  properties: {
    id: p.integer().primary().groups('read'),
    animals: () => (p.oneToMany(Animal) as Any).mappedBy('home'),
  },
} as Any);

/** Makes its API write entities. */
class HookedController extends ApiController {
  override afterCommit(): void {}
}

/** The tags of each animal that a voter sees. */
const seen = new Map<string, number[]>();
function see(animals: Iterable<Any>) {
  for (const { name, tags } of animals)
    seen.set(
      name,
      [...tags].map(({ id }: Any) => id),
    );
}
class AnimalVoter extends Voter<Any> {
  static override roles = ['TAGGED'];
  static override loads = ['tags'];
  override vote(_role: string, subject: Any) {
    if (subject) see([subject]);
    return 'grant' as const;
  }
}
class HomeVoter extends Voter<Any> {
  static override roles = ['HOME'];
  static override loads = ['animals.tags'];
  override vote(_role: string, subject: Any) {
    if (subject) see(subject.animals);
    return 'grant' as const;
  }
}

const classes = ['cat', 'dog', 'animal'];

describe.each(databases)('rows of classes with their own tables on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  beforeAll(async () => {
    database = await freshDatabase(kind);
    const actions = {
      _index: { methods: { GET: true, POST: true }, bulk: { POST: true, PATCH: true } },
      _entity: { methods: { GET: true, PATCH: true } },
    };
    app = await startApplication({
      app_main: {
        database: { url: database.url, schema: 'update' },
        apis: {
          animal: { class: 'Animal', base_path: '/animal', actions },
          hooked: { class: 'Animal', controller: 'HookedController', base_path: '/hooked', actions },
          voted: { class: 'Animal', base_role: 'TAGGED', base_path: '/voted', actions },
          home: { class: 'Home', base_role: 'HOME', base_path: '/home', actions: { _entity: { methods: { GET: true } } } },
        },
      } as never,
      models: [Tag, Animal, Cat, Dog, Home],
      controllers: [HookedController],
      voters: [AnimalVoter, HomeVoter],
      seed: async (em) => {
        await em.insertMany(
          Tag,
          [1, 2, 3, 4].map((id) => ({ id })),
        );
        await em.insertMany(Home, [{ id: 1 }]);
      },
    });
  });
  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });
  beforeEach(() => seen.clear());

  const sent = async (method: string, path: string, json: unknown) => {
    const { json: body, status } = await app.request(method, path, { json: json as object });
    expect([status, status >= 400 && body]).toEqual([method === 'POST' ? 201 : 200, false]);
    return body.results as Any[];
  };
  const refs = (ids: readonly number[]) => ids.map((id) => ({ id }));
  const create = (path: string, tags: readonly number[]) =>
    sent(
      'POST',
      path,
      Array.from({ length: 12 }, (_, i) => ({ type: classes[i % 3], name: `${path} ${i}`, tags: refs(tags), home: { id: 1 } })),
    );

  test.each(['animal', 'hooked', 'voted'])('keep, get and lose links by one PATCH of many: /%s', async (name) => {
    const path = `/${name}.json`;
    const rows = await create(path, [1, 2]);
    for (const [tags, count] of [
      [[2, 3], 12],
      [[2, 3, 4], 4],
      [[1], 12],
    ] as const) {
      const body = rows.slice(0, count).map(({ id }) => ({ id, name: `${count} ${id}`, tags: refs(tags) }));
      expect(await sent('PATCH', path, body)).toMatchObject(body);
      const ids = new Set(body.map(({ id }) => id));
      const stored = (await app.request('GET', `${path}?items_per_page=100`)).json.results as Any[];
      expect(stored.filter(({ id }) => ids.has(id))).toMatchObject(body);
    }
  });

  test('have all their links if a voter has them loaded', async () => {
    const rows = await create('/voted.json', [2, 4]);
    const expected = Object.fromEntries(rows.map(({ name }) => [name, [2, 4]]));
    seen.clear();
    await sent(
      'PATCH',
      '/voted.json',
      rows.map(({ id, name }) => ({ id, name })),
    );
    expect(Object.fromEntries(seen)).toEqual(expected);
    seen.clear();
    expect((await app.request('GET', '/home/1.json')).status).toBe(200);
    expect(Object.fromEntries(seen)).toMatchObject(expected);
  });
});
