import { filterOperators } from './filter-operators.ts';
import {
  anything,
  boolean,
  classOf,
  dependent,
  described,
  either,
  entries,
  integer,
  type Key,
  list,
  map,
  nullable,
  object,
  optional,
  required,
  text,
} from './shape.ts';
import { type HttpMethod, httpMethods, knownFormats, logLevels, searchMethods } from './types.ts';

/** The service that makes the routes of all APIs, and the entry of config/routes.yaml that calls it. */
export const crudLoader = { entry: 'app_cruds', service: 'app_main_crud_route_loader', method: 'load' } as const;

const symmetric = ['HS256', 'HS384', 'HS512'] as const;
const asymmetric = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'] as const;

/** Whether tokens of this algorithm are checked with a shared secret. */
export function isSymmetric(algorithm: string): boolean {
  return (symmetric as readonly string[]).includes(algorithm);
}

const longest = 2 ** 31 - 1;
const role = text({ expected: 'the name of a role', pattern: /^\S+$/ });

const count = either(
  text({ values: ['exact', 'estimated'] }),
  object('count', { capped: required(integer(1, longest - 1), 10000, 'Items beyond this number are not counted.') }),
);
const countDoc = 'How items are counted: exact, estimated, or { capped: 10000 }.';

const orDepthDoc = 'How deep groups of or[…] may be nested in a request; 0 refuses them.';
const orGroupsDoc = 'The most groups of or[…] that a request may have.';
const maxOffsetDoc = 'The most items that a page may be away from the first, unless a link leads to it; 0 means no limit.';

const pagination = object('pagination', {
  items_per_page: optional(integer(1, longest), 50, 'Items on a page where the request does not say.'),
  max_items_per_page: optional(integer(1, longest), 200, 'The most items a request may ask for.'),
  max_offset: optional(integer(0, longest), 0, maxOffsetDoc),
  count: optional(count, 'exact', countDoc),
  max_or_depth: optional(integer(0, 5), 2, orDepthDoc),
  max_or_groups: optional(integer(1, 100), 10, orGroupsDoc),
});

const apiPagination = object('api_pagination', {
  items_per_page: dependent(integer(1, longest), 50, 'app_main.pagination', 'Items on a page where the request does not say.'),
  max_items_per_page: dependent(integer(1, longest), 200, 'app_main.pagination', 'The most items a request may ask for.'),
  max_offset: dependent(integer(0, longest), 0, 'app_main.pagination', maxOffsetDoc),
  count: dependent(count, 'exact', 'app_main.pagination', countDoc),
  max_or_depth: dependent(integer(0, 5), 2, 'app_main.pagination', orDepthDoc),
  max_or_groups: dependent(integer(1, 100), 10, 'app_main.pagination', orGroupsDoc),
});

const fieldPattern = /^[^\s.,[\]&=?#%-][^\s.,[\]&=?#%]*(?:\.[^\s.,[\]&=?#%]+)*$/;
const field = text({ expected: 'a field such as "name" or "center.name"', pattern: fieldPattern });

const filters = map(list(text({ values: filterOperators }), { min: 1 }), {
  example: { name: 'lastName', value: '[eq, contains]', note: 'A field as JSON has it, and how it may be compared.' },
  names: fieldPattern,
  namesExpected: 'a filter is named by a field such as "name" or "center.name"',
});
const search = either(
  list(field),
  object('search', {
    fields: required(list(field, { min: 1 }), ['lastName'], 'The fields to search in.'),
    using: optional(
      text({ values: searchMethods }),
      'like',
      'What PostgreSQL searches with; trigram and fulltext have an index, made together with the tables.',
    ),
  }),
);
const sortKeys = list(
  text({
    expected: 'a property such as "name", "-name" or "center.name"',
    pattern: /^-?[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*$/,
  }),
);

const listDocs = {
  filters: 'Fields that a list can be filtered by, each with the operators that are allowed.',
  sort: 'Fields that a request may sort a list by.',
  search: 'Fields that ?q= searches in: a list, or { fields, using }.',
  default_sort: 'Properties to order a list by, with a dash before those in descending order; empty means the primary key.',
};

/** The same key for each HTTP method. */
function perMethod<T>(key: (method: HttpMethod) => Key<T>): Record<HttpMethod, Key<T>> {
  return Object.fromEntries(httpMethods.map((method) => [method, key(method)])) as Record<HttpMethod, Key<T>>;
}

const methods = object(
  'methods',
  perMethod((method) => optional(boolean(), false, `Whether ${method} is enabled.`)),
);
const roles = object(
  'roles',
  perMethod((method) => optional(nullable(role), null, `The role checked on ${method}.`)),
);

const association = object('association', {
  property: required(
    text({ expected: 'the name of a property', pattern: /^[A-Za-z_$][\w$]*$/ }),
    'participants',
    'The to-many property that POST adds to and DELETE removes from.',
  ),
  types: optional(list(classOf('models')), [], "Classes an item may have; empty means the association's own target."),
});

const formats = list(text({ values: knownFormats }), { min: 1 });

const words = text({ expected: 'a text', pattern: /\S/ });
const hiddenDoc = 'Whether it is left out of the OpenAPI document, and of all that is made from it.';
const descriptions = object(
  'descriptions',
  perMethod((method) => optional(nullable(words), null, `What ${method} does.`)),
);

const segmentPattern = /^(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+)*$/;

const action = object('action', {
  methods: dependent(
    methods,
    { GET: true, HEAD: true },
    'GET and HEAD on _index and _entity, POST and DELETE on an association',
    'The HTTP methods that are enabled; when written, exactly those set to true.',
  ),
  roles: optional(roles, {}, 'The role checked for a method, together with base_role.'),
  controller_action: optional(
    nullable(text({ expected: 'the name of a method', pattern: /^[A-Za-z_$][\w$]*$/ })),
    null,
    'The controller method that handles the action; null means <action>Api, or the default behaviour of _index and _entity.',
  ),
  path: optional(
    nullable(
      text({
        expected: 'one or more URL segments such as "history" or "history/recent"',
        pattern: segmentPattern,
        explain: explainSegment,
      }),
    ),
    null,
    'The path segment of the action; null means its name, and nothing for _index and _entity.',
  ),
  requirements: optional(
    either(
      map(text({ expected: 'a regular expression' }), {
        example: { name: 'id', value: '\\d+', note: 'A placeholder of the path.' },
      }),
      list(text(), { max: 0 }),
    ),
    {},
    'Regular expressions for id and the placeholders of base_path; empty means that id is digits.',
  ),
  'single-collection': dependent(
    text({ values: ['single', 'collection'] }),
    'collection',
    'collection for _index, else single',
    'Whether the path contains the id of an entity.',
  ),
  repeatable: optional(
    nullable(boolean()),
    null,
    'Whether Declarest retries a request after a deadlock, a serialization failure or a concurrent change of its row; null means that only default actions and declared associations are retried.',
  ),
  association: optional(nullable(association), null, 'Adds to and removes from a to-many property without a controller.'),
  filters: dependent(filters, undefined, 'those of the API', listDocs.filters),
  sort: dependent(list(field), [], 'that of the API', listDocs.sort),
  default_sort: dependent(sortKeys, [], 'that of the API', listDocs.default_sort),
  search: dependent(search, [], 'that of the API', listDocs.search),
  formats: dependent(formats, ['json'], 'those of the API', 'The formats of responses of this action.'),
  description: optional(
    nullable(either(words, descriptions)),
    null,
    'What the action does, for the OpenAPI document: a text (Markdown), or one for each method.',
  ),
  hidden: dependent(boolean(), false, 'that of the API', hiddenDoc),
  body: optional(
    nullable(described('reference')),
    null,
    'What a handler takes: a model (as POST on its list does), { reference: <model> }, a JSON Schema, or in code a Standard Schema. Held to.',
  ),
  result: optional(
    nullable(described('list', 'collection')),
    null,
    'What a handler gives: a model, { list: <model> }, { collection: <model> }, a JSON Schema, or in code a Standard Schema.',
  ),
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
const apiRateLimit = object('api_rate_limit', rateKeys);
const rateLimit = object('rate_limit', {
  ...rateKeys,
  store: optional(
    text({ values: ['memory', 'database'] }),
    'memory',
    'Where requests are counted: in each process, or in the database for all of them together.',
  ),
});

const basePathPattern = /^(?:\/(?:(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+|\{(?!(?:id|_format)\})[A-Za-z_]\w*\}))+$/;

const plainPathPattern = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+)+$/;

/** The names of the actions whose behaviour is supplied. */
export const defaultActions = ['_index', '_entity'] as const;

const api = object('api', {
  class: required(classOf('models'), 'Person', 'The model: its name, or src/models/person#Person.'),
  name: dependent(
    text({
      expected: 'a name of letters, digits and underscores that does not start with a digit',
      pattern: /^[A-Za-z_][A-Za-z0-9_]*$/,
    }),
    'person',
    'the key in a mapping; required in a list',
    'The name of the API, used in the names of its routes.',
  ),
  base_path: required(
    text({ expected: 'a path such as "/api/person"', pattern: basePathPattern, explain: explainBasePath }),
    '/api/person',
    'What the paths of all routes begin with; may contain {placeholders}.',
  ),
  controller: optional(nullable(classOf('controllers')), null, 'A controller of your own; null means the default one.'),
  base_role: optional(nullable(role), null, 'The role checked for every action.'),
  pagination: optional(apiPagination, {}, 'Paging of this API.'),
  rate_limit: dependent(
    nullable(apiRateLimit),
    null,
    'app_main.server.rate_limit',
    'How often a caller may ask for something of this API; null means without end.',
  ),
  require_if_match: dependent(
    boolean(),
    false,
    'app_main.server.require_if_match',
    'Whether entities of this API with a version are changed only by who sends If-Match.',
  ),
  formats: dependent(formats, ['json'], 'app_main.formats', 'The formats of responses of this API.'),
  filters: optional(filters, {}, listDocs.filters),
  sort: optional(list(field), [], listDocs.sort),
  default_sort: optional(sortKeys, [], listDocs.default_sort),
  search: optional(search, [], listDocs.search),
  description: optional(nullable(words), null, 'What the API is for, for the OpenAPI document: a text (Markdown).'),
  hidden: optional(boolean(), false, hiddenDoc),
  actions: required(
    map(action, {
      min: 1,
      example: { name: '_index', note: 'The name of an action.', active: true },
      names: /^(?:_index|_entity|[A-Za-z][A-Za-z0-9_-]*)$/,
      namesExpected:
        'the default actions are _index and _entity; the name of a custom action begins with a letter and has letters, digits, underscores and dashes',
      nearNames: defaultActions,
    }),
    undefined,
    'The enabled actions: _index, _entity, and any further name for a custom one.',
  ),
});

const database = object('database', {
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

const jwt = object('jwt', {
  secret: optional(
    nullable(text({ expected: 'a string of 32 characters or more', pattern: /^[\s\S]{32,}$/, secret: true })),
    null,
    'The shared secret, 32 characters or more; null means the development key (never in production).',
  ),
  algorithm: optional(text({ values: [...symmetric, ...asymmetric] }), 'HS256', 'The one algorithm that is accepted.'),
  issuer: optional(
    nullable(text({ expected: 'a string', pattern: /^[\s\S]+$/ })),
    null,
    'What `iss` must be; null means that it is not checked.',
  ),
  audience: optional(
    nullable(text({ expected: 'a string', pattern: /^[\s\S]+$/ })),
    null,
    'What `aud` must contain; null means that it is not checked.',
  ),
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

const security = object('security', {
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

const server = object('server', {
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

const exports = object('exports', {
  at_once: optional(integer(1, 1000), 4, 'The most exports that run at once; others wait for their turn.'),
  stall_timeout: optional(
    integer(0, longest),
    30_000,
    'Milliseconds that a client may take nothing of an export before it is ended; 0 means no limit.',
  ),
});

const openapi = object('openapi', {
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

/** Everything under `app_main`. */
export const appMain = object('app_main', {
  apis: optional(
    either(map(api, { example: { name: 'person', note: 'A key of your choice.', active: true } }), entries(api)),
    {},
    'The APIs: a mapping by a key of your choice, or a list.',
  ),
  database: optional(database, {}, 'The database.'),
  security: optional(security, {}, 'Who may call.'),
  pagination: optional(pagination, {}, 'Paging of all APIs that do not say otherwise.'),
  server: optional(server, {}, 'The HTTP server.'),
  formats: optional(formats, ['json'], 'The formats of responses.'),
  exports: optional(exports, {}, 'Lists as CSV and NDJSON, which are sent whole.'),
  openapi: optional(openapi, {}, 'What the application tells of itself.'),
});

const routeEntry = object('route', {
  resource: required(
    text({
      expected: 'a service and its method such as "app_main_crud_route_loader:load"',
      pattern: /^[^\s:]+:[A-Za-z_$][\w$]*$/,
    }),
    `${crudLoader.service}:${crudLoader.method}`,
    'The service that makes routes, and its method.',
  ),
  type: required(text({ values: ['service'] }), 'service', 'Always service.'),
});

/** The route entries at the root of config/routes.yaml. */
export const routes = map(routeEntry, { example: { name: crudLoader.entry, note: 'Required: loads the routes of all APIs.' } });

/** What a `when@…` block holds, beside route entries. */
export const block = object('when', { app_main: optional(appMain, {}, 'Put over app_main in this environment.') });
const whenNames = { dev: 'unless NODE_ENV says otherwise', test: 'when NODE_ENV=test', prod: 'when NODE_ENV=production' };

/** The root of a configuration file; in config/routes.yaml there are route entries beside these keys. */
export const root = object('root', {
  app_main: optional(appMain, {}, 'The declaration.'),
  'when@dev': optional(block, {}, `Put over everything else ${whenNames.dev}.`),
  'when@test': optional(block, {}, `Put over everything else ${whenNames.test}.`),
  'when@prod': optional(block, {}, `Put over everything else ${whenNames.prod}.`),
});

type MadeBy<S> = S extends { readonly made?: () => infer T } ? T : never;
type EntryOf<T> = T extends readonly (infer E extends { readonly value: unknown })[] ? E['value'] : never;

/** What the checker makes of `app_main`, before the rules across keys. */
export type WrittenAppMain = MadeBy<typeof appMain>;
export type WrittenApi = EntryOf<WrittenAppMain['apis']>;
export type WrittenAction = EntryOf<NonNullable<WrittenApi['actions']>>;
export type WrittenRoutes = MadeBy<typeof routes>;

function explainBasePath(value: string): string | null {
  if (!value.startsWith('/')) return 'begin it with a slash';
  if (/[?#]/.test(value)) return 'a query or fragment does not belong in it';
  if (value.endsWith('/')) return 'leave out the slash at the end';
  if (value.includes('//')) return 'it has an empty segment';
  const reserved = /\{(id|_format)\}/.exec(value);
  if (reserved) return `the placeholder {${reserved[1]}} is reserved; choose another name`;
  return 'a segment has letters, digits and "-._~", or is a {placeholder}';
}

function explainSegment(value: string): string | null {
  if (value.startsWith('/')) return 'leave out the slash at the beginning';
  if (value.endsWith('/')) return 'leave out the slash at the end';
  if (/[{}]/.test(value)) return 'placeholders are allowed in base_path only';
  return null;
}
