import { createHmac, timingSafeEqual } from 'node:crypto';

export interface Claims {
  iss?: string;
  sub: string;
  roles?: string[];
  center?: number;
  centers?: number[];
  tenant?: number;
  exp: number;
}

const secret = process.env.JWT_SECRET ?? '';
const cache = new Map<string, Claims>();
const cacheSize = 1000;

/** The claims of a valid HS256 token. A signature is checked once; the expiry each time. */
export function verify(authorization: string | undefined): Claims | null {
  const token = authorization?.startsWith('Bearer ') ? authorization.slice(7) : undefined;
  if (token === undefined) return null;
  const claims = cache.get(token) ?? check(token);
  return claims && claims.exp * 1000 > Date.now() ? claims : null;
}

function check(token: string): Claims | null {
  const [header = '', payload = '', signature = ''] = token.split('.');
  const expected = createHmac('sha256', secret).update(`${header}.${payload}`).digest();
  const given = Buffer.from(signature, 'base64url');
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
  if (JSON.parse(Buffer.from(header, 'base64url').toString()).alg !== 'HS256') return null;
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Claims;
  if (cache.size >= cacheSize) cache.clear();
  cache.set(token, claims);
  return claims;
}
