import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { decodeJwt, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { smallApplication, writeFiles } from '../cli/applications.ts';
import { addressOf, start } from '../cli/spawned.ts';
import { blocksOf, root } from './markdown.ts';

/** The library as source, so that it and the voter share their classes. */
const library = join(root, 'src', 'index.ts');
const page = 'docs/how-to/sign-in.md';

/** An identity provider: a discovery document, a key set, and tokens for clients that know a secret. */
async function identityProvider() {
  const { publicKey, privateKey } = await generateKeyPair('RS256');
  const jwk = { ...(await exportJWK(publicKey)), kid: 'first', alg: 'RS256', use: 'sig' };
  const server: Server = createServer(async (request, response) => {
    const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { pathname, searchParams } = new URL(request.url ?? '/', issuer);
    const answers: Record<string, () => object | Promise<object>> = {
      '/.well-known/openid-configuration': () => ({ issuer, jwks_uri: `${issuer}/keys`, token_endpoint: `${issuer}/token` }),
      '/keys': () => ({ keys: [jwk] }),
      '/token': async () => ({
        access_token: await new SignJWT({ roles: searchParams.getAll('role'), realm_access: { roles: ['editor'] } })
          .setProtectedHeader({ alg: 'RS256', kid: 'first' })
          .setSubject('ada')
          .setIssuer(searchParams.get('issuer') ?? issuer)
          .setAudience(searchParams.get('audience') ?? 'notes-api')
          .setExpirationTime('5m')
          .sign(privateKey),
        token_type: 'Bearer',
      }),
    };
    const answer = await answers[pathname]?.();
    response.writeHead(answer ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(answer ?? {}));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { issuer: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

describe('docs/how-to/sign-in.md with an identity provider', () => {
  let provider: Awaited<ReturnType<typeof identityProvider>>;
  beforeAll(async () => {
    provider = await identityProvider();
  });
  afterAll(() => provider.close());

  test('accepts its access tokens for this API, with the roles of the token and of the voter, and no others', async () => {
    const found = (await (await fetch(`${provider.issuer}/.well-known/openid-configuration`)).json()) as Record<string, string>;
    const [yaml] = blocksOf(page).filter(({ language }) => language === 'yaml');
    const voter = blocksOf(page).find(({ text }) => text.includes('class RealmVoter'));
    const shown = yaml?.text
      .replace(/jwks: .*/, `jwks: ${found.jwks_uri}`)
      .replace(/issuer: .*/, `issuer: ${found.issuer}`) as string;
    expect(shown).toContain(`audience: notes-api`);
    const api = (role: string) =>
      `{ class: Person, base_path: /api/${role.toLowerCase()}, base_role: ${role}, actions: { _index: ~ } }`;
    const directory = smallApplication({
      'config/security.yaml': shown,
      'config/app_main.yaml': `app_main: { apis: { user: ${api('ROLE_USER')}, editor: ${api('EDITOR')}, admin: ${api('ROLE_ADMIN')} } }`,
      'src/voters/realm-voter.ts': voter?.text.replace("'declarest'", JSON.stringify(library)) as string,
    });
    const url = await addressOf(start(['serve', directory, '--port', '0'], { fromSource: true }));
    const statusOf = async (name: string, query: string | null) => {
      const headers: Record<string, string> = {};
      if (query !== null) {
        const response = await fetch(`${found.token_endpoint}?${query}`);
        const { access_token } = (await response.json()) as { access_token: string };
        headers.authorization = `Bearer ${access_token}`;
      }
      return (await fetch(`${url}/api/${name}.json`, { headers })).status;
    };
    expect(await statusOf('role_user', 'role=ROLE_USER')).toBe(200);
    expect(await statusOf('editor', 'role=ROLE_USER')).toBe(200);
    expect(await statusOf('role_admin', 'role=ROLE_USER')).toBe(403);
    expect(await statusOf('role_user', '')).toBe(403);
    expect(await statusOf('role_user', null)).toBe(401);
    expect(await statusOf('role_user', 'role=ROLE_USER&audience=another-api')).toBe(401);
    expect(await statusOf('role_user', 'role=ROLE_USER&issuer=https://evil.example.org')).toBe(401);
  });
});

test('docs/how-to/sign-in.md with a password: the token of the login handler is accepted', async () => {
  const files = blocksOf(page).flatMap(({ marks, text }) => (marks.file ? [[marks.file, text] as const] : []));
  const env = { JWT_SECRET: 'for-development-only-0123456789abcdef' };
  const url = await addressOf(start(['serve', writeFiles(Object.fromEntries(files)), '--port', '0'], { env }));
  const body = JSON.stringify({ email: 'ada@example.org', password: 'correct horse' });
  const headers = { 'content-type': 'application/json' };
  const login = await fetch(`${url}/api/account/login.json`, { method: 'POST', headers, body });
  const { token } = (await login.json()) as { token: string };
  const { exp = 0, iat = 0, iss, sub, roles } = decodeJwt(token);
  expect({ lifetime: exp - iat, iss, sub, roles }).toEqual({ lifetime: 3600, iss: 'notes', sub: '1', roles: ['ROLE_USER'] });
  const me = await fetch(`${url}/api/account/me.json`, { headers: { authorization: `Bearer ${token}` } });
  expect(await me.json()).toEqual({ id: 1, email: 'ada@example.org', roles: ['ROLE_USER'] });
});
