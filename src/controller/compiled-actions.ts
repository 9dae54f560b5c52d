import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiRequest } from '../access/user.ts';
import type { HttpMethod } from '../declaration/types.ts';
import { problem } from '../errors.ts';
import { modelName } from '../model/hierarchy.ts';
import type { CompiledRead } from '../query/compiled-read.ts';
import { countQuery, singleKey, windowKeys } from '../query/key-query.ts';
import { type AnyQueryBuilder, isPlain, type Restrict, restrictedQuery } from '../query/restriction.ts';
import { joinsFiltered } from '../query/root-filter.ts';
import { collectionOf } from '../response/collection.ts';
import { checkParameters, pageParameters, readPageRequest } from '../response/page-request.ts';
import type { RouteHandler } from '../route/mount.ts';
import { checkAccess } from './admission.ts';
import type { ApiController } from './api-controller.ts';
import { stateOf, withState } from './request-state.ts';
import { jsonType } from './respond.ts';
import { type ApiRuntime, restrictionOf } from './runtime.ts';

/** Whether nothing of the application's own code is on the way from the rows to the answer. */
export function isUnhooked(controller: ApiController, base: ApiController, handler: 'indexApi' | 'entityApi'): boolean {
  const hooks = [handler, 'onPostFetchEntity', 'onPostCheckAccess', 'onBeforeSerialize', 'getEntity'] as const;
  return hooks.every((name) => controller[name] === base[name]);
}

/** What a model's own filters restrict anew for each request needs a query of its own, even if the controller adds nothing to it. */
function ownFilters(read: CompiledRead): Restrict | null {
  return read.filtersPerRequest ? () => undefined : null;
}

/** Whether compiled statements can take a query's keys. A join of the model's own filters can bring more filters with it. */
function isTaken({ restricts }: ApiRuntime, query: AnyQueryBuilder): boolean {
  return isPlain(query) && (restricts || !joinsFiltered(query));
}

/** `_index` GET and HEAD from compiled statements; a restriction of a form they cannot take goes `otherwise`. */
export function compiledIndex(runtime: ApiRuntime, read: CompiledRead, otherwise: RouteHandler): RouteHandler {
  const { api, framework, meta } = runtime;
  const { baseUrl } = framework.declaration.server;
  return async (incoming: FastifyRequest, reply: FastifyReply) => {
    const request = incoming as ApiRequest;
    await checkAccess(runtime, '_index', request, null);
    const query = request.query as Record<string, unknown>;
    checkParameters(query, pageParameters);
    const page = readPageRequest(query, api.pagination);
    const window = { offset: page.offset, limit: page.itemsPerPage };
    const restrict = restrictionOf(runtime, '_index', request) ?? ownFilters(read);
    let fetched: { count: number; items: string };
    if (restrict) {
      const state = stateOf(request, framework.mapper);
      const restricted = await withState(state, () => restrictedQuery(state.em, meta, restrict));
      if (!isTaken(runtime, restricted)) return otherwise(incoming, reply);
      fetched = await read.pageOf(windowKeys(meta, restricted, window, api.defaultSort), countQuery(meta, restricted));
    } else {
      fetched = await read.page(window);
    }
    const { count, pagination } = collectionOf([], fetched.count, page, request.url, baseUrl);
    return reply
      .type(jsonType)
      .send(`{"count":${count},"results":[${fetched.items}],"pagination":${JSON.stringify(pagination)}}`);
  };
}

/** `_entity` GET and HEAD from compiled statements; an entity is made, of the same row, only where a voter looks at it. */
export function compiledEntity(runtime: ApiRuntime, read: CompiledRead, otherwise: RouteHandler): RouteHandler {
  const { framework, meta } = runtime;
  const judged = (request: ApiRequest) => runtime.guardOf('_entity', request.method as HttpMethod).readsSubject;
  return async (incoming: FastifyRequest, reply: FastifyReply) => {
    const request = incoming as ApiRequest;
    const id = runtime.parseId((request.params as { id: string }).id);
    const restrict = restrictionOf(runtime, '_entity', request) ?? ownFilters(read);
    let row: unknown[] | undefined;
    if (id !== undefined && restrict) {
      const state = stateOf(request, framework.mapper);
      const restricted = await withState(state, () => restrictedQuery(state.em, meta, restrict));
      if (!isTaken(runtime, restricted)) return otherwise(incoming, reply);
      row = await read.oneOf(singleKey(meta, restricted, id));
    } else if (id !== undefined) {
      row = await read.one(id);
    }
    if (!row) throw problem('entity_not_found', { model: modelName(meta) });
    const subject = judged(request) ? read.subjectOf(row, stateOf(request, framework.mapper).em) : null;
    await checkAccess(runtime, '_entity', request, subject);
    checkParameters(request.query as Record<string, unknown>, []);
    return reply.type(jsonType).send(await read.json(row));
  };
}
