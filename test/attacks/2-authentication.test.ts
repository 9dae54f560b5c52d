// @module-tag divided
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { defineEntity, p } from '@mikro-orm/core';
import { beforeEach, describe, expect, test } from 'vitest';
import { databases } from '../support/databases.ts';
import { forge, hmac, rsa } from './support/forge.ts';
import { useTarget } from './support/target.ts';

const secret = 'a secret of the safe that is long enough';
const now = Math.floor(Date.now() / 1000);
const claims = { sub: 'ann', roles: ['ROLE_USER'], iss: 'safe', aud: 'api', exp: now + 3600 };
const header = { alg: 'HS256', typ: 'JWT' };

const Coin = defineEntity({
  name: 'Coin',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read', 'write') },
});

const safe = (security: unknown) => ({
  app_main: {
    security,
    apis: {
      coin: { class: Coin, base_path: '/coin', base_role: 'ROLE_USER', actions: { _index: null, _entity: null } },
      open: { class: Coin, base_path: '/open', actions: { _index: { methods: { GET: true, POST: true } } } },
    },
  } as never,
  models: [Coin],
});

const without = (name: string) => Object.fromEntries(Object.entries(claims).filter(([key]) => key !== name));
const signed = (payload: unknown, head: unknown = header) => forge(head, payload, hmac(secret));
const right = signed(claims);
const [rightHeader, rightPayload, rightSignature] = right.split('.');

describe.each(databases)('API2:2023 broken authentication, on %s', (kind) => {
  describe('tokens signed with a secret', () => {
    const target = useTarget(kind, safe({ jwt: { secret, issuer: 'safe', audience: 'api' } }));
    beforeEach(() => {
      target.app.statements.length = 0;
    });

    /** Refused everywhere, with a body, without one and where nothing is asked, before any statement. */
    async function expectRefused(headers: Record<string, string | string[]>): Promise<void> {
      for (const [method, path] of [
        ['GET', '/coin.json'],
        ['HEAD', '/coin.json'],
        ['GET', '/coin/1.json'],
        ['GET', '/open.json'],
        ['POST', '/open.json'],
      ] as const) {
        const answer = await target.send(method, path, { headers, ...(method === 'POST' && { json: { name: 'stolen' } }) });
        expect([path, answer.status]).toEqual([path, 401]);
        expect(answer.headers['www-authenticate']).toMatch(/^Bearer realm="api"/);
        expect(answer.whole).not.toContain(secret);
      }
      expect(target.app.statements).toEqual([]);
      expect(await target.rows('select * from coin')).toEqual([]);
    }

    test('accepts a valid credential', async () => {
      expect((await target.send('GET', '/coin.json', { token: right })).status).toBe(200);
    });

    test.each<[string, string]>([
      ['alg none, unsigned', forge({ alg: 'none', typ: 'JWT' }, claims, () => '')],
      ['alg none, signed', signed(claims, { alg: 'none' })],
      ['alg None', forge({ alg: 'None' }, claims, () => 'AA')],
      ['alg nOnE', forge({ alg: 'nOnE' }, claims, () => 'AA')],
      ['alg NONE', forge({ alg: 'NONE' }, claims, () => 'AA')],
      ['alg none in a list', forge({ alg: ['none'] }, claims, () => 'AA')],
      ['alg null', forge({ alg: null }, claims, () => 'AA')],
      ['alg empty', signed(claims, { alg: '' })],
      ['no alg', signed(claims, { typ: 'JWT' })],
      ['alg in lower case', signed(claims, { alg: 'hs256' })],
      ['alg with a blank', signed(claims, { alg: 'HS256 ' })],
      ['alg HS512 with the same secret', forge({ alg: 'HS512' }, claims, hmac(secret, 'sha512'))],
      ['alg HS384 said of HS256', signed(claims, { alg: 'HS384' })],
      ['alg RS256 said of HS256', signed(claims, { alg: 'RS256' })],
      ['no signature', `${rightHeader}.${rightPayload}.`],
      ['no third part', `${rightHeader}.${rightPayload}`],
      ['five parts', `${right}.AA.AA`],
      [
        'the signature of another payload',
        `${rightHeader}.${signed({ ...claims, sub: 'root' }).split('.')[1]}.${rightSignature}`,
      ],
      ['a signature cut short', `${rightHeader}.${rightPayload}.${rightSignature?.slice(0, 10)}`],
      ['another secret', forge(header, claims, hmac('another secret that is also long enough'))],
      ['an empty secret', forge(header, claims, hmac(''))],
      ['the secret in another case', forge(header, claims, hmac(secret.toUpperCase()))],
    ])('rejects a token with %s (CVE-2015-9235, CVE-2022-23540)', async (_, token) => {
      await expectRefused({ authorization: `Bearer ${token}` });
    });

    test.each<[string, unknown]>([
      ['no exp', without('exp')],
      ['exp as text', { ...claims, exp: String(now + 3600) }],
      ['exp null', { ...claims, exp: null }],
      ['exp of an object', { ...claims, exp: { valueOf: now + 3600 } }],
      ['exp infinite', JSON.stringify(claims).replace(String(now + 3600), '1e999')],
      ['exp past', { ...claims, exp: now - 1 }],
      ['exp zero', { ...claims, exp: 0 }],
      ['exp negative', { ...claims, exp: -1 }],
      ['exp now', { ...claims, exp: now }],
      ['exp past, said twice', JSON.stringify({ ...claims, exp: 1 }).replace('{', `{"exp":${now + 3600},`)],
      ['nbf in the future', { ...claims, nbf: now + 3600 }],
      ['nbf as text', { ...claims, nbf: '0' }],
      ['nbf infinite', JSON.stringify({ ...claims, nbf: 12345 }).replace('12345', '1e999')],
      ['no iss', without('iss')],
      ['another iss', { ...claims, iss: 'elsewhere' }],
      ['iss in another case', { ...claims, iss: 'Safe' }],
      ['iss that begins alike', { ...claims, iss: 'safe.evil.example' }],
      ['iss in a list', { ...claims, iss: ['safe', 'evil'] }],
      ['no aud', without('aud')],
      ['another aud', { ...claims, aud: 'elsewhere' }],
      ['aud of others in a list', { ...claims, aud: ['web', 'mobile'] }],
      ['aud of an object', { ...claims, aud: { api: true } }],
      ['aud empty', { ...claims, aud: [] }],
      ['no sub', without('sub')],
      ['sub empty', { ...claims, sub: '' }],
      ['sub a number', { ...claims, sub: 1 }],
      ['sub null', { ...claims, sub: null }],
      ['sub a list', { ...claims, sub: ['ann'] }],
      ['sub an object', { ...claims, sub: { toString: 'ann' } }],
      ['roles as text', { ...claims, roles: 'ROLE_USER' }],
      ['roles null', { ...claims, roles: null }],
      ['roles of an object', { ...claims, roles: { 0: 'ROLE_USER', length: 1 } }],
      ['roles in a list of lists', { ...claims, roles: [['ROLE_USER']] }],
      ['roles of numbers', { ...claims, roles: [1] }],
      ['no JSON', 'ann'],
      ['a list', [claims]],
      ['null', 'null'],
      ['JSON of a prototype', '{"__proto__":{"sub":"ann","exp":9999999999,"iss":"safe","aud":"api"}}'],
    ])('rejects a correctly signed token with %s (RFC 8725, 3.10 to 3.12; CVE-2022-39227)', async (_, payload) => {
      await expectRefused({ authorization: `Bearer ${signed(payload)}` });
    });

    test.each<[string, Record<string, unknown>]>([
      ['crit with an unknown extension', { crit: ['exp-policy'], 'exp-policy': 1 }],
      ['crit with b64', { crit: ['b64'], b64: true }],
      ['crit empty', { crit: [] }],
      ['crit of text', { crit: 'exp' }],
      ['b64 false', { crit: ['b64'], b64: false }],
    ])('rejects a correctly signed token with the header %s (Authlib CVE-2025-59420)', async (_, more) => {
      await expectRefused({ authorization: `Bearer ${signed(claims, { ...header, ...more })}` });
    });

    test.each<[string, Record<string, string | string[]>]>([
      ['two tokens in two headers', { authorization: [`Bearer ${right}`, `Bearer ${right}`] }],
      ['a wrong one first', { authorization: ['Bearer x', `Bearer ${right}`] }],
      ['a wrong one last', { authorization: [`Bearer ${right}`, 'Bearer x'] }],
      ['two in one header', { authorization: `Bearer ${right}, Bearer ${right}` }],
      ['no scheme', { authorization: right }],
      ['the scheme alone', { authorization: 'Bearer' }],
      ['the scheme and a blank', { authorization: 'Bearer ' }],
      ['a tab', { authorization: `Bearer\t${right}` }],
      ['quotes', { authorization: `Bearer "${right}"` }],
      ['padding', { authorization: `Bearer ${right}=` }],
      ['a part more', { authorization: `Bearer ${right} x` }],
      ['Basic', { authorization: `Basic ${Buffer.from('ann:ann').toString('base64')}` }],
      ['Digest', { authorization: 'Digest username="ann"' }],
      ['an API key, which is not taken here', { authorization: 'ApiKey x' }],
      ['9,000 characters', { authorization: `Bearer ${'A'.repeat(4500)}.${'A'.repeat(4500)}.A` }],
      ['characters of no alphabet', { authorization: `Bearer ${right.replaceAll('.', '%2e')}` }],
      [
        'an encrypted token',
        { authorization: 'Bearer eyJhbGciOiJkaXIiLCJlbmMiOiJBMTI4R0NNIn0..AAAAAAAAAAAAAAAA.AA.AAAAAAAAAAAAAAAAAAAAAA' },
      ],
    ])(
      'rejects an Authorization header with %s (RFC 6750, 2; CVE-2022-32213: headers that parsers read differently)',
      async (_, headers) => {
        await expectRefused(headers);
      },
    );

    test.each(['bearer', 'BEARER', 'bEaReR'])('are accepted with the scheme %s, in any case (RFC 9110, 11.1)', async (scheme) => {
      expect((await target.send('GET', '/coin.json', { headers: { authorization: `${scheme} ${right}` } })).status).toBe(200);
    });

    test('accepts a list in aud that contains the declared audience (RFC 7519, 4.1.3)', async () => {
      expect((await target.send('GET', '/coin.json', { token: signed({ ...claims, aud: ['web', 'api'] }) })).status).toBe(200);
    });

    test.each(['access_token', 'token', 'authorization', 'jwt', 'bearer'])(
      'rejects a token in the query parameter %s (RFC 6750, 5.3; CWE-598)',
      async (name) => {
        expect((await target.send('GET', `/coin.json?${name}=${right}`)).status).toBe(401);
        expect((await target.send('GET', `/coin.json?${name}=${right}`, { token: right })).status).toBe(400);
      },
    );

    test.each([
      ['Cookie', `token=${right}; authorization=Bearer ${right}`],
      ['X-Authorization', `Bearer ${right}`],
      ['Proxy-Authorization', `Bearer ${right}`],
      ['X-Forwarded-User', 'ann'],
      ['X-Remote-User', 'ann'],
      ['X-User', '{"id":"ann","roles":["ROLE_USER"]}'],
      ['X-Roles', 'ROLE_USER'],
      ['X-Middleware-Subrequest', 'middleware'],
    ])('the header %s does not authenticate a caller (Next.js CVE-2025-29927)', async (name, value) => {
      expect((await target.send('GET', '/coin.json', { headers: { [name]: value } })).status).toBe(401);
    });

    test('only the claims sub and roles set the id and the roles (CVE-2017-12635)', async () => {
      const token = signed({
        ...claims,
        roles: [],
        id: 'root',
        user: { roles: ['ROLE_USER'] },
        Roles: ['ROLE_USER'],
        'roles ': ['ROLE_USER'],
      });
      expect((await target.send('GET', '/coin.json', { token })).status).toBe(403);
    });

    test('only the last of two roles claims applies (CVE-2017-12635)', async () => {
      const payload = JSON.stringify({ ...claims, roles: [] }).replace('{', '{"roles":["ROLE_USER"],');
      expect((await target.send('GET', '/coin.json', { token: signed(payload) })).status).toBe(403);
    });

    test.each([
      'role_user',
      'ROLE_USER ',
      ' ROLE_USER',
      'ROLE_USER\u0000',
      'ROLE_U\u0455ER',
      'ROLE_',
      '*',
      'ROLE_ADMIN',
      '__proto__',
      'constructor',
    ])('the role %j is not treated as ROLE_USER (CVE-2019-19844)', async (role) => {
      expect((await target.send('GET', '/coin.json', { token: signed({ ...claims, roles: [role] }) })).status).toBe(403);
    });

    test('rejects a token once it expires, even if it was accepted before (CWE-613)', async () => {
      const token = signed({ ...claims, exp: Math.floor(Date.now() / 1000) + 2 });
      expect((await target.send('GET', '/coin.json', { token })).status).toBe(200);
      expect((await target.send('GET', '/coin.json', { token })).status).toBe(200);
      await new Promise((resolve) => setTimeout(resolve, 2100));
      target.app.statements.length = 0;
      await expectRefused({ authorization: `Bearer ${token}` });
    });
  });

  describe('tokens verified with a key set', () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const other = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256', use: 'sig' };
    const target = useTarget(kind, safe({ jwt: { algorithm: 'RS256', jwks: { keys: [jwk] }, issuer: 'safe', audience: 'api' } }));
    const pem = (key: KeyObject, type: 'spki' | 'pkcs1') => key.export({ format: 'pem', type }) as string;
    const head = { alg: 'RS256', kid: 'one' };

    test('accepts a valid credential', async () => {
      expect((await target.send('GET', '/coin.json', { token: forge(head, claims, rsa(privateKey)) })).status).toBe(200);
    });

    test.each<[string, string]>([
      ['the public key as secret, in PEM', forge({ ...head, alg: 'HS256' }, claims, hmac(pem(publicKey, 'spki')))],
      ['the same without its last line break', forge({ ...head, alg: 'HS256' }, claims, hmac(pem(publicKey, 'spki').trim()))],
      ['the public key as secret, in PKCS 1', forge({ ...head, alg: 'HS256' }, claims, hmac(pem(publicKey, 'pkcs1')))],
      [
        'the public key as secret, in DER',
        forge({ ...head, alg: 'HS256' }, claims, hmac(publicKey.export({ format: 'der', type: 'spki' }))),
      ],
      ['the public key as secret, as JWK', forge({ ...head, alg: 'HS256' }, claims, hmac(JSON.stringify(jwk)))],
      ['its modulus as secret', forge({ ...head, alg: 'HS256' }, claims, hmac(String(jwk.n)))],
      ['alg none', forge({ ...head, alg: 'none' }, claims, () => '')],
      ['alg none with a signature', forge({ ...head, alg: 'none' }, claims, rsa(privateKey))],
      ['RS512 of the right key', forge({ ...head, alg: 'RS512' }, claims, rsa(privateKey, 'sha512'))],
      ['PS256 said of RS256', forge({ ...head, alg: 'PS256' }, claims, rsa(privateKey))],
      ['another key', forge(head, claims, rsa(other.privateKey))],
      ['an unknown kid', forge({ ...head, kid: 'two' }, claims, rsa(privateKey))],
      ['a kid of a file', forge({ ...head, kid: '../../../../dev/null' }, claims, rsa(other.privateKey))],
      ['a kid of a file, with an empty secret', forge({ alg: 'HS256', kid: '/dev/null' }, claims, hmac(''))],
      ['a kid with SQL', forge({ ...head, kid: "x' union select 'key" }, claims, rsa(other.privateKey))],
      ['a kid with a command', forge({ ...head, kid: '| whoami' }, claims, rsa(other.privateKey))],
      ['a kid of a prototype', forge({ ...head, kid: '__proto__' }, claims, rsa(other.privateKey))],
      ['a kid that is no text', forge({ ...head, kid: ['one'] }, claims, rsa(other.privateKey))],
      [
        'a key in its own header',
        forge({ ...head, jwk: other.publicKey.export({ format: 'jwk' }) }, claims, rsa(other.privateKey)),
      ],
      ['a chain in its own header', forge({ ...head, x5c: ['AAAA'] }, claims, rsa(other.privateKey))],
      ['a thumbprint in its own header', forge({ ...head, x5t: 'AAAA' }, claims, rsa(other.privateKey))],
      ['an empty signature', forge(head, claims, () => '')],
      ['a signature of zeros', forge(head, claims, () => Buffer.alloc(256).toString('base64url'))],
    ])('rejects a token with %s (CVE-2016-10555, CVE-2018-0114, CVE-2022-23541)', async (_, token) => {
      target.app.statements.length = 0;
      const answer = await target.send('GET', '/coin.json', { token });
      expect([answer.status, answer.json.code]).toEqual([401, 'invalid_credentials']);
      expect(target.app.statements).toEqual([]);
    });
  });

  describe('tokens signed with an elliptic curve', () => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const keys = [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'ES256' }];
    const target = useTarget(kind, safe({ jwt: { algorithm: 'ES256', jwks: { keys } } }));

    test.each([
      ['zeros', Buffer.alloc(64)],
      ['ones', Buffer.alloc(64, 1)],
      ['the order', Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551'.repeat(2), 'hex')],
      ['DER', Buffer.from('3006020101020101', 'hex')],
      ['nothing', Buffer.alloc(0)],
    ])('rejects a signature of %s (CVE-2022-21449)', async (_, bytes) => {
      const token = forge({ alg: 'ES256', kid: 'one' }, claims, () => bytes.toString('base64url'));
      expect((await target.send('GET', '/coin.json', { token })).status).toBe(401);
    });
  });

  describe('API keys', () => {
    const api_keys = { robot: { key: 'robot-key-of-good-length', roles: ['ROLE_USER'] } };
    const target = useTarget(kind, safe({ jwt: { secret }, api_keys }));

    test('accepts a valid credential', async () => {
      expect((await target.send('GET', '/coin.json', { headers: { 'x-api-key': 'robot-key-of-good-length' } })).status).toBe(200);
    });

    test.each<[string, Record<string, string | string[]>]>([
      ['empty', { 'x-api-key': '' }],
      ['a part of it', { 'x-api-key': 'robot-key-of-good-lengt' }],
      ['more than it', { 'x-api-key': 'robot-key-of-good-length2' }],
      ['another case', { 'x-api-key': 'Robot-key-of-good-length' }],
      ['its name', { 'x-api-key': 'robot' }],
      ['a pattern', { 'x-api-key': '*' }],
      ['__proto__', { 'x-api-key': '__proto__' }],
      ['two of them', { 'x-api-key': ['robot-key-of-good-length', 'robot-key-of-good-length'] }],
      ['a wrong one beside it', { 'x-api-key': ['robot-key-of-good-length', 'x'] }],
      ['in both places', { 'x-api-key': 'robot-key-of-good-length', authorization: 'ApiKey robot-key-of-good-length' }],
      ['beside a wrong token', { 'x-api-key': 'robot-key-of-good-length', authorization: 'Bearer x.y.z' }],
      ['wrong beside a right token', { 'x-api-key': 'x', authorization: `Bearer ${signed(claims)}` }],
      ['as a token', { authorization: 'Bearer robot-key-of-good-length' }],
    ])('rejects an API key: %s (CWE-287, CWE-1391)', async (_, headers) => {
      const answer = await target.send('GET', '/coin.json', { headers });
      expect([answer.status, answer.json.code]).toEqual([401, 'invalid_credentials']);
      expect(answer.whole).not.toContain('robot-key');
    });
  });
});
