import type { FastifyReply } from 'fastify';

/** Adds names of request headers to `vary`, which plugins of the host such as @fastify/cors may have set. */
export function addVary(reply: FastifyReply, names: string): void {
  const others = reply.getHeader('vary');
  reply.header('vary', others === undefined || others === '' ? names : `${[others].flat().join(', ')}, ${names}`);
}
