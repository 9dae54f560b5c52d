import type { ApiRequest } from '../../access/user.ts';
import type { Format, HttpMethod } from '../../declaration/types.ts';
import { isNormalized } from '../../model/field-plan.ts';
import type { ActiveGroups } from '../../model/groups.ts';
import { CompiledRead } from '../../query/rows/compiled-read.ts';
import { noFilter } from '../../query/rows/root-filter.ts';
import type { RouteHandler } from '../../route/mount.ts';
import type { RouteRecord } from '../../route/record.ts';
import { hasColumns } from '../../serialization/formats.ts';
import { AggregateStore } from '../../store/aggregate-store.ts';
import { RowStore } from '../../store/row-store.ts';
import { aggregateAction } from '../aggregate.ts';
import { exportAction } from '../export/export.ts';
import { isExport } from '../export/export-reply.ts';
import { fetchAction } from '../fetch.ts';
import { type GroupGrants, perGroups } from '../group-grants.ts';
import { hookWith } from '../hooks.ts';
import { listAction } from '../list.ts';
import type { Compilers } from './compile-api.ts';
import type { ApiRuntime } from './runtime.ts';

/** The input for compiled reads. */
interface Reading extends Compilers {
  readonly runtime: ApiRuntime;
  readonly compiledReads: boolean;
}

/** GET and HEAD of a default action: by compiled statements, or through entities if something needs them. */
export function readingHandler(record: RouteRecord, method: HttpMethod, format: Format, reading: Reading): RouteHandler {
  const { observer, runtime } = reading;
  const isIndex = record.action?.kind === 'index';
  const grants = runtime.grantsOf(isIndex ? '_index' : '_entity', method);
  const planFor = perGroups((groups) => planRead(isIndex, method, reading, grants, groups));
  const planned = reading.compiledReads ? planFor(grants.all) : 'compiled reads are disabled';
  if (reading.compiledReads) observer?.planned(record, method, typeof planned === 'string' ? planned : null);
  reading.onPlanned?.(record, method, typeof planned === 'string' ? planned : null);
  const rowsFor = perGroups((groups): RowStore | null => {
    // a CSV cell is written from a column, but a normalizer needs JSON
    const isRewritten =
      isExport(format) && hasColumns(format) && isNormalized(runtime.framework.serializer(groups).planFor(runtime.meta));
    // fewer fields can be compiled as well
    const store = typeof planned === 'string' || isRewritten ? null : planFor(groups);
    return typeof store === 'string' ? null : store;
  });
  const storeFor = (groups: ActiveGroups) => rowsFor(groups) ?? runtime.entities;
  if (!isIndex) return fetchAction(runtime, storeFor, method, format);
  return isExport(format) ? exportAction(runtime, rowsFor, method, format) : listAction(runtime, storeFor, method, format);
}

/** GET and HEAD of the aggregates of a list, which the database computes. */
export function aggregateHandler(
  record: RouteRecord,
  method: HttpMethod,
  format: Format,
  { executor, filters, observer, onPlanned, reads, runtime }: Omit<Reading, 'compiledReads'>,
): RouteHandler {
  const { framework, meta } = runtime;
  observer?.planned(record, method, null);
  onPlanned?.(record, method, null);
  const store = new AggregateStore(framework.mapper, meta, {
    executor: (reads ?? { executor }).executor,
    filter: filters.get(meta) ?? noFilter,
    visibilityOf: (request: ApiRequest) => framework.visibilityOf(request),
  });
  return aggregateAction(runtime, store, method, format);
}

/** The store of rows for a read of the fields of some groups, or why it needs entities. */
function planRead(
  isIndex: boolean,
  method: HttpMethod,
  reading: Reading,
  grants: GroupGrants,
  groups: ActiveGroups,
): RowStore | string {
  const { filters, runtime } = reading;
  const { cursors, executor } = reading.reads ?? reading;
  const { api, entities, framework, meta, overrides: own } = runtime;
  const isJudgedByGroups = !isIndex && grants.readsSubject;
  const judged = !isIndex && (isJudgedByGroups || runtime.guardOf('_entity', method).readsSubject || own.has('afterAccessCheck'));
  const hook = hookWith(own, 'rows');
  if (hook) return `the controller has ${hook}, which receives entities`;
  const list = isIndex ? runtime.listOf('_index', groups).plan : null;
  const sort = list ? list.sort : api.defaultSort;
  const planOf = (some: ActiveGroups) => framework.serializer(some).planFor(meta);
  const read = CompiledRead.compile(framework.mapper, meta, planOf(groups), sort, executor, {
    seek: list?.seek ?? null,
    narrower: isJudgedByGroups ? grants.within(groups).map((key) => ({ key, plan: planOf(key) })) : [],
    count: api.pagination.count,
    withSubject: judged,
    withVersion: !isIndex,
    filter: filters.get(meta),
    isLimited: (embedded) => framework.visibility.limitsOf(embedded).length > 0,
    embed: framework.serializer(groups).embed,
  });
  if (!(read instanceof CompiledRead)) return read.needsEntity;
  if (judged && read.subjectRefusal !== null) return read.subjectRefusal;
  const visibilityOf = (request: ApiRequest) => framework.visibilityOf(request);
  return new RowStore(framework.mapper, meta, read, { sort: api.defaultSort, entities, visibilityOf, cursors });
}
