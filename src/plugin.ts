import type { EntityMetadata } from '@mikro-orm/core';
import type { FastifyInstance, FastifyPluginAsync, FastifyRequest, onRequestHookHandler } from 'fastify';
import { createApiKeyAuthenticator } from './access/api-keys.ts';
import { type Authenticator, authenticateWith, challengeOf, isAuthenticatorClass } from './access/authenticator.ts';
import { compileGuard, type Guard, rolesFor } from './access/guard.ts';
import type { Surroundings } from './access/jwt-keys.ts';
import { isPromiseLike } from './access/promise-like.ts';
import type { ApiRequest, User } from './access/user.ts';
import { type Application, type ApplicationOptions, instancesOf, loadApplication } from './application.ts';
import { denormalizersOf } from './change/associations.ts';
import { conflictProblem } from './change/conflict.ts';
import { ApiController, constructController, restrictsQueries } from './controller/api-controller.ts';
import { hidingClasses } from './controller/check-lists.ts';
import {
  compiledEntity,
  compiledExport,
  compiledIndex,
  isUnhooked,
  type LookFor,
  showsRowsAsTheyAre,
} from './controller/compiled-actions.ts';
import { compiledWrite } from './controller/compiled-writes.ts';
import { type Around, collectionHandler, singleHandler } from './controller/dispatch.ts';
import { isExport } from './controller/export-reply.ts';
import type { ControllerHooks } from './controller/hooks.ts';
import { ListRuntime } from './controller/list-runtime.ts';
import type { Find, Observer } from './controller/observer.ts';
import { stateOf, withState } from './controller/request-state.ts';
import { respond } from './controller/respond.ts';
import { type ApiRuntime, Framework, restrictionOf, userOf } from './controller/runtime.ts';
import { createCursors } from './database/create-cursors.ts';
import { createExecutor } from './database/create-executor.ts';
import { createWriter } from './database/create-writer.ts';
import type { Cursors } from './database/cursor.ts';
import type { Executor } from './database/executor.ts';
import { connectionsWanted } from './database/mapper.ts';
import { prepareDatabase } from './database/prepare-database.ts';
import type { Writer } from './database/writer.ts';
import type { ApiDeclaration, Format, HttpMethod, JwtDeclaration, RateLimitDeclaration, SortKey } from './declaration/types.ts';
import { Problem } from './errors.ts';
import { metaOf } from './model/hierarchy.ts';
import { identifierParser } from './model/identifier.ts';
import { Askable, type AskedModel } from './query/asked.ts';
import { CompiledRead } from './query/compiled-read.ts';
import { type Door, Doors } from './query/doors.ts';
import type { Restrict } from './query/restriction.ts';
import { type RootFilter, rootFilterOf } from './query/root-filter.ts';
import { RowSight } from './query/row-sight.ts';
import { addSearchIndexes } from './query/search-index.ts';
import { SeekPlan } from './query/seek-plan.ts';
import { textMatching } from './query/text-matching.ts';
import { toProblem } from './response/problem-document.ts';
import { sendProblem } from './response/send-problem.ts';
import { type HandlerFor, mountRoutes, type RouteHandler } from './route/mount.ts';
import type { RouteRecord } from './route/record.ts';
import { acceptJson } from './serialization/json-body.ts';
import type { RateLimiter } from './traffic/rate-limiter.ts';

/**
 * Mounts an application on a Fastify instance.
 *
 * @example
 * await app.register(declarest, { app_main: { apis }, models: [Person, Center], voters: [PersonVoter] });
 */
export const declarest: FastifyPluginAsync<ApplicationOptions> = async (app, options) => {
  await mountApplication(app, await loadApplication(options));
};

/** What is known of an application that was mounted. */
export interface Mounted {
  readonly executor: Executor;
  /** Statements that wait, for the database or to be sent to it. */
  statementsUnderWay(): number;
}

export interface MountingOptions {
  /** Whether it answers for every path there is. */
  readonly alone?: boolean;
  /** Watches every request. */
  readonly observer?: Observer | undefined;
}

/** Opens an application's database and mounts its routes. */
export async function mountApplication(
  app: FastifyInstance,
  application: Application,
  { alone = false, observer }: MountingOptions = {},
): Promise<Mounted> {
  const { declaration, mapper, records, seed } = application;
  const authenticators = await authenticatorsOf(application);
  try {
    await prepareDatabase(mapper, declaration.database, seed, addSearchIndexes(mapper, declaration.apis));
  } catch (error) {
    // nobody else would close what was opened for an application that does not start
    await mapper.close().catch(() => undefined);
    throw error;
  }
  const executor = await createExecutor(mapper, declaration.database, application.onStatement);
  const cursors = createCursors(mapper, declaration.database, application.onStatement);
  const writer = await createWriter(mapper, declaration.database, application.onStatement);
  app.addHook('onClose', async () => {
    await Promise.all([cursors.close(), executor.close(), writer.close()]);
    await mapper.close();
  });

  if (!app.hasRequestDecorator('user')) app.decorateRequest('user', null);
  const find: Find = (request) => authenticateWith(authenticators, request);
  const limiter = await rateLimiterOf(application, writer);
  const onWrong = limiter && wrongCredentials(limiter, declaration.server.rateLimit);
  app.addHook('onRequest', authentication(observer?.authentication(find) ?? find, onWrong));
  acceptJson(app, declaration.server.jsonDepth);
  answerErrors(app, application, observer);
  const filters = await rootFilters(application);
  const asked = {
    isHiding: hidingClasses(declaration.apis, mapper),
    matching: await textMatching(mapper, declaration.apis),
  };
  const compilers = { asked, cursors, executor, filters, observer, writer };
  mountRoutes(app, records, handlers(app, application, challengeOf(authenticators), compilers), {
    alone,
    route: { bodyLimit: declaration.server.bodyLimit },
    ...(limiter && { admit: ({ api }) => hookOf(limiter, api ? api.rateLimit : declaration.server.rateLimit) }),
  });
  return {
    executor,
    statementsUnderWay: () => executor.underWay() + writer.underWay() + connectionsWanted(mapper),
  };
}

/**
 * The hook that finds out who is calling. Most know it at once, and then nobody waits. Whatever is thrown reaches Fastify as a
 * rejection: to call back with nothing would be to let the caller pass.
 */
function authentication(
  find: Find,
  onWrong: ((request: FastifyRequest, error: unknown) => unknown) | null,
): onRequestHookHandler {
  if (onWrong) {
    const authenticate = authentication(find, null);
    return function counted(request, reply, done) {
      return (authenticate.call(this, request, reply, done) as Promise<unknown> | undefined)?.catch((error: unknown) => {
        throw onWrong(request, error);
      });
    };
  }
  return (request, _reply, done) => {
    const accept = (user: User | null) => {
      (request as { user?: unknown }).user = user;
    };
    let found: User | null | Promise<User | null>;
    try {
      found = find(request as ApiRequest);
    } catch (error) {
      return Promise.reject(error);
    }
    if (isPromiseLike(found)) return found.then(accept);
    accept(found);
    done();
    return undefined;
  };
}

/** What counts requests is loaded where a limit is declared. */
async function rateLimiterOf({ declaration, mapper }: Application, writer: Writer): Promise<RateLimiter | null> {
  const { apis, server } = declaration;
  if (server.rateLimit === null && apis.every(({ rateLimit }) => rateLimit === null)) return null;
  const { RateLimiter } = await import('./traffic/rate-limiter.ts');
  if (server.rateLimitStore === 'memory') return new RateLimiter(null);
  const { RateTable } = await import('./database/rate-table.ts');
  return new RateLimiter(new RateTable(mapper, writer));
}

/** Who guesses credentials is turned away like who asks too often. */
function wrongCredentials(limiter: RateLimiter, limit: RateLimitDeclaration | null) {
  if (limit === null) return null;
  return (request: FastifyRequest, error: unknown) =>
    error instanceof Problem && error.status === 401 ? limiter.failed(request, limit, error) : error;
}

function hookOf(limiter: RateLimiter, limit: RateLimitDeclaration | null): onRequestHookHandler | null {
  return limit && limiter.hook(limit);
}

async function authenticatorsOf({
  catalog,
  declaration: { security },
  directory,
  production,
}: Application): Promise<Authenticator[]> {
  const own = security.authenticator ? [security.authenticator] : catalog.authenticators;
  return [
    ...(security.jwt ? [await jwtAuthenticator(security.jwt, { directory, production })] : []),
    ...(security.apiKeys.length > 0 ? [createApiKeyAuthenticator(security.apiKeys)] : []),
    ...instancesOf(own, isAuthenticatorClass),
  ];
}

/** What the models of the APIs filter by default, for those who compile reads of them. */
async function rootFilters({
  compiledReads,
  declaration,
  mapper,
}: Application): Promise<ReadonlyMap<EntityMetadata, RootFilter>> {
  const filters = new Map<EntityMetadata, RootFilter>();
  if (!compiledReads) return filters;
  for (const { class: model } of declaration.apis) {
    const meta = metaOf(mapper, model.value);
    if (!filters.has(meta)) filters.set(meta, await rootFilterOf(mapper, meta));
  }
  return filters;
}

/** What checks tokens is loaded where there are any. */
async function jwtAuthenticator(declaration: JwtDeclaration, surroundings: Surroundings): Promise<Authenticator> {
  const { createJwtAuthenticator } = await import('./access/jwt.ts');
  const { loadJwtKeys } = await import('./access/jwt-keys.ts');
  return createJwtAuthenticator(declaration, await loadJwtKeys(declaration, surroundings));
}

/** What compiled reads and writes are made with. */
interface Compilers {
  readonly cursors: Cursors;
  readonly executor: Executor;
  readonly writer: Writer;
  readonly filters: ReadonlyMap<EntityMetadata, RootFilter>;
  readonly asked: Pick<AskedModel, 'isHiding' | 'matching'>;
  readonly observer: Observer | undefined;
}

/** Makes the handler of each route and method, with everything resolved that can be known before a request comes. */
function handlers(app: FastifyInstance, application: Application, challenge: string, compilers: Compilers) {
  const { executor, observer, writer } = compilers;
  const { catalog, declaration, mapper, voters } = application;
  const guardFor: GuardFor = (roles) => {
    const guard = compileGuard(roles, voters, challenge);
    return observer?.guard(guard) ?? guard;
  };
  const doors = new Doors<ApiRequest>();
  const framework = new Framework(mapper, declaration, {
    doors,
    denormalizers: denormalizersOf(catalog.denormalizers),
    prefix: app.prefix,
  });
  const controllers = new Map<ApiDeclaration, { controller: ApiController; runtime: ApiRuntime }>();
  const recordsByApi = Map.groupBy(application.records, ({ api }) => api);
  for (const api of declaration.apis) {
    const made = compileApi(api, recordsByApi.get(api) ?? [], framework, mapper, guardFor, compilers);
    controllers.set(api, made);
    const { runtime } = made;
    doors.add({
      meta: runtime.meta,
      restrict: runtime.restricts ? (request) => doorRestriction(runtime, request) : null,
      sort: api.defaultSort,
      ...admission(api, guardFor),
    });
  }
  const sight = new RowSight(mapper, doors, executor);
  const lookFor: LookFor = (request) => {
    const state = stateOf(request, mapper);
    return (meta, keys) => withState(state, () => sight.seen(state.em, request, meta, keys));
  };

  const handlerFor = (record: RouteRecord, method: HttpMethod, format: string): RouteHandler => {
    const { api, action, handler, single } = record;
    if (!api || !action) {
      const guard = guardFor(record.roles[method] ?? []);
      const defined = definedHandler(record, framework, guard, format, observer);
      return observer ? defined : guardedEarly(defined, guard, method);
    }
    const { controller, runtime } = controllers.get(api) as { controller: ApiController; runtime: ApiRuntime };
    const make = single ? singleHandler : collectionHandler;
    const around: Around | undefined = observer && ((request, run) => observer.handle(record, controller, request, run));
    const general = make(runtime, controller, action.name, handler, format, around);
    // who watches is told of a check once, and of the compiled form only what succeeds
    if (observer && method !== 'GET' && method !== 'HEAD') return general;
    const early = (made: RouteHandler) => (single ? made : guardedEarly(made, runtime.guardOf(action.name, method), method));
    if (!application.compiledReads) return early(general);
    if (method === 'GET' || method === 'HEAD')
      return compiledHandler(record, method, format as Format, { ...compilers, runtime, controller, lookFor }, general);
    // what is answered to a write is mostly JSON
    if (format !== 'json') return early(general);
    return early(compiledWrite({ runtime, record, method, format, executor, writer }, controller, general) ?? general);
  };
  return sharedByMethods(handlerFor);
}

/**
 * The same handler, with a first check before the body is read: nobody makes us parse what they may not send. Only where the
 * roles are judged by the user's own: a voter of the application may look at the body.
 */
function guardedEarly(handler: RouteHandler, guard: Guard, method: HttpMethod): RouteHandler {
  if (guard.public || guard.readsSubject || method === 'GET' || method === 'HEAD') return handler;
  const beforeBody = (request: FastifyRequest) => void guard.check(null, userOf(request as ApiRequest), request);
  return Object.assign(((request, reply) => handler(request, reply)) as RouteHandler, { beforeBody });
}

/** GET and HEAD differ at most in their roles, so that one handler can be for both. */
function sharedByMethods(make: HandlerFor): HandlerFor {
  const made = new Map<RouteRecord, Map<string, RouteHandler>>();
  return (record, method, format) => {
    const known = made.get(record) ?? new Map<string, RouteHandler>();
    made.set(record, known);
    const key = JSON.stringify([format, method === 'HEAD' ? 'GET' : method, record.roles[method] ?? []]);
    const handler = known.get(key) ?? make(record, method, format);
    known.set(key, handler);
    return handler;
  };
}

type GuardFor = (roles: readonly string[]) => Guard;

/** The restriction of an API's `_entity`, on whatever route the request came. */
function doorRestriction(runtime: ApiRuntime, request: ApiRequest): Restrict {
  const restrict = restrictionOf(runtime, '_entity', request);
  return (query) => withState(stateOf(request, runtime.framework.mapper), () => restrict?.(query));
}

/** Whether a caller has the roles to be shown a row of an API: by fetching it, else by changing it, else in the list. */
function admission(api: ApiDeclaration, guardFor: GuardFor): Pick<Door<ApiRequest>, 'admits' | 'readsSubject'> {
  const entity = api.actions.find(({ kind }) => kind === 'entity');
  const index = api.actions.find(({ kind }) => kind === 'index');
  const method = (['GET', 'PATCH', 'PUT'] as const).find((candidate) => entity?.methods.includes(candidate));
  const showing =
    entity && method
      ? { action: entity, method }
      : index?.methods.includes('GET')
        ? { action: index, method: 'GET' as const }
        : null;
  if (!showing) return { readsSubject: false, admits: async () => false };
  const guard = guardFor(rolesFor(showing.action, api.baseRole, showing.method));
  const isList = showing.action === index;
  return {
    readsSubject: guard.readsSubject && !isList,
    async admits(request, subject) {
      try {
        await guard.check(isList ? null : subject, userOf(request), request);
        return true;
      } catch (error) {
        if (error instanceof Problem) return false;
        throw error;
      }
    },
  };
}

/** What a compiled read is made of. */
interface Reading extends Compilers {
  readonly runtime: ApiRuntime;
  readonly controller: ApiController;
  readonly lookFor: LookFor;
}

/** The compiled read of a default action, where nothing on its way needs an entity; else the general handler. */
function compiledHandler(
  record: RouteRecord,
  method: HttpMethod,
  format: Format,
  { controller, cursors, executor, filters, lookFor, observer, runtime }: Reading,
  general: RouteHandler,
): RouteHandler {
  const { action, handler } = record;
  const { api, framework, meta } = runtime;
  const inGeneral = (reason: string) => {
    observer?.planned(record, reason);
    return general;
  };
  const isIndex = action?.kind === 'index' && handler === 'indexApi';
  const isEntity = action?.kind === 'entity' && handler === 'entityApi';
  const judged = isEntity && runtime.guardOf('_entity', method).readsSubject;
  if (!isIndex && !isEntity) return inGeneral('it is handled by a method of the controller');
  if (!isUnhooked(controller, ApiController.prototype, isIndex ? 'indexApi' : 'entityApi'))
    return inGeneral('the controller has a hook that takes entities');
  const sort = isIndex ? runtime.listOf('_index').plan.sort : api.defaultSort;
  const read = CompiledRead.compile(framework.mapper, meta, framework.serializer().planFor(meta), sort, executor, {
    seek: isIndex ? runtime.listOf('_index').plan.seek : null,
    count: api.pagination.count,
    withSubject: judged,
    filter: filters.get(meta),
    isLimited: (embedded) => framework.doors.limitsOf(embedded).length > 0,
  });
  if (!(read instanceof CompiledRead)) return inGeneral(read.needsEntity);
  if (judged && read.subjectRefusal !== null) return inGeneral(read.subjectRefusal);
  if (isIndex && isExport(format) && read.takesLook) return inGeneral('it embeds rows that a caller may not see');
  observer?.planned(record, null);
  if (isIndex && isExport(format)) return compiledExport(runtime, read, cursors, general, method, format);
  return (isIndex ? compiledIndex : compiledEntity)(runtime, read, general, method, format, lookFor);
}

function compileApi(
  api: ApiDeclaration,
  records: readonly RouteRecord[],
  framework: Framework,
  mapper: Application['mapper'],
  guardFor: GuardFor,
  { asked, executor, observer }: Compilers,
) {
  const meta = metaOf(mapper, api.class.value);
  const type = (api.controller?.value ?? ApiController) as new () => ApiController;
  const guards = new Map(
    records.flatMap(({ action, methods, roles }) =>
      methods.map((method) => [`${action?.name} ${method}`, guardFor(roles[method] ?? [])] as const),
    ),
  );
  let hooks: ControllerHooks;
  let lists: ReadonlyMap<string, ListRuntime> = new Map();
  const runtime: ApiRuntime = {
    framework,
    api,
    meta,
    parseId: identifierParser(meta, mapper.driver.getPlatform(), 'path'),
    get hooks() {
      return hooks;
    },
    restricts: restrictsQueries(type),
    listOf: (action) => {
      const list = lists.get(action);
      if (!list) throw new Error(`${api.name} has no action "${action}" that gives a list`);
      return list;
    },
    guardOf: (action, method) => {
      const guard = guards.get(`${action} ${method}`);
      if (!guard) throw new Error(`${api.name} has no action "${action}" with the method ${method}`);
      return guard;
    },
  };
  const controller = constructController(type, runtime);
  hooks = observer?.hooks(api, controller) ?? controller;
  lists = listsOf(api, meta, framework, asked, showsRowsAsTheyAre(controller, ApiController.prototype) ? executor : null);
  return { controller, runtime };
}

/**
 * The lists of an API by action. Links of `_index` carry keys of rows, if there is an executor for them: none where the controller
 * has a hand in what is shown of its rows.
 */
function listsOf(
  api: ApiDeclaration,
  meta: EntityMetadata,
  framework: Framework,
  askedOf: Pick<AskedModel, 'isHiding' | 'matching'>,
  executor: Executor | null,
): ReadonlyMap<string, ListRuntime> {
  const { mapper } = framework;
  const lists = new Map<string, ListRuntime>();
  for (const { kind, list, name } of api.actions) {
    if (!list) continue;
    const plan = framework.serializer().planFor(meta);
    const isOpen = (embedded: EntityMetadata) => !askedOf.isHiding(embedded);
    const isIndex = kind === 'index';
    // a handler orders its query itself, unless the action says how
    const sort = isIndex || list.defaultSort !== api.defaultSort ? list.defaultSort : [];
    const seekOf = (order: readonly SortKey[]) =>
      isIndex && executor ? SeekPlan.of(mapper, meta, plan, order, api.name, executor, isOpen) : null;
    const askable = new Askable({ mapper, meta, plan, ...askedOf }, list, api.pagination);
    lists.set(name, new ListRuntime(askable, { sort, count: api.pagination.count, seek: seekOf(sort) }, seekOf));
  }
  return lists;
}

/** The handler of a route that an application's own service brought. */
function definedHandler(
  record: RouteRecord,
  framework: Framework,
  guard: Guard,
  format: string,
  observer: Observer | undefined,
): RouteHandler {
  return async (incoming, reply) => {
    const request = incoming as ApiRequest;
    await guard.check(null, userOf(request), request);
    const run = () => record.definition?.handler(request, format);
    const given = await (observer ? observer.handle(record, null, request, run) : run());
    return respond(framework, request, reply, given, format as Format);
  };
}

/** Every error becomes a problem document; what is our own fault is logged and not told. */
function answerErrors(app: FastifyInstance, { mapper, declaration }: Application, observer: Observer | undefined): void {
  app.setErrorHandler((error, request, reply) => {
    observer?.failed(error);
    return sendProblem(conflictProblem(error, mapper) ?? toProblem(error, declaration.server.bodyLimit), request, reply);
  });
}
