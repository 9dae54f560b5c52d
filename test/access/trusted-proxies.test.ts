import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from 'vitest';
import { trustedProxies } from '../../src/access/trusted-proxies.ts';

/** The client address of a request, and what is left of its header. */
function clientOf(proxies: string[], remoteAddress: string | undefined, forwarded?: string): unknown[] {
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
  const client = trustedProxies(proxies).clientOf({ headers, socket: { remoteAddress } } as unknown as IncomingMessage);
  return [client, headers['x-forwarded-for']];
}

describe('the client of a request', () => {
  test.each<[string, string[], string | undefined, string | undefined, string | null, string | undefined]>([
    ['the peer without a header', ['10.0.0.0/8'], '10.0.0.1', undefined, '10.0.0.1', undefined],
    ['the peer if it is not trusted', ['10.0.0.0/8'], '192.0.2.1', '203.0.113.9', '192.0.2.1', '203.0.113.9'],
    ['null on a connection that has ended', ['10.0.0.0/8'], undefined, '203.0.113.9', null, '203.0.113.9'],
    ['the entry of a trusted peer', ['10.0.0.0/8'], '10.0.0.1', '203.0.113.9', '203.0.113.9', '203.0.113.9'],
    [
      'the last entry that no proxy wrote',
      ['10.0.0.0/8'],
      '10.0.0.1',
      'x, 203.0.113.9, 10.0.0.2',
      '203.0.113.9',
      'x, 203.0.113.9, 10.0.0.2',
    ],
    ['the first entry if all are proxies', ['10.0.0.0/8'], '10.0.0.1', '10.0.0.3,10.0.0.2', '10.0.0.3', '10.0.0.3, 10.0.0.2'],
    ['the proxy that wrote no address', ['10.0.0.0/8'], '10.0.0.1', '203.0.113.9, unknown, 10.0.0.2', '10.0.0.2', '10.0.0.2'],
    [
      'an entry without its port',
      ['10.0.0.0/8'],
      '10.0.0.1',
      ' 203.0.113.8 , [2001:db8::1]:80',
      '2001:db8::1',
      '203.0.113.8, 2001:db8::1',
    ],
    ['an entry after a peer with mapped IPv4', ['10.0.0.1'], '::ffff:10.0.0.1', '203.0.113.9', '203.0.113.9', '203.0.113.9'],
  ])('is %s', (_, proxies, peer, forwarded, client, left) => {
    expect(clientOf(proxies, peer, forwarded)).toEqual([client, left]);
  });
});

describe('trusted proxies', () => {
  test.each([
    ['loopback', ['127.0.0.1', '127.9.9.9', '::1'], ['128.0.0.1', '::2', '126.255.255.255']],
    ['linklocal', ['169.254.0.1', 'fe80::1%eth0', 'febf::1'], ['169.253.255.255', 'fec0::1']],
    ['uniquelocal', ['10.1.2.3', '172.31.0.1', '192.168.9.9', 'fc00::1', 'fdff::1'], ['172.32.0.1', '192.169.0.1', 'fe00::1']],
    ['192.0.2.1', ['192.0.2.1', '192.0.2.1:80', '::ffff:192.0.2.1'], ['192.0.2.2']],
    ['2001:db8::1', ['2001:db8::1', '[2001:db8::1]:80'], ['2001:db8::2']],
    ['2001:db8::/32', ['2001:db8:9::1'], ['2001:db9::1', '32.1.13.184']],
    ['10.0.0.0/8', ['10.255.0.1'], ['11.0.0.1', 'a00::1', 'nobody', '']],
  ])('%s contains the addresses of its network, and no others', (proxy, inside, outside) => {
    const { trusts } = trustedProxies([proxy]);
    expect(inside.filter((address) => !trusts(address))).toEqual([]);
    expect(outside.filter((address) => trusts(address))).toEqual([]);
    expect(trusts(undefined)).toBe(false);
  });

  test('can be several', () => {
    const { trusts } = trustedProxies(['192.0.2.1', 'loopback', '2001:db8::/32']);
    expect(['192.0.2.1', '127.0.0.1', '2001:db8::1'].every(trusts)).toBe(true);
    expect(trustedProxies([]).trusts('127.0.0.1')).toBe(false);
  });

  test.each(['10.0.0.0/99', '2001:db8::/129', '10.0.0', '0.0.0.0/0', '::/0', '10.0.0.0/', '10.0.0.0/x', 'Loopback'])(
    'that are invalid are an error: %s',
    (proxy) => {
      expect(() => trustedProxies([proxy])).toThrow(
        `app_main.server.trust_proxy: "${proxy}" is not an address or a network such as 10.0.0.0/8`,
      );
      expect(() => trustedProxies([proxy])).toThrow(expect.objectContaining({ cause: expect.any(Error) }));
    },
  );
});
