import { describe, expect, test } from 'vitest';
import { app, stores, useRunning } from './application.ts';

const editor = { 'x-user': 'anna,ROLE_EDITOR' };
const reader = { 'x-user': 'otto,ROLE_OTHER' };

/** The requests that write to the row with an id. */
const writes = (id: number | string) => [
  ['PATCH', `/${id}.json`, { num: 7 }] as const,
  ['PUT', `/${id}.json`, { name: 'new', code: 'N' }] as const,
  ['DELETE', `/${id}.json`, undefined] as const,
  ['POST', `/${id}/tags.json`, { id: 2 }] as const,
  ['DELETE', `/${id}/tags.json`, { id: 1 }] as const,
];

describe.each(stores)('access through $store', ({ compiledReads, store }) => {
  const running = useRunning(compiledReads, ['plain', 'restricted', 'judged', 'editors']);

  const links = () => running.execute('select * from item_tags order by 1, 2');
  const state = async () => JSON.stringify([await running.rows(), await links()]);
  const send = async (method: string, path: string, json: unknown, headers: Record<string, string> = {}) => {
    const { status, json: body } = await running.request(method, path, { headers, ...(json !== undefined && { json }) });
    return [status, body?.code];
  };

  test.each([
    ['an id that no row can have', '99999999999999999999'],
    ['a missing row', 99],
    ['a hidden row', 3],
  ])('%s returns 404 before any access check', async (_, id) => {
    const before = await state();
    for (const [method, path, json] of writes(id)) {
      for (const headers of [{}, reader, editor] as Record<string, string>[]) {
        expect([method, path, await send(method, `/editors${path}`, json, headers)]).toEqual([
          method,
          path,
          [404, 'entity_not_found'],
        ]);
      }
      if (id !== 3) expect(await send(method, `/judged${path}`, json, { 'x-deny': '1' })).toEqual([404, 'entity_not_found']);
      // parameters are refused only for a row that is there
      expect(await send(method, `/editors${path}?nope=1`, json, editor)).toEqual([404, 'entity_not_found']);
      expect(await send(method, `/restricted${path}`, json, { 'if-match': '"x"' })).toEqual([404, 'entity_not_found']);
    }
    expect(app.calls.filter((call) => call.startsWith('vote'))).toEqual([]);
    expect(await send('GET', `/editors/${id}.json`, undefined)).toEqual([404, 'entity_not_found']);
    expect((await running.request('GET', `/editors/${id}.json`)).json.detail).toBe('no item has this id');
    expect(await send('POST', `/restricted/${id}/work.json`, {})).toEqual([404, 'entity_not_found']);
    expect(await send('GET', `/restricted/${id}/work.json`, undefined)).toEqual([404, 'entity_not_found']);
    expect(await state()).toBe(before);
  });

  test('every write requires the role, even if the role does not depend on the row', async () => {
    const before = await state();
    for (const [method, path, json] of [...writes(1), ['POST', '.json', { name: 'n', code: 'N' }] as const]) {
      expect([method, path, await send(method, `/editors${path}`, json)]).toEqual([
        method,
        path,
        [401, 'authentication_required'],
      ]);
      expect(await send(method, `/editors${path}`, json, reader)).toEqual([403, 'access_denied']);
    }
    expect(await state()).toBe(before);
    for (const [method, path, json] of writes(1)) {
      await running.restore();
      const [status] = await send(method, `/editors${path}`, json, editor);
      expect([method, path, status]).toEqual([method, path, method === 'DELETE' && path === '/1.json' ? 204 : 200]);
      expect(await state()).not.toBe(before);
    }
    expect((await send('POST', '/editors.json', { name: 'n', code: 'N' }, editor))[0]).toBe(201);
    expect((await send('GET', '/editors/1.json', undefined))[0]).toBe(200);
  });

  test('a voter gets the row once, before anything is written', async () => {
    for (const [method, path, json] of writes(1)) {
      await running.restore();
      const before = await state();
      expect(await send(method, `/judged${path}`, json, { 'x-deny': '1', ...reader })).toEqual([403, 'access_denied']);
      expect(app.calls).toEqual(['vote one otto']);
      expect(await state()).toBe(before);
      app.calls.length = 0;
      expect((await send(method, `/judged${path}`, json))[0]).toBeLessThan(300);
      expect(app.calls).toEqual(['vote one null']);
      expect(await state()).not.toBe(before);
    }
  });

  test('a voter gets the row for reads and handlers, and null for collections', async () => {
    for (const [method, path, vote] of [
      ['GET', '/1.json', 'vote one null'],
      ['HEAD', '/2.json', 'vote two null'],
      ['GET', '/1/work.json', 'vote one null'],
      ['GET', '.json', 'vote null null'],
      ['GET', '.csv', 'vote null null'],
      ['GET', '/all.json', 'vote null null'],
    ] as const) {
      app.calls.length = 0;
      const [status] = await send(method, `/judged${path}`, undefined);
      expect([path, status, app.calls.filter((call) => call.startsWith('vote'))]).toEqual([path, 200, [vote]]);
      app.calls.length = 0;
      expect((await send(method, `/judged${path}`, undefined, { 'x-deny': '1' }))[0]).toBe(401);
      expect(app.calls).toEqual([vote]);
    }
    app.calls.length = 0;
    expect((await send('POST', '/judged.json', { name: 'n', code: 'N' }, { 'x-deny': '1' }))[0]).toBe(401);
    expect(app.calls).toEqual(['vote null null']);
    expect(await running.rows()).toHaveLength(3);
  });

  test('an error thrown by a voter makes the request return 500', async () => {
    app.onVote = () => {
      throw new Error('broken');
    };
    expect((await send('PATCH', '/judged/1.json', { num: 7 }))[0]).toBe(500);
    expect((await send('GET', '/judged/1.json', undefined))[0]).toBe(500);
    expect((await running.rows())[0].num).toBe(1);
  });

  test('unknown query parameters are rejected before anything is written', async () => {
    const before = await state();
    for (const [method, path, json] of [...writes(1), ['POST', '.json', { name: 'n', code: 'N' }] as const]) {
      for (const base of ['/plain', '/editors', '/judged', '/restricted']) {
        expect(await send(method, `${base}${path}?nope=1`, json, editor)).toEqual([400, 'unknown_parameter']);
      }
    }
    expect(await send('GET', '/plain/1.json?nope=1', undefined)).toEqual([400, 'unknown_parameter']);
    expect(await state()).toBe(before);
  });

  test('customizeQuery is called once per request, with the name of the action', async () => {
    for (const [method, path, json, action] of [
      ['GET', '.json', undefined, '_index'],
      ['GET', '.csv', undefined, '_index'],
      ['GET', '/1.json', undefined, '_entity'],
      ['PATCH', '/1.json', { num: 7 }, '_entity'],
      ['PUT', '/1.json', { name: 'n', code: 'N' }, '_entity'],
      ['POST', '/1/tags.json', { id: 2 }, 'tags'],
      ['DELETE', '/1/tags.json', { id: 2 }, 'tags'],
      ['POST', '/1/work.json', {}, 'work'],
      ['DELETE', '/1.json', undefined, '_entity'],
    ] as const) {
      app.calls.length = 0;
      expect((await send(method, `/restricted${path}`, json))[0]).toBeLessThan(300);
      expect([path, app.calls.filter((call) => call.startsWith('customizeQuery'))]).toEqual([path, [`customizeQuery ${action}`]]);
    }
  });

  if (store === 'rows') {
    test('a row that no voter needs to see is written by one statement', async () => {
      for (const [method, path, json] of [
        ['PATCH', '/plain/1.json', { num: 7 }],
        ['PATCH', '/editors/1.json', { num: 8 }],
        ['DELETE', '/editors/2.json', undefined],
      ] as const) {
        running.statements.length = 0;
        expect((await send(method, path, json, editor))[0]).toBeLessThan(300);
        expect(running.statements.filter((sql) => /^(update|delete)/.test(sql))).toHaveLength(1);
        // SQLite reads what was written by a second one
        expect(running.statements.filter((sql) => /^(select|with)/.test(sql)).length).toBeLessThan(2);
      }
      running.statements.length = 0;
      expect((await send('PATCH', '/judged/1.json', { num: 7 }))[0]).toBe(200);
      expect(running.statements.filter((sql) => /^(select|with)/.test(sql)).length).toBeGreaterThan(0);
    });
  }
});
