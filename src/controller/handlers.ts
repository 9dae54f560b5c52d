import type { FastifyRequest } from 'fastify';
import { watchedGuard } from '../access/access-watch.ts';
import { compileGuard, type Guard } from '../access/guard.ts';
import type { ApiRequest } from '../access/user.ts';
import type { VoterRegistry } from '../access/voter-registry.ts';
import type { Denormalizers } from '../change/associations.ts';
import type { Mapper } from '../database/mapper.ts';
import type { ApiDeclaration, Declaration, Format, HttpMethod } from '../declaration/types.ts';
import { CompiledRead } from '../query/compiled-read.ts';
import { Doors } from '../query/doors.ts';
import { RowSight } from '../query/row-sight.ts';
import type { HandlerFor, RouteHandler } from '../route/mount.ts';
import type { RouteRecord } from '../route/record.ts';
import { ApiController } from './api-controller.ts';
import { withBody } from './body-check.ts';
import { type Compilers, compileApi, type GuardFor } from './compile-api.ts';
import { compiledEntity, compiledExport, compiledIndex, isUnhooked, type LookFor } from './compiled-actions.ts';
import { compiledWrite } from './compiled-writes.ts';
import { type Around, collectionHandler, directly, singleHandler } from './dispatch.ts';
import { doorOf } from './door.ts';
import { isExport } from './export-reply.ts';
import type { KeptAnswers } from './kept-answers.ts';
import type { Observer } from './observer.ts';
import { stateOf, withState } from './request-state.ts';
import { respond } from './respond.ts';
import { type ApiRuntime, Framework, userOf } from './runtime.ts';

/** What an application's handlers are made of. */
interface Compiled {
  readonly declaration: Declaration;
  readonly records: readonly RouteRecord[];
  readonly mapper: Mapper;
  readonly voters: VoterRegistry;
  readonly denormalizers: Denormalizers;
  /** Where the application is mounted. */
  readonly prefix: string;
  /** What is sent in `WWW-Authenticate`. */
  readonly challenge: string;
  /** Whether what needs no entity is read and written without one. */
  readonly compiledReads: boolean;
}

/** Makes the handler of each route and method, with everything resolved that can be known before a request comes. */
export function compileHandlers(
  { challenge, compiledReads, declaration, denormalizers, mapper, prefix, records, voters }: Compiled,
  compilers: Compilers,
): HandlerFor {
  const { access, executor, observer, writer } = compilers;
  const guardFor: GuardFor = (roles) => {
    const made = compileGuard(roles, voters, challenge);
    const guard = access ? watchedGuard(made, access) : made;
    return observer?.guard(guard) ?? guard;
  };
  const doors = new Doors<ApiRequest>();
  const framework = new Framework(mapper, declaration, { doors, denormalizers, prefix });
  const controllers = new Map<ApiDeclaration, { controller: ApiController; runtime: ApiRuntime }>();
  const recordsByApi = Map.groupBy(records, ({ api }) => api);
  for (const api of declaration.apis) {
    const made = compileApi(api, recordsByApi.get(api) ?? [], framework, guardFor, compilers);
    controllers.set(api, made);
    doors.add(doorOf(made.runtime, guardFor));
  }
  const sight = new RowSight(mapper, doors, executor);
  const lookFor: LookFor = (request) => {
    const state = stateOf(request, mapper);
    return (meta, keys) => withState(state, () => sight.seen(state.em, request, meta, keys));
  };

  let loading: Promise<KeptAnswers> | null = null;
  // loaded with the first request that has a key
  const load = () => {
    loading ??= import('./kept-answers.ts').then((loaded) => new loaded.KeptAnswers(framework));
    return loading;
  };
  // what is only watched changes nothing, and so is told as if there were no key
  const keptAnswers = declaration.server.idempotency && !observer ? load : null;

  const handlerFor = (record: RouteRecord, method: HttpMethod, format: string): RouteHandler => {
    const { api, action, handler, single } = record;
    if (!api || !action) {
      const guard = guardFor(record.roles[method] ?? []);
      const defined = definedHandler(record, framework, guard, format, observer);
      return observer ? defined : guardedEarly(defined, guard, method);
    }
    const { controller, runtime } = controllers.get(api) as { controller: ApiController; runtime: ApiRuntime };
    const make = single ? singleHandler : collectionHandler;
    const watched: Around = observer ? (request, run) => observer.handle(record, controller, request, run) : directly;
    const check = compilers.bodies.get(action);
    const around = check ? withBody(check, watched) : watched;
    const general = make({
      runtime,
      controller,
      action: action.name,
      method: handler,
      format: format as Format,
      isRepeatable: action.repeatable ?? isOurs(controller, handler),
      keptAnswers,
      around,
    });
    // who watches is told of a check once, and of the compiled form only what succeeds
    if (observer && method !== 'GET' && method !== 'HEAD') return general;
    const early = (made: RouteHandler) => (single ? made : guardedEarly(made, runtime.guardOf(action.name, method), method));
    if (!compiledReads) return early(general);
    if (method === 'GET' || method === 'HEAD')
      return compiledHandler(record, method, format as Format, { ...compilers, runtime, controller, lookFor }, general);
    // what is answered to a write is mostly JSON; and a compiled one is done again where it has to be
    if (format !== 'json' || action.repeatable === false) return early(general);
    return early(compiledWrite({ runtime, record, method, format, executor, writer }, controller, general) ?? general);
  };
  return sharedByMethods(handlerFor);
}

/** Whether what handles an action is ours and not a controller's own. */
function isOurs(controller: ApiController, method: string): boolean {
  const known = ['indexApi', 'entityApi', 'addRemoveApi'] as const;
  return known.some((name) => name === method && controller[name] === ApiController.prototype[name]);
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
    withVersion: isEntity,
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
