import { generateKeyPairSync } from 'node:crypto';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createServer as createApplication } from '../../src/index.ts';
import type { TestApplication } from '../support/testing.ts';
import { thingOptions, until, withThings } from '../traffic/things.ts';
import { forge, rsa } from './support/forge.ts';

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 });
const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256' };
const apiKey = 'robot-key-of-good-length';
const minute = 60_000;

let number = 0;
/** Never the same token, so that none is remembered. */
const claims = () => ({ sub: 'ann', jti: `${number++}`, exp: Math.floor(Date.now() / 1000) + 100 * 3600 });
const right = () => ({ authorization: `Bearer ${forge({ alg: 'RS256', kid: 'one' }, claims(), rsa(privateKey))}` });
const forged = (kid: string) => ({ authorization: `Bearer ${forge({ alg: 'RS256', kid }, claims(), rsa(stranger.privateKey))}` });

const keySet: RequestListener = (_, response) => response.end(JSON.stringify({ keys: [jwk] }));
const down: RequestListener = (_, response) => response.writeHead(500).end();

describe('API10:2023 unsafe consumption of APIs: faulty key set servers (CWE-400, CWE-770)', () => {
  let server: Server;
  let fetches = 0;
  let respond: RequestListener = keySet;

  beforeEach(async () => {
    fetches = 0;
    respond = keySet;
    server = createServer((request, response) => {
      fetches++;
      respond(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(() => {
    vi.restoreAllMocks();
    server.closeAllConnections();
    server.close();
  });

  const options = (more: object = {}) =>
    thingOptions(
      // the clock is moved while requests are under way
      { handler_timeout: 0 },
      {
        security: {
          jwt: { algorithm: 'RS256', jwks: `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`, ...more },
          api_keys: { robot: { key: apiKey } },
        },
      },
    );
  const statusOf = async ({ request }: TestApplication, headers: Record<string, string>) =>
    (await request('GET', '/thing/1.json', { headers })).status;

  /** Moves the monotonic clock on. */
  function later(by: number): void {
    const now = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => now() + by);
  }

  test('cached keys work for a day while the key set server is down, and again once it is back', async () => {
    await withThings('sqlite', options(), async (application) => {
      expect(await statusOf(application, right())).toBe(200);
      respond = down;
      for (const [minutes, status] of [
        [11, 200],
        [60, 200],
        [24 * 60, 200],
        [24 * 60 + 11, 503],
      ] as const) {
        later(minutes * minute);
        expect([minutes, await statusOf(application, right())]).toEqual([minutes, status]);
        vi.restoreAllMocks();
      }
      respond = keySet;
      later(25 * 60 * minute);
      expect(await statusOf(application, right())).toBe(200);
    });
  });

  test('jwks_max_stale sets how long cached keys work without the key set server', async () => {
    await withThings('sqlite', options({ jwks_max_stale: 60 }), async (application) => {
      expect(await statusOf(application, right())).toBe(200);
      respond = down;
      later(12 * minute);
      expect(await statusOf(application, right())).toBe(503);
    });
  });

  test('rejects a key that was withdrawn from the set, even after a long idle time', async () => {
    await withThings('sqlite', options(), async (application) => {
      expect(await statusOf(application, right())).toBe(200);
      respond = (_, response) => response.end('{"keys":[]}');
      later(11 * minute);
      expect(await statusOf(application, right())).toBe(401);
    });
  });

  test('a key set request that hangs does not delay callers with a cached key', async () => {
    await withThings('sqlite', options(), async (application) => {
      expect(await statusOf(application, right())).toBe(200);
      respond = () => {};
      later(6 * minute);
      expect(await statusOf(application, right())).toBe(200);
      await until(() => fetches === 2);
    });
  });

  test('unknown keys cause at most one fetch every 30 seconds', async () => {
    await withThings('sqlite', options(), async (application) => {
      expect(await statusOf(application, right())).toBe(200);
      later(minute);
      const statuses = await Promise.all(Array.from({ length: 200 }, (_, n) => statusOf(application, forged(`${n}`))));
      // those that came while it was fetched are told to come back, except for a few that waited
      expect(statuses.filter((status) => status !== 401 && status !== 503)).toEqual([]);
      for (let n = 0; n < 50; n++) expect(await statusOf(application, forged(`late ${n}`))).toBe(401);
      expect(fetches).toBe(2);
      expect(await statusOf(application, right())).toBe(200);
    });
  });

  test('forged tokens that wait for a slow key set do not block other callers', async () => {
    await withThings('sqlite', options(), async (application) => {
      let end: (() => void) | undefined;
      respond = (request, response) => {
        end = () => keySet(request, response);
      };
      let waiting = 260;
      const flood = Array.from({ length: 260 }, async (_, n) => {
        const status = await statusOf(application, forged(n % 2 ? 'one' : `${n}`));
        waiting--;
        return status;
      });
      await until(() => end !== undefined && waiting <= 16);
      for (let n = 0; n < 10; n++) expect(await statusOf(application, { 'x-api-key': apiKey })).toBe(200);
      expect(waiting).toBe(16);
      end?.();
      const statuses = await Promise.all(flood);
      expect(statuses.filter((status) => status === 401).length).toBe(16);
      expect(statuses.filter((status) => status === 503).length).toBe(244);
      expect(await statusOf(application, right())).toBe(200);
      expect(fetches).toBe(1);
    });
  });

  test('aborts the download of an endless key set early', async () => {
    let sent = 0;
    let isClosed = false;
    respond = async (_, response) => {
      response.on('close', () => {
        isClosed = true;
      });
      response.write('{"keys":[');
      while (!isClosed) {
        sent += 65_536;
        if (!response.write(`${JSON.stringify('x'.repeat(65_533))},`)) await sleep(1);
      }
    };
    await withThings('sqlite', options(), async (application) => {
      expect(await statusOf(application, right())).toBe(503);
      await until(() => isClosed);
      expect(sent).toBeLessThan(32_000_000);
    });
  });

  test.each<[string, RequestListener]>([
    [
      'too many keys',
      (_, response) => response.end(JSON.stringify({ keys: Array.from({ length: 101 }, (_, n) => ({ ...jwk, kid: `${n}` })) })),
    ],
    ['too many bytes', (_, response) => response.end(JSON.stringify({ keys: [{ ...jwk, x: 'x'.repeat(300_000) }] }))],
    ['another place', (_, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
  ])('rejects a key set with %s', async (_, other) => {
    respond = other;
    await withThings('sqlite', options(), async (application) => {
      expect(await statusOf(application, right())).toBe(503);
    });
  });

  test('a key set that trickles in times out after five seconds', async () => {
    const timeout = AbortSignal.timeout.bind(AbortSignal);
    const limits: number[] = [];
    vi.spyOn(AbortSignal, 'timeout').mockImplementation((limit) => {
      limits.push(limit);
      return timeout(limit / 20);
    });
    respond = (_, response) => {
      const drops = setInterval(() => response.write(' '), 20);
      response.on('close', () => clearInterval(drops));
    };
    await withThings('sqlite', options(), async (application) => {
      expect(await statusOf(application, right())).toBe(503);
      expect(limits).toContain(5000);
    });
  });

  test('the key set address must use https in production (CWE-319)', async () => {
    for (const jwks of ['http://keys.example/keys', 'HTTP://keys.example/keys']) {
      const given = { ...options({ jwks }), databaseUrl: 'sqlite::memory:', env: { NODE_ENV: 'production' } };
      await expect(createApplication(given)).rejects.toThrow(
        'app_main.security.jwt.jwks: in production the address of a key set must begin with "https:"',
      );
    }
  });
});
