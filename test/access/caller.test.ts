import type { FastifyRequest } from 'fastify';
import { expect, test } from 'vitest';
import { callerName, networkOf } from '../../src/access/caller.ts';

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:0db8:0001:0002::9', '2001:db8:1:2'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  ['::1', '0:0:0:0'],
])('the address %s is counted as %s', (address, network) => {
  expect(networkOf(address)).toBe(network);
});

test('requests with a user have the same caller from every address, unless addresses are counted', () => {
  const request = (ip: string) => ({ user: { id: 7, roles: [] }, ip }) as unknown as FastifyRequest;
  expect(callerName(request('192.0.2.1'))).toBe(callerName(request('192.0.2.2')));
  expect(callerName(request('192.0.2.1'), 'address')).not.toBe(callerName(request('192.0.2.2'), 'address'));
});
