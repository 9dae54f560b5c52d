import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { decodeJwt, jwtVerify } from 'jose';
import { describe, expect, test } from 'vitest';
import { fullApplication, secret, smallApplication } from './applications.ts';
import { call } from './call.ts';
import { run } from './spawned.ts';

const security = (text: string) => ({ 'config/security.yaml': `app_main: { security: ${text} }\n` });

describe('declarest token', () => {
  const application = fullApplication();

  test('prints only a token signed with the secret of the application', async () => {
    const { code, out, err } = await run(['token', application, '--sub', '7', '--roles', 'ROLE_USER, ROLE_EDITOR'], {
      fromSource: true,
    });
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    const options = { issuer: 'tests', audience: 'people', algorithms: ['HS256'] };
    const { payload } = await jwtVerify(out.trim(), new TextEncoder().encode(secret), options);
    expect(payload).toMatchObject({ sub: '7', roles: ['ROLE_USER', 'ROLE_EDITOR'] });
    expect((payload.exp as number) - (payload.iat as number)).toBe(8 * 3600);
  });

  test.each([
    ['90', 90],
    ['90s', 90],
    ['15m', 900],
    ['2h', 7200],
    ['7d', 604_800],
  ])('prints a token that is valid for %s', async (time, seconds) => {
    const { out } = await call(['token', application, '--sub', '7', '--roles', '', '--expires-in', time]);
    const { exp, iat, roles } = decodeJwt(out.trim());
    expect((exp as number) - (iat as number)).toBe(seconds);
    expect(roles).toEqual([]);
  });

  test('accepts further claims, and parses them as JSON if they are valid JSON', async () => {
    const claims = ['name=Ada Lovelace', 'center=5', 'tags=["a"]', 'empty=', 'equation=a=b'];
    const argv = ['token', application, '--sub', '7', '--roles', 'A', ...claims.flatMap((claim) => ['--claim', claim])];
    expect(decodeJwt((await call(argv)).out.trim())).toMatchObject({
      name: 'Ada Lovelace',
      center: 5,
      tags: ['a'],
      empty: '',
      equation: 'a=b',
    });
  });

  test('uses the development key, and creates it, if no secret is declared', async () => {
    const small = smallApplication();
    const argv = ['token', small, '--sub', '1', '--roles', 'A'];
    expect((await call(argv)).code).toBe(0);
    expect(readdirSync(join(small, 'var'))).toEqual(['dev-jwt.key']);
  });

  test.each([
    [
      'an application without tokens',
      '{ jwt: null }',
      {},
      /^declarest: this application does not accept tokens; remove "jwt: null"/,
    ],
    [
      'production without a secret',
      '{}',
      { NODE_ENV: 'production' },
      /does not accept tokens; set app_main\.security\.jwt\.secret/,
    ],
    [
      'a key set',
      '{ jwt: { algorithm: RS256, jwks: "https://example.org/keys" } }',
      {},
      /^declarest: security\.jwt\.jwks has public keys only/,
    ],
  ])('rejects %s', async (_, text, env, message) => {
    const small = smallApplication(security(text));
    const { code, out, err } = await call(['token', small, '--sub', '1', '--roles', 'A'], { env });
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(message);
    expect(existsSync(join(small, 'var'))).toBe(false);
  });

  test('rejects the development key in production, even if tokens are declared', async () => {
    const small = smallApplication(security('{ jwt: { issuer: me } }'));
    const { code, out, err } = await call(['token', small, '--sub', '1', '--roles', 'A'], { env: { NODE_ENV: 'production' } });
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/in production/);
  });

  test.each([
    [[], /^declarest: --sub is missing/],
    [['--sub', '', '--roles', 'A'], /^declarest: --sub is missing/],
    [['--sub', '1'], /^declarest: --roles is missing/],
    [['--sub', '1', '--roles', 'A', '--expires-in', '0'], /^declarest: --expires-in must be a number of seconds above 0/],
    [
      ['--sub', '1', '--roles', 'A', '--expires-in', 'soon'],
      /^declarest: --expires-in must be a number of seconds above 0.*"soon"/,
    ],
    [['--sub', '1', '--roles', 'A', '--expires-in=-5'], /^declarest: --expires-in must be a number of seconds above 0.*"-5"/],
    [['--sub', '1', '--roles', 'A', '--claim', 'name'], /^declarest: --claim must be NAME=VALUE, not "name"/],
    [['--sub', '1', '--roles', 'A', '--claim', 'sub=2'], /^declarest: --claim cannot set "sub": use --sub/],
    [['--sub', '--roles', 'A'], /^declarest: --sub needs a value: --sub ID, or --sub=--roles/],
    [['--sub', '1', '--sub', '2', '--roles', 'A'], /^declarest: --sub is given twice/],
  ])('rejects the arguments %j', async (argv, message) => {
    const { code, out, err } = await call(['token', ...argv]);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(message);
  });
});
