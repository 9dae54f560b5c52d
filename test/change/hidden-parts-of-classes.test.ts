// @module-tag divided
import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { useApplication } from '../spec/fixtures/use-application.ts';
import { databases } from '../support/databases.ts';

type Any = any;

const rw = ['read', 'write'] as const;

/** Cats and dogs are embedded, each with a chip that no body can set. */
function modelsOf() {
  const Pet: Any = defineEntity({
    name: 'Pet',
    abstract: true,
    embeddable: true,
    discriminatorColumn: 'kind',
    properties: {
      kind: p.enum(['cat', 'dog']).groups('read'),
      name: p
        .string()
        .nullable()
        .groups(...rw),
      chip: p.string().nullable(),
    },
  } as Any);
  const of = (name: string, properties: Any): Any =>
    defineEntity({ name, embeddable: true, extends: Pet, discriminatorValue: name.toLowerCase(), properties } as Any);
  const Cat = of('Cat', {
    lives: p
      .integer()
      .nullable()
      .groups(...rw),
  });
  const Dog = of('Dog', {});
  const Owner = defineEntity({
    name: 'Owner',
    properties: {
      id: p.integer().primary().groups('read'),
      first: () => (p.embedded([Cat, Dog] as never) as Any).nullable().groups(...rw),
      second: () =>
        (p.embedded([Cat, Dog] as never) as Any)
          .object()
          .nullable()
          .groups(...rw),
      pets: () => (p.embedded([Cat, Dog] as never) as Any).array().groups(...rw),
    },
  });
  return { Owner, Pet, Cat, Dog };
}

describe.each(databases)('hidden parts of embedded objects of several classes on %s', (kind) => {
  const { Owner, Pet, Cat, Dog } = modelsOf();
  const cat = { kind: 'cat', name: 'x', chip: 'of a cat', lives: 9 };
  const dog = { kind: 'dog', name: 'x', chip: 'of a dog' };
  const actions = { _entity: { methods: { GET: true, PATCH: true, PUT: true } } } as const;
  const running = useApplication(kind, {
    app_main: { apis: { owner: { class: Owner, base_path: '/owner', actions } } },
    models: [Owner, Pet, Cat, Dog],
    seed: async (em: Any) => {
      for (let id = 1; id <= 6; id++) em.create(Owner as Any, { first: cat, second: dog, pets: [cat, dog] });
      await em.flush();
    },
  } as Any);
  const stored = async (id: number): Promise<Any> => {
    const found: Any = await running.app.application.mapper.em.fork().findOneOrFail(Owner as Any, id);
    return JSON.parse(JSON.stringify({ first: found.first, second: found.second, pets: found.pets }));
  };

  test.each([
    ['PATCH', 1],
    ['PUT', 2],
  ] as const)('stay if %s sends back what was read', async (method, id) => {
    const { id: _, ...json } = (await running.request('GET', `/owner/${id}.json`)).json as Any;
    const changed = await running.request(method, `/owner/${id}.json`, { json });
    expect([changed.status, changed.json]).toEqual([200, { id, ...json }]);
    expect(await stored(id)).toEqual({ first: cat, second: dog, pets: [cat, dog] });
  });

  test.each([
    ['PATCH', 3, { first: null, second: null }],
    ['PUT', 4, { pets: [] }],
  ] as const)('stay if %s %# clears the objects, which keep their classes', async (method, id, json) => {
    const changed = await running.request(method, `/owner/${id}.json`, { json });
    expect(changed.json).toMatchObject({ first: { kind: 'cat', name: null, lives: null }, second: { kind: 'dog', name: null } });
    const { first, second } = await stored(id);
    expect([first, second]).toEqual([
      { ...cat, name: null, lives: null },
      { ...dog, name: null },
    ]);
  });

  test('stay with the item of the same class that looks the same', async () => {
    const json = {
      pets: [
        { kind: 'dog', name: 'x' },
        { kind: 'cat', name: 'x' },
        { kind: 'cat', name: 'x', lives: 9 },
      ],
    };
    expect((await running.request('PATCH', '/owner/5.json', { json })).status).toBe(200);
    const chips = (await stored(5)).pets.map(({ chip }: Any) => chip ?? null);
    expect(chips).toEqual(['of a dog', null, 'of a cat']);
  });

  test('are lost if an object of another class replaces theirs', async () => {
    const json = { first: { kind: 'dog', name: 'y' } };
    expect((await running.request('PATCH', '/owner/6.json', { json })).status).toBe(200);
    expect((await stored(6)).first.chip ?? null).toBeNull();
  });
});
