import {
  anything,
  boolean,
  classOf,
  dependent,
  either,
  integer,
  list,
  map,
  nullable,
  object,
  optional,
  required,
  text,
} from './shape.ts';
import { logLevels } from './vocabulary.ts';

/** Algorithms whose tokens are checked with a shared secret. */
export const symmetric: readonly string[] = ['HS256', 'HS384', 'HS512'];
/** Algorithms whose tokens are checked with a public key. */
export const asymmetric: readonly string[] = 'RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA'.split(', ');

const longest = 2 ** 31 - 1;
export const role = text({ expected: 'the name of a role', pattern: /^\S+$/ });

export const words = text({ expected: 'a text', pattern: /\S/ });

const count = either(
  text({ values: ['exact', 'estimated'] }),
  object('count', { capped: required(integer(1, longest - 1), 10000, 'Items beyond this number are not counted.') }),
);

export const pagination = object('pagination', {
  items_per_page: optional(integer(1, longest), 50, 'Items on a page where the request does not say.'),
  max_items_per_page: optional(integer(1, longest), 200, 'The most items a request may ask for.'),
  max_offset: optional(
    integer(0, longest),
    0,
    'The most items that a page may be away from the first, unless a link leads to it; 0 means no limit.',
  ),
  count: optional(count, 'exact', 'How items are counted: exact, estimated, or { capped: 10000 }.'),
  max_or_depth: optional(integer(0, 5), 2, 'How deep groups of or[…] may be nested in a request; 0 refuses them.'),
  max_or_groups: optional(integer(1, 100), 10, 'The most groups of or[…] that a request may have.'),
});

const rateKeys = {
  limit: required(integer(1, longest), 600, 'The most requests of a caller in a window.'),
  window: optional(integer(1, 86_400), 60, 'Seconds of a window, which begins with the first request of a caller.'),
  by: optional(
    text({ values: ['user', 'address'] }),
    'user',
    'What a caller is told apart by; without a user it is the address.',
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

const plainPathPattern = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+)+$/;

export const database = object('database', {
  url: optional(
    text({
      expected: 'an address that begins with sqlite:, postgresql:// or postgres://',
      pattern: /^(?:sqlite:.+|postgres(?:ql)?:\/\/.+)$/,
      secret: true,
    }),
    'sqlite:var/app.db',
    'Where the data is: sqlite:<file>, sqlite::memory: or postgresql://…',
  ),
  schema: dependent(
    text({ values: ['update', 'none'] }),
    'update',
    'update on SQLite, none on PostgreSQL',
    'Whether tables are brought up to date at start (safe changes only).',
  ),
  pool: optional(integer(1, 10_000), 10, 'The most connections that are open at once.'),
  connect_timeout: optional(integer(1, longest), 5000, 'Milliseconds to wait for a connection, be it a new one or one in use.'),
  statement_timeout: optional(integer(0, longest), 30_000, 'Milliseconds a statement may take; 0 means no limit.'),
  prepared_statements: optional(
    boolean(),
    true,
    'Whether compiled reads and writes prepare their statements; false for poolers that cannot have them.',
  ),
});

const someText = text({ expected: 'a string', pattern: /^[\s\S]+$/ });

const jwt = object('jwt', {
  secret: optional(
    nullable(text({ expected: 'a string of 32 characters or more', pattern: /^[\s\S]{32,}$/, secret: true })),
    null,
    'The shared secret, 32 characters or more; null means the development key (never in production).',
  ),
  algorithm: optional(text<string>({ values: [...symmetric, ...asymmetric] }), 'HS256', 'The one algorithm that is accepted.'),
  issuer: optional(nullable(someText), null, 'What `iss` must be; null means that it is not checked.'),
  audience: optional(nullable(someText), null, 'What `aud` must contain; null means that it is not checked.'),
  jwks: optional(
    nullable(
      either(
        text({ expected: 'an address or a file', pattern: /^[\s\S]+$/ }),
        object('jwks', {
          keys: required(list(anything(), { min: 1, unique: false }), [], 'The public keys, each a JSON Web Key.'),
        }),
        { secret: true },
      ),
    ),
    null,
    'Public keys for an asymmetric algorithm: an address, a file, or the key set itself.',
  ),
});

const apiKey = object('api_key', {
  key: required(
    text({
      expected: 'a string of 16 characters or more, or sha256: and 64 hexadecimal digits',
      pattern: /^(?:sha256:[0-9A-Fa-f]{64}|(?!sha256:)[\s\S]{16,})$/,
      secret: true,
    }),
    'sha256:…',
    'The key, 16 characters or more, or sha256: and its hash in hexadecimal.',
  ),
  roles: optional(list(role), [], 'The roles of who calls with this key.'),
});

export const security = object('security', {
  require_role: optional(boolean(), false, 'Refuse to start while a route has no role.'),
  strategy: optional(
    text({ values: ['affirmative', 'consensus', 'unanimous', 'priority'] }),
    'affirmative',
    'How the votes on a role are combined.',
  ),
  role_hierarchy: optional(
    map(list(role), {
      example: { name: 'ROLE_ADMIN', value: '[ROLE_USER]', note: 'A role and those it includes.' },
      names: /^\S+$/,
      namesExpected: 'the name of a role has no spaces',
    }),
    {},
    'Roles that a role includes.',
  ),
  jwt: dependent(
    nullable(jwt),
    {},
    'the development key outside production where nothing else authenticates, else null',
    'Signed bearer tokens; null turns them off.',
  ),
  api_keys: optional(
    map(apiKey, { example: { name: 'reporting', note: 'A name of your choice.' } }),
    {},
    'Keys for programs, by a name of your choice.',
  ),
  authenticator: optional(
    nullable(classOf('authenticators')),
    null,
    'A class of your own; null means every class in src/authenticators.',
  ),
});

const servedPath = (value: string, doc: string) =>
  optional(nullable(text({ expected: `a path such as "${value}"`, pattern: plainPathPattern })), value, doc);

const health = object('health', {
  live: servedPath('/health/live', 'Where it is told that the process answers; null means nowhere.'),
  ready: servedPath('/health/ready', 'Where it is told that requests can be answered; null means nowhere.'),
});

/** Not one that has a meaning already: what came in it would be sent back. */
const requestIdHeader =
  /^(?!(?:authorization|proxy-.*|cookie|set-cookie|x-api-key|host|connection|transfer-encoding|content-.*|x-forwarded-.*)$)[A-Za-z][A-Za-z0-9-]{0,63}$/i;

const log = object('log', {
  level: optional(
    text({ values: logLevels }),
    'warn',
    'What is logged at least; info has a line for each request. LOG_LEVEL in the environment comes first.',
  ),
  redact: optional(
    list(text({ expected: 'a part of a name such as "session"', pattern: /^[\w.-]+$/ })),
    [],
    'Parts of the names of headers, keys and parameters whose values are not logged, beside those that are known.',
  ),
});

const idempotency = object('idempotency', {
  ttl: optional(integer(1, 2_592_000), 86_400, 'Seconds for which an answer is kept and given again.'),
  answer_limit: optional(integer(0, longest), 1_048_576, 'The most bytes of an answer that are kept.'),
});

const metrics = object('metrics', {
  path: optional(
    text({ expected: 'a path such as "/metrics"', pattern: plainPathPattern }),
    '/metrics',
    'Where the metrics are told.',
  ),
  role: optional(nullable(role), 'ROLE_METRICS', 'The role that is checked; null means that anybody may read them.'),
});

export const server = object('server', {
  host: optional(text({ expected: 'a host name or an address', pattern: /^[^\s/]+$/ }), '127.0.0.1', 'The address to listen on.'),
  port: optional(integer(0, 65_535), 3000, 'The port to listen on; 0 means any free one.'),
  base_url: optional(
    text({
      expected: 'empty, a path such as "/v1" or a URL such as "https://example.org/v1", without a slash at the end',
      pattern: /^(?:(?:https?:\/\/[^\s/?#]+)?(?:\/[^\s/?#]+)*)$/,
    }),
    '',
    'Put before every link and Location.',
  ),
  body_limit: optional(integer(1, longest), 1_048_576, 'The most bytes of a request body.'),
  json_depth: optional(integer(1, 10_000), 64, 'How deep lists and objects may be nested in a request body.'),
  url_limit: optional(integer(1, 65_536), 8192, 'The most characters of a URL.'),
  header_limit: optional(integer(1024, 1_048_576), 16_384, 'The most bytes of the headers of a request.'),
  max_parameters: optional(integer(1, longest), 100, 'The most query parameters of a request.'),
  parameter_limit: optional(integer(1, longest), 4096, 'The most characters of a query parameter, its name included.'),
  header_timeout: optional(integer(1, longest), 10_000, 'Milliseconds in which the headers of a request must arrive.'),
  request_timeout: optional(integer(1, longest), 30_000, 'Milliseconds in which a whole request must arrive.'),
  handler_timeout: optional(
    integer(0, longest),
    60_000,
    'Milliseconds after which a request that has no answer yet gets 503; 0 means no limit.',
  ),
  keep_alive_timeout: optional(integer(1, longest), 72_000, 'Milliseconds for which a connection is kept that asks nothing.'),
  max_concurrent: optional(integer(1, longest), 1000, 'The most requests at once; any more get 503.'),
  busy_concurrent: optional(
    integer(1, longest),
    100,
    'The most requests at once while the process or the database cannot keep up.',
  ),
  shutdown_timeout: optional(integer(1, longest), 10_000, 'Milliseconds in which the server has ended once it was asked to.'),
  trust_proxy: optional(
    list(
      text({
        expected: 'an address or a network such as "10.0.0.0/8", or one of: loopback, linklocal, uniquelocal',
        pattern: /^(?:loopback|linklocal|uniquelocal|[0-9A-Fa-f:.]+(?:\/\d{1,3})?)$/,
      }),
    ),
    [],
    'Proxies whose X-Forwarded-For is believed; empty means none.',
  ),
  rate_limit: optional(nullable(rateLimit), null, 'How often a caller may ask; null means without end.'),
  idempotency: optional(
    nullable(idempotency),
    {},
    'Requests with an Idempotency-Key, which are done once; null means that such keys are not looked at.',
  ),
  require_if_match: optional(
    boolean(),
    false,
    'Whether entities with a version are changed only by who sends If-Match; without it: 428.',
  ),
  health: optional(nullable(health), {}, 'Whether the server lives and is ready; null turns both off.'),
  request_id: optional(
    nullable(text({ expected: 'the name of a header such as "X-Request-Id"', pattern: requestIdHeader })),
    'X-Request-Id',
    'The header that a request brings its id in, and that every answer tells it in; null means none.',
  ),
  log: optional(log, {}, 'What is logged.'),
  timing: optional(boolean(), false, 'Whether answers tell in Server-Timing what their time was spent on; never in production.'),
  metrics: optional(nullable(metrics), null, 'Counts and times, as Prometheus reads them; null means that nothing is counted.'),
});

export const exports = object('exports', {
  at_once: optional(integer(1, 1000), 4, 'The most exports that run at once; others wait for their turn.'),
  stall_timeout: optional(
    integer(0, longest),
    30_000,
    'Milliseconds that a client may take nothing of an export before it is ended; 0 means no limit.',
  ),
});

export const openapi = object('openapi', {
  enabled: optional(
    nullable(boolean()),
    null,
    'Whether the OpenAPI document, the docs page and the greeting are served; null means outside production, where Declarest is the server.',
  ),
  title: optional(
    nullable(words),
    null,
    'What the application is called; null means the name in package.json, else that of the directory.',
  ),
  version: optional(nullable(words), null, 'The version of the application; null means that in package.json, else 0.0.0.'),
  description: optional(
    nullable(words),
    null,
    'What the application is for: a text (Markdown); null means that in package.json.',
  ),
  path: servedPath('/openapi.json', 'Where the document is served; null means nowhere, and then there is no docs page either.'),
  docs: servedPath('/docs', 'Where the docs page is served; null means nowhere.'),
  greeting: optional(boolean(), true, 'Whether GET / tells what there is, where the application has no route there.'),
});
