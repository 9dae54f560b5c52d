import { isAuthenticatorClass } from '../access/authenticator.ts';
import { RoleVoter } from '../access/role-voter.ts';
import type { Application } from '../application.ts';
import type { JwtDeclaration, Path, SecurityDeclaration } from '../declaration/types.ts';
import type { Declared, Places } from './places.ts';

export interface SettingsAccess {
  readonly production: boolean;
  readonly strategy: Declared<SecurityDeclaration['strategy']>;
  /** Whether a route without a role is an error. */
  readonly requireRole: Declared<boolean>;
  readonly formats: readonly Declared<string>[];
  /** Which roles of users include which others, directly or by way of further ones. */
  readonly hierarchy: readonly RoleInclusion[];
  /** What callers can identify themselves with, told without any secret. */
  readonly credentials: readonly Declared<string>[];
  /** What tokens must say of themselves; null: anything. */
  readonly tokens: { readonly issuer: Declared<string | null>; readonly audience: Declared<string | null> };
  /** Every role that a route asks for, and who judges it. */
  readonly judges: readonly Judges[];
  readonly voters: readonly Declared<string>[];
}

export interface RoleInclusion {
  readonly role: string;
  readonly includes: string;
  /** Declared so, and not by way of other roles. */
  readonly direct: boolean;
  readonly place: string;
}

export interface Judges {
  readonly role: string;
  /** In the order they are asked. */
  readonly voters: readonly Declared<string>[];
}

export function settingsOf(application: Application, places: Places): SettingsAccess {
  const { catalog, declaration, production, records } = application;
  const { security, formats } = declaration;
  const roles = [...new Set(records.flatMap((record) => record.methods.flatMap((method) => record.roles[method] ?? [])))];
  const declared = <Value>(value: Value, ...path: Path) => ({ value, place: places.ofConfig(['app_main', ...path]) });
  return {
    production,
    strategy: declared(security.strategy, 'security', 'strategy'),
    requireRole: declared(security.requireRole, 'security', 'require_role'),
    formats: formats.map((value, position) => declared(value as string, 'formats', position)).sort(byValue),
    hierarchy: hierarchyOf(application, places),
    credentials: credentialsOf(application, places).sort(byValue),
    tokens: {
      issuer: declared(security.jwt?.issuer ?? null, 'security', 'jwt', 'issuer'),
      audience: declared(security.jwt?.audience ?? null, 'security', 'jwt', 'audience'),
    },
    judges: roles.sort().map((role) => judgesOf(application, role, places)),
    voters: catalog.voters.map(({ name }) => ({ value: name, place: places.ofClass('voters', name) })).sort(byValue),
  };
}

function securityPath(...keys: Path): Path {
  return ['app_main', 'security', ...keys];
}

function byValue(a: Declared<string>, b: Declared<string>): number {
  return a.value < b.value ? -1 : 1;
}

function judgesOf({ voters }: Application, role: string, places: Places): Judges {
  return {
    role,
    voters: voters.votersFor(role).map((voter) => {
      const name = voter.constructor.name;
      // the built-in one is declared nowhere, and judges what the hierarchy says
      const place = voter instanceof RoleVoter ? places.ofConfig(securityPath('role_hierarchy')) : places.ofRole(name, role);
      return { value: name, place };
    }),
  };
}

/** Asks the voter itself who would be granted what: it knows what the hierarchy means. */
function hierarchyOf({ declaration, voters }: Application, places: Places): readonly RoleInclusion[] {
  const { roleHierarchy } = declaration.security;
  const included = [...new Set(Object.values(roleHierarchy).flat())];
  return Object.keys(roleHierarchy)
    .flatMap((role) =>
      included
        .filter((other) => other !== role)
        .filter((other) => {
          const judge = voters.votersFor(other).find((voter) => voter instanceof RoleVoter);
          return judge?.vote(other, null, { id: '', roles: [role] }) === 'grant';
        })
        .map((includes) => {
          const position = roleHierarchy[role]?.indexOf(includes) ?? -1;
          const path = securityPath('role_hierarchy', role, ...(position === -1 ? [] : [position]));
          return { role, includes, direct: position !== -1, place: places.ofConfig(path) };
        }),
    )
    .sort((a, b) => (`${a.role} ${a.includes}` < `${b.role} ${b.includes}` ? -1 : 1));
}

function credentialsOf({ catalog, declaration }: Application, places: Places): Declared<string>[] {
  const { apiKeys, authenticator, jwt } = declaration.security;
  const own = authenticator ? [authenticator] : catalog.authenticators;
  return [
    ...(jwt ? [{ value: `tokens signed with ${keysText(jwt)}`, place: places.ofConfig(securityPath('jwt')) }] : []),
    ...apiKeys.flatMap(({ name, roles }) => {
      const place = places.ofConfig(securityPath('api_keys', name));
      return [
        { value: `the API key ${name}`, place },
        ...roles.map((role) => ({
          value: `the API key ${name} with the role ${role}`,
          place: places.ofConfig(securityPath('api_keys', name, 'roles')),
        })),
      ];
    }),
    ...own
      .filter(({ value }) => isAuthenticatorClass(value))
      .map(({ name }) => ({ value: `the authenticator ${name}`, place: places.ofClass('authenticators', name) })),
  ];
}

function keysText({ algorithm, jwks, secret }: JwtDeclaration): string {
  if (typeof jwks === 'string') return `${algorithm} by a key of ${jwks}`;
  if (jwks !== null) return `${algorithm} by a key of the configuration`;
  return secret === null ? `${algorithm} by the development key` : `${algorithm} by the secret`;
}
