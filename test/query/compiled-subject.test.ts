import { inspect } from 'node:util';
import { defineEntity, helper, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { type Vote, Voter } from '../../src/access/voter.ts';
import { databases, freshDatabase } from '../support/databases.ts';
import { startApplication } from '../support/testing.ts';

const Place = defineEntity({
  name: 'Place',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read') },
});
const Owner = defineEntity({
  name: 'Owner',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read') },
});
const Size = defineEntity({
  name: 'Size',
  embeddable: true,
  properties: { width: p.integer(), height: p.bigint().nullable() },
});
const Item = defineEntity({
  name: 'Item',
  abstract: true,
  discriminator: 'type',
  properties: {
    id: p.bigint().primary().groups('read'),
    type: p.string().groups('read'),
    name: p.string().groups('read'),
    secret: p.string().nullable(),
    count: p.integer().nullable(),
    wide: p.bigint().nullable(),
    price: p.decimal().precision(8).scale(2).nullable(),
    weight: p.double().nullable(),
    ratio: p.float().nullable(),
    hour: p.time().nullable(),
    token: p.uuid().nullable(),
    open: p.boolean().nullable(),
    day: p.date().nullable(),
    at: p.datetime(3).nullable(),
    data: p.json<unknown>().nullable(),
    level: p.enum([1, 2]).nullable(),
    marks: p.enum(['new', 'used']).array().nullable(),
    words: p.array().nullable(),
    size: () => p.embedded(Size).nullable(),
    place: () => p.manyToOne(Place).nullable().groups('read'),
    holder: () => p.manyToOne([Place, Owner]).nullable(),
  },
});
const Box = defineEntity({ name: 'Box', extends: Item, discriminatorValue: 'box', properties: { lid: p.boolean().nullable() } });
const Bag = defineEntity({
  name: 'Bag',
  extends: Item,
  discriminatorValue: 'bag',
  properties: { handles: p.integer().nullable() },
});

describe.each(databases)('the subject of a voter on %s', (kind) => {
  test('is the same whether the mapper or a compiled read loads it', async () => {
    const database = await freshDatabase(kind);
    const judged: unknown[] = [];
    class ItemVoter extends Voter<object> {
      static override roles = ['ITEM'];
      override async vote(_role: string, subject: object | null): Promise<Vote> {
        const item = subject as Record<string, unknown>;
        const { place, holder, ...own } = Object.fromEntries(Object.entries(item)) as typeof item;
        judged.push({
          class: subject?.constructor.name,
          own,
          place: place && [place.constructor.name, helper(place).getPrimaryKey(), helper(place).isInitialized()],
          holder: holder && [holder.constructor.name, helper(holder).getPrimaryKey()],
          // what a voter can load
          loaded: place && (await helper(place).init()) && (place as { name: string }).name,
        });
        return item.secret === 'no' ? 'deny' : 'grant';
      }
    }
    const application = {
      app_main: { apis: { item: { class: Item, base_path: '/items', base_role: 'ITEM', actions: { _entity: null } } } },
      models: [Item, Box, Bag, Place, Owner, Size],
      voters: [ItemVoter],
      databaseUrl: database.url,
      seed: async (em: { create(...args: unknown[]): unknown }) => {
        const place = em.create(Place, { name: 'here' });
        const holder = em.create(Owner, { name: 'me' });
        em.create(Box, {
          name: 'full',
          count: 3,
          wide: 9007199254740993n,
          price: '12.50',
          weight: 0.1,
          ratio: 0.5,
          hour: '13:45:00',
          token: '3f1f9a6e-6f0b-4a43-9d0c-5b8f2f3f7a11',
          open: true,
          day: '2026-11-15',
          at: new Date('2026-11-15T01:02:03.456Z'),
          data: { a: [1, null, 'x'] },
          level: 2,
          marks: ['used', 'new'],
          words: ['a', 'b, "c"'],
          size: { width: 1, height: 5n },
          place,
          holder,
          lid: false,
        });
        em.create(Bag, { name: 'empty', handles: 2 });
        em.create(Bag, { name: 'hidden', secret: 'no' });
      },
    };
    const answers: unknown[] = [];
    for (const compiledReads of [false, true]) {
      const app = await startApplication({ ...application, compiledReads } as never);
      try {
        for (const id of [1, 2, 3, 4]) {
          const { status, text } = await app.request('GET', `/items/${id}.json`);
          answers.push([status, text]);
        }
        // the voter's own reads, and none that fetched the entity before it
        if (compiledReads) expect(app.statements.filter((sql) => /\bas (e0|i0)\b/.test(sql))).toEqual([]);
      } finally {
        await app.close();
      }
    }
    await database.drop();
    expect(answers.map((answer) => (answer as number[])[0])).toEqual([200, 200, 401, 404, 200, 200, 401, 404]);
    expect(answers.slice(4)).toEqual(answers.slice(0, 4));
    expect(judged).toHaveLength(6);
    // as texts: objects of MikroORM cannot be printed side by side
    expect(judged.slice(3).map((each) => inspect(each, { depth: 5 }))).toEqual(
      judged.slice(0, 3).map((each) => inspect(each, { depth: 5 })),
    );
    expect(judged[0]).toMatchObject({ loaded: 'here' });
    expect(judged[0]).toMatchObject({ class: 'Box', own: { count: 3, wide: 9007199254740993n, open: true } });
  });
});
