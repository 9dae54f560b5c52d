import { isAuthenticatorClass } from '../access/authenticator.ts';
import { RoleVoter } from '../access/role-voter.ts';
import type { Application } from '../application.ts';
import type { JwtDeclaration, Path } from '../declaration/types.ts';
import type { Declared, Places } from './places.ts';

export type SettingsAccess = ReturnType<typeof settingsOf>;

export function settingsOf(application: Application, places: Places) {
  const { catalog, declaration, production, records } = application;
  const ofGroups = declaration.groups.map(({ role }) => role);
  const { security, formats } = declaration;
  const ofRoutes = records.flatMap((record) => record.methods.flatMap((method) => record.roles[method] ?? []));
  const roles = [...new Set([...ofRoutes, ...ofGroups])];
  const declared = <Value>(value: Value, ...path: Path): Declared<Value> => ({
    value,
    place: places.ofConfig(['app_main', ...path]),
  });
  return {
    production,
    strategy: declared(security.strategy, 'security', 'strategy'),
    /** Whether a route without a role is an error. */
    requireRole: declared(security.requireRole, 'security', 'require_role'),
    formats: formats.map((value, position) => declared<string>(value, 'formats', position)).sort(byValue),
    /** The roles that each role of a user includes, directly or through others. */
    hierarchy: hierarchyOf(application, places),
    /** The accepted kinds of credentials, without secrets. */
    credentials: credentialsOf(application, places, declared).sort(byValue),
    /** The required claims of tokens; null: any value. */
    tokens: {
      issuer: declared(security.jwt?.issuer ?? null, 'security', 'jwt', 'issuer'),
      audience: declared(security.jwt?.audience ?? null, 'security', 'jwt', 'audience'),
    },
    /** Every role that a route or a group requires, with its voters in voting order. */
    judges: roles.sort().map((role) => ({ role, voters: judgesOf(application, role, places) })),
    voters: catalog.voters.map(({ name }) => ({ value: name, place: places.ofClass('voters', name) })).sort(byValue),
  };
}

function byValue(a: Declared<string>, b: Declared<string>): number {
  return a.value < b.value ? -1 : 1;
}

function judgesOf({ voters }: Application, role: string, places: Places): readonly Declared<string>[] {
  return voters.votersFor(role).map((voter) => {
    const value = voter.constructor.name;
    // the built-in voter has no declaration of its own: it applies the hierarchy
    const isBuiltIn = voter instanceof RoleVoter;
    return { value, place: isBuiltIn ? places.ofConfig(['app_main', 'security', 'role_hierarchy']) : places.ofRole(value, role) };
  });
}

/** The built-in voter decides which roles include which, so that the result matches the access checks. */
function hierarchyOf({ declaration, voters }: Application, places: Places) {
  const { roleHierarchy } = declaration.security;
  const included = [...new Set(Object.values(roleHierarchy).flat())];
  const grants = (role: string, other: string) => {
    const judge = voters.votersFor(other).find((voter) => voter instanceof RoleVoter);
    return judge?.vote(other, null, { id: '', roles: [role] }) === 'grant';
  };
  return Object.keys(roleHierarchy)
    .flatMap((role) =>
      included
        .filter((other) => other !== role && grants(role, other))
        .map((includes) => {
          const position = roleHierarchy[role]?.indexOf(includes) ?? -1;
          const path = ['app_main', 'security', 'role_hierarchy', role, ...(position === -1 ? [] : [position])];
          return { role, includes, direct: position !== -1, place: places.ofConfig(path) };
        }),
    )
    .sort((a, b) => (`${a.role} ${a.includes}` < `${b.role} ${b.includes}` ? -1 : 1));
}

function credentialsOf(
  { catalog, declaration }: Application,
  places: Places,
  declared: (value: string, ...path: Path) => Declared<string>,
): Declared<string>[] {
  const { apiKeys, authenticator, jwt } = declaration.security;
  const own = authenticator ? [authenticator] : catalog.authenticators;
  return [
    ...(jwt ? [declared(`tokens signed with ${keysText(jwt)}`, 'security', 'jwt')] : []),
    ...apiKeys.flatMap(({ name, roles }) => [
      declared(`the API key ${name}`, 'security', 'api_keys', name),
      ...roles.map((role) => declared(`the API key ${name} with the role ${role}`, 'security', 'api_keys', name, 'roles')),
    ]),
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
