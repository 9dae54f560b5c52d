import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiRequest } from '../access/user.ts';
import type { Format, HttpMethod } from '../declaration/types.ts';
import type { ActiveGroups } from '../model/groups.ts';
import type { RouteHandler } from '../route/mount.ts';
import { contentTypes, hasColumns, rewriteInTurns } from '../serialization/formats.ts';
import type { Found, ReadStore } from '../store/port.ts';
import { stateOf } from '../store/request-state.ts';
import { admitFound, missing } from './admission.ts';
import { withEarlyReply } from './dispatch.ts';
import { perGroups } from './group-grants.ts';
import { runHook } from './hooks.ts';
import { readBeforeRow, refuseUndeclared } from './parameters.ts';
import { markOf } from './precondition.ts';
import { respond } from './respond.ts';
import { restrictionOf } from './restriction.ts';
import { type ApiRuntime, columnsOf, userOf } from './start/runtime.ts';
import { taggedResponse } from './tagged.ts';

type Rows = Pick<ReadStore, 'find'>;

/**
 * `_entity` GET and HEAD: find through the restriction → 404 → hooks and access check with the row → groups of the caller →
 * response. The row is read once, with all fields that its voters may grant. `storeFor` returns the store that reads the fields of
 * some groups.
 */
export function fetchAction(
  api: ApiRuntime,
  storeFor: (groups: ActiveGroups) => Rows,
  method: HttpMethod,
  format: Format,
): RouteHandler {
  const { framework, hooks, meta, keyIn } = api;
  const { tags } = framework;
  const grants = api.grantsOf('_entity', method);
  const fixed = grants.fixed && { groups: grants.fixed, store: storeFor(grants.fixed) };
  const columnsFor = hasColumns(format) ? perGroups((groups) => columnsOf(api, groups)) : () => null;
  const guard = api.guardOf('_entity', method);
  const declaresParameters = api.api.actions.some(({ kind, parameters }) => kind === 'entity' && parameters.length > 0);

  const written = (found: Found, groups: ActiveGroups, json: string, request: ApiRequest, reply: FastifyReply) => {
    const finish = (body: string) => {
      const tag = tags.ofAny(body, markOf(tags, meta, found));
      const send = (known: string) => taggedResponse(framework.responses, request, reply, known, contentTypes[format], body);
      return typeof tag === 'string' ? send(tag) : tag.then(send);
    };
    const body = rewriteInTurns(format, json, columnsFor(groups));
    return typeof body === 'string' ? finish(body) : body.then(finish);
  };

  return withEarlyReply(api, format, grants, async (incoming: FastifyRequest, reply) => {
    const request = incoming as ApiRequest;
    const key = keyIn(request);
    if (key === undefined) throw missing(api, request);
    if (declaresParameters) await readBeforeRow(request, guard, userOf(request));
    const mayApply = fixed ? fixed.groups : await grants.beforeRow(request);
    const store = fixed ? fixed.store : storeFor(mayApply);
    const restriction = restrictionOf(api, '_entity', request);
    const found = await store.find(request, key, restriction instanceof Promise ? await restriction : restriction);
    if (!found) throw missing(api, request);
    await admitFound(api, '_entity', request, found, guard);
    refuseUndeclared(request);
    const groups = grants.readsSubject ? await grants.ofEntity(request, found.entity) : mayApply;
    const json = found.json(grants.readsSubject ? groups : undefined);
    if (json !== null) return written(found, groups, await json, request, reply);
    stateOf(request, framework.mapper).groups = groups;
    await runHook(hooks.beforeSerialize('_entity', request, found.entity));
    return respond(framework, request, reply, found.entity, format, { model: meta, isDefault: true, grants });
  });
}
