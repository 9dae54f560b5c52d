import { generateKeyPairSync, sign } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SignJWT } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { JwtAuthenticator } from '../../src/access/jwt.ts';
import { jwtSecret, loadJwtKeys } from '../../src/access/jwt-keys.ts';
import type { JwtDeclaration } from '../../src/declaration/types.ts';
import { fakeRequest, thrownBy } from './fake-request.ts';

const secret = 's'.repeat(32);
let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'declarest-keys-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const declare = (part: Partial<JwtDeclaration>): JwtDeclaration => ({
  secret: null,
  algorithm: 'HS256',
  issuer: null,
  audience: null,
  jwks: null,
  jwksMaxStale: 86_400,
  ...part,
});
const load = (part: Partial<JwtDeclaration>, production = true) => loadJwtKeys(declare(part), { directory, production });
const secretOf = (part: Partial<JwtDeclaration>, production = true) => jwtSecret(declare(part), { directory, production });

const base64url = (text: string) => Buffer.from(text).toString('base64url');

const pairs = {
  RS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  PS256: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ES384: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  ES512: generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  EdDSA: generateKeyPairSync('ed25519'),
  Ed25519: generateKeyPairSync('ed25519'),
};
type Algorithm = keyof typeof pairs;

const jwk = (algorithm: Algorithm, more: object = {}) => ({ ...pairs[algorithm].publicKey.export({ format: 'jwk' }), ...more });
const tokenBy = (alg: Algorithm, kid = 'k') =>
  new SignJWT({ sub: 'ann' }).setProtectedHeader({ alg, kid }).setExpirationTime('1h').sign(pairs[alg].privateKey);

async function authenticate(declaration: Partial<JwtDeclaration>, token: string) {
  const authenticator = new JwtAuthenticator(declare(declaration), await load(declaration, false));
  return authenticator.authenticate(fakeRequest({ authorization: `Bearer ${token}` }));
}

describe('the secret', () => {
  test('comes from the declaration', async () => {
    expect(await secretOf({ secret })).toBe(secret);
  });

  test('is imported for verification only and cannot be exported', async () => {
    for (const [algorithm, hash] of [
      ['HS256', 'SHA-256'],
      ['HS512', 'SHA-512'],
    ]) {
      const key = await load({ secret, algorithm: algorithm as string });
      expect(key).toMatchObject({ extractable: false, usages: ['verify'], algorithm: { name: 'HMAC', hash: { name: hash } } });
    }
  });

  test('must have at least 32 characters', async () => {
    await expect(load({ secret: secret.slice(1) })).rejects.toThrow('must have 32 characters or more; it has 31');
  });

  test('is the development key if no secret is declared, except in production', async () => {
    const key = await secretOf({}, false);
    expect(key).toMatch(/^[\w-]{43}$/);
    expect(await secretOf({}, false)).toBe(key);
    await expect(load({})).rejects.toThrow('security.jwt needs a secret or a jwks in production');
  });

  test('is rejected with an algorithm for key pairs', async () => {
    for (const algorithm of ['RS256', 'none', 'hs256', '']) {
      await expect(load({ secret, algorithm })).rejects.toThrow('does not work with a secret; use one of HS256, HS384, HS512');
    }
  });

  test('is rejected together with a key set', async () => {
    await expect(secretOf({ jwks: 'keys.json' })).rejects.toThrow('has public keys only');
    await expect(load({ secret, algorithm: 'RS256', jwks: { keys: [jwk('RS256')] } })).rejects.toThrow(
      'both "secret" and "jwks"',
    );
  });
});

describe('a key set', () => {
  test.each(Object.keys(pairs) as Algorithm[])('verifies tokens signed with %s', async (algorithm) => {
    const jwks = { keys: [jwk(algorithm, { kid: 'k' })] };
    expect(await authenticate({ algorithm, jwks }, await tokenBy(algorithm))).toMatchObject({ id: 'ann' });
  });

  test('can be a file of the application', async () => {
    await writeFile(join(directory, 'keys.json'), JSON.stringify({ keys: [jwk('ES256', { kid: 'k' })] }));
    expect(await authenticate({ algorithm: 'ES256', jwks: 'keys.json' }, await tokenBy('ES256'))).toMatchObject({ id: 'ann' });
  });

  test('may also hold keys for other purposes', async () => {
    const keys = [
      jwk('RS256', { kid: 'k', use: 'enc' }),
      jwk('RS256', { kid: 'k', alg: 'RS512' }),
      jwk('ES384'),
      jwk('Ed25519'),
      jwk('ES256', { kid: 'k', use: 'sig', alg: 'ES256' }),
    ];
    expect(await authenticate({ algorithm: 'ES256', jwks: { keys } }, await tokenBy('ES256'))).toMatchObject({ id: 'ann' });
  });

  test('is rejected with an algorithm for secrets', async () => {
    for (const algorithm of ['HS256', 'none', 'rs256']) {
      await expect(load({ algorithm, jwks: { keys: [jwk('RS256')] } })).rejects.toThrow(
        'which does not work with "jwks"; set it to the algorithm of the keys: RS256, RS384, RS512, PS256',
      );
    }
  });

  test('must have a key for the algorithm', async () => {
    const unfit = { RS256: 'ES256', ES256: 'ES384', EdDSA: 'ES256' } as const;
    for (const [algorithm, other] of Object.entries(unfit)) {
      await expect(load({ algorithm, jwks: { keys: [jwk(other)] } })).rejects.toThrow(`has no key for ${algorithm}`);
    }
    const marked = [
      jwk('RS256', { use: 'enc' }),
      jwk('RS256', { alg: 'RS512' }),
      jwk('RS256', { alg: 'RS512', use: 'sig' }),
      jwk('RS256', { alg: 'RS256', use: 'enc' }),
    ];
    for (const key of marked)
      await expect(load({ algorithm: 'RS256', jwks: { keys: [key] } })).rejects.toThrow('has no key for RS256');
    const strange = [jwk('ES256', { kty: 'OKP' }), jwk('EdDSA', { crv: 'P-256' })];
    for (const key of strange)
      await expect(load({ algorithm: 'ES256', jwks: { keys: [key] } })).rejects.toThrow('has no key for ES256');
    await expect(load({ algorithm: 'EdDSA', jwks: { keys: [jwk('EdDSA', { kty: 'EC' })] } })).rejects.toThrow('has no key for');
    const x25519 = generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' });
    await expect(load({ algorithm: 'EdDSA', jwks: { keys: [x25519] } })).rejects.toThrow('has no key for EdDSA');
  });

  test('must not hold private or secret keys', async () => {
    const own = pairs.ES256.privateKey.export({ format: 'jwk' });
    await expect(load({ algorithm: 'ES256', jwks: { keys: [jwk('ES256'), own] } })).rejects.toThrow(
      'security.jwt.jwks, keys[1], is a private or secret key; list public keys only',
    );
    await expect(load({ algorithm: 'ES256', jwks: { keys: [{ kty: 'oct', k: 'c2VjcmV0' }] } })).rejects.toThrow(
      'keys[0], is a private',
    );
  });

  test('must not hold an invalid or short key', async () => {
    const broken = { ...jwk('ES256'), x: 'AA' };
    await expect(load({ algorithm: 'ES256', jwks: { keys: [broken] } })).rejects.toMatchObject({ cause: expect.any(Error) });
    await expect(load({ algorithm: 'ES256', jwks: { keys: [broken] } })).rejects.toThrow('keys[0], is not a valid key for ES256');
    const short = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' });
    await expect(load({ algorithm: 'RS256', jwks: { keys: [short] } })).rejects.toThrow(
      'has 1024 bits; an RSA key must have 2048',
    );
  });

  test('must be an object with a list of keys', async () => {
    for (const jwks of [{ keys: [] }, { keys: 'all' }, {}]) {
      await expect(load({ algorithm: 'ES256', jwks: jwks as never })).rejects.toThrow('must be a key set with at least one key');
    }
    for (const key of ['key', null]) {
      await expect(load({ algorithm: 'ES256', jwks: { keys: [key] } })).rejects.toThrow('keys[0], must be a JSON Web Key');
    }
  });

  test('in a file must exist and be valid JSON', async () => {
    await expect(load({ algorithm: 'ES256', jwks: 'missing.json' })).rejects.toThrow(
      'missing.json of security.jwt.jwks cannot be read',
    );
    await expect(load({ algorithm: 'ES256', jwks: 'missing.json' })).rejects.toMatchObject({ cause: { code: 'ENOENT' } });
    await writeFile(join(directory, 'broken.json'), '{');
    await expect(load({ algorithm: 'ES256', jwks: 'broken.json' })).rejects.toMatchObject({ cause: expect.any(SyntaxError) });
    await expect(load({ algorithm: 'ES256', jwks: 'broken.json' })).rejects.toThrow(
      'broken.json of security.jwt.jwks is not JSON',
    );
    for (const text of ['null', '[]', '7']) {
      await writeFile(join(directory, 'other.json'), text);
      await expect(load({ algorithm: 'ES256', jwks: 'other.json' })).rejects.toThrow('other.json must be a key set');
    }
  });
});

describe('a key set at a URL', () => {
  let server: Server;
  let address: string;
  let answer: { status: number; body: string };
  let fetches = 0;
  beforeAll(async () => {
    server = createServer((_, response) => {
      fetches++;
      response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(answer.body);
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`;
  });
  afterAll(() => new Promise((done) => server.close(done)));
  afterEach(() => vi.useRealTimers());

  const keySet = (...keys: object[]) => ({ status: 200, body: JSON.stringify({ keys }) });

  test('is fetched on the first token, and only once for many tokens', async () => {
    answer = keySet(jwk('ES256', { kid: 'k' }));
    const declaration = declare({ algorithm: 'ES256', jwks: address });
    fetches = 0;
    const authenticator = new JwtAuthenticator(declaration, await load(declaration, false));
    expect(fetches).toBe(0);
    for (let round = 0; round < 3; round++) {
      const authorization = `Bearer ${await tokenBy('ES256')}`;
      expect(await authenticator.authenticate(fakeRequest({ authorization }))).toMatchObject({ id: 'ann' });
    }
    expect(fetches).toBe(1);
  });

  test('is not fetched for a token with another algorithm', async () => {
    fetches = 0;
    const error = await thrownBy(async () => authenticate({ algorithm: 'ES256', jwks: address }, await tokenBy('RS256')));
    expect(error).toMatchObject({ status: 401 });
    expect(fetches).toBe(0);
  });

  test('is not fetched repeatedly for unknown keys', async () => {
    answer = keySet(jwk('ES256', { kid: 'k' }));
    const declaration = declare({ algorithm: 'ES256', jwks: address });
    const authenticator = new JwtAuthenticator(declaration, await load(declaration, false));
    fetches = 0;
    for (const kid of ['x', 'y', 'z']) {
      const authorization = `Bearer ${await tokenBy('ES256', kid)}`;
      expect(await thrownBy(() => authenticator.authenticate(fakeRequest({ authorization })))).toMatchObject({ status: 401 });
    }
    expect(fetches).toBe(1);
  });

  test('rejects a token without a key id if several keys match', async () => {
    answer = keySet(jwk('ES256'), jwk('ES256'));
    const token = await new SignJWT({ sub: 'ann' })
      .setProtectedHeader({ alg: 'ES256' })
      .setExpirationTime('1h')
      .sign(pairs.ES256.privateKey);
    expect(await thrownBy(() => authenticate({ algorithm: 'ES256', jwks: address }, token))).toMatchObject({ status: 401 });
  });

  test('returns 503 and no user if it cannot be fetched', async () => {
    const token = await tokenBy('ES256');
    const unusable = [
      { status: 500, body: '{}' },
      { status: 200, body: 'no json' },
      { status: 200, body: '{"keys":7}' },
      keySet({ ...jwk('ES256', { kid: 'k' }), x: 'AA' }),
      keySet({ ...pairs.ES256.privateKey.export({ format: 'jwk' }), kid: 'k' }),
    ];
    for (const each of unusable) {
      answer = each;
      const error = await thrownBy(() => authenticate({ algorithm: 'ES256', jwks: address }, token));
      expect(error).toMatchObject({ code: 'authentication_unavailable', status: 503, headers: { 'Retry-After': '5' } });
    }
    const nobody = 'http://127.0.0.1:1/keys';
    expect(await thrownBy(() => authenticate({ algorithm: 'ES256', jwks: nobody }, token))).toMatchObject({ status: 503 });
  });

  test('verifies no token by an RSA key of less than 2048 bits', async () => {
    const short = generateKeyPairSync('rsa', { modulusLength: 1024 });
    answer = keySet(jwk('RS256', { kid: 'k' }), { ...short.publicKey.export({ format: 'jwk' }), kid: 'short', alg: 'RS256' });
    expect(await authenticate({ algorithm: 'RS256', jwks: address }, await tokenBy('RS256'))).toMatchObject({ id: 'ann' });
    // jose does not sign with such a key
    const parts = [
      { alg: 'RS256', kid: 'short' },
      { sub: 'ann', exp: 4e9 },
    ].map((part) => base64url(JSON.stringify(part)));
    const signature = sign('sha256', Buffer.from(parts.join('.')), short.privateKey).toString('base64url');
    const token = [...parts, signature].join('.');
    expect(await thrownBy(() => authenticate({ algorithm: 'RS256', jwks: address }, token))).toMatchObject({
      status: 401,
      message: expect.stringContaining('unknown key'),
    });
  });

  test('must have an https address in production', async () => {
    const declared = (jwks: string) => ({ algorithm: 'ES256', jwks }) as const;
    await expect(load(declared('http://keys.example/set'))).rejects.toThrow(
      'security.jwt.jwks: in production the address of a key set must begin with "https:"',
    );
    for (const jwks of ['https://keys.example/set', 'HTTPS://keys.example/set']) {
      expect(await load(declared(jwks))).toBeInstanceOf(Function);
    }
    expect(await load(declared('http://keys.example/set'), false)).toBeInstanceOf(Function);
  });

  test('is read as a file if only the file name looks like a URL', async () => {
    await expect(load({ algorithm: 'ES256', jwks: 'keys/http:/x.json' })).rejects.toThrow(
      'x.json of security.jwt.jwks cannot be read',
    );
  });

  test('must have a valid URL', async () => {
    await expect(load({ algorithm: 'ES256', jwks: 'https://' })).rejects.toThrow('Invalid URL');
  });
});
