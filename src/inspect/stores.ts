import { hidingClasses } from '../actions/start/check-lists.ts';
import { compileHandlers } from '../actions/start/handlers.ts';
import type { Application } from '../application.ts';
import { denormalizersOf } from '../change/associations.ts';
import type { HttpMethod } from '../declaration/types.ts';
import { dialectOf } from '../dialect/dialect.ts';
import { rootFiltersOf } from '../query/rows/root-filter.ts';
import type { RouteRecord } from '../route/record.ts';

/**
 * Plans every route of an application as its start does, without a database. `reason` says why a method uses MikroORM's entities;
 * null if it uses compiled statements.
 */
export async function routeStores(application: Application) {
  const { catalog, declaration, mapper, records } = application;
  const found = new Map<string, { record: RouteRecord; method: HttpMethod; reason: string | null }>();
  const unsent = () => Promise.reject(new Error('no statement is sent while routes are planned'));
  const nothing = {
    rows: unsent,
    change: unsent,
    transaction: unsent,
    open: unsent,
    underWay: () => 0,
    close: async () => undefined,
  };
  const executor = { ...nothing, format: dialectOf(mapper).values.readsText ? ('text' as const) : ('native' as const) };
  const handlerFor = compileHandlers(
    {
      ...application,
      challenge: '',
      denormalizers: denormalizersOf(catalog.denormalizers, application.create),
      prefix: '',
      compiledReads: true,
    },
    {
      executor,
      writer: nothing,
      cursors: nothing,
      observer: undefined,
      bodies: new Map(),
      filters: await rootFiltersOf(mapper, declaration.apis),
      listOptions: { isHiding: hidingClasses(declaration.apis, mapper), matching: { dialect: dialectOf(mapper), collation: '' } },
      onPlanned: (record, method, reason) => found.set(`${record.name} ${method}`, { record, method, reason }),
    },
  );
  for (const record of records) {
    // all formats of a route read the same rows
    for (const method of record.methods) handlerFor(record, method, record.formats[0] ?? 'json');
  }
  return [...found.values()];
}
