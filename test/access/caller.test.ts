import type { FastifyRequest } from 'fastify';
import { expect, test } from 'vitest';
import { networkOf, parseAddress } from '../../src/access/address.ts';
import { callerName } from '../../src/access/caller.ts';
import { noteKind } from '../../src/access/identity.ts';
import type { User } from '../../src/access/user.ts';

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
  ['fe80::1%a%b', 'fe80:0:0:0'],
  ['1:2:3:4:5:6:192.0.2.1', '1:2:3:4'],
  ['0:0:0:0:1:ffff:192.0.2.1', '0:0:0:0'],
  ['::ffff:192.168.123.254', '192.168.123.254'],
  ['0::ffff:10.20.30.40', '10.20.30.40'],
  ['1::ffff:192.0.2.1', '1:0:0:0'],
])('the address %s is counted as %s', (address, network) => {
  expect(networkOf(parseAddress(address) ?? '')).toBe(network);
});

test('an address has no zone, port or brackets', () => {
  expect(['fe80::1%eth0', '[fe80::1%eth0]:80', '192.0.2.1:80'].map(parseAddress)).toEqual(['fe80::1', 'fe80::1', '192.0.2.1']);
});

test.each([
  '',
  'unknown',
  '_hidden',
  '192.0.2',
  '192.0.2.01',
  '192.0.2.1:',
  '192.0.2.1:x',
  'x192.0.2.1:80',
  '192.0.2.1:80x',
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

test('the id of a user belongs to its kind of credential and its type', () => {
  const caller = (user: User) => callerName({ user, ip: '192.0.2.1' } as unknown as FastifyRequest);
  const users: User[] = [
    { id: 'bot', roles: [] },
    noteKind({ id: 'bot', roles: [] }, 'token'),
    noteKind({ id: 'bot', roles: [] }, 'api key'),
    { id: 7, roles: [] },
    { id: '7', roles: [] },
    { id: '', roles: [] },
  ];
  expect(new Set(users.map(caller)).size).toBe(users.length);
  expect(caller(users[0] as User)).toBe('user given string bot');
  expect(caller(users[1] as User)).toBe('user token string bot');
});

test('a request without a user, from a host that passes on no address, is counted by its connection', () => {
  const caller = (raw: unknown) => callerName({ user: null, ip: 'unknown', raw } as unknown as FastifyRequest);
  expect(caller({ socket: { remoteAddress: '192.0.2.7' } })).toBe('address 192.0.2.7');
  for (const raw of [undefined, {}, { socket: {} }]) expect(caller(raw)).toBe('address unknown');
});
