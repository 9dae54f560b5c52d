import { Agent, request as httpRequest } from 'node:http';
import { describe, expect, test } from 'vitest';
import type { TestApplication } from '../support/testing.ts';
import { type AppMain, closeGate, gate, thingOptions, until, withThings } from '../traffic/things.ts';
import { forge, hmac } from './support/forge.ts';

const secret = 'a secret of the server that is long enough';
const key = 'robot-key-of-good-length';
const claims = { sub: 'ann', exp: Math.floor(Date.now() / 1000) + 3600 };
const token = (signedWith: string) => ({ authorization: `Bearer ${forge({ alg: 'HS256' }, claims, hmac(signedWith))}` });
const right = token(secret);

const small = (server: AppMain['server'] = {}) =>
  thingOptions(
    { max_concurrent: 8, ...server },
    { security: { jwt: { secret }, api_keys: { robot: { key, roles: ['ROLE_METRICS'] } } } },
  );

/** Sends on a connection of its own. */
function connection({ url }: TestApplication) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const send = (headers: Record<string, string>, path = '/thing/1.json') =>
    new Promise<number>((resolve, reject) => {
      httpRequest(`${url}${path}`, { agent, headers }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0));
      })
        .on('error', reject)
        .end();
    });
  return Object.assign(send, { close: () => agent.destroy() });
}

/** Takes every place by requests of one caller that do not end, for as long as `use` runs. */
async function whileFull(application: TestApplication, headers: Record<string, string>, use: () => Promise<void>): Promise<void> {
  const open = closeGate();
  const held = Array.from({ length: 8 }, () => connection(application)(headers, '/slow/work.json'));
  try {
    await until(() => gate.asked === 8);
    await use();
  } finally {
    open();
    expect(await Promise.all(held)).toEqual(Array(8).fill(200));
  }
}

describe('API4:2023 unrestricted resource consumption: one caller uses all slots (CWE-770, CWE-799)', () => {
  test('at least nine of ten requests of other callers succeed during a flood of wrong tokens', async () => {
    await withThings('sqlite', small(), async (application) => {
      let isOver = false;
      let shed = 0;
      const flood = Array.from({ length: 60 }, async (_, n) => {
        const send = connection(application);
        for (let i = 0; !isOver; i++) if ((await send(token(`another secret of a good length ${n} ${i}`))) === 503) shed++;
        send.close();
      });
      await until(() => shed > 100);
      const others = [right, { 'x-api-key': key }, {}].map(async (headers) => {
        const send = connection(application);
        const statuses = [];
        for (let n = 0; n < 30; n++) statuses.push(await send(headers));
        send.close();
        return statuses.filter((status) => status === 200).length;
      });
      const served = await Promise.all(others);
      isOver = true;
      await Promise.all(flood);
      for (const each of served) expect(each).toBeGreaterThanOrEqual(27);
    });
  });

  test.each<[string, Record<string, string>]>([
    ['without a credential', {}],
    ['with a right one', right],
  ])('a caller %s that uses all slots gets 503 while other callers are served', async (_, headers) => {
    await withThings('sqlite', small({ trust_proxy: ['loopback'] }), async (application) => {
      const from = (address: string, more: Record<string, string> = {}) => ({ 'x-forwarded-for': address, ...more });
      // so that the token is known to be right
      expect(await connection(application)(from('192.0.2.1', headers))).toBe(200);
      await whileFull(application, from('192.0.2.1', headers), async () => {
        expect(await connection(application)(from('192.0.2.1', headers))).toBe(503);
        for (const other of [from('192.0.2.2'), from('192.0.2.1', { 'x-api-key': key }), from('2001:db8::1')])
          expect(await connection(application)(other)).toBe(200);
      });
    });
  });

  test('many addresses together get at most twice the slots', async () => {
    await withThings('sqlite', small({ trust_proxy: ['loopback'] }), async (application) => {
      let others: Promise<number>[] = [];
      await whileFull(application, {}, async () => {
        others = Array.from({ length: 20 }, (_, n) =>
          connection(application)({ 'x-forwarded-for': `192.0.2.${n}` }, '/slow/work.json'),
        );
        await until(() => gate.asked === 16);
        expect(await connection(application)({ 'x-forwarded-for': '192.0.2.99' })).toBe(503);
      });
      expect((await Promise.all(others)).filter((status) => status === 200).length).toBe(8);
    });
  });

  test('under full load, metrics are limited like other requests and health checks are always served', async () => {
    await withThings('sqlite', small({ metrics: {} }), async (application) => {
      await whileFull(application, {}, async () => {
        const send = connection(application);
        expect(await send({}, '/metrics')).toBe(503);
        expect(await send({}, '/health/live')).toBe(200);
        expect(await send({}, '/health/ready')).toBe(200);
        // by a caller of its own
        expect(await send({ 'x-api-key': key }, '/metrics')).toBe(200);
      });
    });
  });
});
