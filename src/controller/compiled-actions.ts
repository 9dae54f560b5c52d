import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiRequest } from '../access/user.ts';
import type { Cursors } from '../database/cursor.ts';
import type { Format, HttpMethod } from '../declaration/types.ts';
import { problem } from '../errors.ts';
import { modelName } from '../model/hierarchy.ts';
import type { Identifier } from '../model/identifier.ts';
import { nothingAsked } from '../query/asked.ts';
import { askedQuery } from '../query/asked-query.ts';
import { isSameForAll } from '../query/asked-sight.ts';
import { CompiledExport } from '../query/compiled-export.ts';
import type { CompiledPage, CompiledRead, Look } from '../query/compiled-read.ts';
import { pageQueries, singleKey } from '../query/key-query.ts';
import { orderedKeys } from '../query/keys.ts';
import { type AnyQueryBuilder, isPlain, type Restrict, restrictedQuery } from '../query/restriction.ts';
import { joinsFiltered } from '../query/root-filter.ts';
import { NeedsEntity } from '../query/row-plan.ts';
import { collectionOf } from '../response/collection.ts';
import { checkParameters, readPageRequest, readPageToken } from '../response/page-request.ts';
import type { RouteHandler } from '../route/mount.ts';
import { contentTypes, lineOf, rewriteJson } from '../serialization/formats.ts';
import type { ApiController } from './api-controller.ts';
import { type ExportFormat, sendExport } from './export-reply.ts';
import { stateOf, withState } from './request-state.ts';
import { type ApiRuntime, columnsOf, restrictionOf, seenBy, userOf, windowOf } from './runtime.ts';
import { taggedAnswer } from './tagged.ts';

/** Whether nothing of the application's own code is on the way from the rows to the answer. */
export function isUnhooked(controller: ApiController, base: ApiController, handler: 'indexApi' | 'entityApi'): boolean {
  const hooks = [handler, 'onPostFetchEntity', 'onPostCheckAccess', 'onBeforeSerialize', 'getEntity'] as const;
  return hooks.every((name) => controller[name] === base[name]);
}

/** What a model's own filters restrict anew for each request needs a query of its own, even if the controller adds nothing to it. */
function ownFilters(read: CompiledRead): Restrict | null {
  return read.filtersPerRequest ? unrestricted : null;
}

const unrestricted: Restrict = () => undefined;

/** Whether compiled statements can take a query's keys. A join of the model's own filters can bring more filters with it. */
function isTaken({ restricts }: ApiRuntime, query: AnyQueryBuilder): boolean {
  return isPlain(query) && (restricts || !joinsFiltered(query));
}

/** Whether the rows of a list are shown as they are, and none of the application's own code can hide something of them. */
export function showsRowsAsTheyAre(controller: ApiController, base: ApiController): boolean {
  return (['indexApi', 'onPostFetchEntity', 'onBeforeSerialize'] as const).every((name) => controller[name] === base[name]);
}

/** Finds out for one request what it sees of the rows that others embed. */
export type LookFor = (request: ApiRequest) => Look;

/** The way of those who need an entity after all, where a read that takes a look found out so. */
async function unlessNeeded(answer: Promise<unknown>, otherwise: () => unknown): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof NeedsEntity) return otherwise();
    throw error;
  }
}

/** `_index` GET and HEAD from compiled statements; a restriction of a form they cannot take goes `otherwise`. */
export function compiledIndex(
  runtime: ApiRuntime,
  read: CompiledRead,
  otherwise: RouteHandler,
  method: HttpMethod,
  format: Format,
  lookFor: LookFor,
): RouteHandler {
  const { api, framework, meta } = runtime;
  const guard = runtime.guardOf('_index', method);
  const list = runtime.listOf('_index');
  const { baseUrl } = framework.declaration.server;
  const answer = async (incoming: FastifyRequest, reply: FastifyReply) => {
    const request = incoming as ApiRequest;
    const pending = guard.check(null, userOf(request), request);
    if (pending !== undefined) await pending;
    const query = request.query as Record<string, unknown>;
    const asked = list.read(query);
    const page = readPageRequest(query, api.pagination);
    const plan = list.planOf(asked);
    const window = windowOf(plan, page, readPageToken(query));
    const view = asked === nothingAsked ? undefined : read.viewOf(asked.sort && plan, asked.choice);
    if (view === null) return otherwise(incoming, reply);
    const isOfCaller = asked.condition !== null && !isSameForAll(asked.condition);
    const restrict = restrictionOf(runtime, '_index', request) ?? ownFilters(read) ?? (isOfCaller ? unrestricted : null);
    const reading = { look: read.takesLook ? lookFor(request) : undefined, ...(view && { view }) };
    let fetched: CompiledPage;
    if (restrict) {
      const state = stateOf(request, framework.mapper);
      const restricted = await withState(state, () => restrictedQuery(state.em, meta, restrict));
      if (!isTaken(runtime, restricted)) return otherwise(incoming, reply);
      const narrowed = askedQuery(state.em, meta, restricted, await seenBy(runtime, request, asked), plan.sort);
      fetched = await (read.pageWhere(narrowed, window, reading) ??
        read.pageOf(pageQueries(meta, narrowed, window, plan), window, reading));
    } else {
      fetched = await (asked.condition ? read.pageAmong(asked.condition, window, reading) : read.page(window, reading));
    }
    const { counted, edges, items } = fetched;
    const { pagination } = collectionOf([], counted, page, request.url, baseUrl, edges);
    const number = counted.is === 'exact' ? String(counted.count) : `${counted.count},"count_is":"${counted.is}"`;
    const json = `{"count":${number},"results":[${items}],"pagination":${JSON.stringify(pagination)}}`;
    const body = rewriteJson(format, json, null);
    return taggedAnswer(incoming.headers, reply, framework.tags.of(body, null), contentTypes[format], body);
  };
  if (!read.takesLook) return answer;
  return (incoming, reply) => unlessNeeded(answer(incoming, reply), () => otherwise(incoming, reply));
}

/** `_index` GET and HEAD as an export from a compiled statement; a restriction of a form it cannot take goes `otherwise`. */
export function compiledExport(
  runtime: ApiRuntime,
  read: CompiledRead,
  cursors: Cursors,
  otherwise: RouteHandler,
  method: HttpMethod,
  format: ExportFormat,
): RouteHandler {
  const { api, framework, meta } = runtime;
  const guard = runtime.guardOf('_index', method);
  const list = runtime.listOf('_index');
  const allColumns = format === 'csv' ? columnsOf(runtime) : null;
  const writeAll = read.lineWriter(allColumns);
  return async (incoming: FastifyRequest, reply: FastifyReply) => {
    const request = incoming as ApiRequest;
    await guard.check(null, userOf(request), request);
    const query = request.query as Record<string, unknown>;
    const asked = list.readWhole(query);
    const columns = asked.choice && allColumns ? columnsOf(runtime, asked.choice) : allColumns;
    const write = asked.choice ? read.chosenWriter(lineOf(columns, asked.choice)) : writeAll;
    const isWhole = asked.condition === null && asked.sort === null;
    const restrict = restrictionOf(runtime, '_index', request) ?? ownFilters(read) ?? (isWhole ? null : unrestricted);
    let rows = read.all();
    if (restrict) {
      const { sort } = list.planOf(asked);
      const state = stateOf(request, framework.mapper);
      const restricted = await withState(state, () => restrictedQuery(state.em, meta, restrict));
      const narrowed = askedQuery(state.em, meta, restricted, await seenBy(runtime, request, asked), sort);
      if (!isTaken(runtime, narrowed)) return otherwise(incoming, reply);
      const where = asked.sort ? null : read.allWhere(narrowed);
      rows = where ?? read.allOf(orderedKeys(state.em, meta, narrowed, sort));
    }
    const open = () => CompiledExport.open(cursors, rows, write);
    return sendExport(framework, request, reply, { format, name: api.name, columns, open });
  };
}

type Body = string | undefined;

/** `_entity` GET and HEAD from compiled statements; an entity is made, of the same row, only where a voter looks at it. */
export function compiledEntity(
  runtime: ApiRuntime,
  read: CompiledRead,
  otherwise: RouteHandler,
  method: HttpMethod,
  format: Format,
  lookFor: LookFor,
): RouteHandler {
  const { framework, meta, parseId } = runtime;
  const columns = format === 'csv' ? columnsOf(runtime) : null;
  const { mapper, tags } = framework;
  const table = meta.root.tableName;
  const guard = runtime.guardOf('_entity', method);
  const hasQuery = runtime.restricts || read.filtersPerRequest;

  // nothing here waits that need not wait, and so it is no async function: every step of one takes a turn of its own
  const answer = (row: unknown[] | undefined, request: ApiRequest, reply: FastifyReply): Body | Promise<Body> => {
    if (!row) throw problem('entity_not_found', { model: modelName(meta) });
    const subject = guard.readsSubject ? read.subjectOf(row, stateOf(request, mapper).em) : null;
    const pending = guard.check(subject, userOf(request), request);
    return pending === undefined ? finish(row, request, reply) : pending.then(() => finish(row, request, reply));
  };
  const finish = (row: unknown[], request: ApiRequest, reply: FastifyReply): Body | Promise<Body> => {
    checkParameters(request.query as Record<string, unknown>, noParameters);
    const json = read.takesLook ? read.json(row, lookFor(request)) : read.json(row);
    return typeof json === 'string' ? tagged(row, json, request, reply) : json.then((text) => tagged(row, text, request, reply));
  };
  const tagged = (row: unknown[], json: string, request: ApiRequest, reply: FastifyReply): Body => {
    const body = format === 'json' ? json : rewriteJson(format, json, columns);
    const version = read.versionOf(row);
    const mark = version === null ? null : tags.mark(table, read.keyOf(row), version);
    return taggedAnswer(request.headers, reply, tags.of(body, mark), contentTypes[format], body);
  };

  const fromQuery = async (id: Identifier, request: ApiRequest, reply: FastifyReply): Promise<unknown> => {
    const restrict = restrictionOf(runtime, '_entity', request) ?? unrestricted;
    const state = stateOf(request, mapper);
    const restricted = await withState(state, () => restrictedQuery(state.em, meta, restrict));
    if (!isTaken(runtime, restricted)) return otherwise(request, reply);
    const [row] = await (read.oneWhere(id, restricted) ?? read.oneOf(singleKey(meta, restricted, id)));
    return answer(row, request, reply);
  };

  const handle = (incoming: FastifyRequest, reply: FastifyReply) => {
    const request = incoming as ApiRequest;
    const id = parseId((request.params as { id: string }).id);
    if (id === undefined) return answer(undefined, request, reply);
    if (hasQuery) return fromQuery(id, request, reply);
    return read.one(id).then((rows) => answer(rows[0], request, reply));
  };
  if (!read.takesLook) return handle;
  return (incoming, reply) => unlessNeeded(Promise.resolve(handle(incoming, reply)), () => otherwise(incoming, reply));
}

const noParameters: readonly string[] = [];
