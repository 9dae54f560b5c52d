import type { EntityManager } from '@mikro-orm/core';
import type { User } from '../../access/user.ts';
import {
  type Application,
  type ApplicationOptions,
  type CodeOptions,
  type DirectoryOptions,
  loadApplication,
} from '../../application.ts';
import { type HttpMethod, httpMethods } from '../../declaration/types.ts';
import { readGroups } from '../../model/groups.ts';
import type { Identifier } from '../../model/identifier.ts';
import { explainMatch } from '../../route/explain-match.ts';
import { idSegment } from '../../route/location.ts';
import type { RouteRecord } from '../../route/record.ts';
import { type AccessMatrix, accessMatrix, type RouteAccess } from '../compare/matrix.ts';
import { suiteCoverage } from './suite-coverage.ts';
import { leaksOf, type Shape, shapeOfPaths, shapeOfRoute, shapesOfModels } from './suite-fields.ts';
import { deniedQueries, type Grants, grantedFields, isOfList, missingFields } from './suite-groups.ts';
import type { Judgement, RowIds } from './suite-judge.ts';
import { type SuiteDatabase, type SuiteServer, suiteServer } from './suite-server.ts';
import { type TestRequest, type TestResponse, type TestUser, tokenFor } from './test-client.ts';

export type { SuiteDatabase };

/** The application of an access suite, on disk or in code, and test data that its declaration does not have. */
export type AccessSuiteOptions = (Omit<DirectoryOptions, 'databaseUrl'> | Omit<CodeOptions, 'databaseUrl'>) & {
  /** `test` of your test runner. */
  readonly test: (title: string, run: () => Promise<void>) => unknown;
  /** `afterAll` of your test runner; `after` for that of Node. */
  readonly afterAll: (run: () => Promise<void>) => unknown;
  /** Users that your voters know, by a name for the titles of tests. */
  readonly actors?: Readonly<Record<string, TestUser>>;
  /** The id of the users that the suite generates. Default: 0. */
  readonly userId?: string | number;
  /** The credentials of a user, if the application does not accept tokens that it can sign. */
  readonly headersFor?: (user: TestUser) => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>;
  /** Creates an empty database. Default: SQLite in memory. */
  readonly database?: () => SuiteDatabase | Promise<SuiteDatabase>;
  /** Adds rows to a new database, after the seed of the application. */
  readonly prepare?: (em: EntityManager) => unknown;
  /** The values of placeholders in paths, except the `id` of a row, and of required query parameters. */
  readonly parameters?: Readonly<Record<string, string>>;
  /** The ids in paths if a controller's `getEntity` accepts other values than keys, by API: `boat: (boat: Boat) => boat.slug`. */
  readonly ids?: RowIds;
  /** Request bodies, by method and route: `'POST app_api_single_note__index': { title: 'Milk' }`. Default: an empty object. */
  readonly bodies?: Readonly<Record<string, unknown>>;
  /** Keys that a custom handler may respond with besides the fields of models, by route: `app_status: ['status', 'by.name']`. */
  readonly fields?: Readonly<Record<string, readonly string[]>>;
  /** Roles that your voters decide by the user alone, for every row. */
  readonly sameForEveryRow?: readonly string[];
  /** Routes whose roles every caller has, by method: `['GET app_api_single_note__index']`. */
  readonly neverRefused?: readonly string[];
};

/**
 * Registers access tests that follow from the declaration. Each method of each route is called without a credential, by a user
 * with each role alone, by one with all roles, and by the given actors. It must respond as the access matrix says, with no field
 * outside its groups.
 *
 * @example
 * await accessSuite({ directory: join(import.meta.dirname, '..'), test, afterAll });
 */
export async function accessSuite(options: AccessSuiteOptions): Promise<void> {
  const application = await loadOn('sqlite::memory:', options);
  const matrix = accessMatrix(application);
  const server = suiteServer((url, onStatement) => loadOn(url, { ...options, onStatement }), options.database, options.ids);
  const actors = actorsOf(matrix, options.actors ?? {}, options.userId ?? 0);
  const coverage = suiteCoverage(actors.length, options);
  const suite = { application, coverage, options, server, models: modelShapes(application), tokens: new Map() };
  // test runners may run tests concurrently; the writes of one must not affect another
  let turn: Promise<unknown> = Promise.resolve();
  const test = (title: string, work: () => Promise<void>) =>
    options.test(title, () => {
      const done = turn.then(work, work);
      turn = done.catch(() => undefined);
      return done;
    });

  options.afterAll(async () => {
    await turn;
    await server.close();
    await application.mapper.close();
  });
  for (const route of matrix.routes) {
    const subject = subjectOf(route, matrix.routes, application.records);
    for (const actor of actors) test(`${route.method} ${route.path} as ${actor.title}`, () => checkRoute(suite, subject, actor));
  }
  for (const { method, record } of disabledMethods(application.records))
    test(`${method} ${record.path} is not enabled`, () => checkDisabled(suite, actors, method, record));
  test('every route with roles was granted to one caller and denied to another', async () => coverage.checkRoutes(matrix.routes));
  test('voters with a subject decide differently for different rows', async () => coverage.checkVoters());
}

async function loadOn(databaseUrl: string, { prepare, ...options }: AccessSuiteOptions): Promise<Application> {
  const application = await loadApplication({ ...options, databaseUrl } as ApplicationOptions);
  if (!prepare) return application;
  const seed = async (em: EntityManager) => {
    await application.seed?.(em);
    await em.flush();
    await prepare(em);
    await em.flush();
  };
  return { ...application, seed };
}

/** A method of a route, with its expected roles and fields. */
type Subject = ReturnType<typeof subjectOf>;

/** A caller: the user as the application sees it, or null without a credential. */
interface Actor {
  readonly title: string;
  readonly caller: TestUser | null;
  readonly user: User | null;
}

/** The parts that all requests of a suite share. */
interface Suite {
  readonly application: Application;
  readonly coverage: ReturnType<typeof suiteCoverage>;
  readonly options: AccessSuiteOptions;
  readonly server: SuiteServer;
  readonly models: ReturnType<typeof modelShapes>;
  /** Signed once for each caller, and valid for hours. */
  readonly tokens: Map<TestUser, Promise<string>>;
}

/** The shapes of all models, made once for each set of groups. */
function modelShapes({ mapper }: Application) {
  const made = new Map<string, readonly Shape[]>();
  return ({ groups: { read } }: RouteAccess, { inside, own }: Grants): readonly Shape[] => {
    const active = read.filter(({ role }) => role === null || own.has(role) || inside.has(role)).map(({ name }) => name);
    // routes that a service loads have no groups of their own
    const names = read.length === 0 ? readGroups : active;
    const shapes = made.get(names.join('\n')) ?? shapesOfModels(mapper, names);
    made.set(names.join('\n'), shapes);
    return shapes;
  };
}

/** The first request yields the judgements of all rows; then one more is sent for each other verdict and reason. */
async function checkRoute(suite: Suite, subject: Subject, actor: Actor): Promise<void> {
  const keys = await keysOf(suite, subject.record, subject.route.method);
  const judged = keys?.length === 0 ? [] : await probe(suite, subject, actor, keys);
  suite.coverage.note(subject.route, actor.title, judged);
  const [, ...others] = Map.groupBy(judged, ({ missing, rejection, verdict }) =>
    JSON.stringify([verdict, missing, rejection]),
  ).values();
  for (const [judgement] of others) await probe(suite, subject, actor, [judgement?.key as Identifier]);
}

/** Sends a request for the first of the rows, or without a row, and checks the response. Returns the judgements of all rows. */
async function probe(
  suite: Suite,
  { record, roles, route }: Subject,
  actor: Actor,
  keys: readonly Identifier[] | null,
): Promise<readonly Judgement[]> {
  const { judge } = await suite.server.running();
  const key = keys?.[0] ?? null;
  const path = pathOf(suite, record, key === null ? null : judge.idOf(record, key));
  const who = `${route.method} ${path} as ${actor.title}`;
  let judged: readonly Judgement[] = [];
  let count: number | null = null;
  const response = await suite.server.send(route.method, path, await requestOf(suite, route, actor), async (request) => {
    const known = (request as { user?: { id?: unknown } | null }).user ?? null;
    if (String(known?.id) !== String(actor.user?.id))
      throw new Error(`${who}: the caller was authenticated as ${known === null ? 'anonymous' : JSON.stringify(known.id)}`);
    judged = await judge.judge(record, roles, keys, actor.user, request);
    if (isOfList(route) && judged[0]?.verdict === 'granted') count = await judge.count(record, request);
  });
  const expected = judged.find((judgement) => judgement.key === key);
  if (!expected) throw new Error(`${who}: returned ${response.status} before the route was reached${detailOf(response)}`);
  checkStatus(who, route, expected, actor, response);
  if (response.status >= 200 && response.status < 300) {
    checkBody(suite, who, route, expected.grants, response, count);
    await checkQueries(suite, record, route, actor, expected.grants, path);
  }
  return judged;
}

function checkBody(
  { models, options }: Suite,
  who: string,
  route: RouteAccess,
  grants: Grants,
  { json, text }: TestResponse,
  count: number | null,
): void {
  if (route.method === 'HEAD') {
    if (text !== '') throw new Error(`${who}: the response to HEAD has a body`);
    return;
  }
  const granted = grantedFields(route, grants);
  const further = shapeOfPaths(options.fields?.[route.name] ?? []);
  const leaks = leaksOf(route, json, shapeOfRoute(route, granted), models(route, grants), further);
  if (leaks.length > 0) {
    const remedy =
      route.read.decidedBy === null ? '' : `; if this is intended, allow it: fields: { ${route.name}: ${JSON.stringify(leaks)} }`;
    throw new Error(`${who}: returned fields that it must not return: ${leaks.join(', ')}${remedy}`);
  }
  const rows = [isOfList(route) ? (json?.results ?? []) : (json ?? [])].flat();
  const missing = missingFields(route, granted, rows);
  if (missing.length > 0) throw new Error(`${who}: did not return ${missing.join(', ')}, though the role was granted`);
  const counted = route.action === 'aggregate' ? rows[0]?.count : json?.count;
  if (count !== null && json.count_is === undefined && counted !== count)
    throw new Error(`${who}: counted ${counted} rows, but the caller can see ${count}`);
}

/** Filters and orders by a field must be rejected if the caller does not get the field. */
async function checkQueries(
  suite: Suite,
  record: RouteRecord,
  route: RouteAccess,
  actor: Actor,
  grants: Grants,
  path: string,
): Promise<void> {
  for (const { field, query } of deniedQueries(suite.application.mapper, record, route, grants)) {
    const asked = `${path}${path.includes('?') ? '&' : '?'}${query}`;
    const { status } = await suite.server.send(route.method, asked, await requestOf(suite, route, actor), null);
    if (status !== 400)
      throw new Error(
        `${route.method} ${asked} as ${actor.title}: returned ${status}, but must return 400: the caller does not get ${field}`,
      );
  }
}

async function requestOf(suite: Suite, { action, method, name }: RouteAccess, actor: Actor): Promise<TestRequest> {
  const given = suite.options.bodies?.[`${method} ${name}`];
  const json = given ?? (['GET', 'HEAD'].includes(method) || action === 'delete' ? undefined : {});
  return { ...(json !== undefined && { json }), headers: await credentialsOf(suite, actor) };
}

async function credentialsOf({ application, options: { headersFor }, tokens }: Suite, { caller }: Actor) {
  if (caller === null) return {};
  if (headersFor) return headersFor(caller);
  const token = tokens.get(caller) ?? tokenFor(application, caller);
  tokens.set(caller, token);
  const signed = await token.catch((cause: Error) => {
    throw new Error(`no token can be created (${cause.message}); set headersFor: (user) => ({ … })`, { cause });
  });
  return { authorization: `Bearer ${signed}` };
}

function disabledMethods(records: readonly RouteRecord[]) {
  return [...Map.groupBy(records, ({ path }) => path).values()].flatMap((same) =>
    httpMethods
      .filter((method) => !same.some(({ methods }) => methods.includes(method)))
      .map((method) => ({ method, record: same[0] as RouteRecord })),
  );
}

async function checkDisabled(suite: Suite, actors: readonly Actor[], method: HttpMethod, record: RouteRecord): Promise<void> {
  const keys = await keysOf(suite, record, record.methods[0] as HttpMethod);
  if (keys?.length === 0) return;
  const { judge } = await suite.server.running();
  const [key = null] = keys ?? [];
  const path = pathOf(suite, record, key === null ? null : judge.idOf(record, key));
  // another route may match the same path
  if (explainMatch(suite.application.records, method, path).match) return;
  for (const actor of actors) {
    const response = await suite.server.send(method, path, { headers: await credentialsOf(suite, actor) }, null);
    if (response.status !== 405) throw new Error(`${method} ${path} as ${actor.title}: returned ${response.status}, not 405`);
  }
}

/** The keys of the rows whose paths lead to a route; null if its path names no row. */
async function keysOf(suite: Suite, record: RouteRecord, method: HttpMethod): Promise<readonly Identifier[] | null> {
  const { judge } = await suite.server.running();
  const leadsHere = (key: Identifier) =>
    explainMatch(suite.application.records, method, pathOf(suite, record, judge.idOf(record, key))).match?.record === record;
  return (await judge.rowsOf(record))?.filter(leadsHere) ?? null;
}

function pathOf({ options }: Suite, { action, formats, name, path }: RouteRecord, id: Identifier | null): string {
  const required = (action?.parameters ?? []).filter((parameter) => parameter.required);
  const query = required.map((parameter) => {
    const value = options.parameters?.[parameter.name];
    if (value === undefined)
      throw new Error(`the route ${name} requires a query parameter: set parameters: { ${parameter.name}: … }`);
    return `${parameter.name}=${encodeURIComponent(value)}`;
  });
  const filled = path.replace(/\{(\w+)\}/g, (_, placeholder: string) => {
    if (placeholder === '_format') return formats.includes('json') ? 'json' : (formats[0] ?? '');
    if (placeholder === 'id' && id !== null) return idSegment(id);
    const value = options.parameters?.[placeholder];
    if (value === undefined)
      throw new Error(`the path ${path} of ${name} has a placeholder: set parameters: { ${placeholder}: … }`);
    return encodeURIComponent(value);
  });
  return query.length > 0 ? `${filled}?${query.join('&')}` : filled;
}

function subjectOf(route: RouteAccess, routes: readonly RouteAccess[], records: readonly RouteRecord[]) {
  const record = records.find(({ name }) => name === route.name) as RouteRecord;
  // HEAD reveals whether GET would respond, so it requires the roles of GET too, unless something else is declared
  const isLikeGet = route.method === 'HEAD' && record.action?.roles.HEAD === undefined;
  const guards = routes.filter(
    ({ method, name }) => name === route.name && (method === route.method || (isLikeGet && method === 'GET')),
  );
  return {
    route,
    record,
    roles: [...new Set(guards.flatMap(({ roles }) => roles.map(({ role }) => role)))],
  };
}

/** The callers of each route: an anonymous one, one for each required role, one with all roles, and the given ones. */
function actorsOf(
  { routes }: AccessMatrix,
  given: Readonly<Record<string, TestUser>>,
  userId: string | number,
): readonly Actor[] {
  const ofGroups = [
    ...new Set(routes.flatMap(({ groups }) => [...groups.read, ...groups.write]).flatMap(({ role }) => role ?? [])),
  ];
  const roles = [...new Set([...routes.flatMap((route) => route.roles.map(({ role }) => role)), ...ofGroups])].sort();
  const without = (role: string) => roles.filter((other) => other !== role);
  return [
    { title: 'anonymous', caller: null, user: null },
    ...roles.map((role) => actor(`a user with ${role} alone`, { id: userId, roles: [role] })),
    ...(roles.length > 1 ? [actor('a user with all roles', { id: userId, roles })] : []),
    ...(roles.length > 1
      ? ofGroups.sort().map((role) => actor(`a user with all roles but ${role}`, { id: userId, roles: without(role) }))
      : []),
    ...Object.entries(given).map(([name, user]) => actor(name, user)),
  ];
}

/** A token carries the id as text, and every further claim as JSON. */
function actor(title: string, caller: TestUser): Actor {
  const { id, roles = [], ...claims } = caller;
  const carried = JSON.parse(JSON.stringify(claims)) as Record<string, unknown>;
  return { title, caller, user: Object.freeze({ ...carried, id: String(id), roles: Object.freeze([...roles]) }) };
}

function checkStatus(who: string, route: RouteAccess, expected: Judgement, { user }: Actor, response: TestResponse): void {
  const { status } = response;
  const fail = (must: string) => {
    throw new Error(`${who}: returned ${status}, but must return ${must}${detailOf(response)}`);
  };
  if (expected.verdict === 'hidden') {
    if (status !== 404) fail('404: customizeQuery hides the row');
    return;
  }
  if (status === 401 && !response.headers.has('www-authenticate')) fail('WWW-Authenticate as well');
  const { missing, rejection, verdict } = expected;
  const due = user === null ? 401 : 403;
  if (rejection && status === rejection.status) return;
  if (rejection && verdict === 'rejected') {
    // roles that do not depend on the row can be checked first
    if (missing.length === 0 || status !== due) fail(`${rejection.status}: ${rejection.by} throws it`);
    return;
  }
  if (verdict === 'refused') {
    if (status !== due) fail(`${due}: ${missing.join(', ')} is not granted`);
    return;
  }
  const isOwnCode = route.action === 'handler' || route.action === 'service';
  if (status >= 500 || [401, 403, 405].includes(status) || (status === 404 && !isOwnCode))
    fail(`another status: ${route.public ? 'the route is public' : 'every role was granted'}`);
}

function detailOf({ json }: TestResponse): string {
  return typeof json?.detail === 'string' ? ` (${json.detail})` : '';
}
