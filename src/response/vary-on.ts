import type { FastifyReply } from 'fastify';

/** Adds the name of a request header to `vary`, unless it is there. */
export function varyOn(reply: FastifyReply, name: string): void {
  const others = reply.getHeader('vary');
  if (others === undefined) reply.header('vary', name);
  else if (!namesIn(others).includes(name.toLowerCase())) reply.header('vary', `${others}, ${name}`);
}

function namesIn(header: unknown): readonly string[] {
  return String(header)
    .split(',')
    .map((name) => name.trim().toLowerCase());
}
