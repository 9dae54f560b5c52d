import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { app, stores, useRunning } from './application.ts';

/** A request is tried this often before its failure is told; in the last two attempts the row is locked first. */
const attempts = 4;

describe.each(stores)('a row that changes during the access check, through $store', ({ compiledReads }) => {
  const running = useRunning(compiledReads, ['plain', 'judged', 'editors', 'revised', 'revised_judged', 'with_aftercommit']);

  const send: typeof running.send = (...args) => running.send(...args);
  const writes = [
    ['PATCH', '/1.json', { num: 7 }],
    ['PUT', '/1.json', { name: 'new', code: 'N', num: 7 }],
    ['DELETE', '/1.json', undefined],
    ['POST', '/1/tags.json', { id: 2 }],
    ['DELETE', '/1/tags.json', { id: 1 }],
  ] as const;

  /** Changes the row during the first checks; later the row is locked, and nobody else could. */
  function overtake(times: number, sql: (turn: number) => string, table = 'item') {
    let turn = 0;
    app.onVote = async () => {
      if (turn++ < times) await running.execute(sql(turn).replace('$table', table));
    };
  }

  test.each(writes)('%s %s is checked again, then written', async (method, path, json) => {
    overtake(1, (turn) => `update $table set code = 'changed${turn}' where id = 1`);
    const { status } = await send(method, `/judged${path}`, json);
    expect([status < 300, app.calls]).toEqual([true, ['vote one null', 'vote one null']]);
  });

  test('a voter that rejects the changed row stops the write', async () => {
    app.onVote = async (subject) => {
      if (subject.code === 'changed') throw new Error('no');
      await running.execute("update item set code = 'changed' where id = 1");
    };
    for (const [method, path, json] of writes) {
      await running.restore();
      app.onVote = async (subject) => {
        if (subject.code === 'changed') throw new Error('no');
        await running.execute("update item set code = 'changed' where id = 1");
      };
      expect((await send(method, `/judged${path}`, json)).status).toBe(500);
    }
    expect((await running.rows())[0]).toEqual({ id: 1, name: 'one', code: 'changed', num: 1 });
  });

  test('a row that is deleted during the check returns 404', async () => {
    for (const [method, path, json] of writes) {
      await running.restore();
      overtake(1, () => 'delete from item where id = 1');
      expect((await send(method, `/judged${path}`, json)).status).toBe(404);
    }
  });

  test('the row is locked after some attempts, so that the request completes', async () => {
    // two attempts without the lock, and then one that nobody can overtake
    overtake(2, (turn) => `update $table set code = 'changed${turn}' where id = 1`);
    const { status, json } = await send('PATCH', '/judged/1.json', { num: 7 });
    expect([status, json, app.calls]).toEqual([
      200,
      { id: 1, name: 'one', code: 'changed2', num: 7 },
      Array.from({ length: attempts - 1 }, () => 'vote one null'),
    ]);
    expect((await running.rows())[0]).toEqual({ id: 1, name: 'one', code: 'changed2', num: 7 });
  });

  test('each attempt uses the body as the client sent it', async () => {
    overtake(1, () => "update $table set code = 'changed' where id = 1");
    const inner = app.onVote;
    const bodies: string[] = [];
    app.onVote = async (subject) => {
      await inner?.(subject);
      bodies.push(subject.code);
    };
    const { json } = await send('PATCH', '/judged/1.json', { num: 8, name: 'x' });
    expect([json, bodies]).toEqual([{ id: 1, name: 'x', code: 'changed', num: 8 }, ['A', 'changed']]);
  });

  test('a change with If-Match returns 412, and is retried without If-Match', async () => {
    const tag = (await send('GET', '/revised-judged/1.json')).headers.get('etag') as string;
    overtake(1, () => 'update $table set num = 5, revision = revision + 1 where id = 1', 'revised');
    const bound = await send('PATCH', '/revised-judged/1.json', { name: 'x' }, { 'if-match': tag });
    expect([bound.status, bound.json.code]).toEqual([412, 'precondition_failed']);
    app.reset();
    overtake(1, () => 'update $table set num = 6, revision = revision + 1 where id = 1', 'revised');
    const free = await send('PATCH', '/revised-judged/1.json', { name: 'x' });
    expect([free.status, free.json]).toEqual([200, { id: 1, name: 'x', code: 'A', num: 6 }]);
  });

  test('a handler is not retried, and the conflict returns 409', async () => {
    app.handle = async (controller, id, request) => {
      const item = await controller.getEntity('work', id, request);
      await running.execute("update item set code = code || 'x' where id = 1");
      item.num = 70;
      await controller.em.flush();
    };
    const { json, status } = await send('POST', '/plain/1/work.json', {});
    expect([status, json.code, app.calls]).toEqual([409, 'conflict_version', ['handler 1']]);
    expect(json.detail).toContain('item');
    const bound = await send('POST', '/plain/1/work.json', {}, { 'if-match': '*' });
    expect([bound.status, bound.json.code]).toEqual([409, 'conflict_version']);
    expect((await running.rows())[0].num).toBe(1);
  });

  test('a request with an idempotency key is executed once, and its response is stored', async () => {
    for (const [method, path, json] of [...writes, ['POST', '.json', { name: 'n', code: 'N' }] as const]) {
      await running.restore();
      const headers = { 'idempotency-key': randomUUID() };
      overtake(path === '.json' ? 0 : 1, () => "update $table set code = 'changed' where id = 1");
      const first = await send(method, `/judged${path}`, json, headers);
      expect([method, path, first.status < 300, first.headers.get('idempotency-replayed')]).toEqual([method, path, true, null]);
      const before = await running.rows();
      const again = await send(method, `/judged${path}`, json, headers);
      // for a voter that looks at the row, a row that is gone is not there
      const isGone = method === 'DELETE' && path === '/1.json';
      expect([again.status, again.text, again.headers.get('idempotency-replayed')]).toEqual([first.status, first.text, 'true']);
      if (isGone) expect(first.status).toBe(204);
      expect(await running.rows()).toEqual(before);
      const other = await send(method, `/judged${path}`, { ...json, num: 77 }, headers);
      if (!isGone) expect([other.status, other.json?.code]).toEqual([422, 'idempotency_key_reused']);
      expect((await send('GET', '/judged/2.json', undefined, headers)).status).toBe(200);
    }
  });

  test('a stored response with a body returns 404 after the row is gone, one without a body is replayed', async () => {
    const editor = { 'x-user': 'anna,ROLE_EDITOR' };
    for (const base of ['/plain', '/editors', '/judged']) {
      await running.restore();
      const headers = { 'idempotency-key': randomUUID(), ...editor };
      expect((await send('PATCH', `${base}/1.json`, { num: 7 }, headers)).status).toBe(200);
      await running.execute('delete from item where id = 1');
      expect([base, (await send('PATCH', `${base}/1.json`, { num: 7 }, headers)).status]).toEqual([base, 404]);
    }
    await running.restore();
    const headers = { 'idempotency-key': randomUUID(), ...editor };
    expect((await send('DELETE', '/editors/1.json', undefined, headers)).status).toBe(204);
    expect((await send('DELETE', '/editors/1.json', undefined, headers)).status).toBe(204);
    expect((await send('DELETE', '/editors/1.json', undefined, { ...headers, 'x-user': 'anna' })).status).toBe(403);
  });

  test('afterCommit can replace the response that is stored for an idempotency key', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    app.reply = 'afterCommit';
    const first = await send('PATCH', '/with-aftercommit/1.json', { num: 7 }, headers);
    expect([first.status, first.json, app.calls]).toEqual([202, { by: 'afterCommit' }, ['afterCommit _entity Item 1']]);
    const again = await send('PATCH', '/with-aftercommit/1.json', { num: 7 }, headers);
    expect([again.status, again.text, app.calls.length]).toEqual([202, first.text, 1]);
    expect((await running.rows())[0].num).toBe(7);
  });

  test('an error response is not stored for an idempotency key', async () => {
    const headers = { 'idempotency-key': randomUUID() };
    expect((await send('PATCH', '/plain/1.json', { code: 'B' }, headers)).status).toBe(409);
    await running.execute("update item set code = 'Z' where id = 2");
    expect((await send('PATCH', '/plain/1.json', { code: 'B' }, headers)).status).toBe(200);
  });
});
