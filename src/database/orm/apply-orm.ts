import { type EntityMetadata, type FilterDef, type Options, Utils } from '@mikro-orm/core';
import type { Mapper } from '../mapper.ts';
import type { OrmSetup } from './read-orm.ts';

type Discovery = NonNullable<Options['discovery']>;

/** The discovery options of a configuration. They give its default schema to each model, where compiled statements look for it. */
export function discoveryWith({ options: { discovery = {} }, schema }: OrmSetup): Discovery {
  if (schema === null) return discovery;
  return {
    ...discovery,
    async onMetadata(meta, platform) {
      if (!meta.embeddable) meta.schema ??= schema;
      await discovery.onMetadata?.(meta, platform);
    },
  };
}

/**
 * Makes the filters of the configuration filters of each model that they apply to. Compiled statements, visibility and writes look for
 * them there only.
 */
export function addFilters(mapper: Mapper, { filterParams, filters }: OrmSetup): void {
  // one object for all models: a class and its subclass are then known to have the same filter
  const named = Object.entries(filters).map(([name, filter]): [string, FilterDef] => [
    name,
    { ...filter, name, default: filter.default ?? true },
  ]);
  for (const meta of mapper.getMetadata().getAll().values() as Iterable<EntityMetadata>) {
    if (meta.embeddable) continue;
    const own = named.filter(
      ([, { entity }]) => !entity || Utils.asArray(entity).some((each) => Utils.matchesEntity(each, meta)),
    );
    if (own.length > 0) meta.filters = { ...meta.filters, ...Object.fromEntries(own) } as EntityMetadata['filters'];
  }
  if (filterParams.size === 0) return;
  // forks copy the parameters of the global entity manager, which can be set only while it may be used
  mapper.config.set('allowGlobalContext', true);
  for (const [name, params] of filterParams) mapper.em.setFilterParams(name, params);
  mapper.config.set('allowGlobalContext', false);
}
