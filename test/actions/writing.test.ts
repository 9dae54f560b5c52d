import { describe, expect, test } from 'vitest';
import { app, stores, useRunning } from './application.ts';

describe.each(stores)('writes through $store', ({ compiledReads }) => {
  const running = useRunning(compiledReads, [
    'plain',
    'restricted',
    'limited',
    'judged',
    'revised',
    'with_validate',
    'with_aftervalidation',
    'with_aftercommit',
  ]);

  const send: typeof running.send = (...args) => running.send(...args);
  const links = async () =>
    (await running.execute('select tag_id from item_tags where item_id = 1 order by 1')).map(({ tag_id }: any) => tag_id);
  const bases = ['/plain', '/restricted', '/judged', '/with-validate', '/with-aftercommit', '/revised'];

  describe.each(bases)('%s', (base) => {
    const table = base === '/revised' ? 'revised' : 'item';

    test('creates a row and returns its Location', async () => {
      for (const [format, type] of [
        ['json', 'application/json'],
        ['xml', 'application/xml'],
      ] as const) {
        await running.restore();
        const created = await send('POST', `${base}.${format}`, { name: 'new', code: 'N', num: 4 });
        expect([created.status, created.headers.get('location')]).toEqual([201, `https://api.example${base}/4.${format}`]);
        expect(created.headers.get('content-type')).toContain(type);
        expect((await running.rows(table))[3]).toEqual({ id: 4, name: 'new', code: 'N', num: 4 });
        expect((await send('GET', `${base}/4.${format}`)).text).toBe(created.text);
      }
    });

    test('creates a row at a list path whose format the entity does not have', async () => {
      const created = await send('POST', `${base}.csv`, { name: 'new', code: 'N' });
      expect([created.status, created.headers.get('location')]).toEqual([201, `https://api.example${base}/4.csv`]);
    });

    test('changes the fields in a PATCH, and resets the fields missing from a PUT', async () => {
      const patched = await send('PATCH', `${base}/1.json`, { num: 7 });
      expect([patched.status, patched.json]).toEqual([200, { id: 1, name: 'one', code: 'A', num: 7 }]);
      const put = await send('PUT', `${base}/1.json`, { name: 'new', code: 'N' });
      expect([put.status, put.json]).toEqual([200, { id: 1, name: 'new', code: 'N', num: 0 }]);
      expect((await running.rows(table)).map(({ name }: any) => name)).toEqual(['new', 'two', 'three']);
    });

    test('deletes a row', async () => {
      const { status, text } = await send('DELETE', `${base}/1.json`);
      expect([status, text]).toEqual([204, '']);
      expect((await running.rows(table)).map(({ id }: any) => id)).toEqual([2, 3]);
      expect((await send('DELETE', `${base}/1.json`)).status).toBe(404);
    });

    test('rejects an invalid body or a rule violation, and writes nothing', async () => {
      const before = await running.rows(table);
      for (const [method, path] of [
        ['POST', '.json'],
        ['PATCH', '/1.json'],
        ['PUT', '/1.json'],
        ['POST', '/1/tags.json'],
      ] as const) {
        for (const [json, detail] of [
          [[1], 'it is not an object'],
          ['text', 'it is not an object'],
          [undefined, 'it is missing'],
        ] as const) {
          const refused = await send(method, base + path, json);
          expect([method, path, refused.status, refused.json.code]).toEqual([method, path, 400, 'invalid_body']);
          if (!path.includes('tags')) expect(refused.json.detail).toContain(detail);
        }
      }
      for (const [method, path] of [
        ['POST', '.json'],
        ['PATCH', '/1.json'],
        ['PUT', '/1.json'],
      ] as const) {
        expect((await send(method, base + path, { name: 'n', code: 'N', nope: 1 })).json.code).toBe('unknown_field');
        const broken = await send(method, base + path, { name: 'longer than ten', code: 'N' });
        expect([broken.status, broken.json.violations.map(({ propertyPath }: any) => propertyPath)]).toEqual([422, ['name']]);
        // what the body got wrong is told once, with what the model says besides
        const several = await send(method, base + path, { name: 'longer than ten', num: 'x', code: 'N' });
        expect(several.json.violations.map(({ propertyPath }: any) => propertyPath).sort()).toEqual(['name', 'num']);
        expect((await send(method, base + path, { name: 'n', code: 'B' })).status).toBe(409);
      }
      expect(await running.rows(table)).toEqual(before);
    });

    test('adds and removes an item, and changes nothing if the item is already there or gone', async () => {
      if (table === 'revised') return;
      for (const [method, id, name, left] of [
        ['POST', 2, 'blue', [1, 2]],
        ['POST', 2, 'blue', [1, 2]],
        ['DELETE', 1, 'red', [2]],
        ['DELETE', 1, 'red', [2]],
      ] as const) {
        const { json, status } = await send(method, `${base}/1/tags.json`, { id });
        expect([status, json, await links()]).toEqual([200, { id, name }, left]);
      }
      for (const method of ['POST', 'DELETE']) {
        expect((await send(method, `${base}/1/tags.json`, { id: 9 })).json.code).toBe('reference_not_found');
        expect((await send(method, `${base}/1/tags.json`, { id: 2, nope: 1 })).status).toBe(400);
      }
      expect(await links()).toEqual([2]);
    });
  });

  test('call neither rules nor hooks if the item is already there or gone', async () => {
    await send('POST', '/with-validate/1/tags.json', { id: 1 });
    await send('DELETE', '/with-aftercommit/1/tags.json', { id: 2 });
    await send('POST', '/with-aftervalidation/1/tags.json', { id: 1 });
    expect(app.calls).toEqual([]);
  });

  test('call afterCommit with the stored row', async () => {
    await send('POST', '/with-aftercommit.json', { name: 'n', code: 'N' });
    await send('PATCH', '/with-aftercommit/1.json', { num: 9 });
    await send('PATCH', '/with-aftercommit/1.json', { code: 'B' });
    expect(app.calls).toEqual(['afterCommit _index Item 4', 'afterCommit _entity Item 1']);
  });

  test('only reach rows within the row limit of a restriction', async () => {
    const idsAt = async (path: string) => (await send('GET', path)).json.results.map(({ id }: any) => id);
    expect(await idsAt('/limited.json')).toEqual([2, 3]);
    expect(await idsAt('/limited.json?sort=name')).toEqual([3, 2]);
    expect((await idsAt('/limited/all.json')).sort()).toEqual([2, 3]);
    for (const [id, status] of [
      [1, 404],
      [2, 200],
      [3, 200],
    ] as const) {
      expect([id, (await send('GET', `/limited/${id}.json`)).status]).toEqual([id, status]);
      expect([id, (await send('PATCH', `/limited/${id}.json`, { num: 9 })).status]).toEqual([id, status]);
      expect([id, (await send('POST', `/limited/${id}/tags.json`, { id: 2 })).status]).toEqual([id, status]);
    }
  });

  describe('a handler', () => {
    const work = (
      handle: (controller: any, id: any, request: any) => unknown,
      path = '/plain/1/work.json',
      json: unknown = {},
    ) => {
      app.handle = handle;
      return send('POST', path, json);
    };

    test('gets the checked row, and its changes are written when it ends', async () => {
      let same = false;
      const { status, json } = await work(async (controller, id, request) => {
        const item = await controller.getEntity('work', id, request);
        same = item === (await controller.getEntity('work', String(id), request));
        item.num = 50;
        await controller.em.flush();
        return item;
      });
      expect([status, json, same]).toEqual([200, { id: 1, name: 'one', code: 'A', num: 50 }, true]);
      expect((await running.rows())[0].num).toBe(50);
    });

    test('that returns an error status or violations writes nothing', async () => {
      for (const given of [{ status: 409 }, { status: 400 }]) {
        const { status } = await work(async (controller, id, request) => {
          (await controller.getEntity('work', id, request)).num = 50;
          await controller.em.flush();
          return controller.json(undefined, given);
        });
        expect(status).toBe(given.status);
      }
      const violations = [{ propertyPath: 'num', title: 'is wrong' }];
      for (const wrap of [(list: object) => list, (list: object, controller: any) => controller.json(list)]) {
        const { status, json } = await work(async (controller, id, request) => {
          (await controller.getEntity('work', id, request)).num = 50;
          await controller.em.flush();
          return wrap(violations, controller);
        });
        expect([status, json]).toEqual([422, violations]);
      }
      expect((await running.rows())[0].num).toBe(1);
      await work(async (controller, id, request) => {
        (await controller.getEntity('work', id, request)).num = 51;
        await controller.em.flush();
        return [];
      });
      expect((await running.rows())[0].num).toBe(51);
    });

    test('reads other rows through customizeQuery of the action', async () => {
      const codes = [];
      for (const id of [2, 3, 99, 'x', 2n]) {
        const { status } = await work(
          (controller, _, request) => controller.getEntity('other', id, request),
          '/restricted/1/work.json',
        );
        codes.push(status);
      }
      expect(codes).toEqual([200, 404, 404, 404, 200]);
    });

    test('can run a transaction that locks the row', async () => {
      const { status } = await work(async (controller, id, request) => {
        const item = await controller.getEntity('work', id, request);
        return controller.transactional(item, async () => {
          item.num = 60;
          return item;
        });
      });
      expect([status, (await running.rows())[0].num]).toEqual([200, 60]);
      const refused = await work(async (controller, id, request) => {
        const item = await controller.getEntity('work', id, request);
        return controller.transactional(item, async () => {
          item.num = 61;
          return controller.json(undefined, { status: 400 });
        });
      });
      expect([refused.status, (await running.rows())[0].num]).toEqual([400, 60]);
    });

    test('can add items, paginate and query within the restriction', async () => {
      const added = await work((controller, id, request) => {
        request.body = { id: 2 };
        return controller.addRemove('work', id, request, { property: 'tags' });
      });
      expect([added.status, added.json, await links()]).toEqual([200, { id: 2, name: 'blue' }, [1, 2]]);
      app.handle = async (controller, _, request) => {
        const query = await controller.query('work', request);
        const page = await controller.paginate(
          'work',
          request,
          controller.em.createQueryBuilder('Item', 'i').orderBy({ id: 'desc' }),
        );
        const all = await controller.paginate('work', request, controller.em.createQueryBuilder('Item', 'i'), {
          restricted: false,
        });
        return { count: await query.getCount(), ids: page.results.map(({ id }: any) => id), all: all.count };
      };
      expect((await send('GET', '/restricted/1/work.json')).json).toEqual({ count: 2, ids: [2, 1], all: 3 });
    });
  });
});
