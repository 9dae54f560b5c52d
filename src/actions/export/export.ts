import type { ApiRequest } from '../../access/user.ts';
import type { HttpMethod } from '../../declaration/types.ts';
import type { ActiveGroups } from '../../model/groups.ts';
import type { RouteHandler } from '../../route/mount.ts';
import { hasColumns, lineOf } from '../../serialization/formats.ts';
import { groupsOf, stateOf } from '../../store/request-state.ts';
import type { RowStore } from '../../store/row-store.ts';
import { admitCollection } from '../admission.ts';
import { withEarlyReply } from '../dispatch.ts';
import { declaredNames } from '../parameters.ts';
import { restrictionOf } from '../restriction.ts';
import { type ApiRuntime, columnsOf, visibleQuery } from '../start/runtime.ts';
import { EntityExport } from './entity-export.ts';
import { type ExportFormat, ExportReply, sendExport } from './export-reply.ts';

/** The whole list, which is read only while it is sent: by a compiled statement, or as entities in chunks. */
export async function exportList(
  api: ApiRuntime,
  rowsFor: ((groups: ActiveGroups) => RowStore | null) | null,
  request: ApiRequest,
  format: ExportFormat,
): Promise<ExportReply> {
  const groups = groupsOf(request, api.framework.mapper);
  const rows = rowsFor?.(groups) ?? null;
  const list = api.listOf('_index', groups);
  const listQuery = list.readWhole(request.query as Record<string, unknown>, declaredNames(request));
  const columns = hasColumns(format) ? columnsOf(api, groups, listQuery.choice) : null;
  const restriction = await restrictionOf(api, '_index', request);
  const plan = list.planOf(listQuery);
  const isCompiled = rows !== null && (await rows.canWalk(request, restriction));
  const open = async () => {
    const wanted = { asked: await visibleQuery(api, request, listQuery), plan };
    if (isCompiled) return rows.walk(request, restriction, wanted, { columns });
    return EntityExport.open(api, request, restriction, wanted, lineOf(columns, listQuery.choice));
  };
  return new ExportReply({ format, name: api.api.name, columns, open });
}

/** `_index` GET and HEAD in an export format. */
export function exportAction(
  api: ApiRuntime,
  rowsFor: (groups: ActiveGroups) => RowStore | null,
  method: HttpMethod,
  format: ExportFormat,
): RouteHandler {
  const grants = api.grantsOf('_index', method);
  return withEarlyReply(api, format, grants, async (incoming, reply) => {
    const request = incoming as ApiRequest;
    await admitCollection(api, '_index', request);
    stateOf(request, api.framework.mapper).groups = await grants.ofCollection(request);
    const { options } = await exportList(api, rowsFor, request, format);
    return sendExport(api.framework, request, reply, options);
  });
}
