import type { ApiRequest } from '../access/user.ts';
import { countLinksOf } from '../change/link-versions.ts';
import type { HttpMethod } from '../declaration/types.ts';
import { problem } from '../errors.ts';
import { modelName } from '../model/hierarchy.ts';
import type { Identifier } from '../model/identifier.ts';
import { fetchOne } from '../query/fetch.ts';
import { heed } from './hooks.ts';
import { stateOf } from './request-state.ts';
import { type ApiRuntime, restrictionOf, userOf } from './runtime.ts';

/** For an action without an id: access is asked for before anything is looked at. */
export async function admitCollection(runtime: ApiRuntime, action: string, request: ApiRequest): Promise<void> {
  await checkAccess(runtime, action, request, null);
  await heed(runtime.hooks.onPostCheckAccess(action, request, null));
}

/** For an action with an id: the entity is fetched as the controller restricts it, and is what access is asked for. */
export async function admitSingle(
  runtime: ApiRuntime,
  action: string,
  id: Identifier | undefined,
  request: ApiRequest,
): Promise<object> {
  const entity = await loadEntity(runtime, action, id, request);
  await heed(runtime.hooks.onPostFetchEntity(action, request, entity));
  await checkAccess(runtime, action, request, entity);
  await heed(runtime.hooks.onPostCheckAccess(action, request, entity));
  countLinksOf(entity);
  stateOf(request, runtime.framework.mapper).admitted = { action, id: String(id), entity };
  return entity;
}

/** The entity as the controller restricts it for the action, or 404. */
export async function loadEntity(runtime: ApiRuntime, action: string, id: unknown, request: ApiRequest): Promise<object> {
  const state = stateOf(request, runtime.framework.mapper);
  const { em } = state;
  const key = runtime.parseId(typeof id === 'bigint' ? String(id) : id);
  const restrict = restrictionOf(runtime, action, request);
  const entity = key === undefined ? null : await fetchOne(em, runtime.meta, key, restrict, runtime.api.defaultSort);
  if (entity) return entity;
  state.isMissing = true;
  throw problem('entity_not_found', { model: modelName(runtime.meta) });
}

/** Passes if every role of the action's method is granted, else throws 401 or 403. */
export async function checkAccess(runtime: ApiRuntime, action: string, request: ApiRequest, subject: unknown): Promise<void> {
  await runtime.guardOf(action, request.method as HttpMethod).check(subject, userOf(request), request);
}
