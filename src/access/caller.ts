import type { FastifyRequest } from 'fastify';
import { identityOf } from './identity.ts';
import type { User } from './user.ts';

/** What requests of the same caller have in common: the user, or without one the network. */
export function callerName(request: FastifyRequest, by: 'user' | 'address' = 'user'): string {
  const { user } = request as { user?: User | null };
  return by === 'user' && user ? identityOf(user) : `address ${networkOf(request.ip)}`;
}

/** The part of an address that is counted: in IPv6 the network, since its owner has all of its addresses. */
export function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  if (!plain.includes(':')) return plain;
  const [head = '', tail] = plain.replace(/%.*$/, '').split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : Math.max(8 - before.length - after.length, 0);
  const groups = [...before, ...Array<string>(zeros).fill('0'), ...after];
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}
