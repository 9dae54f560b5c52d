import type { Report } from '../report.ts';
import type { WrittenAppMain } from '../schema/schema.ts';
import { symmetric } from '../schema/settings-schema.ts';
import type { ApiKeyDeclaration, Catalog, JwtDeclaration, Path, SampleUserDeclaration, SecurityDeclaration } from '../types.ts';

type WrittenSecurity = WrittenAppMain['security'];

/** Reads `app_main.security`, and checks the rules across its keys. Errors never contain secrets or keys. */
export function readSecurity(
  written: WrittenSecurity,
  catalog: Catalog,
  report: Report,
  { production }: { production: boolean },
): SecurityDeclaration {
  const apiKeys = readApiKeys(written.api_keys, report);
  const nothingElse = apiKeys.length === 0 && catalog.authenticators.length === 0;
  const development = written.jwt === undefined && nothingElse && !production;
  if (written.jwt) checkJwt(written.jwt, report, production);
  const jwt = development ? developmentJwt : readJwt(written.jwt ?? null);
  return {
    requireRole: written.require_role,
    strategy: written.strategy,
    // without a prototype, so that no role has a special meaning
    roleHierarchy: Object.assign(
      Object.create(null),
      Object.fromEntries(written.role_hierarchy.map(({ key, value }) => [key, value])),
    ),
    jwt,
    apiKeys,
    sampleUsers: readSampleUsers(written.sample_users, jwt, report, production),
    authenticator: written.authenticator,
  };
}

/** Without TLS, an attacker between the two servers could replace the keys. */
export const plainAddress = 'in production the address of a key set must begin with "https:"';

/** Tokens signed with the application's development key. */
const developmentJwt: JwtDeclaration = {
  secret: null,
  algorithm: 'HS256',
  issuer: null,
  audience: null,
  jwks: null,
  jwksMaxStale: 86_400,
};

function checkJwt({ algorithm, jwks, secret }: NonNullable<WrittenSecurity['jwt']>, report: Report, production: boolean): void {
  const path: Path = ['app_main', 'security', 'jwt'];
  const isSymmetric = symmetric.includes(algorithm);
  const isWrong = ['algorithm', 'secret', 'jwks'].some((key) => report.touches([...path, key]));
  if (secret !== null && jwks !== null) {
    report.add([...path, 'jwks'], '"secret" and "jwks" exclude each other; remove one of them', 'key');
  } else if (isWrong) {
    // Reported already.
  } else if (isSymmetric && jwks !== null) {
    report.add([...path, 'algorithm'], `"jwks" needs an asymmetric algorithm, for example RS256, not ${algorithm}`);
  } else if (!isSymmetric && jwks === null) {
    report.add([...path, 'algorithm'], `the algorithm ${algorithm} needs "jwks" with the public keys`);
  } else if (production && typeof jwks === 'string' && /^http:/i.test(jwks)) {
    report.add([...path, 'jwks'], plainAddress);
  } else if (isSymmetric && secret === null && production) {
    report.add(path, `in production the algorithm ${algorithm} needs "secret", for example "secret: '%env(JWT_SECRET)%'"`);
  }
}

/** Copies a key set that was given in code, so that the application's own object is not changed. */
function readJwt(jwt: Exclude<WrittenSecurity['jwt'], undefined>): JwtDeclaration | null {
  if (jwt === null) return null;
  const { jwks, jwks_max_stale: jwksMaxStale, ...others } = jwt;
  return { ...others, jwks: typeof jwks === 'object' ? jwks && { keys: structuredClone(jwks.keys ?? []) } : jwks, jwksMaxStale };
}

function readApiKeys(written: WrittenSecurity['api_keys'], report: Report): readonly ApiKeyDeclaration[] {
  const apiKeys: ApiKeyDeclaration[] = [];
  for (const { key: name, path, value } of written) {
    if (value.key === undefined || report.touches(path)) continue;
    const key = value.key.startsWith('sha256:') ? value.key.toLowerCase() : value.key;
    const same = apiKeys.find((other) => other.key === key);
    if (same) report.add([...path, 'key'], `the keys of "${same.name}" and "${name}" are the same; give each its own key`);
    else apiKeys.push({ name: String(name), key, roles: value.roles });
  }
  return apiKeys;
}

/** The claims that a token gets from other keys, or from the time when it is signed. */
const fixedClaims = ['sub', 'roles', 'iss', 'aud', 'iat', 'exp', 'nbf'];

/** Always empty in production, so that no later code has to check the mode. */
function readSampleUsers(
  written: WrittenSecurity['sample_users'],
  jwt: JwtDeclaration | null,
  report: Report,
  production: boolean,
): readonly SampleUserDeclaration[] {
  const path: Path = ['app_main', 'security', 'sample_users'];
  if (written.length === 0) return [];
  if (production) {
    report.warn(path, 'sample users are ignored in production; declare them under "when@dev"');
    return [];
  }
  if (jwt === null || jwt.jwks !== null) {
    report.add(path, 'sample users need tokens that the application signs itself; declare "jwt" without "jwks"', 'key');
  }
  return written.flatMap(({ key: name, path: at, value: { claims, id, roles } }) => {
    if (id === undefined || report.touches(at)) return [];
    if (typeof id === 'boolean' || id === '') {
      report.add([...at, 'id'], '"id" must be a string or a number, and not empty');
    }
    for (const claim of fixedClaims.filter((each) => Object.hasOwn(claims, each))) {
      report.add(
        [...at, 'claims', claim],
        `the claim "${claim}" cannot be set here; "id" and "roles" have keys of their own`,
        'key',
      );
    }
    return [{ name: String(name), id: String(id), roles, claims: structuredClone({ ...claims }) }];
  });
}
