import type { EntityMetadata } from '@mikro-orm/core';
import type { SelectQueryBuilder } from '@mikro-orm/sql';
import { isKindOf } from '../model/hierarchy.ts';
import type { ListRuntime } from './start/list-runtime.ts';
import type { ApiRuntime } from './start/runtime.ts';

/** A model: its class, or what `defineEntity` returned. */
export type Model<T extends object = object> =
  | (abstract new (
      ...args: never[]
    ) => T)
  | { readonly '~entity'?: T; readonly meta: unknown };

/** The query that `customizeQuery` narrows: MikroORM's query builder on the model, whose alias is `e`. */
export type ModelQuery<T extends object> = SelectQueryBuilder<T, 'e'>;

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
