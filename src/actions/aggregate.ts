import type { ApiRequest } from '../access/user.ts';
import type { Format, HttpMethod } from '../declaration/types.ts';
import { problem } from '../errors.ts';
import { collectionOf } from '../response/collection.ts';
import { readPageRequest, rejectPaging } from '../response/page-request.ts';
import type { RouteHandler } from '../route/mount.ts';
import { contentTypes, rewriteJson } from '../serialization/formats.ts';
import type { AggregateStore } from '../store/aggregate-store.ts';
import { admitCollection } from './admission.ts';
import { withEarlyReply } from './dispatch.ts';
import { isExport } from './export/export-reply.ts';
import { declaredNames } from './parameters.ts';
import { restrictionOf } from './restriction.ts';
import type { ApiRuntime } from './start/runtime.ts';
import { taggedResponse } from './tagged.ts';

/** Aggregates of `_index`, GET and HEAD: check as for the list → aggregate through its restriction → collection model. */
export function aggregateAction(api: ApiRuntime, store: AggregateStore, method: HttpMethod, format: Format): RouteHandler {
  const { framework } = api;
  const grants = api.grantsOf('_index', method);
  const { baseUrl } = framework.declaration.server;
  return withEarlyReply(api, format, grants, async (incoming, reply) => {
    const request = incoming as ApiRequest;
    await admitCollection(api, '_index', request);
    const query = request.query as Record<string, unknown>;
    const list = api.listOf('_index', await grants.ofCollection(request));
    const { condition, maxGroups, plan } = list.readAggregate(query, declaredNames(request), !isExport(format));
    if (isExport(format)) rejectPaging(query);
    const limits = { ...api.api.pagination, itemsPerPage: maxGroups, maxItemsPerPage: maxGroups };
    const page = readPageRequest(isExport(format) ? {} : query, limits);
    const restriction = await restrictionOf(api, '_index', request);
    const { itemsPerPage: limit, offset } = page;
    const { count, results } = await store.page(request, restriction, {
      plan,
      condition,
      sort: list.plan.ownSort,
      limit,
      offset,
    });
    if (isExport(format) && count > limit) throw problem('aggregate_too_large', { limit });
    const { pagination } = collectionOf([], { count, is: 'exact' }, page, request.url, baseUrl);
    const json = `{"count":${count},"results":[${results}],"pagination":${JSON.stringify(pagination)}}`;
    const body = rewriteJson(format, json, plan.csvColumns);
    const tag = await framework.tags.ofAny(body, null);
    return taggedResponse(framework.responses, incoming, reply, tag, contentTypes[format], body);
  });
}
