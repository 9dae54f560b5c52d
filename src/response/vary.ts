import type { FastifyReply } from 'fastify';

/** Adds names of request headers to `vary`, except those that the host or its plugins, such as @fastify/cors, have added. */
export function addVary(reply: FastifyReply, names: string): void {
  const given = reply.getHeader('vary');
  if (given === undefined) return void reply.header('vary', names);
  const present = namesIn([given].flat().join(','));
  const missing = namesIn(names).filter((name) => !present.some((other) => other.toLowerCase() === name.toLowerCase()));
  if (missing.length > 0) reply.header('vary', [...present, ...missing].join(', '));
}

function namesIn(list: string): string[] {
  return list
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}
