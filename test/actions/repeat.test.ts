import { describe, expect, test } from 'vitest';
import { withAttempts } from '../../src/actions/repeat.ts';
import { mostAttempts } from '../../src/database/transient.ts';
import { RowChanged } from '../../src/query/rows/row-version.ts';
import { stateOf } from '../../src/store/request-state.ts';

type Any = any;

const mapper: Any = {};
const api: Any = { framework: { mapper }, meta: { className: 'Item' } };
/** As PostgreSQL reports a deadlock. */
const deadlock = () => Object.assign(new Error('deadlock detected'), { code: '40P01' });

/** Runs attempts that fail in turn, the last of which succeeds, and tells what each of them saw. */
async function run(
  failures: readonly (() => unknown)[],
  {
    body,
    headers = {},
    isRepeatable = true,
    reply = {},
  }: { body?: unknown; headers?: object; isRepeatable?: boolean; reply?: Any } = {},
) {
  const request: Any = { body, headers };
  const seen: Any[] = [];
  const given: Any = {
    sent: false,
    raw: { headersSent: false, writableEnded: false, destroyed: false, ...reply.raw },
    ...reply.own,
  };
  const answer = async () => {
    const state = stateOf(request, mapper);
    seen.push({ state, body: request.body, locksFirst: state.locksFirst });
    const failure = failures[seen.length - 1];
    if (failure) throw failure();
    return 'answered';
  };
  const ended = withAttempts(api, request, given, answer, isRepeatable).catch((error: unknown) => error);
  return { result: (await ended) as Any, seen, request, reply: given };
}

const changed = () => new RowChanged();
const times = (count: number, failure: () => unknown) => Array.from({ length: count }, () => failure);

describe('an attempt', () => {
  test('that succeeds is not retried', async () => {
    const { result, seen } = await run([]);
    expect([result, seen.length]).toEqual(['answered', 1]);
  });

  test('that fails for another reason is not retried', async () => {
    const { result, seen } = await run([() => new Error('broken')]);
    expect([result.message, seen.length]).toEqual(['broken', 1]);
  });

  test.each([
    ['the row was changed', changed],
    ['the database rolled it back', deadlock],
  ])('is retried if %s, up to a maximum number', async (_, failure) => {
    for (let failed = 1; failed < mostAttempts; failed++) {
      const { result, seen } = await run(times(failed, failure));
      expect([result, seen.length]).toEqual(['answered', failed + 1]);
    }
    const { result, seen } = await run(times(mostAttempts, failure));
    expect([result instanceof Error, seen.length]).toEqual([true, mostAttempts]);
  });

  test('has its own request state', async () => {
    const { seen } = await run(times(2, changed));
    expect(new Set(seen.map(({ state }) => state)).size).toBe(3);
  });

  test('locks the row first if the row was changed too often before', async () => {
    const locked = async (failure: () => unknown) =>
      (await run(times(mostAttempts - 1, failure))).seen.map((each) => each.locksFirst);
    expect(await locked(changed)).toEqual([false, false, true, true]);
    expect(await locked(deadlock)).toEqual([false, false, false, false]);
  });

  test('waits if the database rolled back the previous one, but not if the row was changed', async () => {
    const waited = async (failure: () => unknown) => {
      let turns = 0;
      let seen: number | null = null;
      const answer = async () => {
        if (turns === 0 && seen === null) {
          setImmediate(() => turns++);
          seen = 0;
          throw failure();
        }
        seen = turns;
      };
      await withAttempts(api, { headers: {} } as Any, { sent: false, raw: {} } as Any, answer, true);
      return seen;
    };
    // without a pause, nothing else gets a turn in between
    expect([await waited(deadlock), await waited(changed)]).toEqual([1, 0]);
  });

  test('gets the body as it was sent, even if the previous attempt modified it', async () => {
    const body = { a: [1, { b: null }], c: { d: 'x' }, e: null };
    const { seen } = await run(
      [
        () => {
          (body.a as Any)[1].b = 'changed';
          body.c.d = 'changed';
          body.a.push(2);
          return changed();
        },
      ],
      { body },
    );
    expect(seen[0].body).toBe(body);
    expect(seen[1].body).toEqual({ a: [1, { b: null }], c: { d: 'x' }, e: null });
    for (const plain of [undefined, null, 'text', 5]) expect((await run([changed], { body: plain })).seen[1].body).toBe(plain);
  });
});

describe('a request is not retried', () => {
  test('if the action is not repeatable', async () => {
    const { result, seen } = await run([changed], { isRepeatable: false, body: { a: 1 } });
    expect([result.code, result.status, seen.length]).toEqual(['conflict_version', 409, 1]);
    expect((await run([deadlock], { isRepeatable: false })).result.message).toBe('deadlock detected');
  });

  test('if something was committed', async () => {
    const request: Any = { headers: {} };
    let attempts = 0;
    const answer = async () => {
      attempts++;
      stateOf(request, mapper).isCommitted = true;
      throw changed();
    };
    const reply: Any = { sent: false, raw: {} };
    await expect(withAttempts(api, request, reply, answer, true)).rejects.toMatchObject({ code: 'conflict_version' });
    expect(attempts).toBe(1);
  });

  test.each([
    ['was sent', { own: { sent: true } }],
    ['has begun', { raw: { headersSent: true } }],
    ['has ended', { raw: { writableEnded: true } }],
    ['cannot be sent any more', { raw: { destroyed: true } }],
  ])('if the response %s', async (_, reply) => {
    for (const failure of [changed, deadlock]) {
      const { result, seen } = await run([failure], { reply });
      expect([result instanceof Error, seen.length]).toEqual([true, 1]);
    }
  });

  test('if the caller disconnects during the wait', async () => {
    const reply: Any = { sent: false, raw: { destroyed: false } };
    let attempts = 0;
    const answer = async () => {
      attempts++;
      setTimeout(() => Object.assign(reply.raw, { destroyed: true }), 1);
      throw deadlock();
    };
    const ended = withAttempts(api, { headers: {} } as Any, reply, answer, true).catch((error) => error);
    expect([(await ended).message, attempts]).toEqual(['deadlock detected', 1]);
  });
});

describe('a row that changes in every attempt', () => {
  test.each([
    ['a tag', { 'if-match': '"x"' }, 'precondition_failed', 412],
    ['whatever there is', { 'if-match': ' * ' }, 'conflict_version', 409],
    ['nothing', {}, 'conflict_version', 409],
  ])('returns 412 for a tag in If-Match and 409 otherwise: %s', async (_, headers, code, status) => {
    const { result } = await run(times(mostAttempts, changed), { headers });
    expect([result.code, result.status]).toEqual([code, status]);
  });
});
