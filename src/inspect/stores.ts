import { hidingClasses } from '../actions/start/check-lists.ts';
import { compileHandlers } from '../actions/start/handlers.ts';
import type { Application } from '../application.ts';
import { denormalizersOf } from '../change/associations.ts';
import type { HttpMethod } from '../declaration/types.ts';
import { dialectOf } from '../dialect/dialect.ts';
import { rootFiltersOf } from '../query/rows/root-filter.ts';
import type { RouteRecord } from '../route/record.ts';

export interface RouteStore {
  readonly record: RouteRecord;
  readonly method: HttpMethod;
  /** Why they go through MikroORM's entities; null if compiled statements read or write them. */
  readonly reason: string | null;
}

/** Plans every route of an application as its start would, without a database. */
export async function routeStores(application: Application): Promise<readonly RouteStore[]> {
  const { catalog, declaration, mapper, records } = application;
  const found = new Map<string, RouteStore>();
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
    { ...application, challenge: '', denormalizers: denormalizersOf(catalog.denormalizers), prefix: '', compiledReads: true },
    {
      executor,
      writer: nothing,
      cursors: nothing,
      observer: undefined,
      bodies: new Map(),
      filters: await rootFiltersOf(mapper, declaration.apis),
      asked: { isHiding: hidingClasses(declaration.apis, mapper), matching: { dialect: dialectOf(mapper), collation: '' } },
      onPlanned: (record, method, reason) => found.set(`${record.name} ${method}`, { record, method, reason }),
    },
  );
  for (const record of records) {
    // the formats of a route read the same rows
    for (const method of record.methods) handlerFor(record, method, record.formats[0] ?? 'json');
  }
  return [...found.values()];
}
