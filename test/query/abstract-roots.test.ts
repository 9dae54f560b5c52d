import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { partOf, Random, seed } from '../support/random.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

type Any = any;

const steps = Number(process.env.FC_RUNS ?? 1) * 12;

/** An abstract root that owns an association, and inverts those of its own classes, of another model and of another root. */
const Animal: Any = defineEntity({
  name: 'Animal',
  tableName: 'beasts',
  discriminatorColumn: 'kind',
  abstract: true,
  properties: {
    id: p.integer().primary().groups('read'),
    kind: p.string().groups('read'),
    name: p.string().groups('read', 'write'),
    toys: () => p.manyToMany(Toy).inversedBy('animals').pivotTable('played with').groups('read', 'write'),
    watchers: () => p.manyToMany(Dog).mappedBy('watched').groups('read', 'write'),
    keepers: () => p.manyToMany(Keeper).mappedBy('animals').groups('read', 'write'),
    places: () => p.manyToMany(Place).mappedBy('animals').groups('read', 'write'),
  },
} as never);
const Dog: Any = defineEntity({
  name: 'Dog',
  extends: Animal,
  discriminatorValue: 'dog',
  properties: { watched: () => p.manyToMany(Animal).inversedBy('watchers').pivotTable('dog_watches').groups('read', 'write') },
} as never);
const Cat: Any = defineEntity({
  name: 'Cat',
  extends: Animal,
  discriminatorValue: 'cat',
  properties: { claws: p.integer().nullable().groups('read', 'write') },
} as never);
const Toy: Any = defineEntity({
  name: 'Toy',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    animals: () => p.manyToMany(Animal).mappedBy('toys').groups('read', 'write'),
  },
} as never);
const Keeper: Any = defineEntity({
  name: 'Keeper',
  tableName: 'staff',
  properties: {
    id: p.integer().primary().fieldName('number').groups('read'),
    animals: () => p.manyToMany(Animal).inversedBy('keepers').groups('read', 'write'),
  },
} as never);
const Place: Any = defineEntity({
  name: 'Place',
  discriminatorColumn: 'type',
  abstract: true,
  properties: {
    id: p.integer().primary().groups('read'),
    type: p.string().groups('read'),
    animals: () => p.manyToMany(Animal).inversedBy('places').groups('read', 'write'),
  },
} as never);
const Farm: Any = defineEntity({ name: 'Farm', extends: Place, discriminatorValue: 'farm', properties: {} } as never);
const Zoo: Any = defineEntity({
  name: 'Zoo',
  extends: Place,
  discriminatorValue: 'zoo',
  properties: { tickets: p.integer().nullable().groups('read', 'write') },
} as never);

/** Each association with the name of its other side, if that is written as well. */
const sides = {
  toy: { animals: ['animal', 'toys'] },
  keeper: { animals: ['animal', 'keepers'] },
  place: { animals: ['animal', 'places'] },
  animal: {
    toys: ['toy', 'animals'],
    keepers: ['keeper', 'animals'],
    places: ['place', 'animals'],
    watchers: ['dog', 'watched'],
  },
  dog: { watched: ['animal', 'watchers'], toys: ['toy', 'animals'], keepers: ['keeper', 'animals'] },
} as Record<string, Record<string, readonly [string, string]>>;
const ids = { toy: [1, 2, 3], keeper: [1, 2], place: [1, 2, 3], animal: [1, 2, 3, 4], dog: [1, 2] } as Record<string, number[]>;
const typeOf = { animal: ['', 'dog', 'dog', 'cat', 'cat'], dog: ['', 'dog', 'dog'], place: ['', 'farm', 'zoo', 'zoo'] } as Record<
  string,
  string[]
>;
const classOf = { toy: Toy, keeper: Keeper, place: Place, animal: Animal, dog: Dog } as const;

const options = (url: string, compiledReads: boolean) => ({
  models: [Animal, Dog, Cat, Toy, Keeper, Place, Farm, Zoo],
  compiledReads,
  app_main: {
    database: { url, schema: 'update' },
    apis: Object.fromEntries(
      Object.entries(classOf).map(([name, type]) => [
        name,
        {
          class: type,
          base_path: `/${name}`,
          filters: Object.fromEntries(Object.keys(sides[name] as object).map((property) => [`${property}.id`, ['eq', 'ne']])),
          actions: {
            _index: null,
            _entity: { methods: { GET: true, PATCH: true, PUT: true } },
            ...Object.fromEntries(
              Object.entries(sides[name] as object).map(([property, [target]]) => [
                property,
                { methods: { POST: true, DELETE: true }, association: { property, types: [classOf[target as 'toy']] } },
              ]),
            ),
          },
        },
      ]),
    ),
  },
  seed: async (em: Any) => {
    for (const id of ids.animal as number[]) em.create(id < 3 ? Dog : Cat, { id, name: `animal ${id}` });
    for (const id of ids.toy as number[]) em.create(Toy, { id, name: `toy ${id}` });
    for (const id of ids.keeper as number[]) em.create(Keeper, { id });
    for (const id of ids.place as number[]) em.create(id === 1 ? Farm : Zoo, { id });
    await em.flush();
  },
});

/** The links, by the side that owns them: `keeper.animals`. */
class Links {
  readonly #pairs = new Map<string, Set<string>>();

  #of(side: string, property: string) {
    const inverse = (sides[side] as Any)[property] as [string, string];
    const one = side === 'dog' && property !== 'watched' ? 'animal' : side;
    const [target, other] = inverse;
    const isOwner = property === 'watched' || (other === 'toys' ? false : property === 'toys' || property === 'animals');
    const name = isOwner ? `${one}.${property}` : `${target}.${other}`;
    const pairs = this.#pairs.get(name) ?? new Set<string>();
    this.#pairs.set(name, pairs);
    return { pairs, text: (own: number, its: number) => (isOwner ? `${own},${its}` : `${its},${own}`), isOwner };
  }

  list(side: string, property: string, own: number): number[] {
    const { isOwner, pairs } = this.#of(side, property);
    const all = [...pairs].map((pair) => pair.split(',').map(Number) as [number, number]);
    return all.flatMap(([one, other]) => (isOwner ? (one === own ? [other] : []) : other === own ? [one] : [])).sort();
  }

  set(side: string, property: string, own: number, items: readonly number[]): void {
    const { pairs, text } = this.#of(side, property);
    for (const item of this.list(side, property, own)) pairs.delete(text(own, item));
    for (const item of items) pairs.add(text(own, item));
  }
}

describe.each(databases)(`associations of abstract roots on %s (TEST_SEED=${seed})`, (kind) => {
  describe.each(partOf([true, false], 2, databases.indexOf(kind)))('compiled: %s', (compiledReads) => {
    let database: FreshDatabase;
    let app: TestApplication;
    beforeAll(async () => {
      database = await freshDatabase(kind);
      app = await startApplication(options(database.url, compiledReads) as Any);
    });
    afterAll(async () => {
      await app?.close();
      await database?.drop();
    });

    test('show the links that requests to either side made', async () => {
      const random = new Random(seed);
      const links = new Links();
      const reference = (name: string, id: number) => ({ ...(typeOf[name] && { type: typeOf[name]?.[id] }), id });
      const idsOf = (items: Any[]) => items.map(({ id }) => id).sort();
      for (let step = 0; step < steps; step++) {
        const side = random.of(Object.keys(sides));
        const property = random.of(Object.keys(sides[side] as object));
        const [target] = (sides[side] as Any)[property] as [string, string];
        const id = random.of(ids[side] as number[]);
        const what = random.of(['patch', 'put', 'add', 'remove']);
        const items =
          what === 'patch' || what === 'put' ? random.some(ids[target] as number[]) : [random.of(ids[target] as number[])];
        const before = links.list(side, property, id);
        const path = `/${side}/${id}`;
        if (what === 'add' || what === 'remove') {
          const [item] = items as [number];
          const { json, status } = await app.request(what === 'add' ? 'POST' : 'DELETE', `${path}/${property}.json`, {
            json: reference(target, item),
          });
          expect([step, path, what, property, status, json]).toEqual([step, path, what, property, 200, json]);
          links.set(
            side,
            property,
            id,
            what === 'add' ? [...new Set([...before, item])] : before.filter((each) => each !== item),
          );
        } else {
          const current = (await app.request('GET', `${path}.json`)).json;
          const lists = Object.fromEntries(
            ['toys', 'animals', 'watchers', 'keepers', 'places', 'watched'].flatMap((name) =>
              Array.isArray(current[name])
                ? [
                    [
                      name,
                      current[name].map((item: Any) => ({
                        id: item.id,
                        ...(item.type && { type: item.type }),
                        ...(item.kind && { kind: item.kind }),
                      })),
                    ],
                  ]
                : [],
            ),
          );
          const list = items.map((item) => reference(target, item));
          const json =
            what === 'patch' ? { [property]: list } : { ...(current.name && { name: current.name }), ...lists, [property]: list };
          const { json: given, status } = await app.request(what.toUpperCase(), `${path}.json`, { json });
          expect([step, path, what, json, status, given]).toEqual([step, path, what, json, 200, given]);
          links.set(side, property, id, items);
          expect([step, path, property, idsOf(given[property])]).toEqual([step, path, property, links.list(side, property, id)]);
        }
        for (const name of Object.keys(sides))
          for (const row of (await app.request('GET', `/${name}.json`)).json.results)
            for (const each of Object.keys(sides[name] as object))
              expect([step, what, path, property, name, row.id, each, idsOf(row[each])]).toEqual([
                step,
                what,
                path,
                property,
                name,
                row.id,
                each,
                links.list(name, each, row.id),
              ]);
        const [filtered] = [random.of(ids[target] as number[])];
        const found = await app.request('GET', `/${side}.json?${property}.id=${filtered}`);
        const expected = (ids[side] as number[]).filter((each) => links.list(side, property, each).includes(filtered));
        expect([step, side, property, filtered, found.status, idsOf(found.json.results ?? [])]).toEqual([
          step,
          side,
          property,
          filtered,
          200,
          expected,
        ]);
      }
      const em = () => app.application.mapper.em.fork() as Any;
      for (const [side, properties] of Object.entries(sides))
        for (const property of Object.keys(properties)) {
          const type = classOf[side as 'toy'];
          const all = (ids[side] as number[]).map((id) => [id, links.list(side, property, id)]);
          const some = all.filter(([, linked]) => (linked as number[]).includes(1)).map(([id]) => id);
          const listed = (rows: Any[]) => rows.map((row) => [row.id, row[property].getIdentifiers().sort()]);
          const joined = (method: string) =>
            em().createQueryBuilder(type, 'e')[method](`e.${property}`, 'other').orderBy({ id: 1 });
          expect([side, property, listed(await em().find(type, {}, { populate: [property], orderBy: { id: 1 } }))]).toEqual([
            side,
            property,
            all,
          ]);
          expect([side, property, listed(await joined('leftJoinAndSelect').getResult())]).toEqual([side, property, all]);
          expect(idsOf(await em().find(type, { [property]: { id: 1 } }))).toEqual(some);
          expect(idsOf(await joined('innerJoin').where({ 'other.id': 1 }).getResult())).toEqual(some);
        }
    });
  });
});
