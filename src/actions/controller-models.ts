import type { EntityMetadata } from '@mikro-orm/core';
import { isKindOf } from '../model/hierarchy.ts';
import type { Model } from './model-types.ts';
import type { ListRuntime } from './start/list-runtime.ts';
import type { ApiRuntime } from './start/runtime.ts';

/** The list of an action; null if its rows are of another model, or if it declares no filters, sorts or search. */
export function declaredList({ api, listOf, meta: own }: ApiRuntime, action: string, meta: EntityMetadata): ListRuntime | null {
  const declared = api.actions.find(({ name }) => name === action)?.list;
  const isDeclared = declared && (declared.filters.length > 0 || declared.sort.length > 0 || declared.search !== null);
  return isDeclared && isKindOf(meta, own) ? listOf(action) : null;
}

export function metasOf({ framework }: ApiRuntime, types: Model | readonly Model[]): EntityMetadata[] {
  const metadata = framework.mapper.getMetadata();
  return [types].flat().map((type) => metadata.get(type as never) as EntityMetadata);
}
