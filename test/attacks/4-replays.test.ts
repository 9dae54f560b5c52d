// @module-tag divided
import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { databases, freshDatabase } from '../support/databases.ts';
import { startApplication } from '../support/testing.ts';
import { paperOptions } from './support/papers.ts';
import { type Sent, useTarget } from './support/target.ts';

describe.each(databases)('API4:2023 unrestricted resource consumption: stored responses, on %s', (kind) => {
  const target = useTarget(kind, paperOptions());
  const bounded = useTarget(kind, paperOptions({ caller_limit: 100_000, total_limit: 200_000 }));

  afterEach(() => {
    vi.useRealTimers();
  });

  const send = (key: string, method: string, path: string, sent: Sent, to = target) =>
    to.send(method, path, { ...sent, headers: { 'idempotency-key': key } });
  const stored = async (to = target) =>
    Number((await to.rows('select coalesce(sum(length(answer)), 0) as n from declarest_idempotency'))[0]?.n);

  test.each(['/plain', '/ours'])('small changes of a large row under %s store little data (CWE-405)', async (base) => {
    const text = 'x'.repeat(1_000_000);
    const { json } = await send(randomUUID(), 'POST', `${base}.json`, { json: { title: 'large', text } });
    const before = await stored();
    const keys = Array.from({ length: 20 }, () => randomUUID());
    const change = (key: string, n: number) => send(key, 'PATCH', `${base}/${json.id}.json`, { json: { title: `change ${n}` } });
    for (const [n, key] of keys.entries()) expect((await change(key, n)).json.title).toBe(`change ${n}`);
    expect((await stored()) - before).toBeLessThan(20_000);
    // what was not stored is read again: the row as it is now
    const again = await change(keys[3] as string, 3);
    expect([again.status, again.json.title, again.json.text.length]).toEqual([200, 'change 19', 1_000_000]);
    expect(again.headers['idempotency-replayed']).toBe('rebuilt');
    expect(again.headers.etag).toBe((await target.send('GET', `${base}/${json.id}.json`, {})).headers.etag);
    expect((await target.rows(`select title from paper where id = ${json.id}`))[0]?.title).toBe('change 19');
  });

  test('a large handler response is not stored, and a replay returns 409 (CWE-405)', async () => {
    const before = await stored();
    const key = randomUUID();
    const print = (length: number) => send(key, 'POST', '/ours/print.json', { json: { length } });
    expect((await print(70_000)).json.printed.length).toBe(70_000);
    const again = await print(70_000);
    expect([again.status, again.json.code, again.headers['idempotency-replayed']]).toEqual([
      409,
      'idempotency_answer_too_large',
      'true',
    ]);
    expect((await stored()) - before).toBeLessThan(1000);
  });

  test('stored responses are limited for one caller and in total (CWE-770)', async () => {
    const text = 'y'.repeat(19_000);
    const post = (key: string, id: string) =>
      send(key, 'POST', '/plain.json', { json: { title: 'many', text }, as: { id } }, bounded);
    const keys = Array.from({ length: 12 }, () => randomUUID());
    const first = new Map<string, string>();
    for (const key of keys) first.set(key, (await post(key, 'anna')).text);
    expect(await stored(bounded)).toBeLessThan(105_000);
    // each of them is answered again, stored or not
    const kinds = new Set<unknown>();
    for (const key of keys) {
      const again = await post(key, 'anna');
      expect([again.status, again.text]).toEqual([201, first.get(key)]);
      kinds.add(again.headers['idempotency-replayed']);
    }
    expect([...kinds]).toEqual(['true', 'rebuilt']);
    // others are not affected by one caller
    const other = randomUUID();
    await post(other, 'bert');
    expect((await post(other, 'bert')).headers['idempotency-replayed']).toBe('true');
    for (let n = 0; n < 20; n++) await post(randomUUID(), `caller ${n}`);
    expect(await stored(bounded)).toBeLessThan(215_000);
    const [row] = await bounded.rows("select count(*) as n from paper where title = 'many'");
    expect(Number(row?.n)).toBe(33);
  });

  test('the limits include responses stored by other processes (CWE-770)', async () => {
    const text = 'z'.repeat(19_000);
    const fresh = await freshDatabase(kind);
    const options = { ...paperOptions({ caller_limit: 100_000, total_limit: 1_000_000 }), databaseUrl: fresh.url };
    try {
      for (let process = 0; process < 3; process++) {
        const app = await startApplication(options);
        try {
          for (let n = 0; n < 6; n++) {
            const headers = { 'idempotency-key': randomUUID() };
            expect((await app.request('POST', '/plain.json', { json: { title: 'p', text }, headers })).status).toBe(201);
          }
          const [row] = await app.application.mapper.em
            .fork()
            .execute('select sum(length(answer)) as n from declarest_idempotency');
          // each process may be wrong by a quarter before it looks
          expect(Number(row?.n)).toBeLessThan(105_000 + process * 25_000);
        } finally {
          await app.close();
        }
      }
    } finally {
      await fresh.drop();
    }
  });

  test('several processes remove expired keys in small steps, even without traffic (CWE-459)', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'], shouldAdvanceTime: true });
    const fresh = await freshDatabase(kind);
    const options = { ...paperOptions(), databaseUrl: fresh.url };
    const first = await startApplication(options);
    const headers = { 'idempotency-key': randomUUID() };
    await first.request('POST', '/plain.json', { json: { title: 'kept' }, headers });
    const second = await startApplication(options);
    try {
      const em = first.application.mapper.em.fork();
      const left = async () => Number((await em.execute('select count(*) as n from declarest_idempotency'))[0]?.n);
      await em.execute(
        'with recursive n (i) as (select 1 union all select i + 1 from n where i < 1500) ' +
          'insert into declarest_idempotency (id, caller, fingerprint, answer, bytes, expires_at) ' +
          "select 'id ' || i, 'somebody', 'f', '{}', 2, 1000 + i from n",
      );
      expect(await left()).toBe(1501);
      vi.advanceTimersByTime(60_000);
      for (let step = 0; step < 200 && (await left()) > 1; step++) await vi.advanceTimersByTimeAsync(50);
      expect(await left()).toBe(1);
      expect(
        (await first.request('POST', '/plain.json', { json: { title: 'kept' }, headers })).headers.get('idempotency-replayed'),
      ).toBe('true');
    } finally {
      await first.close();
      await second.close();
      await fresh.drop();
    }
  });
});
