import { decodeJwt, decodeProtectedHeader } from 'jose';
import { describe, expect, test } from 'vitest';
import { signToken } from '../../src/access/sign-token.ts';

const declaration = { algorithm: 'HS256', issuer: null, audience: null };
const ann = { secret: 's'.repeat(32), declaration, sub: 'ann', roles: ['ROLE_A'] };

describe('signToken', () => {
  test('creates a token that is valid for eight hours by default', async () => {
    const { iat = 0, exp = 0, ...rest } = decodeJwt(await signToken(ann));
    expect(rest).toEqual({ sub: 'ann', roles: ['ROLE_A'] });
    expect(Math.abs(iat - Date.now() / 1000)).toBeLessThan(5);
    expect(exp - iat).toBe(8 * 60 * 60);
    const short = decodeJwt(await signToken({ ...ann, expiresIn: 60 }));
    expect((short.exp as number) - (short.iat as number)).toBe(60);
  });

  test('signs with the declared algorithm, for the declared issuer and audience', async () => {
    const token = await signToken({ ...ann, declaration: { algorithm: 'HS512', issuer: 'me', audience: 'api' } });
    expect(decodeProtectedHeader(token)).toEqual({ alg: 'HS512', typ: 'JWT' });
    expect(decodeJwt(token)).toMatchObject({ iss: 'me', aud: 'api' });
  });

  test('does not let a further claim replace a fixed one', async () => {
    const claims = { sub: 'root', roles: ['ROLE_ADMIN'], exp: 9e9, iat: 1, team: 7 };
    const payload = decodeJwt(await signToken({ ...ann, claims }));
    expect(payload).toMatchObject({ sub: 'ann', roles: ['ROLE_A'], team: 7 });
    expect(payload.exp).toBeLessThan(9e9);
  });

  test('requires a subject and a lifetime', async () => {
    await expect(signToken({ ...ann, sub: '' })).rejects.toThrow('the subject of a token must not be empty');
    for (const expiresIn of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
      await expect(signToken({ ...ann, expiresIn })).rejects.toThrow('must be more than 0 seconds');
    }
  });
});
