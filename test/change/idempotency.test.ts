// @module-tag divided
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { request as sendRaw } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { IdempotencyTable } from '../../src/database/tables/idempotency-table.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import type { TestApplication, TestRequest, TestResponse } from '../support/testing.ts';
import { seen, startOrders } from './orders.ts';

describe.each(databases)('requests with an Idempotency-Key on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;

  beforeAll(async () => {
    database = await freshDatabase(kind);
    app = await startOrders(database.url);
  });

  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });

  beforeEach(() => {
    seen.calls.length = 0;
    seen.onAct = null;
  });

  const rows = (sql: string): Promise<Record<string, unknown>[]> => app.application.mapper.em.fork().execute(sql);
  const count = async (table: string, where = 'true') =>
    Number((await rows(`select count(*) as n from ${table} where ${where}`))[0]?.n);
  const send = (key: string | null, method: string, path: string, request: TestRequest = {}, to = app) =>
    to.request(method, path, { ...request, headers: { ...request.headers, ...(key !== null && { 'idempotency-key': key }) } });
  const isReplay = ({ headers }: TestResponse) => headers.get('idempotency-replayed') === 'true';

  /** Sends a request twice, expects one answer, and gives it. */
  async function twice(method: string, path: string, request: TestRequest = {}): Promise<TestResponse> {
    const key = randomUUID();
    const first = await send(key, method, path, request);
    expect(isReplay(first)).toBe(false);
    const second = await send(key, method, path, request);
    expect({ status: second.status, text: second.text }).toEqual({ status: first.status, text: first.text });
    for (const name of ['location', 'etag', 'content-type', 'x-own'])
      expect([name, second.headers.get(name)]).toEqual([name, first.headers.get(name)]);
    expect(isReplay(second)).toBe(true);
    return first;
  }

  test.each(['/plain', '/hooked'])('a row under %s is created once, and the response is replayed', async (base) => {
    const before = await count('orders');
    const { json, headers, status } = await twice('POST', `${base}.json`, { json: { name: 'once', data: { b: 1, a: [null] } } });
    expect(status).toBe(201);
    expect(headers.get('location')).toBe(`${base}/${json.id}.json`);
    expect(await count('orders')).toBe(before + 1);
  });

  test('requests without the header are not deduplicated', async () => {
    const before = await count('orders');
    const answers = [1, 2].map(() => send(null, 'POST', '/plain.json', { json: { name: 'twice' } }));
    for (const answer of await Promise.all(answers)) {
      expect(answer.status).toBe(201);
      expect(answer.headers.has('idempotency-replayed')).toBe(false);
    }
    expect(await count('orders')).toBe(before + 2);
  });

  test.each(['/plain', '/hooked'])('PATCH, PUT, DELETE and association changes under %s run once', async (base) => {
    const { json } = await send(null, 'POST', `${base}.json`, { json: { name: 'a' } });
    const own = `${base}/${json.id}`;
    const patched = await twice('PATCH', `${own}.json`, { json: { name: 'b' } });
    expect(patched.json.name).toBe('b');
    const put = await twice('PUT', `${own}.json`, { json: { name: 'c', data: null } });
    expect(put.json.name).toBe('c');
    expect((await twice('POST', `${own}/tags.json`, { json: { id: 1 } })).json).toEqual({ id: 1 });
    expect((await twice('DELETE', `${own}/tags.json`, { json: { id: 1 } })).status).toBe(200);
    const gone = await twice('DELETE', `${own}.json`);
    expect([gone.status, gone.text]).toEqual([204, '']);
    expect((await send(randomUUID(), 'DELETE', `${own}.json`)).status).toBe(404);
  });

  test('a replay does not overwrite later changes of other callers', async () => {
    const { json } = await send(null, 'POST', '/plain.json', { json: { name: 'a' } });
    const key = randomUUID();
    await send(key, 'PATCH', `/plain/${json.id}.json`, { json: { name: 'mine' } });
    await send(null, 'PATCH', `/plain/${json.id}.json`, { json: { name: 'theirs' } });
    expect((await send(key, 'PATCH', `/plain/${json.id}.json`, { json: { name: 'mine' } })).json.name).toBe('mine');
    expect((await send(null, 'GET', `/plain/${json.id}.json`)).json.name).toBe('theirs');
  });

  test('a response to a request with If-Match is replayed after the version has changed', async () => {
    const { headers } = await send(null, 'GET', '/versioned/1.json');
    const request = { json: { name: 'second' }, headers: { 'if-match': String(headers.get('etag')) } };
    const { headers: after } = await twice('PATCH', '/versioned/1.json', request);
    expect(after.get('etag')).not.toBe(headers.get('etag'));
    expect((await send(randomUUID(), 'PATCH', '/versioned/1.json', request)).status).toBe(412);
    // of many at once, with a key each, one comes first
    const current = (n: number) => ({ json: { name: `third ${n}` }, headers: { 'if-match': String(after.get('etag')) } });
    const answers = await Promise.all([1, 2, 3, 4].map((n) => send(randomUUID(), 'PATCH', '/versioned/1.json', current(n))));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412, 412]);
  });

  test('rejects the same key with a different method, path or body', async () => {
    const key = randomUUID();
    const { json } = await send(key, 'POST', '/hooked.json', { json: { name: 'a', data: { x: 1, y: 2 } } });
    const same = await send(key, 'POST', '/hooked.json', {
      body: '{"data":{"y":2,"x":1},"name":"a"}',
      headers: { 'content-type': 'application/json' },
    });
    expect([same.status, isReplay(same)]).toEqual([201, true]);
    const others: [string, string, TestRequest][] = [
      ['POST', '/hooked.json', { json: { name: 'b', data: { x: 1, y: 2 } } }],
      ['POST', '/plain.json', { json: { name: 'a', data: { x: 1, y: 2 } } }],
      ['PATCH', `/hooked/${json.id}.json`, { json: { name: 'a', data: { x: 1, y: 2 } } }],
      ['DELETE', `/hooked/${json.id}.json`, {}],
      ['POST', '/hooked/work.json?x=1', { json: { text: 'x' } }],
    ];
    for (const [method, path, request] of others) {
      const refused = await send(key, method, path, request);
      expect([refused.status, refused.json.code]).toEqual([422, 'idempotency_key_reused']);
    }
  });

  test('a rejected request stores nothing and can be corrected under the same key', async () => {
    const key = randomUUID();
    const [orders, answers] = [await count('orders'), await count('declarest_idempotency')];
    for (const json of [{ name: 5 }, { nothing: 1 }, {}])
      expect([400, 422]).toContain((await send(key, 'POST', '/hooked.json', { json })).status);
    expect((await send(key, 'PATCH', '/hooked/999999.json', { json: {} })).status).toBe(404);
    expect([await count('orders'), await count('declarest_idempotency')]).toEqual([orders, answers]);
    expect((await send(key, 'POST', '/hooked.json', { json: { name: 'mended' } })).status).toBe(201);
  });

  test.each(['throw', 'refuse', 'answer'])(
    'a handler that ends with an error leaves neither changes nor a stored response: %s',
    async (what) => {
      const key = randomUUID();
      const text = `error ${what}`;
      const answers = await count('declarest_idempotency');
      const first = await send(key, 'POST', '/hooked/work.json', { json: { text, what } });
      expect(first.status).toBe({ throw: 500, refuse: 400, answer: 402 }[what]);
      expect([await count('entry', `text = '${text}'`), await count('declarest_idempotency')]).toEqual([0, answers]);
      expect((await send(key, 'POST', '/hooked/work.json', { json: { text } })).status).toBe(201);
    },
  );

  test.each(['transactional', 'begin'])(
    'transactions of a handler are part of the transaction of the request: %s',
    async (what) => {
      const request = { json: { text: `own ${what}`, what } };
      let others = -1;
      seen.onAct = async () => {
        others = await count('entry', `text like 'own ${what}%'`);
      };
      const { headers } = await twice('POST', '/hooked/work.json', request);
      expect(headers.get('x-own')).toBe('yes');
      expect(seen.calls.filter((call) => call === 'worked')).toHaveLength(1);
      // nobody else sees anything of it before its end
      expect([others, await count('entry', `text like 'own ${what}%'`)]).toEqual([0, 2]);
    },
  );

  test('a failed flush is rolled back alone, and the handler can continue', async () => {
    expect((await twice('POST', '/hooked/work.json', { json: { text: 'caught', what: 'catch' } })).status).toBe(201);
    expect(seen.calls).toContain('caught');
    expect(await count('entry', "text = 'caught'")).toBe(1);
  });

  test('changes that a handler does not flush are not written', async () => {
    await twice('POST', '/hooked/work.json', { json: { text: 'kept', what: 'unflushed' } });
    expect(await count('entry', "text like 'kept%'")).toBe(1);
  });

  test('a handler that writes with its own entity manager does not block later requests', async () => {
    const answer = await send(randomUUID(), 'POST', '/hooked/work.json', { json: { text: 'forked', what: 'fork' } });
    // SQLite has one writer at a time, and this one would wait for itself
    expect(answer.status).toBe(kind === 'sqlite' ? 500 : 201);
    expect((await send(null, 'POST', '/plain.json', { json: { name: 'others go on' } })).status).toBe(201);
  });

  test('a cookie is not replayed', async () => {
    const key = randomUUID();
    const request = { json: { text: 'cookie' } };
    expect((await send(key, 'POST', '/hooked/work.json', request)).headers.get('set-cookie')).toBe('a=b');
    expect((await send(key, 'POST', '/hooked/work.json', request)).headers.has('set-cookie')).toBe(false);
  });

  test('the hook after the flush is called once, after the commit', async () => {
    const before = await count('orders');
    await twice('POST', '/hooked.json', { json: { name: 'hooked' } });
    const { id } = (await rows('select max(id) as id from orders'))[0] as { id: number };
    expect(seen.calls).toEqual(['checked', 'validated', `flushed, ${before + 1} orders`, 'checked']);
    seen.calls.length = 0;
    await twice('PATCH', `/hooked/${id}.json`, { json: { name: 'more' } });
    await twice('POST', `/hooked/${id}/tags.json`, { json: { id: 1 } });
    await twice('DELETE', `/hooked/${id}.json`);
    expect(seen.calls.filter((call) => call.startsWith('flushed'))).toEqual([
      `flushed, ${before + 1} orders`,
      `flushed, ${before + 1} orders`,
      `flushed, ${before} orders`,
    ]);
  });

  test('the reply of a hook after the flush is the response, and is replayed', async () => {
    const before = await count('orders');
    const headers = { 'x-after': 'reply' };
    const { json, status } = await twice('POST', '/hooked.json', { json: { name: 'replied' }, headers });
    expect([status, json]).toEqual([202, { by: 'hook' }]);
    expect(await count('orders')).toBe(before + 1);
  });

  test('a replay of a committed request succeeds, even if a hook failed after the commit', async () => {
    const key = randomUUID();
    const before = await count('orders');
    const request = { json: { name: 'failed' }, headers: { 'x-after': 'fail' } };
    expect((await send(key, 'POST', '/hooked.json', request)).status).toBe(500);
    const second = await send(key, 'POST', '/hooked.json', request);
    expect([second.status, isReplay(second), second.json.name]).toEqual([201, true, 'failed']);
    expect(await count('orders')).toBe(before + 1);
  });

  test('each caller has separate keys', async () => {
    const key = randomUUID();
    const before = await count('orders');
    const post = (as?: { id: string; roles: string[] }) =>
      send(key, 'POST', '/hooked.json', { json: { name: 'same' }, ...(as && { as }) });
    const answers = [await post(), await post({ id: 'anna', roles: [] }), await post({ id: 'bert', roles: [] })];
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(answers.some(isReplay)).toBe(false);
    expect(new Set(answers.map(({ json }) => json.id)).size).toBe(3);
    expect(await count('orders')).toBe(before + 3);
    expect(isReplay(await post({ id: 'anna', roles: ['ROLE_OTHER'] }))).toBe(true);
  });

  test('a caller who has lost access does not get the stored response', async () => {
    const key = randomUUID();
    const as = { id: 'anna', roles: ['ROLE_USER'] };
    const request = { json: { name: 'withdrawn' } };
    const { json } = await send(key, 'POST', '/users.json', { ...request, as });
    const later = { id: 'anna', roles: [] };
    expect((await send(key, 'POST', '/users.json', { ...request, as: later })).status).toBe(403);
    expect((await send(key, 'POST', '/users.json', request)).status).toBe(401);
    const removing = randomUUID();
    expect((await send(removing, 'DELETE', `/users/${json.id}.json`, { as })).status).toBe(204);
    expect((await send(removing, 'DELETE', `/users/${json.id}.json`, { as: later })).status).toBe(403);
    expect((await send(removing, 'DELETE', `/users/${json.id}.json`, { as })).status).toBe(204);
  });

  test('a voter checks the entity before a replay, and a replay returns no data of a deleted entity', async () => {
    const as = { id: 'anna' };
    const [patching, removing] = [randomUUID(), randomUUID()];
    const { json } = await send(null, 'POST', '/hooked.json', { json: { name: 'mine' }, as });
    const own = `/mine/${json.id}.json`;
    const patch = () => send(patching, 'PATCH', own, { json: { name: 'still mine' }, as });
    expect((await patch()).status).toBe(200);
    expect(isReplay(await patch())).toBe(true);
    await app.application.mapper.em.fork().execute(`update orders set owner = 'bert' where id = ${json.id}`);
    expect((await patch()).status).toBe(403);
    await app.application.mapper.em.fork().execute(`update orders set owner = 'anna' where id = ${json.id}`);
    expect((await send(removing, 'DELETE', own, { as })).status).toBe(204);
    expect((await send(removing, 'DELETE', own, { as })).status).toBe(204);
    // the entity is gone, and so nobody can say who may see what it was like
    expect((await patch()).status).toBe(404);
    expect((await send(removing, 'DELETE', own, { as: { id: 'bert' } })).status).toBe(404);
  });

  test.each([
    ['x'.repeat(255), 201],
    ['x'.repeat(256), 400],
    ['"quoted \\"key\\""', 201],
    ['"open', 400],
    ['""', 400],
    ['a, b', 201],
    ['tab\there', 400],
    ['ü', 400],
  ])('the key %j returns %d', async (key, status) => {
    const answer = await send(key, 'POST', '/plain.json', { json: { name: 'keys' } });
    expect([answer.status, answer.json.code]).toEqual([status, status === 201 ? undefined : 'invalid_idempotency_key']);
  });

  test('a key is the same with and without quotes, and a second header is rejected', async () => {
    const key = randomUUID();
    await send(key, 'POST', '/plain.json', { json: { name: 'q' } });
    expect(isReplay(await send(`"${key}"`, 'POST', '/plain.json', { json: { name: 'q' } }))).toBe(true);
    const { promise, resolve } = Promise.withResolvers<number | undefined>();
    const headers = { 'content-type': 'application/json', 'idempotency-key': ['a', 'b'] };
    sendRaw(`${app.url}/plain.json`, { method: 'POST', headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).end('{"name":"q"}');
    expect(await promise).toBe(400);
  });

  test('an explanation changes nothing and ignores keys', async () => {
    const before = await count('orders');
    const request = { json: { name: 'explained' }, headers: { 'idempotency-key': randomUUID() } };
    await app.explain('POST', '/plain.json', request);
    expect(await count('orders')).toBe(before);
    expect(isReplay(await send(request.headers['idempotency-key'], 'POST', '/plain.json', { json: request.json }))).toBe(false);
  });

  test('ignores a key on a read', async () => {
    expect((await send('"', 'GET', '/plain/1.json')).status).toBe(200);
  });

  test('concurrent requests with one key have one effect and one response', async () => {
    for (const path of ['/plain.json', '/hooked.json'])
      for (let round = 0; round < 3; round++) {
        const key = randomUUID();
        const before = await count('orders');
        const request = { json: { name: `round ${round}` } };
        const answers = await Promise.all(Array.from({ length: 20 }, () => send(key, 'POST', path, request)));
        expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
        expect(answers.filter((answer) => !isReplay(answer))).toHaveLength(1);
        expect(await count('orders')).toBe(before + 1);
      }
  });

  test('concurrent first requests create one table', async () => {
    for (let round = 0; round < 40; round++) {
      await rows('drop table if exists declarest_idempotency');
      const tables = Array.from({ length: 10 }, () => new IdempotencyTable(app.application.mapper, true));
      expect(await Promise.all(tables.map((table) => table.isThere()))).toEqual(tables.map(() => true));
    }
  });

  test('concurrent first requests add the new columns to a table of an earlier version', async () => {
    await rows('drop table if exists declarest_idempotency');
    const old = 'id varchar(64) primary key, fingerprint varchar(64) not null, answer text, expires_at bigint not null';
    await rows(`create table declarest_idempotency (${old})`);
    await rows(`insert into declarest_idempotency values ('x', 'f', '{}', ${Date.now() + 100_000})`);
    const left = new IdempotencyTable(app.application.mapper, false);
    expect(await left.isThere()).toBe(false);
    const tables = Array.from({ length: 5 }, () => new IdempotencyTable(app.application.mapper, true));
    expect(await Promise.all(tables.map((table) => table.isThere()))).toEqual(tables.map(() => true));
    expect([await left.isThere(), await count('declarest_idempotency', "id = 'x'")]).toEqual([true, 1]);
    await twice('POST', '/plain.json', { json: { name: 'upgraded' } });
  });

  test('concurrent requests with one key to two servers on one database have one effect', async () => {
    const other = await startOrders(database.url);
    try {
      for (let round = 0; round < 5; round++) {
        const key = randomUUID();
        const before = await count('entry');
        const request = { json: { text: `servers ${round}` } };
        const answers = await Promise.all(
          Array.from({ length: 12 }, (_, i) => send(key, 'POST', '/hooked/work.json', request, i % 2 ? other : app)),
        );
        expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
        expect(answers.filter((answer) => !isReplay(answer))).toHaveLength(1);
        expect(await count('entry')).toBe(before + 1);
      }
    } finally {
      await other.close();
    }
  });

  test('waiting requests with the same key proceed if the first one fails', async () => {
    const key = randomUUID();
    let isFirst = true;
    seen.onAct = () => {
      if (!isFirst) return;
      isFirst = false;
      throw new Error('the first fails');
    };
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => send(key, 'POST', '/hooked/work.json', { json: { text: 'line' } })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 201, 201, 500]);
    expect(await count('entry', "text = 'line'")).toBe(1);
  });

  test('an expired response is not replayed', async () => {
    const key = randomUUID();
    const request = { json: { name: 'expiring' } };
    await send(key, 'POST', '/plain.json', request);
    const em = app.application.mapper.em.fork();
    await em.execute('update declarest_idempotency set expires_at = 1');
    const again = await send(key, 'POST', '/plain.json', request);
    expect([again.status, isReplay(again)]).toEqual([201, false]);
    await em.execute(`update declarest_idempotency set expires_at = ${Date.now() + 100_000}`);
    expect(isReplay(await send(key, 'POST', '/plain.json', request))).toBe(true);
  });

  test('a request that times out is rolled back and does not block others', async () => {
    const hasty = await startOrders(database.url, { server: { handler_timeout: 800 } });
    try {
      const { promise, resolve } = Promise.withResolvers<void>();
      seen.onAct = () => promise;
      const key = randomUUID();
      const request = { json: { text: 'given up' } };
      expect((await send(key, 'POST', '/hooked/work.json', request, hasty)).json.code).toBe('handler_timeout');
      // its handler goes on, but what it holds is free
      expect((await send(null, 'POST', '/plain.json', { json: { name: 'next' } }, hasty)).status).toBe(201);
      resolve();
      seen.onAct = null;
      expect((await send(key, 'POST', '/hooked/work.json', request, hasty)).status).toBe(201);
      expect(await count('entry', "text = 'given up'")).toBe(1);
    } finally {
      await hasty.close();
    }
  });

  test('settings limit the lifetime and the size of stored responses, or turn keys off', async () => {
    const short = await startOrders(database.url, { server: { idempotency: { ttl: 5, answer_limit: 60 } } });
    const off = await startOrders(database.url, { server: { idempotency: null } });
    try {
      const [small, large] = [randomUUID(), randomUUID()];
      await send(small, 'PATCH', '/hooked/1/tags.json', {}, short);
      expect((await send(small, 'POST', '/plain/1/tags.json', { json: { id: 2 } }, short)).status).toBe(200);
      expect(isReplay(await send(small, 'POST', '/plain/1/tags.json', { json: { id: 2 } }, short))).toBe(true);
      const request = { json: { name: 'x'.repeat(60) } };
      const before = await count('orders');
      expect((await send(large, 'POST', '/plain.json', request, short)).status).toBe(201);
      const second = await send(large, 'POST', '/plain.json', request, short);
      expect([second.status, second.headers.get('idempotency-replayed')]).toEqual([201, 'rebuilt']);
      expect(await count('orders')).toBe(before + 1);
      const work = { json: { text: 'y'.repeat(60) } };
      expect((await send(small, 'POST', '/hooked/work.json', work, short)).status).toBe(422);
      const own = randomUUID();
      expect((await send(own, 'POST', '/hooked/work.json', work, short)).status).toBe(201);
      const third = await send(own, 'POST', '/hooked/work.json', work, short);
      expect([third.status, third.json.code]).toEqual([409, 'idempotency_answer_too_large']);
      await new Promise((resolve) => setTimeout(resolve, 5100));
      expect(isReplay(await send(small, 'POST', '/plain/1/tags.json', { json: { id: 2 } }, short))).toBe(false);
      // it has a second to live, and its row is taken again
      expect(await count('declarest_idempotency', `expires_at <= ${Date.now()}`)).toBeLessThanOrEqual(3);
      for (let i = 0; i < 2; i++)
        expect((await send(large, 'POST', '/plain.json', { json: { name: 'off' } }, off)).status).toBe(201);
      expect(await count('orders', "name = 'off'")).toBe(2);
    } finally {
      await short.close();
      await off.close();
    }
  });

  test('no table is created if schema is none, and keys return 501 until it exists', async () => {
    const fresh = await freshDatabase(kind);
    const made = await startOrders(fresh.url);
    await made.close();
    const alone = await startOrders(fresh.url, { database: { schema: 'none' } });
    try {
      const refused = await send(randomUUID(), 'POST', '/plain.json', { json: { name: 'a' } }, alone);
      expect([refused.status, refused.json.code]).toEqual([501, 'idempotency_unavailable']);
      expect((await send(null, 'POST', '/plain.json', { json: { name: 'a' } }, alone)).status).toBe(201);
      // as the documentation says
      const page = readFileSync(join(import.meta.dirname, '../../docs/reference/writes.md'), 'utf8');
      const statements = /```sql\n([^`]+)```/.exec(page)?.[1]?.trim().split('\n') ?? [];
      for (const sql of statements) await alone.application.mapper.em.fork().execute(sql);
      expect((await send(randomUUID(), 'POST', '/plain.json', { json: { name: 'a' } }, alone)).status).toBe(201);
    } finally {
      await alone.close();
      await fresh.drop();
    }
  });
});
