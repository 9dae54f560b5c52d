// @module-tag divided
import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { everything, useApplication } from '../spec/fixtures/use-application.ts';
import { databases } from '../support/databases.ts';

type Any = any;

const rw = ['read', 'write'] as const;

/** Bolts and long bolts share the table of parts. A shelf refers to bolts, which can be long ones. */
function modelsOf() {
  const Maker = defineEntity({
    name: 'Maker',
    properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read') },
  });
  const Size = defineEntity({
    name: 'Size',
    embeddable: true,
    properties: {
      length: p
        .integer()
        .nullable()
        .groups(...rw),
      secret: p.string().nullable(),
    },
  });
  const Part: Any = defineEntity({
    name: 'Part',
    abstract: true,
    discriminator: 'kind',
    properties: {
      id: p.integer().primary().groups('read'),
      kind: p.enum(['bolt', 'long']).groups('read'),
      version: p.integer().version().groups('read'),
      title: p.string().groups(...rw),
    },
  } as Any);
  const Bolt: Any = defineEntity({
    name: 'Bolt',
    extends: Part,
    discriminatorValue: 'bolt',
    properties: { thread: p.string().nullable().groups('read') },
  } as Any);
  const Long: Any = defineEntity({
    name: 'Long',
    extends: Bolt,
    discriminatorValue: 'long',
    properties: {
      safeLoad: p.integer().default(3).groups('read'),
      data: p
        .json()
        .nullable()
        .groups(...rw),
      size: () =>
        p
          .embedded(Size)
          .object()
          .nullable()
          .groups(...rw),
      maker: () =>
        p
          .manyToOne(Maker)
          .nullable()
          .groups(...rw),
      approver: () => (p.manyToOne(Maker).nullable() as Any).mapToPk().groups('read'),
    },
  } as Any);
  const Shelf = defineEntity({
    name: 'Shelf',
    properties: {
      id: p.integer().primary().groups('read'),
      first: () => p.manyToOne(Bolt).nullable().groups('read'),
      bolts: () => p.manyToMany(Bolt).groups('read'),
    },
  });
  return { Maker, Size, Part, Bolt, Long, Shelf };
}

describe.each(databases)('rows that are read as rows of a parent class on %s', (kind) => {
  describe.each([true, false])('compiled: %s', (compiledReads) => {
    const { Maker, Size, Part, Bolt, Long, Shelf } = modelsOf();
    const running = useApplication(kind, {
      app_main: {
        apis: {
          part: { class: Part, base_path: '/part', actions: everything },
          bolt: { class: Bolt, base_path: '/bolt', actions: everything },
          shelf: { class: Shelf, base_path: '/shelf', actions: everything },
        },
      },
      models: [Maker, Size, Part, Bolt, Long, Shelf],
      compiledReads,
      seed: async (em: Any) => {
        const maker = em.create(Maker, { name: 'north' } as never);
        const bolt = em.create(Bolt, { title: 'a', thread: 'm4' } as never);
        await em.flush();
        const long = { title: 'b', data: { a: 1 }, size: { length: 9, secret: 'kept' }, maker, approver: (maker as Any).id };
        const made = ['b', 'c', 'd'].map((title) => em.create(Long, { ...long, title } as never));
        em.create(Shelf, { bolts: [bolt, made[0]] } as never);
        em.create(Shelf, { first: made[1] } as never);
        await em.flush();
      },
    } as Any);
    const long = {
      kind: 'long',
      thread: null,
      safeLoad: 3,
      data: { a: 1 },
      size: { length: 9 },
      maker: { id: 1, name: 'north' },
      approver: 1,
    };
    const get = async (path: string) => (await running.request('GET', path)).json as Any;

    test('have all their fields, alone, in lists and embedded', async () => {
      const expected = { id: 2, version: 1, title: 'b', ...long };
      expect(await get('/bolt/2.json')).toEqual(expected);
      expect(await get('/bolt/2.json')).toEqual(await get('/part/2.json'));
      expect((await get('/bolt.json')).results).toContainEqual(expected);
      expect((await get('/shelf/1.json')).bolts).toContainEqual(expected);
      expect((await get('/shelf/2.json')).first).toEqual({ ...expected, id: 3, title: 'c' });
    });

    test('keep what a change does not set', async () => {
      const patched = await running.request('PATCH', '/bolt/3.json', { json: { data: { b: 2 }, size: { length: 8 } } });
      const changed = { ...long, data: { a: 1, b: 2 }, size: { length: 8 } };
      expect(patched.json).toEqual({ id: 3, version: 2, title: 'c', ...changed });
      const put = await running.request('PUT', '/bolt/4.json', { json: { title: 'e', size: { length: 7 } } });
      expect(put.json).toEqual({ id: 4, version: 2, title: 'e', ...long, data: null, size: { length: 7 }, maker: null });
      const rows = await running.rows('select size from part where id in (3, 4) order by id');
      const sizes = rows.map(({ size }) => (typeof size === 'string' ? JSON.parse(size) : size));
      expect(sizes).toEqual([8, 7].map((length) => ({ length, secret: 'kept' })));
    });

    test.each(['bolt', 'part'])('keep the columns of other classes, whose defaults the database set: %s', async (path) => {
      const made = await running.request('POST', `/${path}.json`, { json: { type: 'bolt', title: 'f' } });
      const { id, ...bolt } = made.json as Any;
      expect([made.status, bolt]).toEqual([201, { kind: 'bolt', version: 1, title: 'f', thread: null }]);
      for (const title of ['f', 'g', 'g']) await running.request('PATCH', `/${path}/${id}.json`, { json: { title } });
      expect(await get(`/${path}/${id}.json`)).toEqual({ id, ...bolt, version: 2, title: 'g' });
      expect(await running.rows(`select safe_load from part where id = ${id}`)).toEqual([{ safe_load: 3 }]);
    });
  });
});

/** Each class has a table of its own. A shelf refers to bolts, which can be long ones. */
function tablesOf() {
  const text = () =>
    p
      .string()
      .nullable()
      .groups(...rw);
  const Part: Any = defineEntity({
    name: 'Part',
    inheritance: 'tpt',
    properties: { id: p.integer().primary().groups('read'), title: text() },
  } as Any);
  const Bolt: Any = defineEntity({ name: 'Bolt', extends: Part, properties: { thread: text() } } as Any);
  const Long: Any = defineEntity({
    name: 'Long',
    extends: Bolt,
    properties: {
      load: text(),
      spare: () =>
        p
          .manyToOne(Part)
          .nullable()
          .groups(...rw),
    },
  } as Any);
  const Shelf = defineEntity({
    name: 'Shelf',
    properties: {
      id: p.integer().primary().groups('read'),
      bolts: () => p.manyToMany(Bolt).groups(...rw),
    },
  });
  return { Part, Bolt, Long, Shelf };
}

describe.each(databases)('rows of a table for each class that are read as rows of a parent class on %s', (kind) => {
  const { Part, Bolt, Long, Shelf } = tablesOf();
  const running = useApplication(kind, {
    app_main: {
      apis: {
        part: { class: Part, base_path: '/part', actions: everything },
        bolt: { class: Bolt, base_path: '/bolt', actions: everything },
        shelf: { class: Shelf, base_path: '/shelf', actions: everything },
      },
    },
    models: [Part, Bolt, Long, Shelf],
    seed: async (em: Any) => {
      for (const title of ['a', 'b']) {
        em.create(Bolt, { title, thread: 'm4' } as never);
        await em.flush();
      }
    },
  } as Any);
  const send = async (method: string, path: string, json?: object) => (await running.request(method, path, { json })).json as Any;

  test('have the class and all fields that they were written with', async () => {
    const long = { title: 'c', thread: 'm5', load: 'heavy', spare: { id: 1 } };
    const made = await send('POST', '/bolt.json', { type: 'long', ...long });
    expect(made).toMatchObject(long);
    const path = `/bolt/${made.id}.json`;
    expect(await send('GET', path)).toEqual(made);
    expect((await send('GET', '/bolt.json')).results).toContainEqual(made);
    expect(await send('PATCH', path, { load: 'light' })).toEqual({ ...made, load: 'light' });
    expect(await send('GET', `/part/${made.id}.json`)).toEqual({ ...made, load: 'light' });
    expect(await send('GET', '/bolt/2.json')).toEqual({ id: 2, title: 'b', thread: 'm4' });
  });

  test('have them in a response to a write that embeds them, too', async () => {
    const { id } = await send('POST', '/bolt.json', { type: 'long', title: 'd', load: 'heavy' });
    const written = await send('POST', '/shelf.json', {
      bolts: [
        { type: 'bolt', id },
        { type: 'bolt', id: 2 },
      ],
    });
    expect(written.bolts).toContainEqual({ id, title: 'd', thread: null, load: 'heavy', spare: null });
    expect(await send('GET', `/shelf/${written.id}.json`)).toEqual(written);
  });
});
