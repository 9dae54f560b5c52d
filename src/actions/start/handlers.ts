import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import { watchedGuard } from '../../access/access-watch.ts';
import { compileGuard, type Guard, type GuardFor } from '../../access/guard.ts';
import type { ApiRequest } from '../../access/user.ts';
import type { VoterRegistry } from '../../access/voter-registry.ts';
import type { Denormalizers } from '../../change/associations.ts';
import type { Mapper } from '../../database/mapper.ts';
import type { Create } from '../../declaration/names/create.ts';
import { defaultGroups } from '../../declaration/read/read-groups.ts';
import type { ActionDeclaration, ApiDeclaration, Declaration, Format, HttpMethod } from '../../declaration/types.ts';
import { problem } from '../../errors.ts';
import { targetsOf } from '../../model/field-plan.ts';
import type { ActiveGroups } from '../../model/groups.ts';
import { Visibility } from '../../query/visibility/visibility.ts';
import type { HandlerFor, RouteHandler } from '../../route/mount.ts';
import type { RouteRecord } from '../../route/record.ts';
import type { PathRules } from '../../route/request-path.ts';
import { ParameterReader } from '../../serialization/parameter-reader.ts';
import { inHandlerTransaction } from '../../store/handler-transaction.ts';
import type { LinkStore } from '../../store/link-store.ts';
import type { Found } from '../../store/port.ts';
import { groupsOf, stateOf } from '../../store/request-state.ts';
import type { WriteStore } from '../../store/write-store.ts';
import { admitCollection, admitLoaded, admitSingle, type RowReader } from '../admission.ts';
import { untilCommit } from '../after-commit.ts';
import { change, remove } from '../change.ts';
import type { ApiController } from '../controller/api-controller.ts';
import { classOf, isBaseHandler, isDefaultHandler } from '../controller/controller-class.ts';
import { decideGroups } from '../controller/controller-models.ts';
import { create } from '../create.ts';
import { type Acting, type Around, actionHandler, directly } from '../dispatch.ts';
import { isFailure } from '../failure.ts';
import { GroupGrants, perGroups } from '../group-grants.ts';
import { hookWith } from '../hooks.ts';
import type { IdempotencyStore } from '../idempotency/idempotency-store.ts';
import { type Link, link } from '../link.ts';
import { refuseUndeclared, withParameters } from '../parameters.ts';
import { checkPrecondition } from '../precondition.ts';
import { respond, writes } from '../respond.ts';
import { withBody } from './body-check.ts';
import { bulkParts } from './bulk-parts.ts';
import { type Compilers, compileApi } from './compile-api.ts';
import type { Observer } from './observer.ts';
import { planLink } from './plan-links.ts';
import { planWrite } from './plan-writes.ts';
import { aggregateHandler, readingHandler } from './reading-handler.ts';
import { type ApiRuntime, Framework, userOf } from './runtime.ts';
import type { WritePlanning } from './write-parts.ts';

/** The input for the handlers of an application. */
interface Compiled {
  readonly declaration: Declaration;
  readonly directory: string;
  readonly production: boolean;
  readonly records: readonly RouteRecord[];
  readonly mapper: Mapper;
  readonly voters: VoterRegistry;
  /** Constructs the controllers. */
  readonly create: Create;
  readonly denormalizers: Denormalizers;
  /** The path under which the application is mounted. */
  readonly prefix: string;
  /** How the host reads paths. */
  readonly pathRules?: PathRules;
  /** The value of `WWW-Authenticate`. */
  readonly challenge: string;
  /** Whether compiled statements read and write rows if nothing needs entities. */
  readonly compiledReads: boolean;
}

/** Makes the handler of each route and method. Everything that does not depend on a request is resolved here. */
export function compileHandlers(
  {
    challenge,
    compiledReads,
    create,
    declaration,
    denormalizers,
    directory,
    mapper,
    pathRules = {},
    prefix,
    production,
    records,
    voters,
  }: Compiled,
  compilers: Compilers,
): HandlerFor {
  const { access, executor, observer, places } = compilers;
  const guardFor: GuardFor = (roles) => {
    const made = compileGuard(roles, voters, challenge);
    const guard = access ? watchedGuard(made, access) : made;
    return loadingGuard(observer?.guard(guard) ?? guard, (subject, request) =>
      framework.paths.load(subject, made.loads, () => stateOf(request as ApiRequest, mapper).em),
    );
  };
  const visibility = new Visibility<ApiRequest>();
  const framework = new Framework(mapper, declaration, {
    visibility,
    denormalizers,
    prefix,
    pathRules,
    executor: compiledReads ? executor : null,
    places,
    surroundings: { directory, production },
  });
  const controllers = new Map<ApiDeclaration, { controller: ApiController; runtime: ApiRuntime }>();
  for (const api of declaration.apis) {
    const made = compileApi(api, records, framework, guardFor, compilers, create);
    controllers.set(api, made);
    visibility.add(made.runtime.rule());
  }

  let loading: Promise<IdempotencyStore> | null = null;
  // loaded with the first request that has a key
  const load = () => {
    loading ??= import('../idempotency/idempotency-store.ts').then((loaded) => new loaded.IdempotencyStore(framework));
    return loading;
  };
  // an explanation changes nothing, so it ignores the key
  const idempotencyStore = declaration.server.idempotency && !observer ? load : null;

  const handlerFor = (record: RouteRecord, method: HttpMethod, format: string): RouteHandler => {
    const { api, action, handler, single } = record;
    if (!api || !action) {
      const guard = guardFor(record.roles[method] ?? []);
      const groups = new GroupGrants(defaultGroups(declaration.groups), { mapper, guardFor, bound: declaration.groups });
      const defined = definedHandler(record, framework, guard, groups, format, observer);
      return observer ? defined : guardedEarly(defined, guard, method);
    }
    const { controller, runtime } = controllers.get(api) as { controller: ApiController; runtime: ApiRuntime };
    if (action.kind === 'aggregate') return aggregateHandler(record, method, format as Format, { ...compilers, runtime });
    const isSupplied = isDefaultHandler(classOf(controller), handler);
    const isDefault = isSupplied && !(single && runtime.loads);
    const reads = method === 'GET' || method === 'HEAD';
    if (isDefault && reads && action.kind !== 'custom')
      return readingHandler(record, method, format as Format, { ...compilers, runtime, compiledReads });
    const watched: Around = observer ? (request, run) => observer.handle(record, controller, request, run) : directly;
    const check = compilers.bodies.get(action);
    const around = check ? withBody(check, watched) : watched;
    const common = {
      api: runtime,
      action: action.name,
      format: format as Format,
      grants: runtime.grantsOf(action.name, method),
      isRepeatable: action.repeatable ?? isSupplied,
      idempotencyStore,
      isDefault,
    };
    const planned = (reason: string | null) => {
      compilers.onPlanned?.(record, method, reason);
      if (compiledReads && isSupplied) observer?.planned(record, method, reason);
    };
    const planning = !compiledReads
      ? 'compiled reads are disabled'
      : action.repeatable === false
        ? 'repeatable: false'
        : compilers;
    if (!isDefault)
      planned(
        isSupplied ? 'the controller overrides getEntity, which returns entities' : 'a method of the controller handles it',
      );
    const parts = isDefault
      ? defaultParts(runtime, action, method, format, planning, { observer, planned })
      : customParts(runtime, controller, record, format);
    const made = actionHandler({
      ...common,
      admit: parts.admit,
      act: (request, admission) => {
        if (admission?.found && !reads) checkPrecondition(runtime, request, admission.found);
        return around(request, () => parts.act(request, admission));
      },
    });
    return single || observer ? made : guardedEarly(made, runtime.guardOf(action.name, method), method);
  };
  return sharedByMethods((record, method, format) => {
    const handler = handlerFor(record, method, format);
    const { parameters = [] } = record.action ?? {};
    return parameters.length > 0 ? withParameters(handler, new ParameterReader(parameters)) : handler;
  });
}

/** The same guard, which loads the associations that its voters read before it calls them. */
function loadingGuard(guard: Guard, load: (subject: object, request: FastifyRequest) => Promise<void>): Guard {
  if (guard.loads.length === 0) return guard;
  const check: Guard['check'] = (subject, user, request) =>
    typeof subject === 'object' && subject !== null
      ? load(subject, request).then(() => guard.check(subject, user, request))
      : guard.check(subject, user, request);
  const grants: Guard['grants'] = (subject, user, request) =>
    typeof subject === 'object' && subject !== null
      ? load(subject, request).then(() => guard.grants(subject, user, request))
      : guard.grants(subject, user, request);
  return Object.freeze({ ...guard, check, grants });
}

type Parts = Pick<Acting, 'admit' | 'act'>;

/** `_index`, `_entity` and declared associations, for methods that write. */
function defaultParts(
  api: ApiRuntime,
  action: ActionDeclaration,
  method: HttpMethod,
  format: string,
  planning: WritePlanning | string,
  { observer, planned }: { observer: Observer | undefined; planned: (reason: string | null) => void },
): Parts {
  const { name } = action;
  const { mapper } = api.framework;
  const grants = api.grantsOf(name, method);
  if (action.kind === 'index') {
    const list = bulkParts(api, action, method, format, typeof planning === 'string' ? null : planning);
    const planFor = perGroups((groups) => (method === 'POST' ? planWrite(api, name, method, planning, groups) : null));
    const plan = planFor(grants.all);
    if (plan) planned(plan.reason);
    return {
      admit: async (request) => {
        const state = stateOf(request, mapper);
        if (list?.admit) {
          await list.admit(request);
          // each item gets the groups of its row
          state.groups = grants.ofAnyRow(request);
          return null;
        }
        await admitCollection(api, name, request);
        state.groups = await grants.ofCollection(request);
        return null;
      },
      act: (request) => {
        const store = planFor(groupsOf(request, mapper))?.store ?? api.entityWrites;
        if (list && (Array.isArray(request.body) || !list.isOptional)) return list.act(request, store);
        if (method !== 'POST') throw problem('method_not_supported');
        return create(api, store, request, format);
      },
    };
  }
  const association = action.association ? linkOf(api, action) : null;
  const planFor = perGroups((groups) => storeOf(api, action, method, planning, groups));
  // reads the row that is to be written, whichever groups apply to the caller
  const { reason, store } = planFor(grants.all);
  planned(reason);
  // if MikroORM read the row, it must also write it
  const storeFor = (request: ApiRequest) => (reason === null ? planFor(groupsOf(request, mapper)).store : store);
  const guard = api.guardOf(name, method);
  // nothing has to read the row before it is written; an explanation cannot find out otherwise whether it is there
  const readsRow = guard.readsSubject || grants.readsSubject || hookWith(api.overrides, 'changes') || api.api.requireIfMatch;
  const isDeferred = !readsRow && !observer && store.isByStatements(method);
  const reader = { find: store.find.bind(store), isDeferred } satisfies RowReader;
  return {
    admit: async (request) => {
      const admission = await admitSingle(api, name, request, reader);
      const state = stateOf(request, mapper);
      state.admission = admission;
      const entity = grants.readsSubject ? admission.found?.entity : null;
      state.groups = await (entity ? grants.ofEntity(request, entity) : grants.ofCollection(request));
      return admission;
    },
    act: (request, admission) => {
      if (!admission) throw new Error(`${api.api.name} has no row for "${name}"`);
      const writing = storeFor(request);
      if (association) {
        refuseUndeclared(request);
        return link(api, writing as LinkStore, request, admission, association);
      }
      switch (method) {
        case 'PATCH':
          return change(api, writing as WriteStore, request, admission, 'patch');
        case 'PUT':
          return change(api, writing as WriteStore, request, admission, 'replace');
        case 'DELETE':
          return remove(api, writing as WriteStore, request, admission);
        default:
          throw problem('method_not_supported');
      }
    },
  };
}

function storeOf(
  api: ApiRuntime,
  action: ActionDeclaration,
  method: HttpMethod,
  planning: WritePlanning | string,
  groups: ActiveGroups,
): { readonly store: WriteStore | LinkStore; readonly reason: string | null } {
  if (action.association) {
    const isLink = method === 'POST' || method === 'DELETE';
    return isLink ? planLink(api, action, method, planning, groups) : { store: api.entityLinks, reason: null };
  }
  const isWrite = method === 'PATCH' || method === 'PUT' || method === 'DELETE';
  return isWrite ? planWrite(api, action.name, method, planning, groups) : { store: api.entityWrites, reason: null };
}

function linkOf({ framework, meta }: ApiRuntime, { association }: ActionDeclaration): Link {
  const { property, types } = association as NonNullable<ActionDeclaration['association']>;
  const declared = meta.properties[property as never] as EntityProperty | undefined;
  const metadata = framework.mapper.getMetadata();
  const named = types.map(({ value }) => metadata.get(value as never) as EntityMetadata);
  return { property, targets: named.length > 0 ? named : declared ? targetsOf(declared) : [] };
}

/** An action that a method of the controller handles. Access is always checked before it runs. */
function customParts(
  api: ApiRuntime,
  controller: ApiController,
  { action, handler, single }: RouteRecord,
  format: string,
): Parts {
  const { name } = action as ActionDeclaration;
  const call = (args: unknown[]) => (controller as unknown as Record<string, Method>)[handler]?.(...args);
  if (!single) {
    return {
      admit: async (request) => {
        stateOf(request, api.framework.mapper).action = name;
        await admitCollection(api, name, request);
        await decideGroups(api, name, request);
        return null;
      },
      act: (request) => call([request, format]),
    };
  }
  const idOf = (request: ApiRequest) => {
    return api.keyIn(request) ?? (request.params as { id: string }).id;
  };
  const find: RowReader['find'] = (asked, key, restriction) => api.entities.find(asked, key, restriction, writes(asked.method));
  const admit = api.loads
    ? (request: ApiRequest) => admitLoaded(api, name, request, () => controller.getEntity(name, idOf(request), request))
    : (request: ApiRequest) => admitSingle(api, name, request, { find, isDeferred: false });
  return {
    admit: async (request) => {
      const admission = await admit(request);
      const found = admission.found as Found;
      const state = stateOf(request, api.framework.mapper);
      state.action = name;
      state.admitted = { action: name, id: String(idOf(request)), entity: found.entity };
      state.admission = admission;
      await decideGroups(api, name, request);
      return admission;
    },
    act: (request, admission) => {
      const handle = () => call([idOf(request), request, format]);
      if (!admission?.found || !writes(request.method)) return handle();
      const { framework, meta } = api;
      const state = stateOf(request, framework.mapper);
      // the default action has its own transaction
      if (isBaseHandler(handler)) return handle();
      return untilCommit(state, () =>
        inHandlerTransaction({ mapper: framework.mapper, meta, state, admission, isFailure }, handle),
      );
    },
  };
}

type Method = (...args: unknown[]) => unknown;

/**
 * The same handler, with a first access check before the body is read, so that bodies of denied callers are not parsed. Only if
 * the user's own roles decide: a voter of the application may read the body.
 */
function guardedEarly(handler: RouteHandler, guard: Guard, method: HttpMethod): RouteHandler {
  if (guard.public || guard.readsSubject || method === 'GET' || method === 'HEAD') return handler;
  const beforeBody = (request: FastifyRequest) => void guard.check(null, userOf(request as ApiRequest), request);
  return Object.assign(((request, reply) => handler(request, reply)) as RouteHandler, { beforeBody });
}

/** GET and HEAD differ at most in their roles, so one handler can serve both. */
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

/** The handler of a route from a route-loading service of the application. */
function definedHandler(
  record: RouteRecord,
  framework: Framework,
  guard: Guard,
  grants: GroupGrants,
  format: string,
  observer: Observer | undefined,
): RouteHandler {
  return async (incoming, reply) => {
    const request = incoming as ApiRequest;
    await guard.check(null, userOf(request), request);
    stateOf(request, framework.mapper).groups = await grants.ofCollection(request);
    const run = () => record.definition?.handler(request, format);
    const given = await (observer ? observer.handle(record, null, request, run) : run());
    return respond(framework, request, reply, given, format as Format, { grants });
  };
}
