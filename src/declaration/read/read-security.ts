import type { Report } from '../report.ts';
import { isSymmetric, type WrittenAppMain } from '../schema.ts';
import type { ApiKeyDeclaration, Catalog, JwtDeclaration, Path, SecurityDeclaration } from '../types.ts';

type WrittenSecurity = WrittenAppMain['security'];

/** Who may call, with the rules across keys checked. Values of secrets and keys are never part of an error. */
export function readSecurity(
  written: WrittenSecurity,
  catalog: Catalog,
  report: Report,
  { production }: { production: boolean },
): SecurityDeclaration {
  const path: Path = ['app_main', 'security'];
  const roleHierarchy: Record<string, readonly string[]> = Object.create(null);
  for (const { key, value } of written.role_hierarchy) roleHierarchy[key] = Object.freeze([...value]);
  const apiKeys = readApiKeys(written.api_keys, report);
  const nothingElse = apiKeys.length === 0 && catalog.authenticators.length === 0;
  const development = written.jwt === undefined && nothingElse && !production;
  return Object.freeze({
    requireRole: written.require_role,
    strategy: written.strategy,
    roleHierarchy: Object.freeze(roleHierarchy),
    jwt: development ? developmentJwt : readJwt(written.jwt ?? null, [...path, 'jwt'], report, production),
    apiKeys,
    authenticator: written.authenticator,
  });
}

/** Tokens signed with the application's development key. */
const developmentJwt: JwtDeclaration = Object.freeze({
  secret: null,
  algorithm: 'HS256',
  issuer: null,
  audience: null,
  jwks: null,
});

function readJwt(
  jwt: Exclude<WrittenSecurity['jwt'], undefined>,
  path: Path,
  report: Report,
  production: boolean,
): JwtDeclaration | null {
  if (jwt === null) return null;
  const symmetric = isSymmetric(jwt.algorithm);
  const wrong = (key: string) => report.touches([...path, key]);
  if (jwt.secret !== null && jwt.jwks !== null) {
    report.add([...path, 'jwks'], '"secret" and "jwks" exclude each other; leave one of them out', 'key');
  } else if (wrong('algorithm') || wrong('secret') || wrong('jwks')) {
    // Reported already.
  } else if (symmetric && jwt.jwks !== null) {
    report.add([...path, 'algorithm'], `"jwks" needs an asymmetric algorithm such as RS256, not ${jwt.algorithm}`);
  } else if (!symmetric && jwt.jwks === null) {
    report.add([...path, 'algorithm'], `the algorithm ${jwt.algorithm} needs "jwks" with the public keys`);
  } else if (symmetric && jwt.secret === null && production) {
    report.add(path, `in production the algorithm ${jwt.algorithm} needs "secret", for example "secret: '%env(JWT_SECRET)%'"`);
  }
  const { secret, algorithm, issuer, audience, jwks } = jwt;
  return Object.freeze({
    secret,
    algorithm,
    issuer,
    audience,
    jwks: jwks === null || typeof jwks === 'string' ? jwks : frozenKeySet(jwks.keys),
  });
}

function frozenKeySet(keys: readonly unknown[] = []): { readonly keys: readonly unknown[] } {
  return deepFreeze({ keys: structuredClone([...keys]) });
}

/** Only for copies made here: what the application gave stays as it is. */
function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) deepFreeze(inner);
  return Object.freeze(value);
}

function readApiKeys(written: WrittenSecurity['api_keys'], report: Report): readonly ApiKeyDeclaration[] {
  const apiKeys: ApiKeyDeclaration[] = [];
  for (const { key: name, path, value } of written) {
    if (value.key === undefined || report.touches(path)) continue;
    const key = value.key.startsWith('sha256:') ? value.key.toLowerCase() : value.key;
    const same = apiKeys.find((other) => other.key === key);
    if (same) report.add([...path, 'key'], `the keys of "${same.name}" and "${name}" are the same; a key belongs to one name`);
    else apiKeys.push(Object.freeze({ name: String(name), key, roles: Object.freeze([...value.roles]) }));
  }
  return Object.freeze(apiKeys);
}
