import { describe, expect, test } from 'vitest';
import { thingOptions, withThings } from '../traffic/things.ts';

const limited = (trust_proxy: string[]) => thingOptions({ trust_proxy, rate_limit: { limit: 2, window: 3600, by: 'address' } });

describe('API4:2023 unrestricted resource consumption: one caller posing as many (CWE-348, CWE-770)', () => {
  test.each<[string, (n: number) => string, string]>([
    ['ports', (n) => `192.0.2.1:${1000 + n}`, '192.0.2.1'],
    ['ports of IPv6', (n) => `[2001:db8::1]:${1000 + n}`, '2001:db8::1'],
    ['brackets', (n) => (n % 2 ? '[2001:db8::1]' : '2001:db8::1'), '2001:db8::1'],
    ['zones', (n) => `fe80::1%eth${n}`, 'fe80::1'],
    ['spellings', (n) => ['192.0.2.1', '::ffff:192.0.2.1', '::FFFF:c000:201', ' 192.0.2.1 '][n % 4] as string, '192.0.2.1'],
    ['addresses that it made up before its own', (n) => `203.0.113.${n}, 192.0.2.1:${n}`, '192.0.2.1'],
    ['proxies that it made up before its own', (n) => `203.0.113.${n}, 127.0.0.1:${n}`, '203.0.113.'],
    ['values that are no address', (n) => `nobody-${n}`, '127.0.0.1'],
    ['addresses before a value that is none', (n) => `203.0.113.${n}, unknown`, '127.0.0.1'],
  ])('the caller address is found despite %s in X-Forwarded-For', async (name, forwarded, ip) => {
    await withThings('sqlite', limited(['loopback']), async ({ request }) => {
      const statuses: number[] = [];
      for (let n = 0; n < 4; n++) {
        const headers = { 'x-forwarded-for': forwarded(n) };
        const { json, status } = await request('GET', '/slow/work.json', { headers });
        statuses.push(status);
        if (status === 200) expect(json.ip).toMatch(ip);
      }
      // a proxy that is trusted is believed: this is another client each time
      expect(statuses).toEqual(name.startsWith('proxies') ? [200, 200, 200, 200] : [200, 200, 429, 429]);
    });
  });

  test('addresses of one IPv6 network share a rate limit', async () => {
    await withThings('sqlite', limited(['loopback']), async ({ request }) => {
      const statuses = [];
      for (let n = 1; n < 5; n++)
        statuses.push((await request('GET', '/thing/1.json', { headers: { 'x-forwarded-for': `2001:db8::${n}` } })).status);
      expect(statuses).toEqual([200, 200, 429, 429]);
    });
  });

  test.each(['Forwarded', 'X-Real-IP', 'X-Client-IP', 'True-Client-IP', 'CF-Connecting-IP', 'X-Forwarded'])(
    'the header %s is ignored',
    async (name) => {
      await withThings('sqlite', limited(['loopback']), async ({ request }) => {
        const statuses = [];
        for (let n = 0; n < 3; n++) {
          const headers = { [name]: name === 'Forwarded' ? `for=192.0.2.${n}` : `192.0.2.${n}` };
          statuses.push((await request('GET', '/thing/1.json', { headers })).status);
        }
        expect(statuses).toEqual([200, 200, 429]);
      });
    },
  );

  test('X-Forwarded-For from an untrusted address is ignored', async () => {
    await withThings('sqlite', limited(['10.0.0.0/8', '2001:db8::/32', '::ffff:192.0.2.1']), async ({ request }) => {
      const statuses = [];
      for (let n = 0; n < 3; n++)
        statuses.push((await request('GET', '/thing/1.json', { headers: { 'x-forwarded-for': `192.0.2.${n}` } })).status);
      expect(statuses).toEqual([200, 200, 429]);
    });
  });

  test.each(['10.0.0.0/99', '10.0.0', '0.0.0.0/0', '::/0'])('the invalid trusted proxy %s fails at startup', async (proxy) => {
    await expect(withThings('sqlite', limited([proxy]), async () => {})).rejects.toThrow(
      `app_main.server.trust_proxy: "${proxy}" is not an address or a network such as 10.0.0.0/8`,
    );
  });
});
