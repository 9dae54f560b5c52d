import { isIP } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { jwtSecret } from '../../access/jwt-keys.ts';
import { signToken } from '../../access/sign-token.ts';
import type { SampleUserDeclaration } from '../../declaration/types.ts';
import { problem } from '../../errors.ts';
import { targetOf } from '../../response/request-target.ts';
import type { Described } from '../schemas/schemas.ts';

/**
 * Sends a token of a sample user as text. Other sites get none, even if the application allows their origin, or if they point a name
 * of their own at this server.
 */
export async function sampleToken(described: Described, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { declaration, directory, production } = described;
  const { jwt, sampleUsers } = declaration.security;
  const { user: name } = request.params as { user: string };
  const user = sampleUsers.find((each) => each.name === name);
  const site = request.headers['sec-fetch-site'];
  const isForeign = site !== undefined && site !== 'same-origin';
  const isKnown = isOwnName(request.hostname, declaration.server.baseUrl);
  if (production || !jwt || !user || isForeign || !isKnown) throw problem('not_found', { path: targetOf(request.url).path });
  const secret = await jwtSecret(jwt, { directory, production });
  const token = await signToken({ secret, declaration: jwt, sub: user.id, roles: user.roles, claims: user.claims });
  return reply.headers({ 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' }).send(token);
}

/** Whether no other site can own a host name: an address, localhost, or the host of `base_url`. */
function isOwnName(hostname: string, baseUrl: string): boolean {
  const name = hostname.toLowerCase();
  const isLocal = name === 'localhost' || name.endsWith('.localhost');
  const isBase = URL.canParse(baseUrl) && new URL(baseUrl).hostname === name;
  return isLocal || isBase || isIP(name.replace(/^\[|\]$/g, '')) !== 0;
}

/** The options of `declarest token` for a user, quoted for a shell. */
export function tokenOptions({ claims, id, roles }: Omit<SampleUserDeclaration, 'name'>): string {
  const options = [
    ['--sub', id],
    ['--roles', roles.join(',')],
    ...Object.entries(claims).map(([name, value]) => ['--claim', `${name}=${claimText(value)}`] as const),
  ] as const;
  return options.map(([option, value]) => `${option} ${quoted(value)}`).join(' ');
}

/** The command reads a value as JSON if it is JSON, so a text that looks like JSON is written as JSON. */
function claimText(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  try {
    JSON.parse(value);
    return JSON.stringify(value);
  } catch {
    return value;
  }
}

/** A text as one argument of a shell. */
export function quoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
