import { AsyncLocalStorage } from 'node:async_hooks';
import { helper, Utils } from '@mikro-orm/core';
import type { Guard } from '../access/guard.ts';
import type { ApiRequest } from '../access/user.ts';
import type { HttpMethod } from '../declaration/types.ts';
import { Problem, problem } from '../errors.ts';
import { isKindOf, metaOfEntity, modelName } from '../model/hierarchy.ts';
import { entityKey, type Identifier } from '../model/identifier.ts';
import { RowChanged } from '../query/rows/row-version.ts';
import { FoundEntity } from '../store/entity-store.ts';
import { rereadEntity } from '../store/hold-entity.ts';
import type { Admission, Found, Restriction } from '../store/port.ts';
import { type RequestState, stateOf, withState } from '../store/request-state.ts';
import { isItem } from './bulk/item-request.ts';
import { runHook } from './hooks.ts';
import { parametersOf, readBeforeRow } from './parameters.ts';
import { isConditional } from './precondition.ts';
import { writes } from './respond.ts';
import { restrictionOf } from './restriction.ts';
import { type ApiRuntime, userOf } from './start/runtime.ts';

/** For an action without an id: access is checked before anything is read. */
export async function admitCollection(api: ApiRuntime, action: string, request: ApiRequest): Promise<void> {
  await api.guardOf(action, request.method as HttpMethod).check(null, userOf(request), request);
  parametersOf(request);
  if (api.overrides.has('afterAccessCheck')) await runHook(api.hooks.afterAccessCheck(action, request, null));
}

/** Reads the row of an action with an id. */
export interface RowReader {
  find(request: ApiRequest, key: Identifier, restriction: Restriction): Promise<Found | null>;
  /**
   * Whether the row need not be read before it is written. It is read all the same if access is denied, or if the request has a
   * precondition, query parameters or an idempotency key.
   */
  readonly isDeferred: boolean;
}

/** For an action with an id: the row is read through the restriction, and access to it is checked. */
export async function admitSingle(
  api: ApiRuntime,
  action: string,
  request: ApiRequest,
  { find, isDeferred }: RowReader,
): Promise<Admission> {
  const key = api.keyIn(request);
  if (key === undefined) throw missing(api, request);
  const guard = api.guardOf(action, request.method as HttpMethod);
  await readBeforeRow(request, guard, userOf(request));
  const restriction = await restrictionOf(api, action, request);
  if (isDeferred && !isConditional(request) && !hasParameters(request) && !hasKey(request)) {
    const denial = await denialOf(guard, request);
    if (!denial) return { action, key, restriction, found: null };
    // 404 comes before 401 and 403
    throw (await find(request, key, restriction)) ? denial : missing(api, request);
  }
  const found = await find(request, key, restriction);
  if (!found) throw missing(api, request);
  await admitFound(api, action, request, found, guard);
  return { action, key, restriction, found };
}

/** The same if the controller loads the row itself: access to the row that it returns is checked. */
export async function admitLoaded(
  api: ApiRuntime,
  action: string,
  request: ApiRequest,
  load: () => unknown,
): Promise<Admission & { readonly found: Found }> {
  const { framework, meta } = api;
  const state = stateOf(request, framework.mapper);
  const guard = api.guardOf(action, request.method as HttpMethod);
  await readBeforeRow(request, guard, userOf(request));
  let entity: unknown;
  try {
    entity = await load();
  } catch (error) {
    if (error instanceof Problem && error.code === 'entity_not_found') state.isMissing = true;
    throw error;
  }
  if (entity === null || entity === undefined) throw missing(api, request);
  if (!Utils.isEntity(entity) || !isKindOf(metaOfEntity(framework.mapper, entity), meta))
    throw new Error(`getEntity of the controller of "${api.api.name}" must return an entity of ${meta.className}, or throw`);
  state.loadedKey = entityKey(entity);
  const { found, restriction } =
    state.loaded?.found?.entity === entity
      ? (state.loaded as { found: Found; restriction: Restriction })
      : { found: await foundAs(api, request, entity), restriction: null };
  await admitFound(api, action, request, found, guard);
  return { action, key: found.key as Identifier, restriction, found };
}

/** An entity that the controller loaded. For a change, it must equal the row at the time when the row version is read. */
async function foundAs({ api, framework, meta }: ApiRuntime, request: ApiRequest, entity: object): Promise<FoundEntity> {
  if (!writes(request.method)) return new FoundEntity(entity, meta, null);
  const { mapper } = framework;
  const { em } = stateOf(request, mapper);
  if (em.getUnitOfWork().getById(meta.class, helper(entity).getPrimaryKey() as never) !== entity)
    throw new Error(
      `getEntity of the controller of "${api.name}" must load the entity with this.em, because this action changes it`,
    );
  const held = await rereadEntity(mapper, em, entity, false);
  if (!held || held.isChanged) throw new RowChanged();
  return new FoundEntity(entity, meta, held.version);
}

/** Undeclared parameters are rejected only if the row exists. */
function hasParameters({ query }: ApiRequest): boolean {
  for (const _ in query as object) return true;
  return false;
}

/** A stored response is returned only to callers who still see the row. */
function hasKey({ headers }: ApiRequest): boolean {
  return headers['idempotency-key'] !== undefined;
}

/** The hooks and the access check of a row that was found. */
export async function admitFound(
  api: ApiRuntime,
  action: string,
  request: ApiRequest,
  found: Found,
  guard: Guard,
): Promise<void> {
  const { hooks, overrides } = api;
  if (overrides.has('afterFetch')) await runHook(hooks.afterFetch(action, request, found.entity));
  const subject = guard.readsSubject || found instanceof FoundEntity ? found.entity : null;
  const pending = guard.check(subject, userOf(request), request);
  if (pending !== undefined) await pending;
  if (overrides.has('afterAccessCheck')) await runHook(hooks.afterAccessCheck(action, request, found.entity));
}

/** The problem if the caller is denied an action whose roles do not depend on the row, else null. */
async function denialOf(guard: Guard, request: ApiRequest): Promise<Problem | null> {
  try {
    await guard.check(null, userOf(request), request);
    return null;
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
}

/** The 404 of a row. It is noted in the state, because a stored response may still be returned to the caller. */
export function missing(api: ApiRuntime, request: ApiRequest): Problem {
  stateOf(request, api.framework.mapper).isMissing = true;
  return problem('entity_not_found', { model: modelName(api.meta) });
}

interface CheckedAs {
  readonly state: RequestState;
  readonly method: HttpMethod;
}

/** The method of an access check, if it is not that of the request: the visibility of a row depends on how it is read. */
const methodChecked = new AsyncLocalStorage<CheckedAs>();

/** Runs an access check of a request. Other requests that it sends are checked with their own methods. */
export function checkedAs<Result>(checked: CheckedAs, check: () => Result): Result {
  return withState(checked.state, () => methodChecked.run(checked, check));
}

/** Passes if every role that was declared for the action's method is granted, else throws 401 or 403. */
export async function checkDeclared(api: ApiRuntime, action: string, request: ApiRequest, subject: unknown): Promise<void> {
  const checked = methodChecked.getStore();
  const isOwn = checked?.state === stateOf(request, api.framework.mapper);
  const method = isOwn ? checked.method : (request.method as HttpMethod);
  // the roles of a list are those of its own route, also if its rows are checked like single ones
  const route = action === '_entity' && isItem(request) && method === request.method ? '_index' : action;
  await api.declaredGuardOf(route, method).check(subject, userOf(request), request);
}
