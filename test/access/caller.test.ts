import type { FastifyRequest } from 'fastify';
import { expect, test } from 'vitest';
import { networkOf, parseAddress } from '../../src/access/address.ts';
import { callerName } from '../../src/access/caller.ts';

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:0db8:0001:0002::9', '2001:db8:1:2'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  ['::1', '0:0:0:0'],
  ['::1:2:3:4:192.0.2.1', '0:0:1:2'],
  ['::ffff:c000:201', '192.0.2.1'],
  ['0:0:0:0:0:FFFF:192.0.2.1', '192.0.2.1'],
  ['192.0.2.1:4711', '192.0.2.1'],
  ['[2001:db8::1]:4711', '2001:db8:0:0'],
  ['[2001:db8::1]', '2001:db8:0:0'],
  ['[::ffff:192.0.2.1]:80', '192.0.2.1'],
  [' 192.0.2.1 ', '192.0.2.1'],
])('the address %s is counted as %s', (address, network) => {
  expect(networkOf(parseAddress(address) ?? '')).toBe(network);
});

test.each([
  '',
  'unknown',
  '_hidden',
  '192.0.2',
  '192.0.2.01',
  '192.0.2.1:',
  '192.0.2.1:x',
  '[192.0.2.1',
  '1:2:3:4:5:6:7:8:9',
  'a.example',
])('%j is not a valid address', (text) => {
  expect(parseAddress(text)).toBeNull();
});

test('requests of a user have the same caller from every address, unless limits are per address', () => {
  const request = (ip: string) => ({ user: { id: 7, roles: [] }, ip }) as unknown as FastifyRequest;
  expect(callerName(request('192.0.2.1'))).toBe(callerName(request('192.0.2.2')));
  expect(callerName(request('192.0.2.1'), 'address')).not.toBe(callerName(request('192.0.2.2'), 'address'));
});
