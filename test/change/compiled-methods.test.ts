import { type Collection, defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { databases, freshDatabase } from '../support/databases.ts';
import { partOf } from '../support/random.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

type Any = any;

function models() {
  const Tag = defineEntity({
    name: 'Tag',
    properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read'), details: p.json().nullable() },
  } as Any);
  const schema = defineEntity({
    name: 'Box',
    properties: {
      id: p.integer().primary().groups('read'),
      size: p.integer().default(0).groups('read'),
      settings: p.json().nullable(),
      plain: () => p.manyToMany(Tag).groups('read'),
      counted: () => p.manyToMany(Tag),
      chained: () => p.manyToMany(Tag),
      single: () => p.manyToMany(Tag).groups('read'),
      made: () => p.manyToMany(Tag),
      failing: () => p.manyToMany(Tag).groups('read'),
      late: () => p.manyToMany(Tag).groups('read'),
    },
  } as Any);
  class Box extends (schema.class as Any) {
    declare size: number;
    declare plain: Collection<object>;
    declare counted: Collection<object>;
    declare chained: Collection<object>;
    declare single: Collection<object>;
    declare made: Collection<object>;
    declare failing: Collection<object>;
    declare late: Collection<object>;

    addPlain(tag: object): void {
      if (this.plain.contains(tag)) throw new Error('it is there already, and so this is not the time to add it');
      this.plain.add(tag);
    }
    removePlain(tag: object): void {
      this.plain.remove(tag);
    }
    addCounted(tag: object): void {
      this.counted.add(tag);
      this.size = this.counted.count();
    }
    removeCounted(tag: object): void {
      this.counted.remove(tag);
      this.size = this.counted.count();
    }
    addChained(tag: object): this {
      this.chained.add(tag);
      return this;
    }
    removeChained(tag: object): this {
      this.chained.remove(tag);
      return this;
    }
    addSingle(tag: object): void {
      this.single.set([tag]);
    }
    removeSingle(tag: object): void {
      this.single.remove(tag);
    }
    addMade(tag: { name: string }): object {
      const made = new (Tag.class as Any)();
      made.name = `made of ${tag.name}`;
      this.made.add(made);
      return made;
    }
    removeMade(tag: object): void {
      this.made.remove(tag);
    }
    addFailing(tag: object): void {
      this.failing.add(tag);
      throw new Error('it fails after all');
    }
    removeFailing(tag: object): void {
      this.failing.remove(tag);
    }
    async addLate(tag: object): Promise<void> {
      await new Promise((resolve) => setTimeout(resolve, 5));
      this.late.add(tag);
    }
    removeLate(tag: object): void {
      this.late.remove(tag);
    }
    validate(): { propertyPath: string; title: string }[] {
      return this.plain.isInitialized() && this.plain.count() > 3 ? [{ propertyPath: 'plain', title: 'is too many' }] : [];
    }
  }
  schema.setClass(Box as Any);
  return { Box, Tag };
}

const associations = ['plain', 'counted', 'chained', 'single', 'made', 'failing', 'late'];

describe.each(databases.flatMap((database, turn) => partOf([true, false], 2, turn).map((compiled) => ({ database, compiled }))))(
  'methods of a model on $database (compiled: $compiled)',
  ({ database, compiled }) => {
    let app: TestApplication;
    let drop: () => Promise<void>;
    const send = (method: string, name: string, id: unknown) =>
      app.request(method, `/box/1/${name}.json`, { json: id === undefined ? {} : { id } });
    const box = async () => (await app.request('GET', '/box/1.json')).json;
    const idsOf = (tags: { id: number }[]) => tags.map(({ id }) => id);

    beforeAll(async () => {
      const fresh = await freshDatabase(database);
      drop = fresh.drop;
      const { Box, Tag } = models();
      const methods = { POST: true, DELETE: true };
      app = await startApplication({
        app_main: {
          database: { url: fresh.url, schema: 'update' },
          apis: {
            box: {
              class: Box,
              base_path: '/box',
              actions: {
                _entity: null,
                ...Object.fromEntries(associations.map((property) => [property, { association: { property }, methods }])),
              },
            },
          },
        },
        models: [Box, Tag],
        seed: (em: Any) => {
          for (const id of [1, 2, 3, 4, 5]) em.create(Tag, { name: `tag ${id}`, details: { b: 1, a: [id] } });
          em.create(Box, { settings: { z: 1, a: { y: 2, b: 3 } } });
        },
        compiledReads: compiled,
      } as Any);
    });
    beforeEach(async () => {
      const em = app.application.mapper.em.fork();
      for (const name of ['plain', 'single', 'failing', 'late', 'counted', 'chained', 'made'])
        await em.execute(`delete from ${name === 'plain' ? 'box_plain' : `box_${name}`}`);
      await em.execute('update box set size = 0');
      app.statements.length = 0;
    });
    afterAll(async () => {
      await app.close();
      await drop();
    });

    test('are called with the stored entity, and their changes to the association are written', async () => {
      expect(await send('POST', 'plain', 2)).toMatchObject({ status: 200, json: { id: 2, name: 'tag 2' } });
      expect((await send('POST', 'plain', 1)).status).toBe(200);
      expect(idsOf((await box()).plain)).toEqual([1, 2]);
      expect((await send('DELETE', 'plain', 2)).status).toBe(200);
      expect((await send('DELETE', 'plain', 2)).status).toBe(200);
      expect(idsOf((await box()).plain)).toEqual([1]);
    });

    test('may remove other items', async () => {
      for (const id of [1, 2, 3]) expect((await send('POST', 'single', id)).status).toBe(200);
      expect(idsOf((await box()).single)).toEqual([3]);
    });

    test('may also change the entity, in every request', async () => {
      for (const id of [1, 2, 3]) expect((await send('POST', 'counted', id)).status).toBe(200);
      expect((await box()).size).toBe(3);
      await send('DELETE', 'counted', 1);
      expect((await box()).size).toBe(2);
    });

    test('may return the entity, which becomes the response', async () => {
      expect(await send('POST', 'chained', 1)).toMatchObject({ status: 200, json: { id: 1, size: 0, plain: [] } });
      expect(await send('DELETE', 'chained', 1)).toMatchObject({ status: 200, json: { id: 1, size: 0 } });
    });

    test('may create another entity and return it', async () => {
      const { status, json } = await send('POST', 'made', 4);
      expect({ status, name: json.name }).toEqual({ status: 200, name: 'made of tag 4' });
    });

    test('may be asynchronous', async () => {
      expect((await send('POST', 'late', 5)).status).toBe(200);
      expect(idsOf((await box()).late)).toEqual([5]);
    });

    test('that throw change nothing', async () => {
      expect((await send('POST', 'failing', 1)).status).toBe(500);
      expect((await box()).failing).toEqual([]);
      await send('POST', 'plain', 1);
      // adding what is there calls no method
      expect((await send('POST', 'plain', 1)).status).toBe(200);
      expect(idsOf((await box()).plain)).toEqual([1]);
    });

    test('must satisfy the rules of the model', async () => {
      for (const id of [1, 2, 3]) await send('POST', 'plain', id);
      expect(await send('POST', 'plain', 4)).toMatchObject({ status: 422, json: { violations: [{ propertyPath: 'plain' }] } });
      expect(idsOf((await box()).plain)).toEqual([1, 2, 3]);
    });

    test('add an item once if many concurrent requests add it', async () => {
      const statuses = await Promise.all(Array.from({ length: 12 }, async () => (await send('POST', 'plain', 2)).status));
      expect(statuses).toEqual(Array(12).fill(200));
      expect(idsOf((await box()).plain)).toEqual([2]);
    });

    test('are not called for a missing row or item', async () => {
      expect((await send('POST', 'plain', 99)).status).toBe(400);
      expect((await send('POST', 'plain', undefined)).status).toBe(400);
      expect((await app.request('POST', '/box/9/plain.json', { json: { id: 1 } })).status).toBe(404);
    });
  },
);
