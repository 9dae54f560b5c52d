import type { EntityMetadata } from '@mikro-orm/core';
import type { AccessWatch } from '../../access/access-watch.ts';
import type { Guard, GuardFor } from '../../access/guard.ts';
import type { ApiRequest } from '../../access/user.ts';
import type { Cursors } from '../../database/cursor.ts';
import type { Executor } from '../../database/executor.ts';
import type { Reads } from '../../database/replicas.ts';
import type { Writer } from '../../database/writer.ts';
import type { Creatable, Create } from '../../declaration/names/create.ts';
import type { ActionDeclaration, ApiDeclaration, HttpMethod, SortKey } from '../../declaration/types.ts';
import { type ActiveGroups, activeGroups } from '../../model/groups.ts';
import { metaOf } from '../../model/hierarchy.ts';
import { identifierParser, isComposite } from '../../model/identifier.ts';
import { readableProperty } from '../../model/readable-field.ts';
import { withLoadedData } from '../../model/unloaded.ts';
import { AggregateReader } from '../../query/aggregate/aggregate-reader.ts';
import { type ListQueryModel, ListQueryReader } from '../../query/list/list-query.ts';
import type { RootFilter } from '../../query/rows/root-filter.ts';
import { SeekPlan } from '../../query/rows/seek/seek-plan.ts';
import { compositeIdIn } from '../../route/composite-id.ts';
import { EntityLocation } from '../../route/location.ts';
import type { RouteRecord } from '../../route/record.ts';
import { EntityStore } from '../../store/entity-store.ts';
import { LinkStore } from '../../store/link-store.ts';
import { WriteStore } from '../../store/write-store.ts';
import { ApiController, constructController } from '../controller/api-controller.ts';
import { isOverridden, restrictsQueries } from '../controller/controller-class.ts';
import type { ExportPlaces } from '../export/export-places.ts';
import { perGroups } from '../group-grants.ts';
import { type ControllerHooks, type HookName, hookNames, hookWith, overriddenHooks } from '../hooks.ts';
import { responseLoader } from '../response-size.ts';
import type { BodyCheck } from './body-check.ts';
import { grantsFor } from './grants-for.ts';
import { ListRuntime } from './list-runtime.ts';
import { nestedPlanOf } from './nested-plan.ts';
import type { Observer } from './observer.ts';
import type { ApiRuntime, Framework } from './runtime.ts';
import { visibilityRuleOf } from './visibility-rule.ts';

/** The input for compiled reads and writes. */
export interface Compilers {
  readonly cursors: Cursors;
  readonly executor: Executor;
  /** Reads the rows of GET and HEAD requests from replicas; absent if there are none. */
  readonly reads?: Reads | undefined;
  readonly writer: Writer;
  /** Limits how many exports run at once; absent if nothing is exported. */
  readonly places?: ExportPlaces | undefined;
  readonly filters: ReadonlyMap<EntityMetadata, RootFilter>;
  readonly listOptions: Pick<ListQueryModel, 'isHiding' | 'matching'>;
  readonly observer: Observer | undefined;
  /** Checks the bodies of actions against their declarations. */
  readonly bodies: ReadonlyMap<ActionDeclaration, BodyCheck>;
  /** Watches every access check. */
  readonly access?: AccessWatch | undefined;
  /** Called for each route and method. `reason` says why its rows go through MikroORM; null if compiled statements are used. */
  readonly onPlanned?: ((record: RouteRecord, method: HttpMethod, reason: string | null) => void) | undefined;
}

/** How much larger than its response the entities of a page may be: they have columns that are not sent. */
const entityShare = 4;

/** Everything that the actions of an API need, and its controller. */
export function compileApi(
  api: ApiDeclaration,
  all: readonly RouteRecord[],
  framework: Framework,
  guardFor: GuardFor,
  { executor, listOptions, observer, reads }: Compilers,
  create: Create,
) {
  const { mapper } = framework;
  const meta = metaOf(mapper, api.class.value);
  const records = all.filter((record) => record.api === api);
  const type = (api.controller?.value ?? ApiController) as Creatable<ApiController>;
  const guards = new Map(
    records.flatMap(({ action, methods, roles }) =>
      methods.map((method) => [`${action?.name} ${method}`, guardFor(roles[method] ?? [])] as const),
    ),
  );
  const overrides = overriddenHooks(type.prototype, ApiController.prototype);
  const checks = isOverridden(type, 'checkAccess');
  const mostBytes = framework.declaration.server.responseLimit * entityShare;
  const entities = new EntityStore(mapper, meta, api.defaultSort, mostBytes, responseLoader(framework));
  const parseId = identifierParser(meta, mapper.driver.getPlatform(), 'path');
  let hooks: ControllerHooks;
  let lists: ReadonlyMap<string, (groups: ActiveGroups) => ListRuntime> = new Map();
  const runtime: ApiRuntime = {
    framework,
    api,
    meta,
    parseId,
    keyIn: isComposite(meta)
      ? (request) => parseId(compositeIdIn(request, framework.pathRules))
      : (request) => parseId((request.params as { id?: string }).id),
    rule: () => rule,
    get hooks() {
      return hooks;
    },
    overrides,
    restricts: restrictsQueries(type),
    loads: isOverridden(type, 'getEntity'),
    checks,
    // the id in the path may be another one than the key if the controller loads the row
    location: isOverridden(type, 'getEntity') ? null : EntityLocation.of(all, api),
    nested: nestedPlanOf(api, meta, guardFor, mapper),
    entities,
    entityWrites: new WriteStore(mapper, meta, entities, null),
    entityLinks: new LinkStore(mapper, entities, framework.associations, null),
    listOf: (action, groups) => {
      const list = lists.get(action);
      if (!list) throw new Error(`${api.name} has no action "${action}" that returns a list`);
      return list(groups);
    },
    grantsOf: grantsFor(api, meta, framework, guardFor, isOverridden(type, 'entityApi')),
    guardOf: (action, method) => {
      const declared = runtime.declaredGuardOf(action, method);
      return checks ? controllerGuard(declared, (subject, request) => hooks.checkAccess(action, request, subject)) : declared;
    },
    itemGuardOf: (method) => {
      const declared = runtime.declaredGuardOf('_index', method);
      return checks ? controllerGuard(declared, (subject, request) => hooks.checkAccess('_entity', request, subject)) : declared;
    },
    declaredGuardOf: (action, method) => {
      const guard = guards.get(`${action} ${method}`);
      if (!guard) throw new Error(`${api.name} has no action "${action}" with the method ${method}`);
      return guard;
    },
  };
  const controller: ApiController = constructController(type, runtime, create);
  hooks = observer?.hooks(api, controller) ?? guardedHooks(controller, overrides);
  const rule = visibilityRuleOf(runtime, guardFor);
  // tokens in links contain values of rows, which code of the application may hide
  const isShownAsStored = controller.indexApi === ApiController.prototype.indexApi && !hookWith(overrides, 'rows');
  lists = listsOf(api, meta, framework, listOptions, isShownAsStored ? (reads?.executor ?? executor) : null);
  return { controller, runtime };
}

/** The hooks of a controller. Reading data that was not loaded throws in them. */
function guardedHooks(controller: ApiController, overrides: ReadonlySet<HookName>): ControllerHooks {
  const methods = controller as unknown as Record<HookName, (...args: unknown[]) => unknown>;
  const guarded = hookNames.map((name) => {
    const call = (...args: unknown[]) => methods[name].apply(controller, args);
    return [name, overrides.has(name) ? (...args: unknown[]) => withLoadedData(() => call(...args)) : call] as const;
  });
  return Object.fromEntries(guarded) as unknown as ControllerHooks;
}

/** The access check of a controller that overrides `checkAccess`; it may call the declared check. */
function controllerGuard({ roles }: Guard, check: (subject: unknown, request: ApiRequest) => void | Promise<void>): Guard {
  return {
    roles,
    public: false,
    readsSubject: true,
    loads: [],
    check: (subject, _, request) => check(subject, request as ApiRequest),
    grants: async (subject, _, request) => {
      await check(subject, request as ApiRequest);
      return true;
    },
  };
}

/**
 * The lists of an API by action. Links of `_index` contain keys of rows if there is an executor. It is null if code of the
 * controller may change the rows that are sent.
 */
function listsOf(
  api: ApiDeclaration,
  meta: EntityMetadata,
  framework: Framework,
  listOptions: Pick<ListQueryModel, 'isHiding' | 'matching'>,
  executor: Executor | null,
): ReadonlyMap<string, (groups: ActiveGroups) => ListRuntime> {
  const { mapper } = framework;
  const lists = new Map<string, (groups: ActiveGroups) => ListRuntime>();
  for (const { groups: declared, kind, list, name } of api.actions) {
    if (!list) continue;
    const all = framework.serializer(activeGroups(declared)).planInside(meta);
    const isOpen = (embedded: EntityMetadata) => !listOptions.isHiding(embedded);
    const isIndex = kind === 'index';
    // a handler sorts its query itself, unless the action declares an order
    const declaredSort = isIndex || list.defaultSort !== api.defaultSort ? list.defaultSort : [];
    const listFor = (groups: ActiveGroups) => {
      const plan = framework.serializer(groups).planInside(meta);
      // the order would reveal a field of a group that is denied
      const sort = declaredSort.filter(({ property }) => readableProperty(plan, property) || !readableProperty(all, property));
      const seekOf = (order: readonly SortKey[]) =>
        isIndex && executor ? SeekPlan.of(mapper, meta, plan, order, api.name, executor, isOpen) : null;
      const model = { mapper, meta, plan, ...listOptions };
      const reader = new ListQueryReader(model, list, api.pagination);
      const aggregates = isIndex && list.aggregate ? new AggregateReader(model, list.aggregate, list) : null;
      const listPlan = { sort, ownSort: sort, count: api.pagination.count, seek: seekOf(sort) };
      return new ListRuntime(reader, listPlan, seekOf, aggregates);
    };
    lists.set(name, perGroups(listFor));
  }
  return lists;
}
