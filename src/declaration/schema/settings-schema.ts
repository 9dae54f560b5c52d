import {
  anything,
  boolean,
  classOf,
  dependent,
  either,
  integer,
  list,
  literal,
  map,
  nullable,
  object,
  optional,
  orNull,
  required,
  text,
} from '../shape.ts';
import { logLevels } from '../vocabulary.ts';

/** Algorithms whose tokens are checked with a shared secret. */
export const symmetric: readonly string[] = ['HS256', 'HS384', 'HS512'];
/** Algorithms whose tokens are checked with a public key. */
export const asymmetric: readonly string[] = 'RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA'.split(', ');

const maxInteger = 2 ** 31 - 1;

/** A key with an integer of 1 or more. */
const amount = (value: number, doc: string, { min = 1, max = maxInteger } = {}) => optional(integer(min, max), value, doc);
const orNoLimit = { min: 0 };

export const role = text({ expected: 'the name of a role', pattern: /^\S+$/ });
export const words = text({ expected: 'a text', pattern: /\S/ });
const someText = text({ expected: 'a string', pattern: /^[\s\S]+$/ });

const count = either(
  text({ values: ['exact', 'estimated'] }),
  object('count', { capped: required(integer(1, maxInteger - 1), 10000, 'Items beyond this number are not counted.') }),
);

export const paginationKeys = {
  items_per_page: amount(50, 'Items per page if the request does not set it.'),
  max_items_per_page: amount(200, 'The maximum number of items per page that a request may set.'),
  max_offset: amount(
    0,
    'The maximum number of items that a page number may skip; links may skip more. 0 means no limit.',
    orNoLimit,
  ),
  count: optional(count, 'exact', 'How items are counted: exact, estimated, or { capped: 10000 }.'),
  max_or_depth: amount(2, 'How deep groups of or[…] may be nested in a request; 0 disables them.', { min: 0, max: 5 }),
  max_or_groups: amount(10, 'The maximum number of or[…] groups in a request.', { max: 100 }),
};
export const pagination = object('pagination', paginationKeys);

const rateKeys = {
  limit: required(integer(1, maxInteger), 600, 'The maximum number of requests of a caller in a window.'),
  window: amount(60, 'Seconds of a window, which begins with the first request of a caller.', { max: 86_400 }),
  by: optional(
    text({ values: ['user', 'address'] }),
    'user',
    'Whether requests are counted by user or by address; requests without a user are always counted by address.',
  ),
};
export const apiRateLimit = object('api_rate_limit', rateKeys);
const rateLimit = object('rate_limit', {
  ...rateKeys,
  store: optional(
    text({ values: ['memory', 'database'] }),
    'memory',
    'Where requests are counted: in each process, or in the database for all of them together.',
  ),
});

const databaseUrl = text({
  expected: 'an address that begins with sqlite:, postgresql:// or postgres://',
  pattern: /^(?:sqlite:.+|postgres(?:ql)?:\/\/.+)$/,
  secret: true,
});

const replicaUrl = text({
  expected: 'an address that begins with postgresql:// or postgres://',
  pattern: /^postgres(?:ql)?:\/\/.+$/,
  secret: true,
});

export const database = object('database', {
  url: optional(databaseUrl, 'sqlite:var/app.db', 'The database: sqlite:<file>, sqlite::memory: or postgresql://…'),
  schema: dependent(
    text({ values: ['update', 'check', 'migrate', 'none'] }),
    'update',
    'update on SQLite outside production, otherwise check',
    'At start: add what is missing, compare the database with the models, apply migrations and compare, or nothing.',
  ),
  pool: amount(10, 'The maximum number of open connections.', { max: 10_000 }),
  connect_timeout: amount(5000, 'Milliseconds to wait for a connection, new or in use.'),
  statement_timeout: amount(30_000, 'Milliseconds a statement may take; 0 means no limit.', orNoLimit),
  prepared_statements: optional(boolean(), true, 'Whether Declarest uses prepared statements; a pooler turns them off.'),
  pooler: optional(
    text({ values: ['auto', 'none', 'transaction'] }),
    'auto',
    'Whether a pooler such as PgBouncer may run each transaction in another session; auto detects one.',
  ),
  replicas: optional(
    list(nullable(replicaUrl), { unique: false }),
    [],
    'Streaming replicas of a PostgreSQL database, which serve reads; empty entries are ignored.',
  ),
  replica_max_lag: amount(5000, 'Milliseconds that a replica may be behind; beyond that, no read waits for it.'),
});

const secret = text({ expected: 'a string of 32 characters or more', pattern: /^[\s\S]{32,}$/, secret: true });
const keySet = object('jwks', {
  keys: required(list(anything(), { min: 1, unique: false }), [], 'The public keys, each a JSON Web Key.'),
});
const jwks = either(text({ expected: 'an address or a file', pattern: /^[\s\S]+$/ }), keySet, { secret: true });

const jwt = object('jwt', {
  secret: orNull(secret, null, 'The shared secret, 32 characters or more; null means the development key (never in production).'),
  algorithm: optional(text<string>({ values: [...symmetric, ...asymmetric] }), 'HS256', 'The only accepted algorithm.'),
  issuer: orNull(someText, null, 'The required `iss`; null means that it is not checked.'),
  audience: orNull(someText, null, 'What `aud` must contain; null means that it is not checked.'),
  jwks: orNull(jwks, null, 'Public keys for an asymmetric algorithm: an address, a file, or the key set itself.'),
  jwks_max_stale: amount(86_400, 'Seconds for which the keys of an address are used while it cannot be fetched.', {
    min: 0,
    max: 2_592_000,
  }),
});

const key = text({
  expected: 'a string of 16 characters or more, or sha256: and 64 hexadecimal digits',
  pattern: /^(?:sha256:[0-9A-Fa-f]{64}|(?!sha256:)[\s\S]{16,})$/,
  secret: true,
});

const apiKey = object('api_key', {
  key: required(key, 'sha256:…', 'The key, 16 characters or more, or sha256: and its hash in hexadecimal.'),
  roles: optional(list(role), [], 'The roles of callers with this key.'),
});

const sampleUser = object('sample_user', {
  id: required(literal(), 1, 'The id of the user: a string or a number.'),
  roles: optional(list(role), [], 'The roles of the user.'),
  claims: optional(anything(), {}, 'Further claims of the token, such as a list of tenants.'),
});

const roleHierarchy = map(list(role), {
  example: { name: 'ROLE_ADMIN', value: '[ROLE_USER]', note: 'A role and those it includes.' },
  names: /^\S+$/,
  namesExpected: 'the name of a role has no spaces',
});

export const security = object('security', {
  require_role: optional(boolean(), false, 'Refuse to start while a route has no role.'),
  strategy: optional(
    text({ values: ['affirmative', 'consensus', 'unanimous', 'priority'] }),
    'affirmative',
    'How the votes on a role are combined.',
  ),
  role_hierarchy: optional(roleHierarchy, {}, 'Roles that a role includes.'),
  jwt: dependent(
    nullable(jwt),
    {},
    'the development key outside production if nothing else authenticates, else null',
    'Signed bearer tokens; null turns them off.',
  ),
  api_keys: optional(
    map(apiKey, { example: { name: 'reporting', note: 'A name of your choice.' } }),
    {},
    'Keys for programs, by a name of your choice.',
  ),
  sample_users: optional(
    map(sampleUser, { example: { name: 'Ada', note: 'A name of your choice.' } }),
    {},
    'Users that the docs page offers to try requests as; ignored in production.',
  ),
  authenticator: orNull(classOf('authenticators'), null, 'A class of your own; null means every class in src/authenticators.'),
});

const plainPathPattern = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+)+$/;
const pathLike = (example: string) => text({ expected: `a path such as "${example}"`, pattern: plainPathPattern });
const servedPath = (value: string, doc: string) => orNull(pathLike(value), value, doc);

const health = object('health', {
  live: servedPath('/health/live', 'Path of the liveness check, 200 while the process runs; null turns it off.'),
  ready: servedPath('/health/ready', 'Path of the readiness check, 200 while requests can be served; null turns it off.'),
});

/** Rejects headers that already have a meaning: the value of the request is sent back in this header. */
const requestIdHeader =
  /^(?!(?:authorization|proxy-.*|cookie|set-cookie|x-api-key|host|connection|transfer-encoding|content-.*|x-forwarded-.*)$)[A-Za-z][A-Za-z0-9-]{0,63}$/i;
const requestId = text({ expected: 'the name of a header such as "X-Request-Id"', pattern: requestIdHeader });

const log = object('log', {
  level: optional(
    text({ values: logLevels }),
    'warn',
    'The lowest level that is logged; info has a line for each request. LOG_LEVEL in the environment comes first.',
  ),
  redact: optional(
    list(text({ expected: 'a part of a name such as "session"', pattern: /^[\w.-]+$/ })),
    [],
    'Further parts of the names of headers, keys and parameters whose values are not logged.',
  ),
});

const idempotency = object('idempotency', {
  ttl: amount(86_400, 'Seconds for which a response is stored and returned again.', { max: 2_592_000 }),
  answer_limit: amount(
    65_536,
    'The maximum size of a stored response, in bytes; a larger one is read again when the request is repeated.',
    {
      min: 0,
    },
  ),
  caller_limit: amount(16_777_216, 'The maximum size of the stored responses of one caller, in bytes.', { min: 0 }),
  total_limit: amount(268_435_456, 'The maximum size of all stored responses, in bytes.', { min: 0 }),
});

const metrics = object('metrics', {
  path: optional(pathLike('/metrics'), '/metrics', 'The path of the metrics.'),
  role: orNull(role, 'ROLE_METRICS', 'The required role; null means that they are public.'),
});

/** Not every text of this form is one that browsers send. */
export const originPattern = /^(?:\*|[a-z][a-z0-9+.-]*:\/\/[^\s/?#@*,]+)$/;
const origin = text({
  expected: 'an origin such as "https://app.example.org", without a path, or "*" for every origin',
  pattern: originPattern,
});
const headerName = text({ expected: 'the name of a header such as "X-Session"', pattern: /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/ });
const origins = either(text({ expected: 'origins separated by commas', pattern: /\S/ }), list(origin, { min: 1 }));

const cors = object('cors', {
  origins: required(
    nullable(origins),
    'https://app.example.org',
    'The origins whose pages may call the API: a list, a text with commas between them, or "*" for every origin; null means none.',
  ),
  credentials: optional(boolean(), false, 'Whether browsers may send cookies; not with the origin "*".'),
  max_age: amount(600, 'Seconds for which browsers remember the response to a preflight request.', { min: 0, max: 86_400 }),
  allow_headers: optional(list(headerName), [], 'Further request headers that pages may send.'),
  expose_headers: optional(list(headerName), [], 'Further response headers that pages may read.'),
});

/** The settings of `compress: true`. */
export const compressDefaults = { threshold: 1024, encodings: ['br', 'gzip'] } as const;
const compress = object('compress', {
  threshold: amount(compressDefaults.threshold, 'The size from which a response is compressed, in bytes.', { min: 0 }),
  encodings: optional(
    list(text({ values: ['br', 'gzip', 'deflate', 'zstd'] }), { min: 1 }),
    compressDefaults.encodings,
    'The encodings, the preferred one first.',
  ),
});

const baseUrl = text({
  expected: 'empty, a path such as "/v1" or a URL such as "https://example.org/v1", without a slash at the end',
  pattern: /^(?:(?:https?:\/\/[^\s/?#]+)?(?:\/[^\s/?#]+)*)$/,
});
const proxy = text({
  expected: 'an address or a network such as "10.0.0.0/8", or one of: loopback, linklocal, uniquelocal',
  pattern: /^(?:loopback|linklocal|uniquelocal|[0-9A-Fa-f:.]+(?:\/\d{1,3})?)$/,
});

export const server = object('server', {
  host: optional(
    text({ expected: 'a host name or an address', pattern: /^[^\s/]+$/ }),
    '127.0.0.1',
    'The address to listen on. --host and HOST in the environment come first.',
  ),
  port: amount(3000, 'The port to listen on; 0 means any free one. --port and PORT in the environment come first.', {
    min: 0,
    max: 65_535,
  }),
  base_url: optional(baseUrl, '', 'The prefix of every link and Location.'),
  body_limit: amount(1_048_576, 'The maximum size of a request body, in bytes.'),
  response_limit: amount(16_777_216, 'The maximum size of a response, in bytes; exports have no limit.', { min: 1024 }),
  response_buffer: amount(
    67_108_864,
    'The maximum size of all responses that clients have not read yet, in bytes; a large response beyond it gets 503.',
  ),
  stall_timeout: amount(
    30_000,
    'Milliseconds after which a connection is closed if the client reads nothing of a large response; 0 means no limit.',
    orNoLimit,
  ),
  json_depth: amount(64, 'How deep lists and objects may be nested in a request body.', { max: 10_000 }),
  url_limit: amount(8192, 'The maximum length of a URL, in characters.', { max: 65_536 }),
  header_limit: amount(16_384, 'The maximum size of the headers of a request, in bytes.', { min: 1024, max: 1_048_576 }),
  max_parameters: amount(100, 'The maximum number of query parameters of a request.'),
  parameter_limit: amount(4096, 'The maximum length of a query parameter with its name, in characters.'),
  header_timeout: amount(10_000, 'Milliseconds in which the headers of a request must arrive.'),
  request_timeout: amount(30_000, 'Milliseconds in which a whole request must arrive.'),
  handler_timeout: amount(60_000, 'Milliseconds after which a request without a response gets 503; 0 means no limit.', orNoLimit),
  keep_alive_timeout: amount(72_000, 'Milliseconds for which an idle connection is kept.'),
  max_concurrent: amount(
    1000,
    'The maximum number of concurrent requests; further ones get 503, except for callers below their share.',
  ),
  busy_concurrent: amount(100, 'The maximum number of concurrent requests while the process or the database is overloaded.'),
  shutdown_timeout: amount(10_000, 'Milliseconds that a shutdown may take.'),
  cors: orNull(cors, null, 'Which pages of other origins may call the API from a browser; null means none.'),
  compress: optional(
    either(boolean(), compress),
    false,
    'Whether responses are compressed; needs the package @fastify/compress.',
  ),
  trust_proxy: optional(list(proxy), [], 'Proxies whose X-Forwarded-For is trusted; empty means none.'),
  rate_limit: orNull(rateLimit, null, 'How often a caller may send requests; null means no limit.'),
  idempotency: orNull(idempotency, {}, 'Requests with an Idempotency-Key run once; null means that such keys are ignored.'),
  require_if_match: optional(boolean(), false, 'Whether changes of entities with a version need If-Match; without it: 428.'),
  health: orNull(health, {}, 'Health checks; null turns both off.'),
  request_id: orNull(requestId, 'X-Request-Id', 'The header with the id of a request and of its response; null means none.'),
  log: optional(log, {}, 'What is logged.'),
  timing: optional(
    boolean(),
    false,
    'Whether responses have a Server-Timing header with the duration of each phase; never in production.',
  ),
  metrics: orNull(metrics, null, 'Metrics for Prometheus; null turns them off.'),
});

export const exports = object('exports', {
  at_once: amount(4, 'The maximum number of concurrent exports; further ones wait.', { max: 1000 }),
  stall_timeout: amount(
    30_000,
    'Milliseconds after which an export ends if the client reads nothing; 0 means no limit.',
    orNoLimit,
  ),
});

export const openapi = object('openapi', {
  enabled: orNull(
    boolean(),
    null,
    'Whether the OpenAPI document, the docs page and the greeting are served; null means outside production, if Declarest is the server.',
  ),
  title: orNull(words, null, 'The name of the application; null means that in package.json, else that of the directory.'),
  version: orNull(words, null, 'The version of the application; null means that in package.json, else 0.0.0.'),
  description: orNull(words, null, 'What the application is for: a text (Markdown); null means that in package.json.'),
  path: servedPath('/openapi.json', 'The path of the document; null means that neither it nor the docs page is served.'),
  docs: servedPath('/docs', 'The path of the docs page; null means that it is not served.'),
  greeting: optional(boolean(), true, 'Whether GET / shows a greeting, if the application has no route there.'),
});

const loginPage = text({
  expected: 'a path such as "/login" or a URL such as "https://example.org/login"',
  pattern: /^(?:https?:\/\/[^\s/?#\\]+|\/(?![/\\]))[^\s\\]*$/,
});

/** The mapping turns the explorer on. */
export const explorer = object('explorer', {
  login: orNull(loginPage, null, 'The login page of the application, which the explorer links to; null means none.'),
});
