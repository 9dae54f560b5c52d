import type { FastifyRequest } from 'fastify';
import type { ApiRequest } from '../access/user.ts';
import type { Format, HttpMethod } from '../declaration/types.ts';
import type { Pace } from '../event-loop.ts';
import type { ActiveGroups } from '../model/groups.ts';
import { populatePlan } from '../query/entities/populate.ts';
import { type CollectionModel, collectionOf } from '../response/collection.ts';
import { type PageRequest, readPageRequest, readPageToken } from '../response/page-request.ts';
import type { RouteHandler } from '../route/mount.ts';
import { contentTypes, rewriteInTurns } from '../serialization/formats.ts';
import type { FoundPage, ReadStore } from '../store/port.ts';
import { groupsOf, stateOf } from '../store/request-state.ts';
import { admitCollection } from './admission.ts';
import { withEarlyReply } from './dispatch.ts';
import { runHook } from './hooks.ts';
import { declaredNames, parametersOf } from './parameters.ts';
import { respond } from './respond.ts';
import { restrictionOf } from './restriction.ts';
import { type ApiRuntime, userOf, visibleQuery, windowOf } from './start/runtime.ts';
import { taggedResponse } from './tagged.ts';

type Pages = Pick<ReadStore, 'page'>;

interface Listed {
  readonly page: FoundPage;
  readonly pageRequest: PageRequest;
}

/** The requested page of a list, restricted by the controller. */
async function pageOf(api: ApiRuntime, store: Pages, request: ApiRequest, groups: ActiveGroups, pace?: Pace): Promise<Listed> {
  const query = request.query as Record<string, unknown>;
  const list = api.listOf('_index', groups);
  const listQuery = list.read(query, declaredNames(request));
  const pageRequest = readPageRequest(query, api.api.pagination);
  const plan = list.planOf(listQuery);
  const window = windowOf(plan, pageRequest, readPageToken(query));
  const restriction = await restrictionOf(api, '_index', request);
  const found = await store.page(request, restriction, {
    asked: await visibleQuery(api, request, listQuery),
    plan,
    window,
    ...(pace && { pace }),
  });
  if (listQuery.choice) stateOf(request, api.framework.mapper).choice = listQuery.choice;
  return { page: found, pageRequest };
}

/** The collection model of a page of entities, after the hook `afterFetch`. */
export async function listEntities(api: ApiRuntime, request: ApiRequest): Promise<CollectionModel> {
  const groups = groupsOf(request, api.framework.mapper);
  return collectionFrom(api, request, groups, await pageOf(api, api.entities, request, groups));
}

async function collectionFrom(
  api: ApiRuntime,
  request: ApiRequest,
  groups: ActiveGroups,
  { page, pageRequest }: Listed,
): Promise<CollectionModel> {
  const { framework, hooks, meta } = api;
  const { counted, edges, entities } = page;
  await runHook(hooks.afterFetch('_index', request, entities));
  // all classes of the model at once, so that the number of statements does not depend on which of them are on the page
  await populatePlan(stateOf(request, framework.mapper).em, entities, framework.serializer(groups).planInside(meta));
  return collectionOf(entities, counted, pageRequest, request.url, framework.declaration.server.baseUrl, edges);
}

/**
 * `_index` GET and HEAD: check with a null subject → groups of the caller → page through the restriction → hooks → collection
 * model. `storeFor` returns the store that reads the fields of some groups.
 */
export function listAction(
  api: ApiRuntime,
  storeFor: (groups: ActiveGroups) => Pages,
  method: HttpMethod,
  format: Format,
): RouteHandler {
  const { framework, hooks, meta, overrides } = api;
  const guard = api.guardOf('_index', method);
  const grants = api.grantsOf('_index', method);
  const fixed = grants.fixed && { groups: grants.fixed, store: storeFor(grants.fixed) };
  const { baseUrl } = framework.declaration.server;
  const admits = overrides.has('afterAccessCheck');
  return withEarlyReply(api, format, grants, async (incoming: FastifyRequest, reply) => {
    const request = incoming as ApiRequest;
    if (admits) await admitCollection(api, '_index', request);
    else {
      const pending = guard.check(null, userOf(request), request);
      if (pending !== undefined) await pending;
      parametersOf(request);
    }
    const pace: Pace = (length, part) => framework.responses.makeRoom(incoming, reply, length, part);
    const groups = fixed ? fixed.groups : await grants.ofCollection(request);
    const listed = await pageOf(api, fixed ? fixed.store : storeFor(groups), request, groups, pace);
    const { page, pageRequest } = listed;
    const items = page.json();
    if (items === null) {
      stateOf(request, framework.mapper).groups = groups;
      const collection = await collectionFrom(api, request, groups, listed);
      await runHook(hooks.beforeSerialize('_index', request, collection));
      return respond(framework, request, reply, collection, format, { model: meta, isDefault: true, grants });
    }
    const { counted, edges } = page;
    const { pagination } = collectionOf([], counted, pageRequest, request.url, baseUrl, edges);
    const number = counted.is === 'exact' ? String(counted.count) : `${counted.count},"count_is":"${counted.is}"`;
    const json = `{"count":${number},"results":[${await items}],"pagination":${JSON.stringify(pagination)}}`;
    const body = await rewriteInTurns(format, json, null);
    const tag = framework.tags.ofAny(body, null);
    const send = (known: string) => taggedResponse(framework.responses, incoming, reply, known, contentTypes[format], body);
    return typeof tag === 'string' ? send(tag) : tag.then(send);
  });
}
