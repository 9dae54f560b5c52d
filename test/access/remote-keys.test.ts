import { generateKeyPairSync } from 'node:crypto';
import { errors } from 'jose';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { remoteKeys } from '../../src/access/remote-keys.ts';

const address = new URL('https://keys.example/set');
const jwk = { ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' }), alg: 'ES256' };
const setOf =
  (...kids: string[]) =>
  () =>
    Response.json({ keys: kids.map((kid) => ({ ...jwk, kid })) });
const down = () => new Response('{}', { status: 500 });

let now = 0;
let fetches: unknown[][] = [];
let respond: () => Response | Promise<Response> = setOf('one');
let warnings: string[] = [];

beforeEach(() => {
  now = 1_000_000;
  fetches = [];
  warnings = [];
  respond = setOf('one');
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (...given) => {
    fetches.push(given);
    return respond();
  });
});
afterEach(() => {
  vi.restoreAllMocks();
});

const keys = (maxStale = 86_400) => {
  const keyFor = remoteKeys(address, { maxStale, warn: (message) => warnings.push(message) });
  return (kid?: string) => keyFor({ alg: 'ES256', ...(kid && { kid }) }, { payload: '', signature: '' });
};
const unavailable = { code: 'authentication_unavailable', status: 503, headers: { 'Retry-After': '5' } };
/** A response that the test ends. */
function held() {
  const { promise, resolve } = Promise.withResolvers<Response>();
  respond = () => promise;
  return resolve;
}

describe('the age of a fetched key set', () => {
  test.each([
    [299_999, 1],
    [300_000, 2],
  ])('after %i ms there were %i fetches, and the key is returned without waiting', async (age, count) => {
    const keyFor = keys();
    await keyFor('one');
    held();
    now += age;
    await keyFor('one');
    expect(fetches.length).toBe(count);
  });

  test('decides when a request waits for the fetch, which may withdraw its key', async () => {
    const keyFor = keys();
    await keyFor('one');
    now += 599_999;
    const end = held();
    await keyFor('one');
    now += 1;
    const waiting = keyFor('one');
    end(setOf('two')());
    await expect(waiting).rejects.toThrow(errors.JWKSNoMatchingKey);
    expect(fetches.length).toBe(2);
  });

  test('may exceed ten minutes by jwks_max_stale if no fetch succeeds', async () => {
    const keyFor = keys(60);
    await keyFor('one');
    respond = down;
    now += 600_000;
    await keyFor('one');
    now += 59_999;
    await keyFor('one');
    now += 1;
    await expect(keyFor('one')).rejects.toMatchObject({ ...unavailable, cause: { message: 'it returned status 500' } });
    respond = setOf('one', 'two');
    now += 30_000;
    await keyFor('two');
    // the failure is over: an unknown key is the fault of its token
    await expect(keyFor('three')).rejects.toThrow(errors.JWKSNoMatchingKey);
  });

  test('does not make requests wait while fetches fail', async () => {
    const keyFor = keys();
    await keyFor('one');
    respond = down;
    now += 700_000;
    await keyFor('one');
    held();
    now += 30_000;
    await keyFor('one');
    expect(fetches.length).toBe(3);
  });
});

describe('fetches of a key set', () => {
  test('for unknown keys are 30 seconds apart', async () => {
    const keyFor = keys();
    await keyFor('one');
    for (const [later, count] of [
      [29_999, 1],
      [1, 2],
      [29_999, 2],
      [1, 3],
    ] as const) {
      now += later;
      await expect(keyFor('new')).rejects.toThrow(errors.JWKSNoMatchingKey);
      expect(fetches.length).toBe(count);
    }
    respond = setOf('one', 'new');
    now += 30_000;
    await keyFor('new');
  });

  test('are 5 seconds apart until the first succeeds', async () => {
    const keyFor = keys();
    respond = down;
    for (const [later, count] of [
      [0, 1],
      [4999, 1],
      [1, 2],
    ] as const) {
      now += later;
      await expect(keyFor('one')).rejects.toMatchObject(unavailable);
      expect(fetches.length).toBe(count);
    }
  });

  test('do not overlap, and at most 16 requests wait for each', async () => {
    const keyFor = keys();
    for (const kid of ['one', 'two']) {
      const end = held();
      now += 30_000;
      const waiting = Array.from({ length: 16 }, () => keyFor(kid));
      await expect(keyFor(kid)).rejects.toMatchObject({
        ...unavailable,
        cause: 'too many requests are waiting for the key set',
      });
      end(setOf(kid)());
      await Promise.all(waiting);
    }
    expect(fetches.length).toBe(2);
  });

  test('ask for a key set, do not follow redirects, and end after five seconds', async () => {
    const timeout = vi.spyOn(AbortSignal, 'timeout');
    await keys()('one');
    expect(timeout.mock.calls).toEqual([[5000]]);
    expect(fetches).toEqual([
      [
        address,
        {
          headers: { accept: 'application/jwk-set+json, application/json' },
          redirect: 'manual',
          signal: timeout.mock.results[0]?.value,
        },
      ],
    ]);
  });

  test('that fail are a warning with the reason and the effect', async () => {
    const prefix = 'the key set of security.jwt.jwks cannot be fetched, and';
    respond = () => Promise.reject(new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } }));
    const keyFor = keys();
    await expect(keyFor('one')).rejects.toMatchObject(unavailable);
    expect(warnings).toEqual([`${prefix} no token can be verified: ECONNREFUSED`]);
    respond = setOf('one');
    now += 5000;
    await keyFor('one');
    respond = () => Promise.reject('unknown');
    now += 30_000;
    await expect(keyFor('two')).rejects.toMatchObject(unavailable);
    expect(warnings.slice(1)).toEqual([`${prefix} Declarest uses the keys of the last fetch: unknown`]);
  });

  test('may fail without anybody to warn', async () => {
    respond = down;
    const keyFor = remoteKeys(address, { maxStale: 0 });
    await expect(keyFor({ alg: 'ES256' }, { payload: '', signature: '' })).rejects.toMatchObject(unavailable);
  });
});

describe('the contents of a key set', () => {
  const numbered = (count: number) => setOf(...Array.from({ length: count }, (_, n) => `${n}`));
  const sized = (bytes: number) => () => {
    const text = JSON.stringify({ keys: [{ ...jwk, kid: 'one' }] });
    return new Response(text + ' '.repeat(bytes - text.length));
  };

  test('have at most 100 keys', async () => {
    respond = numbered(100);
    await keys()('99');
    respond = numbered(101);
    await expect(keys()('1')).rejects.toMatchObject({ ...unavailable, cause: { message: 'it has more than 100 keys' } });
  });

  test('have at most 256 KiB; the rest is not read', async () => {
    respond = sized(262_144);
    await keys()('one');
    respond = sized(262_145);
    await expect(keys()('one')).rejects.toMatchObject({ ...unavailable, cause: { message: 'it has more than 262144 bytes' } });
    let isCancelled = false;
    const body = new ReadableStream({
      cancel: () => {
        isCancelled = true;
      },
    });
    respond = () => new Response(body, { status: 404 });
    await expect(keys()('one')).rejects.toMatchObject({ cause: { message: 'it returned status 404' } });
    expect(isCancelled).toBe(true);
    respond = () => new Response(null, { status: 304 });
    await expect(keys()('one')).rejects.toMatchObject({ cause: { message: 'it returned status 304' } });
  });

  test.each([
    ['no body', () => new Response(null), SyntaxError],
    ['null', () => Response.json(null), errors.JWKSInvalid],
    ['no list', () => Response.json({ keys: { length: 101 } }), errors.JWKSInvalid],
  ])('that are %s make tokens unverifiable', async (_, response, reason) => {
    respond = response;
    await expect(keys()('one')).rejects.toMatchObject({ ...unavailable, cause: expect.any(reason) });
  });

  test('with an invalid key are not the fault of the token', async () => {
    respond = () => Response.json({ keys: [{ ...jwk, kid: 'one', x: 'AA' }] });
    await expect(keys()('one')).rejects.toMatchObject({ ...unavailable, cause: expect.any(Error) });
  });

  test('with several keys for a token reject it', async () => {
    respond = setOf('one', 'two');
    await expect(keys()()).rejects.toThrow(errors.JWKSMultipleMatchingKeys);
  });
});
