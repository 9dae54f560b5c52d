import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { ApiKeyAuthenticator } from '../../src/access/api-keys.ts';
import { authenticateWith } from '../../src/access/authenticator.ts';
import { fakeRequest, thrownBy } from './fake-request.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const hashed = `sha256:${sha256('hidden-key').toUpperCase()}`;
const authenticator = new ApiKeyAuthenticator([
  { name: 'importer', key: 'first-key', roles: ['ROLE_IMPORT'] },
  { name: 'reporter', key: 'second-key', roles: [] },
  { name: 'hidden', key: hashed, roles: ['ROLE_H'] },
]);
const authenticate = (headers: Record<string, string | string[]>, raw?: string[]) =>
  authenticateWith([authenticator], fakeRequest(headers, raw));

describe('API keys', () => {
  test('identify a user by name and roles in either header', () => {
    expect(authenticate({ 'x-api-key': 'first-key' })).toEqual({ id: 'importer', roles: ['ROLE_IMPORT'] });
    expect(authenticate({ 'x-api-key': 'second-key' })).toEqual({ id: 'reporter', roles: [] });
    expect(authenticate({ authorization: 'ApiKey second-key' })).toEqual({ id: 'reporter', roles: [] });
    expect(authenticate({ authorization: 'apikey  first-key' })).toMatchObject({ id: 'importer' });
  });

  test('can be declared by their hash, which is not accepted as a key', async () => {
    expect(authenticate({ 'x-api-key': 'hidden-key' })).toMatchObject({ id: 'hidden' });
    for (const key of [hashed, hashed.toLowerCase(), sha256('hidden-key')]) {
      expect(await thrownBy(() => authenticate({ 'x-api-key': key }))).toMatchObject({ status: 401 });
    }
  });

  test('return an immutable user', () => {
    const user = authenticator.authenticate(fakeRequest({ 'x-api-key': 'first-key' })) as unknown as { roles: string[] };
    expect(() => user.roles.push('ROLE_ADMIN')).toThrow(TypeError);
  });

  test('identify no user if the request has no key', () => {
    expect(authenticate({})).toBeNull();
    expect(authenticator.authenticate(fakeRequest({ authorization: 'Bearer abc' }))).toBeNull();
    expect(authenticator.authenticate(fakeRequest({ authorization: 'ApiKeyring first-key' }))).toBeNull();
    expect(authenticator.authenticate(fakeRequest({ authorization: 'Not ApiKey first-key' }))).toBeNull();
  });

  test.each([
    [{ 'x-api-key': 'wrong' }],
    [{ 'x-api-key': '' }],
    [{ 'x-api-key': 'first-key ' }],
    [{ 'x-api-key': 'FIRST-KEY' }],
    [{ 'x-api-key': 'first-key, second-key' }],
    [{ 'x-api-key': ['first-key', 'second-key'] }],
    [{ authorization: 'ApiKey' }],
    [{ authorization: 'ApiKey wrong' }],
    [{ authorization: 'ApiKey first-key', 'x-api-key': 'first-key' }],
    [{ authorization: 'Bearer first-key' }],
  ])('are rejected with 401 as %j', async (headers) => {
    const error = await thrownBy(() => authenticate(headers));
    expect(error).toMatchObject({ code: 'invalid_credentials', status: 401 });
    expect(error.headers).toEqual({ 'WWW-Authenticate': 'ApiKey header="X-Api-Key"' });
  });

  test('are rejected if the header is sent twice, however Node combines the values', async () => {
    const twice = ['Host', 'h', 'X-Api-Key', 'first-key', 'x-api-key', 'first-key'];
    expect(await thrownBy(() => authenticate({ 'x-api-key': 'first-key' }, twice))).toMatchObject({ status: 401 });
    const error = await thrownBy(() => authenticate({ 'x-api-key': 'first-key' }, twice));
    expect(error.message).toContain('the header x-api-key was sent more than once');
    const authorization = ['Authorization', 'ApiKey first-key', 'authorization', 'ApiKey second-key'];
    expect(await thrownBy(() => authenticate({ authorization: 'ApiKey first-key' }, authorization))).toMatchObject({
      status: 401,
    });
    const once = ['Host', 'h', 'X-Api-Key', 'first-key', 'x-api-kez', 'first-key'];
    expect(authenticate({ 'x-api-key': 'first-key' }, once)).toMatchObject({ id: 'importer' });
  });

  test('are rejected with the reason', async () => {
    const reasonOf = async (headers: Record<string, string>) => (await thrownBy(() => authenticate(headers))).message;
    expect(await reasonOf({ 'x-api-key': 'wrong' })).toContain('unknown API key');
    expect(await reasonOf({ authorization: 'ApiKey' })).toContain('unknown API key');
    expect(await reasonOf({ authorization: 'ApiKey', 'x-api-key': 'first-key' })).toContain('two API keys were sent; send one');
  });

  test('do not appear in the response that rejects them', async () => {
    const error = await thrownBy(() => authenticate({ 'x-api-key': 'almost-first-key' }));
    expect(error.message).not.toContain('almost-first-key');
  });

  test.each(['', 'with space', 'clé', 'line\nbreak'])('cannot be declared as %j, which a header cannot carry', (key) => {
    expect(() => new ApiKeyAuthenticator([{ name: 'k', key, roles: [] }])).toThrow(
      'the API key "k" must contain only printable ASCII',
    );
  });

  test('cannot be declared by an invalid SHA-256 hash', () => {
    for (const hash of ['abc', `${sha256('a')}0`, `0${sha256('a')}`, `${sha256('a').slice(1)}g`, `${sha256('a')}\n`]) {
      expect(() => new ApiKeyAuthenticator([{ name: 'k', key: `sha256:${hash}`, roles: [] }])).toThrow(
        'the API key "k" must have 64 hexadecimal digits after "sha256:"',
      );
    }
  });

  test('cannot be the same for two names, even if one is hashed', () => {
    const declarations = [
      { name: 'a', key: 'same-key', roles: [] },
      { name: 'b', key: `sha256:${sha256('same-key')}`, roles: ['ROLE_ADMIN'] },
    ];
    expect(() => new ApiKeyAuthenticator(declarations)).toThrow('the API keys "a" and "b" are the same');
  });
});
