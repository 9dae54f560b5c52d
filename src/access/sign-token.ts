import { SignJWT } from 'jose';
import type { JwtDeclaration } from '../declaration/types.ts';

/** Seconds for which a signed token is valid by default: a working day. */
export const defaultTokenLifetime = 8 * 60 * 60;

/** Creates a token that the application accepts. `secret` comes from `jwtSecret`; `claims` cannot replace those set here. */
export async function signToken({
  secret,
  declaration,
  sub,
  roles,
  expiresIn = defaultTokenLifetime,
  claims = {},
}: {
  readonly secret: string;
  readonly declaration: Pick<JwtDeclaration, 'algorithm' | 'issuer' | 'audience'>;
  readonly sub: string;
  readonly roles: readonly string[];
  readonly expiresIn?: number;
  readonly claims?: Readonly<Record<string, unknown>>;
}): Promise<string> {
  if (sub === '') throw new Error('the subject of a token must not be empty: give the id of the user');
  if (!(Number.isFinite(expiresIn) && expiresIn > 0)) throw new Error('the lifetime of a token must be more than 0 seconds');
  const { algorithm, issuer, audience } = declaration;
  const now = Math.floor(Date.now() / 1000);
  const payload = {
    ...claims,
    sub,
    roles: [...roles],
    iat: now,
    exp: now + expiresIn,
    ...(issuer === null ? {} : { iss: issuer }),
    ...(audience === null ? {} : { aud: audience }),
  };
  return new SignJWT(payload).setProtectedHeader({ alg: algorithm, typ: 'JWT' }).sign(new TextEncoder().encode(secret));
}
