import { createHmac, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { authenticateWith } from '../../src/access/authenticator.ts';
import { identityOf } from '../../src/access/identity.ts';
import { JwtAuthenticator } from '../../src/access/jwt.ts';
import { type JwtKeys, loadJwtKeys } from '../../src/access/jwt-keys.ts';
import { signToken } from '../../src/access/sign-token.ts';
import type { User } from '../../src/access/user.ts';
import type { JwtDeclaration } from '../../src/declaration/types.ts';
import { fakeRequest, thrownBy } from './fake-request.ts';

const secret = 'a secret of thirty-two characters, or more';
const plain: JwtDeclaration = { secret, algorithm: 'HS256', issuer: null, audience: null, jwks: null, jwksMaxStale: 86_400 };
const surroundings = { directory: '/nowhere', production: true };

const now = () => Math.floor(Date.now() / 1000);
const encode = (value: unknown) => Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
const hmac = (input: string, key: string | Buffer = secret) => createHmac('sha256', key).update(input).digest('base64url');

/** A token made by hand, so that it can be as wrong as it likes. The payload may be text, for what JSON.stringify cannot say. */
function forge(payload: unknown, header: object = { alg: 'HS256' }, key?: string | Buffer): string {
  const input = `${encode(header)}.${encode(payload)}`;
  return `${input}.${hmac(input, key)}`;
}

const claims = (more: object = {}) => ({ sub: 'ann', exp: now() + 60, ...more });

async function authenticator(declaration: Partial<JwtDeclaration> = {}, keys?: JwtKeys) {
  const complete = { ...plain, ...declaration };
  return new JwtAuthenticator(complete, keys ?? (await loadJwtKeys(complete, surroundings)));
}

async function userOf(token: string, declaration: Partial<JwtDeclaration> = {}) {
  return authenticateWith([await authenticator(declaration)], fakeRequest({ authorization: `Bearer ${token}` }));
}

async function refusal(token: string, declaration: Partial<JwtDeclaration> = {}): Promise<string> {
  const error = await thrownBy(() => userOf(token, declaration));
  expect(error).toMatchObject({ code: 'invalid_credentials', status: 401 });
  expect(error.headers).toEqual({ 'WWW-Authenticate': 'Bearer realm="api", error="invalid_token"' });
  return error.message.replace('the credentials are not valid: ', '');
}

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe('a valid token', () => {
  test('sets the subject, the roles and further claims of the user', async () => {
    const exp = now() + 60;
    expect(await userOf(forge({ sub: 'ann', exp, roles: ['ROLE_A'], email: 'a@b.c' }))).toEqual({
      id: 'ann',
      roles: ['ROLE_A'],
      email: 'a@b.c',
      exp,
    });
  });

  test('identifies its user as that of a token', async () => {
    expect(identityOf((await userOf(forge(claims()))) as User)).toBe('user token string ann');
  });

  test('sets no roles if it has no roles claim', async () => {
    expect(await userOf(forge(claims()))).toMatchObject({ id: 'ann', roles: [] });
  });

  test('is accepted with any case of the scheme and with more than one space', async () => {
    const jwt = await authenticator();
    for (const scheme of ['bearer ', 'BEARER ', 'Bearer   ']) {
      expect(await authenticateWith([jwt], fakeRequest({ authorization: scheme + forge(claims()) }))).toMatchObject({
        id: 'ann',
      });
    }
  });

  test('is accepted if issuer and audience match the declared ones', async () => {
    const expected = { issuer: 'https://issuer', audience: 'api' };
    expect(await userOf(forge(claims({ iss: 'https://issuer', aud: 'api' })), expected)).toMatchObject({ id: 'ann' });
    expect(await userOf(forge(claims({ iss: 'https://issuer', aud: ['x', 'api'] })), expected)).toMatchObject({ id: 'ann' });
  });

  test('is accepted from the second of nbf on', async () => {
    expect(await userOf(forge(claims({ nbf: now() })))).toMatchObject({ id: 'ann' });
  });

  test('can be created by signToken', async () => {
    const declaration = { ...plain, issuer: 'me', audience: 'api' };
    const token = await signToken({ secret, declaration, sub: 'ann', roles: ['ROLE_A'], claims: { team: 7 } });
    expect(await userOf(token, declaration)).toMatchObject({ id: 'ann', roles: ['ROLE_A'], team: 7, iss: 'me', aud: 'api' });
  });
});

describe('claims', () => {
  test('cannot replace the id or the roles', async () => {
    expect(await userOf(forge(claims({ id: 'root', roles: ['ROLE_A'] })))).toMatchObject({ id: 'ann', roles: ['ROLE_A'] });
  });

  test('cannot modify a prototype', async () => {
    const text = `{"sub":"ann","exp":${now() + 60},"__proto__":{"admin":true,"roles":["ROLE_ADMIN"]}}`;
    const user = (await userOf(forge(text))) as User;
    expect(Object.getPrototypeOf(user)).toBe(Object.prototype);
    expect(Object.hasOwn(user, '__proto__')).toBe(false);
    expect(user.admin).toBeUndefined();
    expect(user.roles).toEqual([]);
    expect(({} as Record<string, unknown>).admin).toBeUndefined();
  });

  test('are deeply frozen because one user serves many requests', async () => {
    const user = (await userOf(forge(claims({ roles: ['ROLE_A'], team: { members: [{ name: 'bob' }] }, none: null })))) as any;
    expect(() => user.roles.push('ROLE_ADMIN')).toThrow(TypeError);
    expect(() => {
      user.team.members[0].name = 'eve';
    }).toThrow(TypeError);
    expect(() => {
      user.id = 'eve';
    }).toThrow(TypeError);
  });

  test.each([['ROLE_ADMIN'], [{ 0: 'ROLE_ADMIN' }], [[1]], [[['ROLE_ADMIN']]], [null], [true]])(
    'with roles %j are rejected',
    async (roles) => {
      expect(await refusal(forge(claims({ roles })))).toBe('the claim "roles" must be a list of strings');
    },
  );

  test.each([[''], [7], [null], [['ann']], [{}]])('with the subject %j are rejected', async (sub) => {
    expect(await refusal(forge(claims({ sub })))).toBe('the claim "sub" must be a string that is not empty');
  });

  test('without subject or expiry are rejected', async () => {
    expect(await refusal(forge({ exp: now() + 60 }))).toBe('the claim "sub" is missing');
    expect(await refusal(forge({ sub: 'ann' }))).toBe('the claim "exp" is missing');
  });

  test('with an expiry that is not a finite number are rejected', async () => {
    expect(await refusal(forge(claims({ exp: 'never' })))).toBe('the claim "exp" is not accepted');
    expect(await refusal(forge(claims({ exp: null })))).toBe('the claim "exp" is not accepted');
    expect(await refusal(forge('{"sub":"ann","exp":1e999}'))).toBe('the claim "exp" is not accepted');
  });

  test('of tokens that have expired, or expire in this second, are rejected', async () => {
    vi.useFakeTimers({ now: 1_800_000_000_500, toFake: ['Date'] });
    expect(await refusal(forge(claims({ exp: now() - 1 })))).toBe('the token has expired');
    expect(await refusal(forge(claims({ exp: now() })))).toBe('the token has expired');
    expect(await userOf(forge(claims({ exp: now() + 1 })))).toMatchObject({ id: 'ann' });
  });

  test('that are not valid yet are rejected', async () => {
    expect(await refusal(forge(claims({ nbf: now() + 30 })))).toBe('the token is not valid yet');
    expect(await refusal(forge(claims({ nbf: 'soon' })))).toBe('the claim "nbf" is not accepted');
  });

  test.each([{ iss: 'other' }, { iss: ['https://issuer'] }, { iss: 'https://issuer/' }])(
    'from the issuer %j are rejected',
    async (more) => {
      expect(await refusal(forge(claims(more)), { issuer: 'https://issuer' })).toBe('the claim "iss" is not accepted');
    },
  );

  test.each([{ aud: 'other' }, { aud: ['other'] }, { aud: [] }, { aud: { api: 1 } }])(
    'for the audience %j are rejected',
    async (more) => {
      expect(await refusal(forge(claims(more)), { audience: 'api' })).toBe('the claim "aud" is not accepted');
    },
  );

  test('without the required issuer or audience are rejected', async () => {
    expect(await refusal(forge(claims()), { issuer: 'https://issuer' })).toBe('the claim "iss" is missing');
    expect(await refusal(forge(claims()), { audience: 'api' })).toBe('the claim "aud" is missing');
  });

  test.each(['[]', '"ann"', 'null', '7', 'no json', ''])('that are %j instead of an object are rejected', async (payload) => {
    await refusal(forge(payload));
  });
});

describe('signatures', () => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const other = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = (kid: string, key = publicKey) => ({ ...key.export({ format: 'jwk' }), kid, alg: 'RS256', use: 'sig' });
  const withKeys = { secret: null, algorithm: 'RS256', jwks: { keys: [jwk('one'), jwk('two', other.publicKey)] } };

  function rsaToken(header: object, key = privateKey, payload: object = claims()): string {
    const input = `${encode(header)}.${encode(payload)}`;
    return `${input}.${sign('sha256', Buffer.from(input), key).toString('base64url')}`;
  }

  test('by a key of the set are accepted if it is the key that the token names', async () => {
    expect(await userOf(rsaToken({ alg: 'RS256', kid: 'one' }), withKeys)).toMatchObject({ id: 'ann' });
    expect(await userOf(rsaToken({ alg: 'RS256', kid: 'two' }, other.privateKey), withKeys)).toMatchObject({ id: 'ann' });
    expect(await refusal(rsaToken({ alg: 'RS256', kid: 'two' }), withKeys)).toBe('the signature is invalid');
  });

  test.each(['three', '', 7, null, ['one']])('by the unknown key %j are rejected', async (kid) => {
    expect(await refusal(rsaToken({ alg: 'RS256', kid }), withKeys)).toBe('the token is signed with an unknown key');
  });

  test('without a key id are rejected if there are several keys', async () => {
    expect(await refusal(rsaToken({ alg: 'RS256' }), withKeys)).toBe('the token has no key id (kid), so its key is ambiguous');
  });

  test('cannot be omitted with the algorithm none', async () => {
    for (const alg of ['none', 'None', 'NONE', 'nOnE']) {
      const input = `${encode({ alg })}.${encode(claims())}`;
      await refusal(`${input}.`);
      await refusal(`${input}.${encode('x')}`);
      expect(await refusal(forge(claims(), { alg }))).toBe('the token is signed with an algorithm that is not accepted');
      await refusal(`${input}.`, withKeys);
    }
  });

  test('made with the public key as a secret are rejected', async () => {
    const pem = publicKey.export({ type: 'spki', format: 'pem' });
    for (const key of [
      pem,
      pem.toString().trim(),
      publicKey.export({ type: 'spki', format: 'der' }),
      JSON.stringify(jwk('one')),
    ]) {
      const token = forge(claims(), { alg: 'HS256', kid: 'one' }, key as string | Buffer);
      expect(await refusal(token, withKeys)).toBe('the token is signed with an algorithm that is not accepted');
      await refusal(forge(claims(), { alg: 'RS256', kid: 'one' }, key as string | Buffer), withKeys);
    }
  });

  test('with an undeclared algorithm are rejected, even with the right secret', async () => {
    const input = `${encode({ alg: 'HS512' })}.${encode(claims())}`;
    const token = `${input}.${createHmac('sha512', secret).update(input).digest('base64url')}`;
    expect(await userOf(token, { algorithm: 'HS512' })).toMatchObject({ id: 'ann' });
    expect(await refusal(token)).toBe('the token is signed with an algorithm that is not accepted');
  });

  test('by a key embedded in the token are rejected', async () => {
    const eve = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const own = eve.publicKey.export({ format: 'jwk' });
    for (const header of [
      { alg: 'RS256', jwk: own },
      { alg: 'RS256', jwk: own, kid: 'one' },
      { alg: 'RS256', jku: 'http://127.0.0.1:1/keys' },
    ]) {
      await refusal(rsaToken(header, eve.privateKey), withKeys);
    }
  });

  test('of tokens with a critical extension (crit) are rejected', async () => {
    expect(await refusal(forge(claims(), { alg: 'HS256', crit: ['exp'], exp: 1 }))).toBe('the token is malformed');
    expect(await refusal(forge(claims(), { alg: 'HS256', crit: ['b64'], b64: true }))).toContain('an extension (crit)');
    await refusal(forge(claims(), { alg: 'HS256', crit: ['b64'], b64: false }));
    await refusal(forge(claims(), { alg: 'HS256', crit: [] }));
  });

  test('by another secret are rejected', async () => {
    expect(await refusal(forge(claims(), undefined, `${secret}!`))).toBe('the signature is invalid');
    await refusal(forge(claims(), undefined, ''));
  });

  test('are invalid after any change of a character of header or payload', async () => {
    const [header = '', payload = '', signature = ''] = forge(claims({ roles: ['ROLE_A'] })).split('.');
    const jwt = await authenticator();
    await authenticateWith([jwt], fakeRequest({ authorization: `Bearer ${header}.${payload}.${signature}` }));
    const signed = `${header}.${payload}`;
    const anyPosition = fc.nat(signed.length - 1).filter((position) => signed[position] !== '.');
    await fc.assert(
      fc.asyncProperty(anyPosition, fc.constantFrom(...'AZaz09-_'), async (position, letter) => {
        fc.pre(signed[position] !== letter);
        const changed = `${signed.slice(0, position)}${letter}${signed.slice(position + 1)}.${signature}`;
        const error = await thrownBy(() => authenticateWith([jwt], fakeRequest({ authorization: `Bearer ${changed}` })));
        expect(error?.status).toBe(401);
      }),
    );
  });

  test('exchanged between tokens are rejected', async () => {
    const [header, payload] = forge(claims({ roles: ['ROLE_ADMIN'] })).split('.');
    expect(await refusal(`${header}.${payload}.${forge(claims()).split('.')[2]}`)).toBe('the signature is invalid');
  });

  test('cause a server error instead of 401 if the key itself fails', async () => {
    const boom = new Error('boom');
    const jwt = await authenticator({}, () => Promise.reject(boom));
    expect(await thrownBy(() => jwt.authenticate(fakeRequest({ authorization: `Bearer ${forge(claims())}` })))).toBe(boom);
  });
});

describe('the Authorization header', () => {
  test('with another scheme is left to other authenticators', async () => {
    const jwt = await authenticator();
    for (const authorization of ['Basic dTpw', 'ApiKey k', 'Bearertoken', 'Not Bearer a.b.c', '']) {
      expect(jwt.authenticate(fakeRequest({ authorization }))).toBeNull();
    }
    expect(jwt.authenticate(fakeRequest())).toBeNull();
  });

  test.each([
    'Bearer',
    'Bearer ',
    'Bearer a',
    'Bearer a.b',
    'Bearer a.b.',
    'Bearer .b.c',
    'Bearer a.b.c.d.e',
    'Bearer a b',
    'Bearer\ta.b.c',
  ])('is rejected as %j', async (authorization) => {
    const jwt = await authenticator();
    const error = await thrownBy(() => jwt.authenticate(fakeRequest({ authorization })));
    expect(error).toMatchObject({ status: 401 });
    expect(error.message).toContain('the Authorization header must be "Bearer", a space and a signed token');
  });

  test('is rejected with two tokens in it, or if it is sent twice', async () => {
    const jwt = await authenticator();
    const value = `Bearer ${forge(claims())}`;
    const raw = ['Authorization', value, 'AUTHORIZATION', 'Bearer x'];
    for (const request of [
      fakeRequest({ authorization: `${value}, ${value}` }),
      fakeRequest({ authorization: [value, value] }),
      fakeRequest({ authorization: value }, raw),
    ]) {
      expect(await thrownBy(() => jwt.authenticate(request))).toMatchObject({ status: 401 });
    }
    expect(await jwt.authenticate(fakeRequest({ authorization: value }, raw.slice(0, 2)))).toMatchObject({ id: 'ann' });
  });

  test('is rejected without parsing if it is too long, even with a valid signature', async () => {
    const verify = vi.spyOn(crypto.subtle, 'verify');
    expect(await refusal(forge(claims({ pad: 'x'.repeat(8192) })))).toBe('the token is longer than 8192 characters');
    await refusal(`${'a'.repeat(1_000_000)}.b.c`);
    expect(verify).not.toHaveBeenCalled();
  });

  test('is accepted up to 8192 characters', async () => {
    const jwt = await authenticator();
    const short = `Bearer ${forge(claims({ pad: 'x'.repeat(5900) }))}`;
    const spaces = (length: number) => short.replace(' ', ' '.repeat(1 + length - short.length));
    expect(spaces(8192)).toHaveLength(8192);
    expect(await jwt.authenticate(fakeRequest({ authorization: spaces(8192) }))).toMatchObject({ id: 'ann' });
    const error = await thrownBy(() => jwt.authenticate(fakeRequest({ authorization: spaces(8193) })));
    expect(error.message).toContain('longer than 8192');
  });

  test('returns 401 and no other status for any invalid content', async () => {
    const jwt = await authenticator();
    const anyPart = fc.oneof(
      fc.base64String(),
      fc.string(),
      fc.json().map(encode),
      fc.record({ alg: fc.constantFrom('HS256', 'RS256', 'none', 7), kid: fc.anything(), crit: fc.anything() }).map((h) => {
        try {
          return encode(h);
        } catch {
          return 'e30';
        }
      }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(anyPart, { maxLength: 5 }), async (parts) => {
        const request = fakeRequest({ authorization: `Bearer ${parts.join('.')}` });
        expect((await thrownBy(() => jwt.authenticate(request)))?.status).toBe(401);
      }),
      { numRuns: 300 },
    );
  });
});

describe('a repeated token', () => {
  const asking = (token: string) => fakeRequest({ authorization: `Bearer ${token}` });

  test('is accepted synchronously, without another signature check', async () => {
    const jwt = await authenticator();
    const token = forge(claims());
    const verify = vi.spyOn(crypto.subtle, 'verify');
    const first = await jwt.authenticate(asking(token));
    expect(jwt.authenticate(asking(token))).toBe(first);
    expect(verify).toHaveBeenCalledTimes(1);
  });

  test('is rejected once it has expired', async () => {
    vi.useFakeTimers({ now: 1_800_000_000_000, toFake: ['Date'] });
    const jwt = await authenticator();
    const token = forge(claims({ exp: now() + 10 }));
    await jwt.authenticate(asking(token));
    vi.setSystemTime(1_800_000_009_999);
    expect(jwt.authenticate(asking(token))).toMatchObject({ id: 'ann' });
    vi.setSystemTime(1_800_000_010_000);
    expect(await thrownBy(() => jwt.authenticate(asking(token)))).toMatchObject({ status: 401 });
  });

  test('is rejected if the clock is set back before its nbf', async () => {
    vi.useFakeTimers({ now: 1_800_000_000_000, toFake: ['Date'] });
    const jwt = await authenticator();
    const token = forge(claims({ nbf: now() }));
    await jwt.authenticate(asking(token));
    vi.setSystemTime(1_799_999_999_000);
    expect(await thrownBy(() => jwt.authenticate(asking(token)))).toMatchObject({ status: 401 });
  });

  test('with another signature is verified again and rejected', async () => {
    const jwt = await authenticator();
    const token = forge(claims());
    await jwt.authenticate(asking(token));
    const changed = token.replace(/[^.]+$/, randomBytes(32).toString('base64url'));
    expect(await thrownBy(() => jwt.authenticate(asking(changed)))).toMatchObject({ status: 401 });
  });

  test('is rejected again if it was rejected before', async () => {
    const jwt = await authenticator();
    for (let round = 0; round < 2; round++) {
      expect(await thrownBy(() => jwt.authenticate(asking(forge(claims({ roles: 'x' })))))).toMatchObject({ status: 401 });
    }
  });
});
