import { describe, expect, test } from 'vitest';
import { catalogFromCode } from '../../src/declaration/modules/modules.ts';
import { catalog, fromCode, fromYaml, outcomeOf, routesYaml, yamlSource } from './application.ts';

const secret = 's3cret-'.repeat(5);
const withAuthenticator = catalogFromCode({ authenticators: [class Mine {}] });

describe('an empty declaration', () => {
  test('has the defaults', () => {
    const { declaration, lines } = fromYaml('');
    expect(lines).toEqual([]);
    expect(declaration).toEqual({
      apis: [],
      groups: [],
      routes: [
        { name: 'app_cruds', service: 'app_main_crud_route_loader', method: 'load', prefix: '', path: ['routes', 'app_cruds'] },
      ],
      database: {
        url: 'sqlite:var/app.db',
        schema: 'update',
        pool: 10,
        connectTimeout: 5000,
        statementTimeout: 30000,
        preparedStatements: true,
        pooler: 'auto',
        replicas: [],
        replicaMaxLag: 5000,
      },
      security: {
        requireRole: false,
        strategy: 'affirmative',
        roleHierarchy: {},
        jwt: { secret: null, algorithm: 'HS256', issuer: null, audience: null, jwks: null, jwksMaxStale: 86_400 },
        apiKeys: [],
        sampleUsers: [],
        authenticator: null,
      },
      server: {
        host: '127.0.0.1',
        port: 3000,
        baseUrl: '',
        bodyLimit: 1048576,
        jsonDepth: 64,
        urlLimit: 8192,
        headerLimit: 16384,
        maxParameters: 100,
        parameterLimit: 4096,
        headerTimeout: 10000,
        requestTimeout: 30000,
        handlerTimeout: 60000,
        keepAliveTimeout: 72000,
        maxConcurrent: 1000,
        busyConcurrent: 100,
        responseBuffer: 67_108_864,
        responseLimit: 16_777_216,
        stallTimeout: 30_000,
        shutdownTimeout: 10000,
        timing: false,
        cors: null,
        compress: null,
        trustProxy: [],
        rateLimit: null,
        rateLimitStore: 'memory',
        idempotency: { ttl: 86_400, answerLimit: 65_536, callerLimit: 16_777_216, totalLimit: 268_435_456 },
        requireIfMatch: false,
        health: { live: '/health/live', ready: '/health/ready' },
        requestIdHeader: 'X-Request-Id',
        log: { level: 'warn', redact: [] },
        metrics: null,
      },
      exports: { atOnce: 4, stallTimeout: 30000 },
      openapi: {
        enabled: null,
        title: null,
        version: null,
        description: null,
        path: '/openapi.json',
        docs: '/docs',
        greeting: true,
      },
      explorer: { enabled: null, login: null },
      formats: ['json'],
    });
  });

  test('is the same in code, and with empty sections', () => {
    const { declaration } = fromYaml('');
    expect(fromCode(undefined).declaration).toEqual(declaration);
    expect(fromCode({ apis: null, database: {}, server: undefined }).declaration).toEqual(declaration);
    expect(fromYaml('app_main:\n  apis:\n  database:\n  security:\n    api_keys:\n  formats:\n')).toEqual({
      declaration,
      lines: [],
    });
  });
});

describe('app_main', () => {
  test.each([
    ['text', 'app_main: "app_main" must be a mapping; given: "text"'],
    [[], 'app_main: "app_main" must be a mapping; given: an empty list'],
    [{ apis: 3 }, 'app_main.apis: "apis" must be a mapping or a list; given: 3'],
    [{ apis: () => 1 }, 'app_main.apis: "apis" must be a mapping or a list; given: a class or function'],
    [
      { databse: {} },
      'app_main.databse: unknown key "databse"; did you mean "database"? allowed: apis, groups, database, orm, security, pagination, server, formats, exports, openapi, explorer',
    ],
    [
      { pagination: { items_per_page: 300 } },
      'app_main.pagination.items_per_page: "items_per_page" (300) must not be greater than "max_items_per_page" (200)',
    ],
    [
      { pagination: { items_per_page: 1.5 } },
      'app_main.pagination.items_per_page: "items_per_page" must be an integer from 1 to 2147483647; given: 1.5',
    ],
    [{ server: { port: 70000 } }, 'app_main.server.port: "port" must be an integer from 0 to 65535; given: 70000'],
    [{ server: { port: '80' } }, 'app_main.server.port: "port" must be an integer from 0 to 65535; given: "80"'],
    [{ server: { port: null } }, 'app_main.server.port: "port" must be an integer from 0 to 65535; given: null'],
    [
      { server: { host: `${'x'.repeat(70)}/` } },
      `app_main.server.host: "host" must be a host name or an address; given: "${'x'.repeat(57)}..."`,
    ],
    [{ formats: [] }, 'app_main.formats: "formats" must have at least one entry'],
    [{ formats: ['pdf'] }, 'app_main.formats.0: "formats[0]" must be one of: json, ndjson, csv, xml; given: "pdf"'],
    [{ formats: ['json', 'json'] }, 'app_main.formats.1: "formats[1]" repeats an earlier item'],
    [
      { database: { schema: 'updte' } },
      'app_main.database.schema: "schema" must be one of: update, check, migrate, none (did you mean "update"?); given: "updte"',
    ],
    [{ database: { pool: 0 } }, 'app_main.database.pool: "pool" must be an integer from 1 to 10000; given: 0'],
  ])('with %j is rejected', (app_main, line) => {
    const { lines, declaration } = fromCode(app_main);
    expect(lines).toEqual([line]);
    expect(declaration.server.host).toBe('127.0.0.1');
    expect(declaration.formats).toEqual(['json']);
  });
});

describe('the database', () => {
  test.each([
    ['sqlite:var/app.db', 'update', 'check'],
    ['sqlite::memory:', 'update', 'update'],
    ['postgresql://host/db', 'check', 'check'],
    ['postgres://host/db', 'check', 'check'],
  ])('at %s has the default schema %s, and %s in production', (url, schema, inProduction) => {
    expect(fromCode({ database: { url } }).declaration.database).toMatchObject({ url, schema });
    expect(fromCode({ database: { url } }, { production: true }).declaration.database.schema).toBe(inProduction);
  });

  test.each(['update', 'check', 'migrate', 'none'] as const)('accepts the schema %s', (schema) => {
    expect(fromCode({ database: { url: 'postgres://host/db', schema } }).declaration.database.schema).toBe(schema);
  });

  test('has a URL whose password is never shown', () => {
    expect(fromCode({ database: { url: 'mysql://me:hunter2@host/db' } }).lines).toEqual([
      'app_main.database.url: "url" must be an address that begins with sqlite:, postgresql:// or postgres://; given: a string (not shown)',
    ]);
  });
});

describe('the base url', () => {
  test.each(['', '/v1', '/a/b', 'http://example.org', 'https://example.org:8080/v1'])('can be %j', (base_url) => {
    expect(fromCode({ server: { base_url } }).declaration.server.baseUrl).toBe(base_url);
    expect(fromCode({ server: { base_url } }).lines).toEqual([]);
  });

  test.each(['/', '/v1/', 'v1', 'https://example.org/', 'ftp://example.org', 'https://example.org?x', '/a#b'])(
    'cannot be %j',
    (base_url) => {
      expect(fromCode({ server: { base_url } }).lines).toHaveLength(1);
    },
  );
});

describe('tokens', () => {
  const jwt = (value: unknown, options: Parameters<typeof fromCode>[1] = {}) => fromCode({ security: { jwt: value } }, options);
  const development = { secret: null, algorithm: 'HS256', issuer: null, audience: null, jwks: null, jwksMaxStale: 86_400 };

  test('are signed with the development key only without other authenticators, outside production', () => {
    expect(fromCode({}).declaration.security.jwt).toEqual(development);
    expect(fromCode({}, { production: true }).declaration.security.jwt).toBeNull();
    expect(fromCode({}, { catalog: withAuthenticator }).declaration.security.jwt).toBeNull();
    expect(fromCode({ security: { api_keys: { a: { key: secret } } } }).declaration.security.jwt).toBeNull();
    expect(jwt(null).declaration.security.jwt).toBeNull();
    expect(jwt({}).declaration.security.jwt).toEqual(development);
  });

  test('keep the configured values', () => {
    expect(jwt({ secret, algorithm: 'HS512', issuer: 'me', audience: 'you' }, { production: true })).toMatchObject({
      lines: [],
      declaration: {
        security: { jwt: { secret, algorithm: 'HS512', issuer: 'me', audience: 'you', jwks: null, jwksMaxStale: 86_400 } },
      },
    });
    expect(jwt({ algorithm: 'RS256', jwks: 'config/keys.json' }).declaration.security.jwt?.jwks).toBe('config/keys.json');
  });

  test('copy a key set instead of freezing it', () => {
    const keys = [{ kty: 'RSA' }];
    const { declaration } = jwt({ algorithm: 'ES256', jwks: { keys } });
    expect(declaration.security.jwt?.jwks).toEqual({ keys });
    const jwks = declaration.security.jwt?.jwks as { keys: object[] };
    expect(Object.isFrozen(jwks.keys[0])).toBe(true);
    expect(Object.isFrozen(keys[0])).toBe(false);
  });

  test.each([
    [{ secret: 'short' }, '.secret: "secret" must be a string of 32 characters or more; given: a string (not shown)'],
    [{ secret: 12345 }, '.secret: "secret" must be a string of 32 characters or more, or null; given: a number (not shown)'],
    [{ secret, jwks: 'x' }, '.jwks: "secret" and "jwks" exclude each other; remove one of them'],
    [{ jwks: 'x' }, '.algorithm: "jwks" needs an asymmetric algorithm, for example RS256, not HS256'],
    [{ algorithm: 'RS256' }, '.algorithm: the algorithm RS256 needs "jwks" with the public keys'],
    [{ secret, algorithm: 'EdDSA' }, '.algorithm: the algorithm EdDSA needs "jwks" with the public keys'],
    [
      { algorithm: 'RS255' },
      '.algorithm: "algorithm" must be one of: HS256, HS384, HS512, RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA (did you mean "RS256"?); given: "RS255"',
    ],
    [
      { algorithm: 'none' },
      '.algorithm: "algorithm" must be one of: HS256, HS384, HS512, RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA; given: "none"',
    ],
    [
      { algorithm: 'RS256', jwks: 5 },
      '.jwks: "jwks" must be an address or a file or a mapping, or null; given: a number (not shown)',
    ],
    [{ algorithm: 'RS256', jwks: ['k'] }, '.jwks: "jwks" must be an address or a file or a mapping, or null; given: a list'],
    [{ algorithm: 'RS256', jwks: { keys: [] } }, '.jwks.keys: "keys" must have at least one entry'],
    [{ algorithm: 'RS256', jwks: { keys: ['k'] } }, '.jwks.keys.0: "keys[0]" must be a mapping; given: a string (not shown)'],
    [{ algorithm: 'RS256', jwks: {} }, '.jwks: the key "keys" is missing: add a list'],
    [true, ': "jwt" must be a mapping, or null; given: true'],
  ])('with %j are rejected', (value, line) => {
    expect(jwt(value).lines).toEqual([`app_main.security.jwt${line}`]);
  });

  test('require a secret in production', () => {
    expect(jwt({}, { production: true }).lines).toEqual([
      `app_main.security.jwt: in production the algorithm HS256 needs "secret", for example "secret: '%env(JWT_SECRET)%'"`,
    ]);
  });
});

describe('security', () => {
  test('keeps the configured values', () => {
    const hash = `sha256:${'Ab'.repeat(32)}`;
    const { declaration, lines } = fromCode(
      {
        security: {
          require_role: true,
          strategy: 'unanimous',
          role_hierarchy: { ROLE_ADMIN: ['ROLE_USER'], 'ROLE-X': [] },
          api_keys: { one: { key: secret, roles: ['ROLE_USER'] }, 'two-2': { key: hash } },
          authenticator: 'Mine',
        },
      },
      { catalog: withAuthenticator },
    );
    expect(lines).toEqual([]);
    expect(declaration.security).toEqual({
      requireRole: true,
      strategy: 'unanimous',
      roleHierarchy: { ROLE_ADMIN: ['ROLE_USER'], 'ROLE-X': [] },
      jwt: null,
      apiKeys: [
        { name: 'one', key: secret, roles: ['ROLE_USER'] },
        { name: 'two-2', key: hash.toLowerCase(), roles: [] },
      ],
      sampleUsers: [],
      authenticator: withAuthenticator.authenticators[0],
    });
  });

  test.each([
    [
      { api_keys: { a: { key: 'hunter2' } } },
      '.api_keys.a.key: "key" must be a string of 16 characters or more, or sha256: and 64 hexadecimal digits; given: a string (not shown)',
    ],
    [
      { api_keys: { a: { key: 'sha256:0123456789abcdef' } } },
      '.api_keys.a.key: "key" must be a string of 16 characters or more, or sha256: and 64 hexadecimal digits; given: a string (not shown)',
    ],
    [
      { api_keys: { a: { key: secret }, b: { key: secret } } },
      '.api_keys.b.key: the keys of "a" and "b" are the same; give each its own key',
    ],
    [
      { api_keys: { a: null } },
      '.api_keys.a: the key "key" is missing: add a string of 16 characters or more, or sha256: and 64 hexadecimal digits, for example "key: sha256:…"',
    ],
    [
      { api_keys: { a: { key: secret, role: 'A' } } },
      '.api_keys.a.role: unknown key "role"; did you mean "roles"? allowed: key, roles',
    ],
    [{ sample_users: { Ada: { id: '' } } }, '.sample_users.Ada.id: "id" must be a string or a number, and not empty'],
    [
      { sample_users: { Ada: { id: 1, claims: { sub: '2' } } } },
      '.sample_users.Ada.claims.sub: the claim "sub" cannot be set here; "id" and "roles" have keys of their own',
    ],
    [
      { jwt: null, sample_users: { Ada: { id: 1 } } },
      '.sample_users: sample users need tokens that the application signs itself; declare "jwt" without "jwks"',
    ],
    [{ role_hierarchy: { A: 'B' } }, '.role_hierarchy.A: "A" must be a list; given: "B"'],
    [{ role_hierarchy: { 'a b': [] } }, '.role_hierarchy.a b: the name "a b" is not allowed; the name of a role has no spaces'],
    [
      { strategy: 'affirmativ' },
      '.strategy: "strategy" must be one of: affirmative, consensus, unanimous, priority (did you mean "affirmative"?); given: "affirmativ"',
    ],
    [{ authenticator: 'Mine' }, '.authenticator: unknown authenticator class "Mine"; known: none'],
  ])('with %j is rejected', (security, line) => {
    const { lines } = fromCode({ security });
    expect(lines).toEqual([`app_main.security${line}`]);
    expect(lines.join()).not.toMatch(/hunter2|s3cret/);
  });

  test('keeps sample users outside production, and none in production', () => {
    const security = {
      jwt: { secret },
      sample_users: { Ada: { id: 1, roles: ['ROLE_USER'], claims: { tenants: [1] } }, Ben: { id: 'b' } },
    };
    const { declaration, lines } = fromCode({ security });
    expect(lines).toEqual([]);
    expect(declaration.security.sampleUsers).toEqual([
      { name: 'Ada', id: '1', roles: ['ROLE_USER'], claims: { tenants: [1] } },
      { name: 'Ben', id: 'b', roles: [], claims: {} },
    ]);
    const production = fromCode({ security }, { production: true });
    expect(production.lines).toEqual([]);
    expect(production.declaration.security.sampleUsers).toEqual([]);
  });

  test('treats __proto__ as an ordinary name', () => {
    const { declaration, lines } = fromYaml('app_main: { security: { role_hierarchy: { __proto__: [ROLE_ADMIN] } } }');
    expect(lines).toEqual([]);
    expect(Object.entries(declaration.security.roleHierarchy)).toEqual([['__proto__', ['ROLE_ADMIN']]]);
  });
});

describe('routes', () => {
  const standard = { resource: 'app_main_crud_route_loader:load', type: 'service' };
  const services = catalogFromCode({ services: { reports: { load: () => [] } } });
  const addition = "add to config/routes.yaml: app_cruds: { resource: 'app_main_crud_route_loader:load', type: service }";

  test('name services of the application', () => {
    const { declaration, lines } = fromCode(
      {},
      { catalog: services, routes: { app_cruds: standard, mine: { resource: 'reports:load', type: 'service' } } },
    );
    expect(lines).toEqual([]);
    expect(declaration.routes).toEqual([
      { name: 'app_cruds', service: 'app_main_crud_route_loader', method: 'load', prefix: '', path: ['routes', 'app_cruds'] },
      { name: 'mine', service: 'reports', method: 'load', prefix: '', path: ['routes', 'mine'] },
    ]);
  });

  test('require the entry app_cruds, and the error shows how to add it', () => {
    const missing = `the entry "app_cruds" is missing; ${addition}`;
    expect(outcomeOf(yamlSource({ 'routes.yaml': null })).lines).toEqual([`config/routes.yaml:1:1: ${missing}`]);
    expect(outcomeOf(yamlSource({ 'routes.yaml': '# empty' })).lines).toEqual([`config/routes.yaml:1:1: ${missing}`]);
    expect(fromCode({}, { routes: {} }).lines).toEqual([`routes: ${missing}`]);
  });

  test.each([
    [
      'app_cruds: { resource: "reports:load", type: service }',
      '1:24: the resource of "app_cruds" must be "app_main_crud_route_loader:load"; give "reports:load" an entry of its own',
    ],
    [
      'app_cruds:',
      '1:1: the key "resource" is missing: add a service and its method such as "app_main_crud_route_loader:load", for example "resource: app_main_crud_route_loader:load"\nconfig/routes.yaml:1:1: the key "type" is missing: add one of: service, for example "type: service"',
    ],
    [
      'app_cruds: { resource: app_main_crud_route_loader, type: service }',
      '1:24: "resource" must be a service and its method such as "app_main_crud_route_loader:load"; given: "app_main_crud_route_loader"',
    ],
    [
      'app_cruds: { resource: "app_main_crud_route_loader:load", type: servce }',
      '1:65: "type" must be one of: service (did you mean "service"?); given: "servce"',
    ],
    ['app_cruds: text', '1:12: "app_cruds" must be a mapping; given: "text"'],
    [
      `${routesYaml}x: { resource: "report:load", type: service }`,
      '4:16: unknown service "report"; did you mean "reports"? known: app_main_crud_route_loader, reports',
    ],
    [`${routesYaml}x: { resource: "reports:lod", type: service }`, '4:16: the service "reports" has no method "lod"'],
    [
      `${routesYaml}x: { resource: "app_main_crud_route_loader:lod", type: service }`,
      '4:16: the service "app_main_crud_route_loader" has no method "lod"',
    ],
    [
      `${routesYaml}x: { resource: "app_main_crud_route_loader:load", type: service }`,
      '4:16: the resource "app_main_crud_route_loader:load" is already loaded by "app_cruds"; remove one of the entries',
    ],
  ])('with %j are rejected', (yaml, lines) => {
    const outcome = outcomeOf(yamlSource({ 'routes.yaml': yaml }), { catalog: services });
    expect(outcome.lines).toEqual(`config/routes.yaml:${lines}`.split('\n'));
    expect(outcome.declaration.routes.length).toBe(yaml.startsWith(routesYaml) ? 1 : 0);
  });

  test('that are not a mapping are rejected', () => {
    expect(fromCode({}, { routes: 'x' }).lines).toEqual(['routes: "routes" must be a mapping; given: "x"']);
  });
});

test('all errors of a broken configuration are reported, with places', () => {
  const files = {
    'app.yaml': `app_main:
  apis:
    person:
      class: Persn
      base_pth: /api/person
      actions:
        _index: { path: /all }
        _entiy: ~
        export:
        register:
          methods: { post: true }
    center:
      class: Center
      base-path: /api/center/
      base_role: [ROLE_USER]
      actions: {}
    sound:
      class: Center
      base_path: /api/sound
      actions: { _index: }
  server: { port: '%env(int:PORT)%', host: 3 }
`,
    'security.yaml': `app_main:
  security:
    strategy: most
    jwt:
      secret: too-short
    api_keys:
      job: { key: abc }
  formats: [pdf]
extra: 1
`,
    'routes.yaml': 'app_crud: { resource: "app_main_crud_route_loader:load", type: service }\n',
  };
  const { lines, declaration } = outcomeOf(yamlSource(files, { PORT: 'many' }), { catalog });
  expect(lines).toEqual([
    'config/app.yaml:4:14: unknown model class "Persn"; did you mean "Person"? known: Person, Center',
    'config/app.yaml:5:7: unknown key "base_pth"; did you mean "base_path"? allowed: class, name, base_path, controller, base_role, pagination, rate_limit, require_if_match, groups, formats, nested, filters, sort, default_sort, search, aggregate, description, hidden, actions',
    'config/app.yaml:7:25: "path" must be one or more URL segments such as "history" or "history/recent" (leave out the slash at the beginning); given: "/all"',
    'config/app.yaml:8:17: no method is enabled; did you mean "_entity"? a custom action needs "methods", for example "methods: { POST: true }"',
    'config/app.yaml:9:9: no method is enabled; a custom action needs "methods", for example "methods: { POST: true }"',
    'config/app.yaml:11:22: unknown key "post"; did you mean "POST"? allowed: GET, HEAD, POST, PUT, PATCH, DELETE',
    'config/app.yaml:14:18: "base_path" must be a path such as "/api/person" (leave out the slash at the end); given: "/api/center/"',
    'config/app.yaml:15:18: "base_role" must be the name of a role, or null; given: a list',
    'config/app.yaml:16:16: "actions" must have at least one entry',
    'config/app.yaml:21:19: the environment variable PORT is not an integer',
    'config/app.yaml:21:44: "host" must be a host name or an address; given: 3',
    'config/routes.yaml:1:1: the entry "app_cruds" is missing; add to config/routes.yaml: app_cruds: { resource: \'app_main_crud_route_loader:load\', type: service }',
    'config/security.yaml:3:15: "strategy" must be one of: affirmative, consensus, unanimous, priority; given: "most"',
    'config/security.yaml:5:15: "secret" must be a string of 32 characters or more; given: a string (not shown)',
    'config/security.yaml:7:19: "key" must be a string of 16 characters or more, or sha256: and 64 hexadecimal digits; given: a string (not shown)',
    'config/security.yaml:8:13: "formats[0]" must be one of: json, ndjson, csv, xml; given: "pdf"',
    'config/security.yaml:9:1: unknown key "extra"; allowed: app_main, when@dev, when@test, when@prod; route entries belong in config/routes.yaml',
  ]);
  expect(declaration.apis.map(({ name }) => name)).toEqual(['person', 'center', 'sound']);
});
