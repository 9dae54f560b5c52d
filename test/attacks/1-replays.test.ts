import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect } from 'vitest';
import { databases } from '../support/databases.ts';
import { test } from '../support/halves.ts';
import { calls, judgedOptions, paperOptions } from './support/papers.ts';
import { type Sent, type Target, useTarget } from './support/target.ts';

const anna = { id: 'anna' };

/** A request with a key, to be sent again and again. */
function keyed(target: Target, method: string, path: string, sent: Sent) {
  const key = randomUUID();
  return () => {
    calls.length = 0;
    return target.send(method, path, { ...sent, headers: { 'idempotency-key': key } });
  };
}

describe.each(databases)(
  'API1:2023 broken object level authorization: replays of requests with an idempotency key, on %s',
  (kind) => {
    const target = useTarget(kind, paperOptions());
    const judged = useTarget(kind, judgedOptions());

    afterEach(() => {
      calls.length = 0;
    });

    const writeHooks = () => calls.filter((call) => !call.startsWith('customizeQuery'));

    test('a replay does not return or recreate a row that moved to another tenant (CWE-639)', async () => {
      const post = keyed(target, 'POST', '/ours.json', { json: { title: 'secret of a' }, as: anna });
      const first = await post();
      expect([first.status, writeHooks()]).toEqual([201, ['beforeValidation', 'afterValidation', 'afterCommit']]);
      const again = await post();
      expect([again.status, again.text, again.headers['idempotency-replayed']]).toEqual([201, first.text, 'true']);
      // the row is looked for once, as it would be fetched
      expect(calls).toEqual(['customizeQuery _entity']);
      await target.rows(`update paper set tenant = 'b' where id = ${first.json.id}`);
      const moved = await post();
      expect([moved.status, moved.json.code, moved.headers['idempotency-replayed']]).toEqual([404, 'entity_not_found', 'true']);
      expect(moved.whole).not.toContain('secret of a');
      expect(calls).toEqual(['customizeQuery _entity']);
      await target.rows(`update paper set tenant = 'a' where id = ${first.json.id}`);
      expect((await post()).text).toBe(first.text);
      const [row] = await target.rows("select count(*) as n from paper where title = 'secret of a'");
      expect(Number(row?.n)).toBe(1);
    });

    test.each(['/plain', '/ours'])(
      'a replay under %s does not return a row that was removed in the meantime (CWE-639)',
      async (base) => {
        const post = keyed(target, 'POST', `${base}.json`, { json: { title: 'removed later' }, as: anna });
        const { json } = await post();
        const patch = keyed(target, 'PATCH', `${base}/${json.id}.json`, { json: { title: 'removed soon' }, as: anna });
        expect((await patch()).status).toBe(200);
        expect((await patch()).headers['idempotency-replayed']).toBe('true');
        await target.rows(`delete from paper where id = ${json.id}`);
        for (const send of [post, patch]) {
          const gone = await send();
          expect([gone.status, gone.json.code]).toEqual([404, 'entity_not_found']);
          expect(gone.whole).not.toContain('removed');
          expect(writeHooks()).toEqual([]);
        }
        const [row] = await target.rows("select count(*) as n from paper where title like 'removed%'");
        expect(Number(row?.n)).toBe(0);
      },
    );

    test('a replay returns 404 if a voter now denies access to the created row (CWE-863)', async () => {
      const post = keyed(judged, 'POST', '/mine.json', { json: { title: 'mine' }, as: anna });
      const first = await post();
      expect([first.status, calls]).toEqual([201, []]);
      expect([(await post()).text, calls]).toEqual([first.text, ['vote']]);
      await judged.rows(`update paper set owner = 'bert' where id = ${first.json.id}`);
      const denied = await post();
      expect([denied.status, calls]).toEqual([404, ['vote']]);
      expect(denied.whole).not.toContain('mine"');
    });

    test('a replay does not return a row from a custom handler that became hidden (CWE-639)', async () => {
      const copy = keyed(target, 'POST', '/ours/copy.json', { json: { title: 'copied' }, as: anna });
      const first = await copy();
      expect([first.status, (await copy()).text]).toEqual([200, first.text]);
      await target.rows(`update paper set tenant = 'b' where id = ${first.json.id}`);
      const moved = await copy();
      expect([moved.status, moved.headers['idempotency-replayed'], calls]).toEqual([404, 'true', ['customizeQuery _entity']]);
      expect(moved.whole).not.toContain('copied');
    });

    test.each(['/plain', '/ours'])(
      'a replay under %s omits an embedded row and an item that became hidden (CWE-639)',
      async (base) => {
        await target.rows(`delete from author where id = 7`).catch(() => undefined);
        await target.rows(`insert into author (id, name, tenant) values (7, 'hidden name', 'a')`);
        const post = keyed(target, 'POST', `${base}.json`, { json: { title: 'embeds', author: { id: 7 } }, as: anna });
        const first = await post();
        expect(first.json.author.name).toBe('hidden name');
        const link = keyed(target, 'POST', `${base}/${first.json.id}/readers.json`, { json: { id: 7 }, as: anna });
        expect((await link()).json.name).toBe('hidden name');
        expect((await link()).headers['idempotency-replayed']).toBe('true');
        expect((await post()).text).toBe(first.text);
        await target.rows("update author set tenant = 'b' where id = 7");
        const again = await post();
        expect([again.status, again.json.author, again.headers['idempotency-replayed']]).toEqual([201, null, 'rebuilt']);
        expect(again.headers.location).toBe(first.headers.location);
        const item = await link();
        expect(item.status).toBe(404);
        expect(again.whole + item.whole).not.toContain('hidden name');
        await target.rows('delete from paper_readers');
        await target.rows('delete from paper');
      },
    );
  },
);
