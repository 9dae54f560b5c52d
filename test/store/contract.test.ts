// @module-tag divided
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ApiRequest } from '../../src/access/user.ts';
import type { Admission, Restriction } from '../../src/store/port.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { partOf } from '../support/random.ts';
import { forms, requestOf, Stores, storeKinds } from './contract-stores.ts';

type Any = any;

const north = { id: 1, name: 'north' };
const items: Record<number, Any> = {
  1: { id: 1, name: 'a', code: 'A', num: 10, data: null, center: north },
  // the center is hidden
  2: { id: 2, name: 'b', code: 'B', num: 20, data: null, center: null },
  3: { id: 3, name: 'c', code: 'C', num: 30, data: null, center: null },
  4: { id: 4, name: 'd', code: 'D', num: 40, data: null, center: north },
};
const whole = { offset: 0, limit: 20 };

/** What both stores do, on both databases: the same cases, the same results. */
describe.each(databases)('store contract on %s', (database) => {
  describe.each(storeKinds)('the store of %s', (kind) => {
    const tried = partOf(Object.entries(forms), 2, storeKinds.indexOf(kind));
    const shapes = tried.filter(([, { only }]) => !only || only === database);
    let fresh: FreshDatabase;
    let stores: Stores;

    beforeAll(async () => {
      fresh = await freshDatabase(database);
      stores = await Stores.open(kind, fresh.url);
      if (database === 'postgresql') await stores.execute('alter sequence item_id_seq restart with 100');
    });

    afterAll(async () => {
      await stores?.close();
      await fresh?.drop();
    });

    beforeEach(async () => {
      await stores.restore();
    });

    const itemRows = () => stores.execute('select id, name, code, num, center_id from item order by id');
    const links = async (id: number) =>
      (await stores.execute(`select tag_id from item_tags where item_id = ${id} order by 1`)).map(({ tag_id }: Any) => tag_id);
    const shownBy = (request: ApiRequest, found: Any) => stores.shown(request, found.json() === null ? found.entity : found);

    /** What a write gave, or why it was refused. */
    async function outcome(write: Promise<unknown>): Promise<unknown> {
      try {
        return await write;
      } catch (error) {
        return stores.failure(error);
      }
    }

    /** The row that was checked for a write; without `read` nothing has read it. */
    async function admitted(
      request: ApiRequest,
      key: number,
      restriction: Restriction,
      { read, method = 'PATCH', api = 'item' }: { read: boolean; method?: 'POST' | 'PATCH' | 'DELETE'; api?: string },
    ): Promise<Admission> {
      const found = read ? await stores.checked(request, key, restriction, method, api) : null;
      if (read && !found) throw new Error(`there is no row ${key}`);
      return { action: '_entity', key, restriction, found };
    }

    describe.each(shapes)('with a restriction by "%s"', (_, form) => {
      const hidden = [1, 2, 3, 4].filter((id) => !form.leaves.includes(id));
      const [some] = form.leaves;

      test('finds only rows that the restriction allows', async () => {
        for (const id of [1, 2, 3, 4, 99]) {
          const request = requestOf();
          const found = await stores.find(request, id, await stores.restriction(request, form));
          const isThere = form.leaves.includes(id);
          expect([id, found !== null]).toEqual([id, isThere]);
          if (!found) continue;
          expect(await shownBy(request, found)).toEqual(items[id]);
          expect([String(found.key), found.versionText]).toEqual([String(id), null]);
          expect((found.entity as Any).name).toBe(items[id].name);
        }
      });

      test('finds the same rows for a change, with their versions', async () => {
        for (const method of ['PATCH', 'DELETE', 'POST'] as const) {
          for (const id of [1, 2, 3, 4]) {
            const request = requestOf();
            const found = await stores.checked(request, id, await stores.restriction(request, form), method);
            expect([method, id, found !== null]).toEqual([method, id, form.leaves.includes(id)]);
            if (found) expect(found.version?.length).toBeGreaterThan(0);
          }
        }
      });

      test('returns pages and the count in list order, each row once', async () => {
        for (const window of [whole, { offset: 0, limit: 2 }, { offset: 1, limit: 2 }, { offset: 9, limit: 2 }]) {
          const request = requestOf();
          const { count, results } = await stores.page(request, await stores.restriction(request, form), window);
          const expected = form.leaves.slice(window.offset, window.offset + window.limit).map((id) => items[id]);
          expect([window, count, results]).toEqual([window, form.leaves.length, expected]);
        }
      });

      test('streams all rows in list order, each once', async () => {
        const request = requestOf();
        const walked = await stores.walk(request, await stores.restriction(request, form));
        expect(walked).toEqual(form.leaves.map((id) => items[id]));
      });

      test('combines the restriction with filters and sort order of a list', async () => {
        for (const query of [{ 'num[lt]': '40' }, { 'num[lt]': '40', sort: 'name' }] as Record<string, string>[]) {
          const left = form.leaves.filter((id) => items[id].num < 40);
          // a limit is one of the restricted rows, before anything else is asked of them
          const expected = ('sort' in query ? left.toReversed() : left).map((id) => items[id]);
          const request = requestOf(undefined, query);
          const { count, results } = await stores.page(request, await stores.restriction(request, form), whole);
          expect([query, count, results]).toEqual([query, expected.length, expected]);
          const other = requestOf(undefined, query);
          expect(await stores.walk(other, await stores.restriction(other, form))).toEqual(expected);
        }
      });

      test.each([true, false])('changes only rows that the restriction allows, read before: %s', async (read) => {
        for (const id of hidden) {
          const request = requestOf({ num: 99 });
          const restriction = await stores.restriction(request, form);
          expect(await outcome(stores.change(request, { action: '_entity', key: id, restriction, found: null }))).toBe(null);
        }
        expect((await itemRows()).map(({ num }: Any) => num)).toEqual([10, 20, 30, 40]);
        if (some === undefined) return;
        const request = requestOf({ num: 99, name: 'new' });
        const restriction = await stores.restriction(request, form);
        const admission = await admitted(request, some, restriction, { read });
        expect(await stores.change(request, admission)).toEqual({ ...items[some], num: 99, name: 'new' });
        const changed = (await itemRows()).filter(({ num }: Any) => num === 99);
        expect(changed.map(({ id }: Any) => id)).toEqual([some]);
      });

      test.each([true, false])('removes only rows that the restriction allows, read before: %s', async (read) => {
        for (const id of hidden) {
          const request = requestOf();
          // what was not read before is read by the action for an entity
          if (kind === 'entities' && !read) continue;
          const restriction = await stores.restriction(request, form);
          expect(await outcome(stores.remove(request, { action: '_entity', key: id, restriction, found: null }))).toBe(false);
        }
        if (some === undefined) return;
        const request = requestOf();
        const admission = await admitted(request, some, await stores.restriction(request, form), { read, method: 'DELETE' });
        expect(await stores.remove(request, admission)).toBe(true);
        expect((await itemRows()).map(({ id }: Any) => id)).toEqual([1, 2, 3, 4].filter((id) => id !== some));
      });

      test.each([true, false])('links items only to rows that the restriction allows, read before: %s', async (read) => {
        for (const id of hidden) {
          for (const what of ['add', 'remove'] as const) {
            const before = await links(id);
            const request = requestOf({ id: what === 'add' ? 1 : 3 });
            const restriction = await stores.restriction(request, form);
            expect(await outcome(stores.link(request, { action: 'tags', key: id, restriction, found: null }, what))).toBe(null);
            expect(await links(id)).toEqual(before);
          }
        }
        for (const id of form.leaves) {
          for (const [what, tag] of [
            ['add', 3],
            ['add', 3],
            ['remove', 2],
            ['remove', 2],
          ] as const) {
            const request = requestOf({ id: tag });
            const restriction = await stores.restriction(request, form);
            // by now the row may have moved out of a restriction to what it is linked to
            const admission = await admitted(request, id, restriction, { read: false, method: 'POST' });
            const before = await links(id);
            const isLeft = (await stores.checked(requestOf(), id, restriction, 'POST')) !== null;
            if (read && isLeft) Object.assign(admission, await admitted(request, id, restriction, { read, method: 'POST' }));
            const linked = await stores.link(request, admission, what);
            const names = ['', 'one', 'two', 'three'];
            expect(linked).toEqual(isLeft ? { id: tag, name: names[tag] } : null);
            const others = before.filter((other: number) => other !== tag);
            const expected = what === 'add' ? [...others, tag].sort() : others;
            expect([id, what, await links(id)]).toEqual([id, what, isLeft ? expected : before]);
          }
        }
      });
    });

    describe('a row that has changed since the access check', () => {
      const touched = "update item set name = 'touched' where id = 1";

      test('is not changed', async () => {
        const request = requestOf({ num: 99 });
        const admission = await admitted(request, 1, null, { read: true });
        await stores.execute(touched);
        expect(await outcome(stores.change(request, admission))).toBe('changed');
        expect((await itemRows())[0]).toMatchObject({ name: 'touched', num: 10 });
      });

      test('is not removed', async () => {
        const request = requestOf();
        const admission = await admitted(request, 1, null, { read: true, method: 'DELETE' });
        await stores.execute(touched);
        expect(await outcome(stores.remove(request, admission))).toBe('changed');
        expect(await itemRows()).toHaveLength(4);
      });

      test.each([
        ['add', 3],
        ['remove', 1],
      ] as const)('is not linked: %s', async (what, tag) => {
        const request = requestOf({ id: tag });
        const admission = await admitted(request, 1, null, { read: true, method: 'POST' });
        await stores.execute(touched);
        expect(await outcome(stores.link(request, admission, what))).toBe('changed');
        expect(await links(1)).toEqual([1, 2]);
      });

      test('is not written, even if the restriction now excludes it', async () => {
        const request = requestOf({ num: 99 });
        const restriction = await stores.restriction(request, forms.condition as never);
        const admission = await admitted(request, 1, restriction, { read: true });
        await stores.execute("update item set name = 'x', open = false where id = 1");
        expect(await outcome(stores.change(request, admission))).toBe('changed');
      });

      test('is written if the check did not read it and the restriction still allows it', async () => {
        const request = requestOf({ num: 99 });
        const restriction = await stores.restriction(request, forms.condition as never);
        const admission = await admitted(request, 1, restriction, { read: false });
        await stores.execute(touched);
        expect(await stores.change(request, admission)).toMatchObject({ num: 99, name: 'touched' });
      });
    });

    describe('a missing row', () => {
      const missing: Admission = { action: '_entity', key: 99, restriction: null, found: null };

      test('is not found, changed, removed or linked', async () => {
        const request = () => requestOf({ id: 3 });
        expect(await stores.find(requestOf(), 99, null)).toBe(null);
        expect(await stores.checked(requestOf(), 99, null)).toBe(null);
        expect(await outcome(stores.change(requestOf({ num: 1 }), missing))).toBe(null);
        expect(await outcome(stores.remove(requestOf(), missing))).toBe(false);
        expect(await outcome(stores.link(request(), missing, 'add'))).toBe(null);
        expect(await outcome(stores.link(request(), missing, 'remove'))).toBe(null);
      });

      test('that was removed after the access check is not written', async () => {
        const gone = 'delete from item where id = 1';
        const change = requestOf({ num: 99 });
        const removal = requestOf();
        const linking = requestOf({ id: 3 });
        const admissions = [
          await admitted(change, 1, null, { read: true }),
          await admitted(removal, 1, null, { read: true, method: 'DELETE' }),
          await admitted(linking, 1, null, { read: true, method: 'POST' }),
        ] as const;
        await stores.execute(gone);
        // either way the request ends with 404: at once, or when it starts again
        expect([null, 'changed']).toContain(await outcome(stores.change(change, admissions[0])));
        expect([false, 'changed']).toContain(await outcome(stores.remove(removal, admissions[1])));
        expect([null, 'changed']).toContain(await outcome(stores.link(linking, admissions[2], 'add')));
        expect(await itemRows()).toHaveLength(3);
        expect(await links(1)).toEqual([]);
      });
    });

    describe('a body', () => {
      test('creates a row, which is returned as stored', async () => {
        const data = { b: 1, a: [{ d: 2, c: 3 }] };
        const json = { name: 'new', code: 'N', num: 5, data, center: { id: 1 } };
        const created = await stores.create(requestOf(json));
        expect(created).toEqual({ ...json, id: created.id, center: north });
        const request = requestOf();
        const found = await stores.find(request, created.id, null);
        expect(JSON.stringify(await shownBy(request, found))).toBe(JSON.stringify(created));
      });

      test('creates a row with defaults for omitted fields', async () => {
        const created = await stores.create(requestOf({ name: 'new', code: 'N' }));
        expect(created).toEqual({ id: created.id, name: 'new', code: 'N', num: 0, data: null, center: null });
      });

      test('changes only the fields that it contains', async () => {
        const request = requestOf({ center: { id: 3 }, data: { x: 1 } });
        const changed = await stores.change(request, await admitted(request, 4, null, { read: true }));
        expect(changed).toEqual({ ...items[4], center: { id: 3, name: 'west' }, data: { x: 1 } });
        const cleared = requestOf({ center: null });
        expect(await stores.change(cleared, await admitted(cleared, 4, null, { read: true }))).toMatchObject({ center: null });
      });

      test('without fields changes nothing', async () => {
        const request = requestOf({});
        expect(await stores.change(request, await admitted(request, 1, null, { read: true }))).toEqual(items[1]);
      });

      test.each([
        ['is hidden', 2],
        ['is missing', 99],
      ])('that refers to a row that %s writes nothing', async (_, id) => {
        const before = await itemRows();
        expect(await outcome(stores.create(requestOf({ name: 'n', code: 'N', center: { id } })))).toBe(400);
        for (const read of [true, false]) {
          const request = requestOf({ num: 99, center: { id } });
          expect(await outcome(stores.change(request, await admitted(request, 1, null, { read })))).toBe(400);
        }
        expect(await itemRows()).toEqual(before);
      });

      test.each([
        ['is hidden', 4],
        ['is missing', 99],
      ])('that links a row that %s writes nothing', async (_, id) => {
        for (const what of ['add', 'remove'] as const) {
          for (const read of [true, false]) {
            const request = requestOf({ id });
            const admission = await admitted(request, 1, null, { read, method: 'POST' });
            expect(await outcome(stores.link(request, admission, what))).toBe(400);
          }
        }
        expect(await links(1)).toEqual([1, 2]);
      });

      test('with a duplicate unique value returns 409', async () => {
        const before = await itemRows();
        expect(await outcome(stores.create(requestOf({ name: 'n', code: 'A' })))).toBe(409);
        const request = requestOf({ code: 'A', num: 99 });
        expect(await outcome(stores.change(request, await admitted(request, 2, null, { read: true })))).toBe(409);
        expect(await itemRows()).toEqual(before);
      });
    });

    test('does not remove a row that other rows refer to', async () => {
      const request = requestOf();
      const admission = await admitted(request, 1, null, { read: true, method: 'DELETE', api: 'center' });
      expect(await outcome(stores.remove(request, admission, 'center'))).toBe(409);
      expect(await stores.execute('select id from center')).toHaveLength(3);
      const unused = requestOf();
      const other = await admitted(unused, 3, null, { read: true, method: 'DELETE', api: 'center' });
      expect(await stores.remove(unused, other, 'center')).toBe(true);
    });

    test('takes part in the transaction of the request', async () => {
      const request = requestOf({ num: 99, name: 'new', code: 'N', id: 3 });
      const em = stores.em(request);
      await em.begin();
      try {
        const body = (json: unknown) => Object.assign(request, { body: json }) as ApiRequest;
        await stores.create(body({ name: 'new', code: 'N' }));
        await stores.change(body({ num: 99 }), await admitted(request, 1, null, { read: true }));
        await stores.link(body({ id: 3 }), await admitted(request, 2, null, { read: true, method: 'POST' }), 'remove');
        await stores.remove(request, await admitted(request, 4, null, { read: true, method: 'DELETE' }));
      } finally {
        await em.rollback();
      }
      expect((await itemRows()).map(({ num }: Any) => num)).toEqual([10, 20, 30, 40]);
      expect(await links(2)).toEqual([1, 2, 3]);
    });

    describe('a row with a version column', () => {
      test('is found with its version as text', async () => {
        expect((await stores.find(requestOf(), 1, null, 'revised'))?.versionText).toBe('7');
        expect((await stores.checked(requestOf(), 1, null, 'PATCH', 'revised'))?.versionText).toBe('7');
      });

      test('gets the next version with a change', async () => {
        const request = requestOf({ name: 'two' });
        const admission = await admitted(request, 1, null, { read: true, api: 'revised' });
        expect(await stores.change(request, admission, 'revised')).toEqual({ id: 1, name: 'two', revision: 8 });
      });

      test('is not changed if its version has changed', async () => {
        const request = requestOf({ name: 'two' });
        const admission = await admitted(request, 1, null, { read: true, api: 'revised' });
        await stores.execute("update revised set name = 'other', revision = 8");
        expect(await outcome(stores.change(request, admission, 'revised'))).toBe('changed');
      });
    });
  });
});
