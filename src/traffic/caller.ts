import { hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { User } from '../access/user.ts';
import type { RateLimitDeclaration } from '../declaration/types.ts';

/** The key by which requests are counted together: the user, or without one the address. */
export function callerOf(request: FastifyRequest, { by, name }: RateLimitDeclaration): string {
  const { user } = request as { user?: User | null };
  const who = by === 'user' && user ? `user ${typeof user.id} ${user.id}` : `address ${networkOf(request.ip)}`;
  // a hash: neither names nor addresses are kept, and all keys have the same length
  return hash('sha256', `${name} ${who}`, 'base64url');
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
