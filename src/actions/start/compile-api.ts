import type { EntityMetadata } from '@mikro-orm/core';
import type { AccessWatch } from '../../access/access-watch.ts';
import type { Guard, GuardFor } from '../../access/guard.ts';
import type { ApiRequest } from '../../access/user.ts';
import type { Cursors } from '../../database/cursor.ts';
import type { Executor } from '../../database/executor.ts';
import type { Writer } from '../../database/writer.ts';
import type { Creatable, Create } from '../../declaration/names/create.ts';
import type { ActionDeclaration, ApiDeclaration, HttpMethod, SortKey } from '../../declaration/types.ts';
import { metaOf } from '../../model/hierarchy.ts';
import { identifierParser } from '../../model/identifier.ts';
import { withLoadedData } from '../../model/unloaded.ts';
import { type ListQueryModel, ListQueryReader } from '../../query/list/list-query.ts';
import type { RootFilter } from '../../query/rows/root-filter.ts';
import { SeekPlan } from '../../query/rows/seek-plan.ts';
import { EntityLocation } from '../../route/location.ts';
import type { RouteRecord } from '../../route/record.ts';
import { EntityStore } from '../../store/entity-store.ts';
import { LinkStore } from '../../store/link-store.ts';
import { WriteStore } from '../../store/write-store.ts';
import { ApiController, constructController } from '../api-controller.ts';
import { isOverridden, restrictsQueries } from '../controller-class.ts';
import type { ExportPlaces } from '../export-places.ts';
import { type ControllerHooks, type HookName, hookNames, hookWith, overriddenHooks } from '../hooks.ts';
import type { BodyCheck } from './body-check.ts';
import { ListRuntime } from './list-runtime.ts';
import type { Observer } from './observer.ts';
import type { ApiRuntime, Framework } from './runtime.ts';
import { visibilityRuleOf } from './visibility-rule.ts';

/** What compiled reads and writes are made with. */
export interface Compilers {
  readonly cursors: Cursors;
  readonly executor: Executor;
  readonly writer: Writer;
  /** Where exports take turns; absent if nothing is exported. */
  readonly places?: ExportPlaces | undefined;
  readonly filters: ReadonlyMap<EntityMetadata, RootFilter>;
  readonly asked: Pick<ListQueryModel, 'isHiding' | 'matching'>;
  readonly observer: Observer | undefined;
  /** What holds the bodies of actions to what was declared of them. */
  readonly bodies: ReadonlyMap<ActionDeclaration, BodyCheck>;
  /** Watches every access check. */
  readonly access?: AccessWatch | undefined;
  /** Is told for each route and method why its rows go through MikroORM; null if compiled statements read or write them. */
  readonly onPlanned?: ((record: RouteRecord, method: HttpMethod, reason: string | null) => void) | undefined;
}

/** How many times as large as a response the entities of its page may be: they have columns that nobody is shown. */
const entityShare = 4;

/** Everything that the actions of an API need, and the controller that they are methods of. */
export function compileApi(
  api: ApiDeclaration,
  all: readonly RouteRecord[],
  framework: Framework,
  guardFor: GuardFor,
  { asked, executor, observer }: Compilers,
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
  const overrides: ReadonlySet<HookName> = observer
    ? new Set(hookNames)
    : overriddenHooks(type.prototype, ApiController.prototype);
  const checks = isOverridden(type, 'checkAccess');
  const mostBytes = framework.declaration.server.responseLimit * entityShare;
  const entities = new EntityStore(mapper, meta, api.defaultSort, mostBytes);
  let hooks: ControllerHooks;
  let lists: ReadonlyMap<string, ListRuntime> = new Map();
  const runtime: ApiRuntime = {
    framework,
    api,
    meta,
    parseId: identifierParser(meta, mapper.driver.getPlatform(), 'path'),
    controller: () => controller,
    rule: () => rule,
    get hooks() {
      return hooks;
    },
    overrides,
    restricts: restrictsQueries(type),
    loads: isOverridden(type, 'getEntity'),
    checks,
    // what the controller loads may have another id than the key
    location: isOverridden(type, 'getEntity') ? null : EntityLocation.of(all, api),
    entities,
    entityWrites: new WriteStore(mapper, meta, entities, null),
    entityLinks: new LinkStore(mapper, entities, framework.associations, null),
    listOf: (action) => {
      const list = lists.get(action);
      if (!list) throw new Error(`${api.name} has no action "${action}" that returns a list`);
      return list;
    },
    guardOf: (action, method) => {
      const declared = runtime.declaredGuardOf(action, method);
      return checks ? controllerGuard(declared, (subject, request) => hooks.checkAccess(action, request, subject)) : declared;
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
  // tokens in links would tell of rows what code of the application may hide of them
  const isShownAsStored =
    controller.indexApi === ApiController.prototype.indexApi &&
    !hookWith(overriddenHooks(type.prototype, ApiController.prototype), 'rows');
  lists = listsOf(api, meta, framework, asked, isShownAsStored ? executor : null);
  return { controller, runtime };
}

/** The hooks of a controller, in which reading what was not loaded throws. */
function guardedHooks(controller: ApiController, overrides: ReadonlySet<HookName>): ControllerHooks {
  const methods = controller as unknown as Record<HookName, (...args: unknown[]) => unknown>;
  const guarded = hookNames.map((name) => {
    const call = (...args: unknown[]) => methods[name].apply(controller, args);
    return [name, overrides.has(name) ? (...args: unknown[]) => withLoadedData(() => call(...args)) : call] as const;
  });
  return Object.fromEntries(guarded) as unknown as ControllerHooks;
}

/** The access check of an action that the controller decides about; it may ask what was declared. */
function controllerGuard({ roles }: Guard, check: (subject: unknown, request: ApiRequest) => void | Promise<void>): Guard {
  return {
    roles,
    public: false,
    readsSubject: true,
    loads: [],
    check: (subject, _, request) => check(subject, request as ApiRequest),
  };
}

/**
 * The lists of an API by action. Links of `_index` carry keys of rows, if there is an executor for them: none where the controller
 * has a hand in what is shown of its rows.
 */
function listsOf(
  api: ApiDeclaration,
  meta: EntityMetadata,
  framework: Framework,
  askedOf: Pick<ListQueryModel, 'isHiding' | 'matching'>,
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
    const askable = new ListQueryReader({ mapper, meta, plan, ...askedOf }, list, api.pagination);
    lists.set(name, new ListRuntime(askable, { sort, ownSort: sort, count: api.pagination.count, seek: seekOf(sort) }, seekOf));
  }
  return lists;
}
