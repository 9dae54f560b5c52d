import type { FastifyRequest } from 'fastify';
import { networkOf, parseAddress } from './address.ts';
import { identityOf } from './identity.ts';
import type { User } from './user.ts';

/** What requests of the same caller have in common: the user, or without one the network. */
export function callerName(request: FastifyRequest, by: 'user' | 'address' = 'user'): string {
  const { user } = request as { user?: User | null };
  return by === 'user' && user ? identityOf(user) : `address ${networkOf(addressOf(request))}`;
}

/** A proxy of the host may have given something that is no address: then its own is counted. */
function addressOf({ ip, raw }: FastifyRequest): string {
  return parseAddress(ip) ?? parseAddress(raw?.socket?.remoteAddress) ?? 'unknown';
}
