import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import type { TokenOptions } from '../../access/token-options.ts';
import type { ApiRequest } from '../../access/user.ts';
import { isObject } from '../../change/body-reader.ts';
import type { ValidationContext } from '../../change/validation.ts';
import type { RequestEntityManager } from '../../database/mapper.ts';
import type { Creatable, Create } from '../../declaration/names/create.ts';
import { problem, type Violation, violationsProblem } from '../../errors.ts';
import { targetsOf } from '../../model/field-plan.ts';
import { isKindOf, modelName } from '../../model/hierarchy.ts';
import type { Identifier } from '../../model/identifier.ts';
import { isSelected } from '../../model/key-condition.ts';
import { pageOf } from '../../query/entities/fetch.ts';
import { hasKey, keysSelected } from '../../query/entities/keys.ts';
import { type AnyQueryBuilder, unrestrictedQuery } from '../../query/entities/restriction.ts';
import { type CollectionModel, collectionOf } from '../../response/collection.ts';
import { JsonReply } from '../../response/json-reply.ts';
import { readPageRequest } from '../../response/page-request.ts';
import { FoundEntity } from '../../store/entity-store.ts';
import { rereadEntity } from '../../store/hold-entity.ts';
import type { Admission, Restriction } from '../../store/port.ts';
import { currentState, groupsOf, stateOf } from '../../store/request-state.ts';
import { inTransaction } from '../../store/transaction.ts';
import { checkDeclared, missing } from '../admission.ts';
import { untilCommit } from '../after-commit.ts';
import { change, remove } from '../change.ts';
import { anyBodyOf, bodyOf, create, validationGroups } from '../create.ts';
import { exportList } from '../export/export.ts';
import { isExport } from '../export/export-reply.ts';
import { type ControllerHooks, EarlyReply } from '../hooks.ts';
import { link } from '../link.ts';
import { listEntities } from '../list.ts';
import { declaredNames, refuseUndeclared } from '../parameters.ts';
import { checkPrecondition } from '../precondition.ts';
import { writes } from '../respond.ts';
import { restrictionOf } from '../restriction.ts';
import { type ApiRuntime, visibleQuery } from '../start/runtime.ts';
import { decideGroups, declaredList, metasOf, writableGroups } from './controller-models.ts';
import type { Model, ModelQuery } from './model-types.ts';

export type { Model, ModelQuery } from './model-types.ts';

/** Queries of `query()`, which are not restricted again. */
const restrictedQueries = new WeakSet<object>();

let underConstruction: ApiRuntime | null = null;

/** The API of a controller; null for a proxy of one. */
let runtimeOf: (controller: ApiController) => ApiRuntime | null;

/**
 * Constructs the controller of an API.
 *
 * @internal
 */
export function constructController(type: Creatable<ApiController>, runtime: ApiRuntime, create: Create): ApiController {
  underConstruction = runtime;
  try {
    const controller = create(type);
    const field = Object.keys(controller).find((name) => name in ApiController.prototype);
    if (field)
      throw new Error(
        `${type.name}.${field} is a field, which replaces a method of ApiController; write it as a method: ${field}(…) { … }`,
      );
    // overridden hooks are looked up on the declared class, so the object must be exactly of that class
    if (runtimeOf(controller) === runtime && Object.getPrototypeOf(controller) === type.prototype) return controller;
  } finally {
    underConstruction = null;
  }
  throw new TypeError(
    `the factory "create" must construct a ${type.name} itself in each call, without a subclass or a proxy: each API needs a controller of its own`,
  );
}

/**
 * The base class of controllers. It has the default actions; a subclass overrides hooks or adds actions of its own.
 *
 * @example
 * export class CourseController extends ApiController<Course> {
 *   override customizeQuery(action: string, request: ApiRequest, query: ModelQuery<Course>) {
 *     query.andWhere({ confidential: false });
 *   }
 *   participantsApi(id: number, request: ApiRequest) {
 *     return this.addRemove('participants', id, request, { property: 'participants', type: Person });
 *   }
 * }
 */
// biome-ignore lint/suspicious/noExplicitAny: a controller need not say its model
export class ApiController<T extends object = any> implements ControllerHooks {
  readonly #runtime: ApiRuntime;

  static {
    // a proxy of a controller has no private fields
    runtimeOf = (controller) => (#runtime in controller ? controller.#runtime : null);
  }

  constructor() {
    if (!underConstruction)
      throw new Error('Declarest creates controllers itself: name the class under "controller" in the declaration of an API');
    this.#runtime = underConstruction;
  }

  /** The request's own entity manager. */
  get em(): RequestEntityManager {
    return currentState().em;
  }

  /** Restricts the rows of an action everywhere: in lists, counts, links and single fetches. May be async. */
  customizeQuery(_action: string, _request: ApiRequest, _query: ModelQuery<T>): unknown {
    return undefined;
  }

  /** After the fetch: an entity, or the entities of the page for `_index`. */
  afterFetch(_action: string, _request: ApiRequest, _fetched: T | readonly T[]): unknown {
    return undefined;
  }

  /** After access was granted: to the entity, or to null for actions without an id. */
  afterAccessCheck(_action: string, _request: ApiRequest, _subject: T | null): unknown {
    return undefined;
  }

  /** After the body was read, before validation: what it sets on the entity is validated and written. */
  beforeValidation(_action: string, _request: ApiRequest, _entity: T): unknown {
    return undefined;
  }

  /** After validation found nothing, before anything is written. */
  afterValidation(_action: string, _request: ApiRequest, _entity: T): unknown {
    return undefined;
  }

  /** After the changes were written and committed. */
  afterCommit(_action: string, _request: ApiRequest, _entity: T): unknown {
    return undefined;
  }

  /** Before a response is serialized: an entity, the collection model, or the result of a handler. */
  beforeSerialize(_action: string, _request: ApiRequest, _value: unknown): unknown {
    return undefined;
  }

  /** Handles `_index`. */
  indexApi(request: ApiRequest, format: string): unknown {
    const api = this.#runtime;
    switch (request.method) {
      case 'GET':
      case 'HEAD':
        return isExport(format) ? exportList(api, null, request, format) : listEntities(api, request);
      case 'POST':
        return create(api, api.entityWrites, request, format);
      default:
        throw problem('method_not_supported');
    }
  }

  /** Handles `_entity`. */
  async entityApi(id: unknown, request: ApiRequest, _format: string): Promise<unknown> {
    const api = this.#runtime;
    const entity = this.#admitted('_entity', id, request) ?? (await this.getEntity('_entity', id, request));
    refuseUndeclared(request);
    if (!writes(request.method)) return entity;
    const admission = this.#admissionOf('_entity', id, request, entity);
    switch (request.method) {
      case 'PATCH':
        return change(api, api.entityWrites, request, admission, 'patch');
      case 'PUT':
        return change(api, api.entityWrites, request, admission, 'replace');
      case 'DELETE':
        return remove(api, api.entityWrites, request, admission);
      default:
        throw problem('method_not_supported');
    }
  }

  /** Loads an entity as `customizeQuery` restricts it for the action, or throws 404. */
  async getEntity(action: string, id: unknown, request: ApiRequest): Promise<T> {
    const api = this.#runtime;
    const admitted = this.#admitted(action, id, request) as T | null;
    if (admitted) return admitted;
    const key = api.parseId(typeof id === 'bigint' ? String(id) : id);
    const restriction = key === undefined ? null : await restrictionOf(api, action, request);
    const found = key === undefined ? null : await api.entities.find(request, key, restriction, writes(request.method));
    if (!found) throw missing(api, request);
    stateOf(request, api.framework.mapper).loaded = { found, restriction };
    return found.entity as T;
  }

  /** The entity that was loaded before the handler ran, by the id of the path or by its key. */
  #admitted(action: string, id: unknown, request: ApiRequest): object | null {
    const { admission, admitted } = stateOf(request, this.#runtime.framework.mapper);
    return admitted?.action === action && [admitted.id, String(admission?.key)].includes(String(id)) ? admitted.entity : null;
  }

  /** Passes if the base role and the method's role are granted for the subject, else throws 401 or 403. */
  checkAccess(action: string, request: ApiRequest, subject: unknown): Promise<void> {
    return checkDeclared(this.#runtime, action, request, subject);
  }

  /**
   * The body as an entity of one of the types. Without groups, the body is a reference to an existing entity (`{id}` or
   * `{type, id}`), or the action's denormalizer reads it. With groups, it makes a new entity, or changes the one whose `id` it
   * contains, within these groups.
   */
  async deserialize<Type extends object>(
    request: ApiRequest,
    types: Model<Type> | readonly Model<Type>[],
    { groups }: { groups?: readonly string[] } = {},
  ): Promise<Type> {
    const { api, framework } = this.#runtime;
    const { action, em } = stateOf(request, framework.mapper);
    const scope = { em, request };
    const metas = metasOf(this.#runtime, types);
    if (!groups) {
      const bound = `${api.name}.${action}`;
      const body = framework.associations.denormalizesBody(bound) ? anyBodyOf(request) : bodyOf(request);
      return (await framework.associations.reference(metas, body, scope, bound)) as Type;
    }
    const body = bodyOf(request);
    const deserializer = framework.deserializer(await writableGroups(this.#runtime, request, groups));
    if (!Object.hasOwn(body, 'id')) {
      const { entity, violations } = await deserializer.create(metas, body, scope);
      if (violations.length > 0) throw violationsProblem(violations);
      return entity as Type;
    }
    const reference = isObject(body) ? pick(body, ['id', 'type']) : body;
    const existing = await framework.associations.reference(metas, reference, scope);
    const { entity, violations } = await deserializer.update(existing, body, 'patch', scope);
    if (violations.length > 0) throw violationsProblem(violations);
    return entity as Type;
  }

  /**
   * Every broken rule of an entity: those of its columns, its constraints, and its own `validate()`. Missing parts of the context
   * are taken from the request and its action.
   */
  validate(entity: object, context: Partial<ValidationContext> = {}): Violation[] | Promise<Violation[]> {
    const state = currentState();
    const { action = state.runningAction ?? '', request = state.request } = context;
    const { groups = validationGroups(this.#runtime, action) } = context;
    const { framework } = this.#runtime;
    return framework.validator.validate(entity, { action, request, groups }, groupsOf(request, framework.mapper));
  }

  /**
   * Runs work in a transaction that locks the entity's row: other writers wait, and values that the work reads of it stay true
   * until the end. Then everything is written and committed, unless the work throws or returns a reply with an error status.
   */
  transactional<Result>(entity: T, work: () => Result | Promise<Result>): Promise<Result> {
    const state = currentState();
    const { admitted, em, request } = state;
    const api = this.#runtime;
    state.rereads = true;
    return untilCommit(state, () =>
      inTransaction(em, async () => {
        const held = await rereadEntity(api.framework.mapper, em, entity, true);
        if (!held) throw problem('entity_not_found', { model: modelName(api.meta) });
        if (entity === admitted?.entity && writes(request.method)) {
          // access was granted to the row as it was before another request changed it
          if (held.isChanged) await this.#admitAgain(admitted, request);
          checkPrecondition(api, request, new FoundEntity(entity, api.meta, null));
        }
        const result = await work();
        if (result instanceof JsonReply && result.status >= 400) throw new EarlyReply(result);
        await em.flush();
        return result;
      }),
    );
  }

  /** Adds the item that the body identifies to an association of the entity (POST), or removes it (DELETE). */
  async addRemove(
    action: string,
    id: unknown,
    request: ApiRequest,
    { property, type, groups }: { property: string; type?: Model | readonly Model[]; groups?: readonly string[] },
  ): Promise<JsonReply> {
    const entity = this.#admitted(action, id, request) ?? (await this.getEntity(action, id, request));
    const { admitted } = stateOf(request, this.#runtime.framework.mapper);
    if (admitted?.entity !== entity) await this.checkAccess(action, request, entity);
    const api = this.#runtime;
    const association = api.meta.properties[property as never] as EntityProperty | undefined;
    const named = type ? metasOf(this.#runtime, type) : [];
    const targets = named.length > 0 || !association ? named : targetsOf(association);
    const admission = this.#admissionOf(action, id, request, entity);
    return link(api, api.entityLinks, request, admission, { property, targets, groups });
  }

  /** The admission of an entity: that of the request, if its row is the one that was checked. */
  #admissionOf(action: string, id: unknown, request: ApiRequest, entity: object): Admission {
    const api = this.#runtime;
    const { admission } = stateOf(request, api.framework.mapper);
    if (admission?.found?.entity === entity) return admission;
    const key = api.parseId(typeof id === 'bigint' ? String(id) : id) as Identifier;
    return { action, key, restriction: null, found: new FoundEntity(entity, api.meta, null) };
  }

  /** Handles an action that was declared with `association`. */
  async addRemoveApi(id: unknown, request: ApiRequest, _format: string): Promise<unknown> {
    refuseUndeclared(request);
    const { admitted } = stateOf(request, this.#runtime.framework.mapper);
    const action = this.#runtime.api.actions.find(({ name }) => name === admitted?.action);
    if (!action?.association) throw new Error('addRemoveApi handles only actions that declare "association"');
    const { property, types } = action.association;
    const type = types.map(({ value }) => value as Model);
    return this.addRemove(action.name, id, request, type.length > 0 ? { property, type } : { property });
  }

  /** A query on the model that `customizeQuery` has restricted for the action: for statistics and handlers of your own. */
  async query(action: string, request: ApiRequest): Promise<ModelQuery<T>> {
    const api = this.#runtime;
    const { em } = stateOf(request, api.framework.mapper);
    const query = (await this.#restrictionFor(action, request)) ?? (await unrestrictedQuery(em, api.meta));
    const own = query.clone();
    restrictedQueries.add(own);
    return own as never;
  }

  /**
   * A page of any query of MikroORM's query builder, in the collection model. A query on the API's own model is restricted by
   * `customizeQuery`, unless `restricted` is false.
   */
  async paginate<Item extends object>(
    action: string,
    request: ApiRequest,
    given: AnyQueryBuilder,
    { restricted = true }: { restricted?: boolean } = {},
  ): Promise<CollectionModel<Item>> {
    const query = restricted ? await this.#restricted(action, request, given) : given;
    const { api, framework } = this.#runtime;
    const parameters = request.query as Record<string, unknown>;
    const meta = query.mainAlias.meta as EntityMetadata;
    const list = await declaredList(this.#runtime, action, meta, request);
    const listQuery = list?.read(parameters, declaredNames(request), false);
    const page = readPageRequest(parameters, api.pagination);
    const state = stateOf(request, framework.mapper);
    const window = { offset: page.offset, limit: page.itemsPerPage };
    const plan = list && listQuery ? list.planOf(listQuery) : { count: api.pagination.count, sort: [], ownSort: [] };
    const seen = listQuery && (await visibleQuery(this.#runtime, request, listQuery));
    const { rows, counted, edges } = await pageOf(state.em, meta, query, window, plan, seen);
    if (listQuery) state.choice = listQuery.choice;
    return collectionOf(rows as Item[], counted, page, request.url, framework.declaration.server.baseUrl, edges);
  }

  /** Checks a row again that was changed after access to it had been granted: it may be hidden now, or denied. */
  async #admitAgain({ action, entity }: { action: string; entity: object }, request: ApiRequest): Promise<void> {
    const state = stateOf(request, this.#runtime.framework.mapper);
    const { admission, em } = state;
    const { api, meta } = this.#runtime;
    const isVisible = !admission?.restriction || (await hasKey(em, meta, admission.restriction, admission.key, api.defaultSort));
    if (!isVisible) throw missing(this.#runtime, request);
    await this.checkAccess(action, request, entity);
    state.forgetGroupVotes(entity);
    await decideGroups(this.#runtime, action, request);
  }

  /** The restriction of an action, made once per request. */
  #restrictionFor(action: string, request: ApiRequest): Promise<Restriction> {
    const state = stateOf(request, this.#runtime.framework.mapper);
    state.restrictions ??= new Map();
    const { restrictions } = state;
    const known = restrictions.get(action) ?? Promise.resolve(restrictionOf(this.#runtime, action, request));
    restrictions.set(action, known);
    return known;
  }

  /** Restricts a query on the API's own model by `customizeQuery`; others are returned as they are. */
  async #restricted(action: string, request: ApiRequest, query: AnyQueryBuilder): Promise<AnyQueryBuilder> {
    const { api, framework, meta } = this.#runtime;
    const isOwn = isKindOf(query.mainAlias.meta as EntityMetadata, meta);
    const restriction = isOwn && !restrictedQueries.has(query) ? await this.#restrictionFor(action, request) : null;
    if (!restriction) return query;
    const { em } = stateOf(request, framework.mapper);
    const keys = keysSelected(em, meta, restriction, api.defaultSort);
    return query.clone().andWhere(isSelected(meta, em.getPlatform(), keys) as never) as AnyQueryBuilder;
  }

  /** A response with a status and groups of its own. A response as the value is copied, with the options changed. */
  json(
    value: unknown,
    options: { status?: number; groups?: readonly string[]; headers?: Record<string, string> } = {},
  ): JsonReply {
    if (!(value instanceof JsonReply)) return new JsonReply(value, options);
    return new JsonReply(value.value, { ...value, ...options, headers: { ...value.headers, ...options.headers } });
  }

  /**
   * A token that the application accepts, signed with `security.jwt.secret`, or with the development key.
   *
   * @example
   * return { token: await this.signToken({ sub: account.id, roles: account.roles }) };
   */
  signToken(options: TokenOptions): Promise<string> {
    return this.#runtime.framework.signToken(options);
  }
}

function pick(body: Record<string, unknown>, keys: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(keys.filter((key) => Object.hasOwn(body, key)).map((key) => [key, body[key]]));
}
