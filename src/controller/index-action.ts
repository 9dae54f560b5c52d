import { helper } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import { isObject } from '../change/body-reader.ts';
import { flush } from '../change/conflict.ts';
import { problem, violationsProblem } from '../errors.ts';
import { fetchPage } from '../query/fetch.ts';
import { populatePlan } from '../query/populate.ts';
import { restrictedQuery } from '../query/restriction.ts';
import { type CollectionModel, collectionOf } from '../response/collection.ts';
import { JsonReply } from '../response/json-reply.ts';
import { checkParameters, readPageRequest, readPageToken } from '../response/page-request.ts';
import { targetOf } from '../response/request-target.ts';
import { lineOf } from '../serialization/formats.ts';
import { heedAfterCommit } from './after-commit.ts';
import { EntityExport } from './entity-export.ts';
import { type ExportFormat, ExportReply, isExport } from './export-reply.ts';
import { heed } from './hooks.ts';
import { refusePrecondition } from './precondition.ts';
import { stateOf } from './request-state.ts';
import { type ApiRuntime, columnsOf, restrictionOf, seenBy, windowOf } from './runtime.ts';

/** `_index`, once access was granted. */
export function indexAction(runtime: ApiRuntime, request: ApiRequest, format: string): Promise<unknown> {
  switch (request.method) {
    case 'GET':
    case 'HEAD':
      return isExport(format) ? exportList(runtime, request, format) : list(runtime, request);
    case 'POST':
      return create(runtime, request, format);
    default:
      throw problem('method_not_supported');
  }
}

async function list(runtime: ApiRuntime, request: ApiRequest): Promise<CollectionModel> {
  const query = request.query as Record<string, unknown>;
  const { api, framework, hooks, meta } = runtime;
  const list = runtime.listOf('_index');
  const asked = list.read(query);
  const page = readPageRequest(query, api.pagination);
  const state = stateOf(request, framework.mapper);
  const { em } = state;
  const plan = list.planOf(asked);
  const window = windowOf(plan, page, readPageToken(query));
  const restrict = restrictionOf(runtime, '_index', request);
  const { rows, counted, edges } = await fetchPage(em, meta, window, restrict, plan, await seenBy(runtime, request, asked));
  state.choice = asked.choice;
  await heed(hooks.onPostFetchEntity('_index', request, rows));
  // all classes of the model at once, so that the number of statements does not depend on which of them are on the page
  await populatePlan(em, rows, framework.serializer().planFor(meta));
  return collectionOf(rows, counted, page, request.url, framework.declaration.server.baseUrl, edges);
}

/** The whole list, of which nothing is read before it is sent. */
async function exportList(runtime: ApiRuntime, request: ApiRequest, format: ExportFormat): Promise<ExportReply> {
  const asked = runtime.listOf('_index').readWhole(request.query as Record<string, unknown>);
  const columns = format === 'csv' ? columnsOf(runtime, asked.choice) : null;
  const write = lineOf(columns, asked.choice);
  const { api, framework, meta } = runtime;
  const restrict = restrictionOf(runtime, '_index', request);
  // nothing is read for HEAD, but a controller can refuse it as it would GET
  if (restrict && request.method === 'HEAD') await restrictedQuery(stateOf(request, framework.mapper).em, meta, restrict);
  const { name } = api;
  return new ExportReply({ format, name, columns, open: () => EntityExport.open(runtime, request, asked, write) });
}

async function create(runtime: ApiRuntime, request: ApiRequest, format: string): Promise<JsonReply> {
  checkParameters(request.query as Record<string, unknown>, []);
  refusePrecondition(runtime, request);
  const { framework, hooks, meta } = runtime;
  const state = stateOf(request, framework.mapper);
  const { em } = state;
  const { entity, violations: known } = await framework.deserializer().create([meta], bodyOf(request), { em, request });
  const violations = [...known, ...(await laterViolations(hooks.validate(entity), known))];
  if (violations.length > 0) throw violationsProblem(violations);
  await heed(hooks.onAfterValidation('_index', request, entity));
  await flush(em.persist(entity));
  await heedAfterCommit(state, () => hooks.onAfterFlush('_index', request, entity));
  const location = locationOf(runtime, request, helper(entity).getPrimaryKey(), format);
  return new JsonReply(entity, { status: 201, headers: { location } });
}

/** The body as an object, or the 400 that asks for one. */
export function bodyOf(request: ApiRequest): Record<string, unknown> {
  if (isObject(request.body)) return request.body;
  throw problem('invalid_body', { reason: request.body === undefined ? 'there is none' : 'it is something else' });
}

/** What validation found beyond the properties that the body had got wrong already. */
export async function laterViolations<V extends { readonly propertyPath: string }>(
  found: readonly V[] | Promise<readonly V[]>,
  known: readonly { readonly propertyPath: string }[],
): Promise<V[]> {
  return (await found).filter(({ propertyPath }) => !known.some((violation) => violation.propertyPath === propertyPath));
}

/** Where the new entity is found: beside the list, under the prefix and the placeholders of the request's own path. */
export function locationOf({ api, framework }: ApiRuntime, request: ApiRequest, key: unknown, format: string): string {
  const asked = segmentsOf(targetOf(request.url).path);
  const depth = segmentsOf(framework.prefix).length + segmentsOf(api.basePath).length;
  const base = asked.slice(0, depth).join('/');
  const list = asked.length === depth ? base.slice(0, -`.${format}`.length) : base;
  const entity = api.actions.find(({ kind }) => kind === 'entity');
  const segment = entity?.segment;
  const id = encodeURIComponent(String(key));
  // the entity may not be had in every format of the list
  const suffix = entity && !entity.formats.some((known) => known === format) ? entity.formats[0] : format;
  return `${framework.declaration.server.baseUrl}/${list}/${id}${segment ? `/${segment}` : ''}.${suffix}`;
}

function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '');
}
