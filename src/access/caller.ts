import type { FastifyRequest } from 'fastify';
import { networkOf, parseAddress } from './address.ts';
import { identityOf } from './identity.ts';
import type { User } from './user.ts';

/** Identifies the caller of a request: by its user, or by its network without one. */
export function callerName(request: FastifyRequest, by: 'user' | 'address' = 'user'): string {
  const { user } = request as { user?: User | null };
  return by === 'user' && user ? identityOf(user) : `address ${networkOf(addressOf(request))}`;
}

/** If a proxy of the host passed on something else than an address, its own address is counted. */
function addressOf({ ip, raw }: FastifyRequest): string {
  return parseAddress(ip) ?? parseAddress(raw?.socket?.remoteAddress) ?? 'unknown';
}
