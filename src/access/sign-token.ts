import { SignJWT } from 'jose';
import type { JwtDeclaration } from '../declaration/types.ts';

/** Seconds a signed token is valid unless told otherwise: a working day. */
export const defaultTokenLifetime = 8 * 60 * 60;

/** Makes a token that the application accepts. `secret` is what `jwtSecret` answers; `claims` cannot replace the fixed ones. */
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
  if (sub === '') throw new Error('a token needs a subject that is not empty: the id of the user it is for');
  if (!(Number.isFinite(expiresIn) && expiresIn > 0)) throw new Error('a token must be valid for a number of seconds above 0');
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
