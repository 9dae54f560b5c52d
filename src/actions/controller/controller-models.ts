import type { EntityMetadata } from '@mikro-orm/core';
import type { ApiRequest } from '../../access/user.ts';
import type { HttpMethod } from '../../declaration/types.ts';
import type { ActiveGroups } from '../../model/groups.ts';
import { isKindOf } from '../../model/hierarchy.ts';
import { groupsOf, stateOf } from '../../store/request-state.ts';
import type { ListRuntime } from '../start/list-runtime.ts';
import type { ApiRuntime } from '../start/runtime.ts';
import type { Model } from './model-types.ts';

/**
 * The list of an action, for the caller of a request; null if its rows are of another model, or if it declares no filters, sorts
 * or search.
 */
export async function declaredList(
  { api, grantsOf, listOf, meta: own }: ApiRuntime,
  action: string,
  meta: EntityMetadata,
  request: ApiRequest,
): Promise<ListRuntime | null> {
  const declared = api.actions.find(({ name }) => name === action)?.list;
  const isDeclared = declared && (declared.filters.length > 0 || declared.sort.length > 0 || declared.search !== null);
  return isDeclared && isKindOf(meta, own) ? listOf(action, await grantsOf(action, 'GET').ofCollection(request)) : null;
}

/** Decides which groups of the running action apply to the caller. */
export async function decideGroups({ framework, grantsOf }: ApiRuntime, action: string, request: ApiRequest): Promise<void> {
  const state = stateOf(request, framework.mapper);
  state.groups = await grantsOf(action, request.method as HttpMethod).ofRequest(request, state);
}

/** The groups of a body that code names, as far as their roles are granted; messages name fields that the action shows. */
export async function writableGroups(
  { framework, grantsOf }: ApiRuntime,
  request: ApiRequest,
  names: readonly string[],
): Promise<Pick<ActiveGroups, 'read' | 'write'>> {
  const state = stateOf(request, framework.mapper);
  const grants = grantsOf(state.runningAction ?? '', request.method as HttpMethod).named(names);
  const { write } = await grants.ofRequest(request, state);
  return { write, read: groupsOf(request, framework.mapper).read };
}

export function metasOf({ framework }: ApiRuntime, types: Model | readonly Model[]): EntityMetadata[] {
  const metadata = framework.mapper.getMetadata();
  return [types].flat().map((type) => metadata.get(type as never) as EntityMetadata);
}
