import { filterOperators } from '../filter-operators.ts';
import {
  boolean,
  classOf,
  dependent,
  described,
  either,
  entries,
  inherited,
  integer,
  type Key,
  list,
  literal,
  literals,
  type MadeBy,
  map,
  nullable,
  number,
  object,
  optional,
  orNull,
  required,
  text,
} from '../shape.ts';
import { aggregateFunctions, type HttpMethod, httpMethods, knownFormats, parameterTypes, searchMethods } from '../vocabulary.ts';
import { bulk, nested } from './bulk-schema.ts';
import {
  apiRateLimit,
  database,
  explorer,
  exports,
  openapi,
  pagination,
  paginationKeys,
  role,
  security,
  server,
  words,
} from './settings-schema.ts';

/** The service that makes the routes of all APIs, and the entry of config/routes.yaml that calls it. */
export const crudLoader = { entry: 'app_cruds', service: 'app_main_crud_route_loader', method: 'load' } as const;

const fieldPattern = /^[^\s.,[\]&=?#%-][^\s.,[\]&=?#%]*(?:\.[^\s.,[\]&=?#%]+)*$/;
const field = text({ expected: 'a field such as "name" or "center.name"', pattern: fieldPattern });

const filters = map(list(text({ values: filterOperators }), { min: 1 }), {
  example: { name: 'lastName', value: '[eq, contains]', note: 'A field by its name in JSON, with the allowed operators.' },
  names: fieldPattern,
  namesExpected: 'a filter is named by a field such as "name" or "center.name"',
});
const searchDoc = 'How PostgreSQL searches; trigram and fulltext use an index, which is created together with the tables.';
const search = either(
  list(field),
  object('search', {
    fields: required(list(field, { min: 1 }), ['lastName'], 'The fields to search in.'),
    using: optional(text({ values: searchMethods }), 'like', searchDoc),
  }),
);
const segments = text({
  expected: 'one or more URL segments such as "history" or "history/recent"',
  pattern: /^(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+)*$/,
  explain: explainSegment,
});

const aggregate = object('aggregate', {
  by: optional(list(field), [], 'Fields that rows can be grouped by; a date or time also by year, month or day: bornAt:month.'),
  of: optional(
    map(list(text({ values: aggregateFunctions }), { min: 1 }), {
      example: { name: 'amount', value: '[sum, avg]', note: 'A field by its name in JSON, with the allowed functions.' },
      names: fieldPattern,
      namesExpected: 'an aggregate is named by a field such as "amount" or "center.budget"',
    }),
    {},
    'Fields that can be aggregated, each with the functions that are allowed: sum, avg, min, max.',
  ),
  max_groups: optional(integer(1, 100_000), 1000, 'The most groups in a response; further groups are on the next pages.'),
  path: optional(segments, 'aggregate', 'The path segments after that of the list.'),
});
const sortKey = text({
  expected: 'a property such as "name", "-name" or "center.name"',
  pattern: /^-?[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*$/,
});

const listKeys = {
  filters: optional(filters, {}, 'Fields that a list can be filtered by, each with the operators that are allowed.'),
  sort: optional(list(field), [], 'Fields that a request may sort a list by.'),
  default_sort: optional(
    list(sortKey),
    [],
    'Properties to order a list by, with a dash before those in descending order; empty means the primary key.',
  ),
  search: optional(search, [], 'Fields that ?q= searches in: a list, or { fields, using }.'),
  aggregate: orNull(aggregate, null, 'Counts, sums and other aggregates of the rows of _index, by groups; null means none.'),
};

/** The same key for each HTTP method. */
function perMethod<K extends Key>(key: (method: HttpMethod) => K): Readonly<Record<HttpMethod, K>> {
  return Object.fromEntries(httpMethods.map((method) => [method, key(method)])) as Record<HttpMethod, K>;
}

const enabled = (method: HttpMethod) => optional(boolean(), false, `Whether ${method} is enabled.`);
const methods = object('methods', perMethod(enabled));
const roles = object('roles', {
  ...perMethod((method) => orNull(role, null, `The role checked on ${method}.`)),
  HEAD: dependent(nullable(role), null, 'that of GET', 'The role checked on HEAD; null leaves only base_role.'),
});
const description = (method: HttpMethod) => orNull(words, null, `What ${method} does.`);
const descriptions = object('descriptions', perMethod(description));

const identifier = /^[A-Za-z_$][\w$]*$/;
const operationId = text({ expected: 'an identifier such as "publishCourse"', pattern: /^[A-Za-z_]\w*$/ });
const operationIdOf = (method: HttpMethod) => orNull(operationId, null, `The operation id of ${method}.`);
const operationIds = object('operation_ids', perMethod(operationIdOf));

const association = object('association', {
  property: required(
    text({ expected: 'the name of a property', pattern: identifier }),
    'participants',
    'The to-many property that POST adds to and DELETE removes from.',
  ),
  types: optional(list(classOf('models')), [], "Classes an item may have; empty means the association's own target."),
});

const group = text({ expected: 'the name of a group', pattern: /^\S+$/ });
const groupKeys = (read: string, write: string) => ({
  read: dependent(list(group, { min: 1 }), ['read'], read, 'The groups of the fields in responses.'),
  write: dependent(list(group, { min: 1 }), ['write'], write, 'The groups of the fields that request bodies may contain.'),
});
const boundGroup = object('group', {
  role: required(role, 'PERSON_MEDICAL', 'The role a caller needs: otherwise fields of the group do not exist for the caller.'),
});

const formats = list(text({ values: knownFormats }), { min: 1 });
const hiddenDoc = 'Whether it is hidden from the OpenAPI document and everything generated from it.';

const requirements = either(
  map(text({ expected: 'a regular expression' }), {
    example: { name: 'id', value: '\\d+', note: 'A placeholder of the path.' },
  }),
  list(text<never>(), { max: 0 }),
);

export const parameter = object('parameter', {
  type: optional(text({ values: parameterTypes }), 'string', 'What a value must be.'),
  list: optional(boolean(), false, 'Whether it holds several values, separated by commas.'),
  required: optional(boolean(), false, 'Whether requests without it are rejected.'),
  default: orNull(literals(), null, 'The value for requests without it; a list if it holds several; null means none.'),
  enum: optional(list(literal()), [], 'The allowed values; empty means all.'),
  minimum: orNull(number(), null, 'The smallest integer or number.'),
  maximum: orNull(number(), null, 'The largest integer or number.'),
  pattern: orNull(
    text({ expected: 'a regular expression', pattern: /./ }),
    null,
    'A regular expression that a whole string must match; such strings have at most 100 characters.',
  ),
  description: orNull(words, null, 'What it is for, for the OpenAPI document: a text (Markdown).'),
});
const parameters = map(parameter, {
  example: { name: 'season', note: 'The name of a query parameter.' },
  names: /^[A-Za-z][A-Za-z0-9_-]*$/,
  namesExpected: 'the name of a query parameter begins with a letter and has letters, digits, underscores and dashes',
});

export const action = object('action', {
  methods: dependent(
    methods,
    { GET: true, HEAD: true },
    'GET and HEAD on _index and _entity, POST and DELETE on an association',
    'The HTTP methods that are enabled; when written, exactly those set to true.',
  ),
  roles: optional(roles, {}, 'The role checked for a method, together with base_role.'),
  controller_action: orNull(
    text({ expected: 'the name of a method', pattern: identifier }),
    null,
    'The controller method that handles the action; null means <action>Api, or the default behaviour of _index and _entity.',
  ),
  path: orNull(segments, null, 'The path segment of the action; null means its name, and nothing for _index and _entity.'),
  requirements: optional(
    requirements,
    {},
    'Regular expressions for id, the placeholders of base_path, and _format; empty means that id is digits.',
  ),
  'single-collection': dependent(
    text({ values: ['single', 'collection'] }),
    'collection',
    'collection for _index, else single',
    'Whether the path contains the id of an entity.',
  ),
  repeatable: orNull(
    boolean(),
    null,
    'Whether Declarest retries a request after a deadlock, a serialization failure or a concurrent change of its row; null means that only default actions and declared associations are retried.',
  ),
  validation_groups: optional(
    list(text({ expected: 'the name of a group' })),
    [],
    'The groups of constraints that apply to this action, besides those without groups.',
  ),
  bulk: orNull(bulk, null, 'Lists of rows in one request, on _index only; null means that bodies are single objects.'),
  association: orNull(association, null, 'Adds to and removes from a to-many property without a controller.'),
  parameters: optional(parameters, {}, 'Query parameters of this action; their values are in request.parameters.'),
  ...inherited(listKeys, 'that of the API'),
  ...inherited({ filters: listKeys.filters }, 'those of the API'),
  groups: optional(
    object('action_groups', groupKeys('those of the API', 'those of the API')),
    {},
    'The serialization groups of this action.',
  ),
  formats: dependent(formats, ['json'], 'those of the API', 'The formats of responses of this action.'),
  description: orNull(
    either(words, descriptions),
    null,
    'What the action does, for the OpenAPI document: a text (Markdown), or one for each method.',
  ),
  operation_id: orNull(
    either(operationId, operationIds),
    null,
    'The operation id in the OpenAPI document: a text, or one for each method; null means a name such as listPersons.',
  ),
  hidden: dependent(boolean(), false, 'that of the API', hiddenDoc),
  body: orNull(
    described('reference'),
    null,
    'The request body of a handler, which Declarest validates: a model (as for POST on its list), { reference: <model> }, a JSON Schema, or in code a Standard Schema.',
  ),
  result: orNull(
    described('list', 'collection'),
    null,
    'What a handler returns: a model, { list: <model> }, { collection: <model> }, a JSON Schema, or in code a Standard Schema.',
  ),
});

const apiName = text({
  expected: 'a name of letters, digits and underscores that does not start with a digit',
  pattern: /^[A-Za-z_][A-Za-z0-9_]*$/,
});
const basePath = text({
  expected: 'a path such as "/api/person"',
  pattern: /^(?:\/(?:(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+|\{(?!(?:id|_format)\})[A-Za-z_]\w*\}))+$/,
  explain: explainBasePath,
});
const actions = map(action, {
  min: 1,
  example: { name: '_index', note: 'The name of an action.', active: true },
  // an object in code cannot have a key of that name
  names: /^(?!__proto__$)[A-Za-z_][A-Za-z0-9_-]*$/,
  namesExpected: 'the name of an action begins with a letter or an underscore and has letters, digits, underscores and dashes',
});

export const api = object('api', {
  class: required(classOf('models'), 'Person', 'The model: its name, or src/models/person#Person.'),
  name: dependent(
    apiName,
    'person',
    'the key in a mapping; required in a list',
    'The name of the API, used in the names of its routes.',
  ),
  base_path: required(basePath, '/api/person', 'What the paths of all routes begin with; may contain {placeholders}.'),
  controller: orNull(classOf('controllers'), null, 'A controller of your own; null means the default one.'),
  base_role: orNull(role, null, 'The role checked for every action.'),
  pagination: optional(object('api_pagination', inherited(paginationKeys, 'app_main.pagination')), {}, 'Paging of this API.'),
  rate_limit: dependent(
    nullable(apiRateLimit),
    null,
    'app_main.server.rate_limit',
    'How often a caller may send requests to this API; null means no limit.',
  ),
  require_if_match: dependent(
    boolean(),
    false,
    'app_main.server.require_if_match',
    'Whether changes of entities of this API with a version need If-Match.',
  ),
  groups: optional(object('groups', groupKeys('read', 'write')), {}, 'The serialization groups of this API.'),
  formats: dependent(formats, ['json'], 'app_main.formats', 'The formats of responses of this API.'),
  nested: optional(nested, {}, 'To-many associations whose rows POST creates together with their owner, by their names in JSON.'),
  ...listKeys,
  description: orNull(words, null, 'What the API is for, for the OpenAPI document: a text (Markdown).'),
  hidden: optional(boolean(), false, hiddenDoc),
  actions: required(actions, undefined, 'The enabled actions: _index, _entity, and any further name for a custom one.'),
});

/** Everything under `app_main`. */
export const appMain = object('app_main', {
  apis: optional(
    either(map(api, { example: { name: 'person', note: 'A key of your choice.', active: true } }), entries(api)),
    {},
    'The APIs: a mapping by a key of your choice, or a list.',
  ),
  groups: optional(
    map(boundGroup, {
      example: { name: 'read:medical', note: 'A serialization group of the models.' },
      names: /^\S+$/,
      namesExpected: 'the name of a group has no spaces',
    }),
    {},
    'Groups that apply only to callers with a role. Other groups apply to all callers with access to the action.',
  ),
  database: optional(database, {}, 'The database.'),
  orm: orNull(
    text({ expected: 'the path of a module such as "mikro-orm.config.ts"', pattern: /\.[cm]?[jt]s$/ }),
    null,
    'The configuration of an existing MikroORM application, used instead of database.url; null means none.',
  ),
  security: optional(security, {}, 'Authentication and access.'),
  pagination: optional(pagination, {}, 'Paging of all APIs, unless an API overrides it.'),
  server: optional(server, {}, 'The HTTP server.'),
  formats: optional(formats, ['json'], 'The formats of responses.'),
  exports: optional(exports, {}, 'Exports: complete lists as CSV or NDJSON.'),
  openapi: optional(openapi, {}, 'The OpenAPI document and its pages.'),
  explorer: orNull(
    either(boolean(), explorer),
    null,
    'Whether /explorer shows the data in a browser; null means wherever the docs page is served.',
  ),
});

const resource = text({
  expected: 'a service and its method such as "app_main_crud_route_loader:load"',
  pattern: /^[^\s:]+:[A-Za-z_$][\w$]*$/,
});

const routeEntry = object('route', {
  resource: required(resource, `${crudLoader.service}:${crudLoader.method}`, 'The service that creates routes, and its method.'),
  type: required(text({ values: ['service'] }), 'service', 'Always service.'),
  prefix: orNull(basePath, null, 'What the paths of all its routes begin with, before base_path; may contain {placeholders}.'),
});

/** The route entries at the root of config/routes.yaml. */
export const routes = map(routeEntry, { example: { name: crudLoader.entry, note: 'Required: loads the routes of all APIs.' } });

/**
 * Its key in a configuration file, and in a `when@…` block.
 *
 * @internal
 */
export const appMainKeys = {
  root: optional(appMain, {}, 'The declaration.'),
  block: optional(appMain, {}, 'Overrides app_main in this environment.'),
};

/**
 * The keys of a `when@…` block, besides route entries.
 *
 * @internal
 */
export const block = object('when', { app_main: appMainKeys.block });
const over = (when: string) => optional(block, {}, `Overrides everything else ${when}.`);

/**
 * The root of a configuration file; config/routes.yaml has route entries besides these keys.
 *
 * @internal
 */
export const root = object('root', {
  app_main: appMainKeys.root,
  'when@dev': over('when NODE_ENV=development, and if it is not set'),
  'when@test': over('when NODE_ENV=test'),
  'when@prod': over('when NODE_ENV=production'),
});

type EntryOf<T> = T extends readonly (infer E extends { readonly value: unknown })[] ? E['value'] : never;

/** The result of the checker for `app_main`, before rules across keys are checked. */
export type WrittenAppMain = MadeBy<typeof appMain>;
export type WrittenApi = EntryOf<WrittenAppMain['apis']>;
export type WrittenAction = EntryOf<NonNullable<WrittenApi['actions']>>;
export type WrittenRoutes = MadeBy<typeof routes>;

function explainBasePath(value: string): string | null {
  if (!value.startsWith('/')) return 'begin it with a slash';
  if (/[?#]/.test(value)) return 'remove the query or fragment';
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
