import type { Application } from '../../application.ts';
import type { JwtDeclaration } from '../../declaration/types.ts';
import { parsedJson } from '../../inspect/json.ts';
import { type Command, type Given, optionValue } from '../command.ts';
import { ApplicationFailure, CallFailure, messageOf } from '../failure.ts';
import { say } from '../io.ts';
import { openApplication } from '../open-application.ts';

export default {
  details: [
    'The token is signed with security.jwt.secret. Without a secret, the development key in var/dev-jwt.key is used; it is created if it is missing.',
    'Issuer and audience come from the configuration.',
  ],
  options: {
    sub: { value: 'ID', doc: 'The id of the user. Required.' },
    roles: { value: 'A,B', doc: "The roles of the user, separated by commas; '' for none. Required." },
    'expires-in': { value: 'TIME', doc: 'The lifetime in seconds, or as 90s, 15m, 8h, 7d. Default: 8h.' },
    claim: {
      value: 'NAME=VALUE',
      doc: 'Another claim; the value is parsed as JSON if possible. Repeatable.',
      repeatable: true,
    },
  },
  exitCodes: { 0: 'success', 1: 'the application does not accept tokens signed here', 2: 'wrong command line' },
  example: 'curl -H "Authorization: Bearer $(declarest token --sub 1 --roles ROLE_USER)" http://127.0.0.1:3000/api/person.json',

  async run(given, io) {
    const wanted = {
      sub: subjectOf(given),
      roles: rolesOf(given),
      claims: claimsOf(given),
      ...lifetimeOf(given),
    };
    const application = await openApplication(given.positionals.dir, io);
    const declaration = jwtOf(application);
    const secret = await secretOf(application, declaration);
    const { signToken } = await import('../../access/sign-token.ts');
    say(io.stdout, await signToken({ secret, declaration, ...wanted }));
    return 0;
  },
} satisfies Command;

function jwtOf({ declaration: { security }, production }: Application): JwtDeclaration {
  if (security.jwt) return security.jwt;
  const remedy = production
    ? 'set app_main.security.jwt.secret (the development key is not used in production)'
    : 'remove "jwt: null" or declare app_main.security.jwt';
  throw new ApplicationFailure(`this application does not accept tokens; ${remedy}`);
}

async function secretOf({ directory, production }: Application, declaration: JwtDeclaration): Promise<string> {
  const { jwtSecret } = await import('../../access/jwt-keys.ts');
  try {
    return await jwtSecret(declaration, { directory, production });
  } catch (error) {
    throw new ApplicationFailure(messageOf(error), error);
  }
}

function subjectOf(given: Given): string {
  const sub = optionValue(given, 'sub');
  if (!sub) throw new CallFailure('--sub is missing: the id of the user the token is for, as in --sub 1');
  return sub;
}

function rolesOf(given: Given): string[] {
  const roles = optionValue(given, 'roles');
  if (roles === undefined)
    throw new CallFailure("--roles is missing: the user's roles, as in --roles ROLE_USER,ROLE_ADMIN; '' for none");
  return roles
    .split(',')
    .map((role) => role.trim())
    .filter((role) => role !== '');
}

const seconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

function lifetimeOf(given: Given): { expiresIn?: number } {
  const text = optionValue(given, 'expires-in');
  if (text === undefined) return {};
  const [, count, unit = 's'] = /^(\d{1,9})([smhd])?$/.exec(text) ?? [];
  const expiresIn = Number(count) * (seconds[unit] as number);
  if (!(expiresIn > 0))
    throw new CallFailure(`--expires-in must be a number of seconds above 0, or for example 90s, 15m, 8h or 7d; not "${text}"`);
  return { expiresIn };
}

const fixed: Readonly<Record<string, string>> = {
  sub: 'use --sub',
  roles: 'use --roles',
  exp: 'use --expires-in',
  iat: 'it is always the current time',
  iss: 'it is always app_main.security.jwt.issuer',
  aud: 'it is always app_main.security.jwt.audience',
};

function claimsOf({ options }: Given): Record<string, unknown> {
  const claims = (options.claim ?? []).map((text) => {
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
    if (name === undefined || value === undefined) throw new CallFailure(`--claim must be NAME=VALUE, not "${text}"`);
    if (Object.hasOwn(fixed, name)) throw new CallFailure(`--claim cannot set "${name}": ${fixed[name]}`);
    const json = parsedJson(value);
    return [name, json === undefined ? value : json] as const;
  });
  return Object.fromEntries(claims);
}
