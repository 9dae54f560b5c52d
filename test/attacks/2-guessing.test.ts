import { Agent, request as httpRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { Authenticator, problem, type User } from '../../src/index.ts';
import type { TestApplication } from '../support/testing.ts';
import { type AppMain, thingOptions, withThings } from '../traffic/things.ts';
import { forge, hmac } from './support/forge.ts';

const secret = 'a secret of the safe that is long enough';
const rightKey = 'robot-key-of-good-length';
const claims = { sub: 'ann', roles: ['ROLE_USER'], exp: Math.floor(Date.now() / 1000) + 3600 };
const token = (signedWith: string) => ({ authorization: `Bearer ${forge({ alg: 'HS256' }, claims, hmac(signedWith))}` });

const kinds: [string, Record<string, string>, (n: number) => Record<string, string>][] = [
  ['API keys', { 'x-api-key': rightKey }, (n) => ({ 'x-api-key': `wrong-key-of-length-${n}` })],
  ['tokens', token(secret), (n) => token(`another secret of a good length ${n}`)],
];

class SessionAuthenticator extends Authenticator {
  override authenticate({ headers }: { headers: Record<string, unknown> }): User | null {
    if (headers['x-session'] === undefined) return null;
    if (headers['x-session'] !== 'right') throw problem('invalid_credentials', { reason: 'no such session' });
    return { id: 'ann', roles: ['ROLE_USER'] };
  }
}

function safe(rate_limit: NonNullable<AppMain['server']>['rate_limit'], server: AppMain['server'] = {}) {
  const api_keys = { robot: { key: rightKey, roles: ['ROLE_USER'] } };
  return thingOptions({ ...server, rate_limit: rate_limit ?? null }, { security: { jwt: { secret }, api_keys } });
}

/** Sends on a connection of its own, which lasts. */
function connection({ url }: TestApplication) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return (headers: Record<string, string>, path = '/thing/1.json') =>
    new Promise<{ status: number; headers: Record<string, unknown>; text: string }>((resolve, reject) => {
      httpRequest(`${url}${path}`, { agent, headers }, async (response) => {
        let text = '';
        for await (const part of response) text += part;
        const { date: _, 'x-request-id': __, ...rest } = response.headers;
        resolve({ status: response.statusCode ?? 0, headers: rest, text });
      })
        .on('error', reject)
        .end();
    });
}

describe('API2:2023 broken authentication: guessing credentials (CWE-307)', () => {
  test.each(kinds)(
    '%s: over the limit, right and wrong credentials get the same 429 until the window ends',
    async (_, right, wrong) => {
      await withThings('sqlite', safe({ limit: 5, window: 2 }), async (application) => {
        const send = connection(application);
        const statuses = [];
        for (let n = 0; n < 5; n++) statuses.push((await send(wrong(n))).status);
        expect(statuses).toEqual([401, 401, 401, 401, 401]);
        const [first, second] = [await send(wrong(6)), await send(right)];
        expect([first.status, JSON.parse(first.text).code]).toEqual([429, 'too_many_wrong_credentials']);
        const plain = ({ headers, status, text }: typeof first) => [
          status,
          Object.keys(headers),
          text.replace(/for \d seconds/, ''),
        ];
        expect(plain(second)).toEqual(plain(first));
        expect(first.headers['retry-after']).toMatch(/^[12]$/);
        // without a credential there is nothing to guess
        expect((await send({})).status).toBe(200);
        expect((await application.request('GET', '/health/live')).status).toBe(200);
        await sleep(Number(first.headers['retry-after']) * 1000);
        expect((await send(right)).status).toBe(200);
      });
    },
  );

  test.each(kinds)(
    '%s: an accepted credential keeps working on its connection until another one is tried there',
    async (_, right, wrong) => {
      await withThings('sqlite', safe({ limit: 30, window: 60 }), async (application) => {
        const [own, other, guesser] = [connection(application), connection(application), connection(application)];
        expect([(await own(right)).status, (await other(right)).status]).toEqual([200, 200]);
        for (let n = 0; n < 30; n++) await guesser(wrong(n));
        expect([(await own(right)).status, (await guesser(right)).status, (await connection(application)(right)).status]).toEqual(
          [200, 429, 429],
        );
        // one guess, and the connection is like any other
        expect([(await other(wrong(99))).status, (await other(right)).status]).toEqual([429, 429]);
        expect((await own(right)).status).toBe(200);
      });
    },
  );

  test('guesses are not limited without server.rate_limit', async () => {
    await withThings('sqlite', safe(undefined), async (application) => {
      const guess = connection(application);
      const statuses = [];
      for (let n = 0; n < 40; n++) statuses.push((await guess({ 'x-api-key': `wrong-key-of-length-${n}` })).status);
      expect(new Set(statuses)).toEqual(new Set([401]));
    });
  });

  test('concurrent guesses count toward the limit', async () => {
    const [, right, wrong] = kinds[1] as (typeof kinds)[number];
    await withThings('sqlite', safe({ limit: 10, window: 60 }), async (application) => {
      const guesses = Array.from({ length: 60 }, (_, n) => connection(application)(wrong(n)));
      const statuses = (await Promise.all(guesses)).map(({ status }) => status);
      expect(statuses.filter((status) => status === 401).length).toBe(10);
      expect(statuses.filter((status) => status === 429).length).toBe(50);
      expect((await connection(application)(right)).status).toBe(429);
    });
  });

  test('a long window blocks for at most a minute at a time', async () => {
    for (const [limit, allowed] of [
      [3, 3],
      [30, 10],
      [14_400 * 2, 20],
    ] as const) {
      await withThings('sqlite', safe({ limit, window: 86_400 }), async (application) => {
        const send = connection(application);
        for (let n = 0; n < allowed; n++) expect((await send({ 'x-api-key': `wrong-${n}` })).status).toBe(401);
        const { headers, status } = await send({ 'x-api-key': rightKey });
        expect([status, Number(headers['retry-after']) <= 60]).toEqual([429, true]);
      });
    }
  });

  test('custom authenticators are not called over the limit', async () => {
    const options = { ...safe({ limit: 3, window: 60 }), authenticators: [SessionAuthenticator as never] };
    await withThings('sqlite', options, async (application) => {
      const send = connection(application);
      expect((await send({ 'x-session': 'right' })).status).toBe(200);
      for (let n = 0; n < 3; n++) expect((await send({ 'x-session': `wrong ${n}` })).status).toBe(401);
      for (const headers of [{ 'x-session': 'right' }, { 'x-session': 'wrong' }, {}])
        expect((await send(headers)).status).toBe(429);
    });
  });

  test('other addresses are not affected', async () => {
    await withThings('sqlite', safe({ limit: 3 }, { trust_proxy: ['loopback'] }), async (application) => {
      const send = connection(application);
      const from = (address: string, key: string) => send({ 'x-forwarded-for': address, 'x-api-key': key });
      for (let n = 0; n < 4; n++) await from('192.0.2.1', `wrong-${n}`);
      expect([(await from('192.0.2.1', rightKey)).status, (await from('192.0.2.2', rightKey)).status]).toEqual([429, 200]);
    });
  });
});
