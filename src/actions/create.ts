import { helper } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import { isObject } from '../change/body-reader.ts';
import { problem, violationsProblem } from '../errors.ts';
import { JsonReply } from '../response/json-reply.ts';
import { targetOf } from '../response/request-target.ts';
import { stateOf } from '../store/request-state.ts';
import { FoundRow } from '../store/row-store.ts';
import type { WriteStore } from '../store/write-store.ts';
import { runAfterCommit } from './after-commit.ts';
import { runHook } from './hooks.ts';
import { refuseUndeclared } from './parameters.ts';
import { refusePrecondition } from './precondition.ts';
import type { ApiRuntime } from './start/runtime.ts';

/** `_index` POST, once access was granted: deserialize → validate → write in one transaction → 201 with `Location`. */
export async function create(api: ApiRuntime, store: Pick<WriteStore, 'create'>, request: ApiRequest, format: string) {
  refuseUndeclared(request);
  refusePrecondition(api, request);
  const { framework, hooks, meta, overrides } = api;
  const state = stateOf(request, framework.mapper);
  const created = await store.create(request, {
    make: async () => {
      const { entity, violations } = await framework.deserializer().create([meta], bodyOf(request), { em: state.em, request });
      await validated(api, '_index', request, entity, violations);
      return entity;
    },
    check: (entity) => validated(api, '_index', request, entity),
  });
  if (overrides.has('onAfterFlush')) await runAfterCommit(state, () => hooks.onAfterFlush('_index', request, created));
  const key = created instanceof FoundRow ? created.key : helper(created).getPrimaryKey();
  return new JsonReply(created, { status: 201, headers: { location: locationOf(api, request, key, format) } });
}

/** Throws every broken rule of an entity together with what the body got wrong; then the hook after validation runs. */
export async function validated(
  { hooks, overrides }: ApiRuntime,
  action: string,
  request: ApiRequest,
  entity: object,
  known: readonly { readonly propertyPath: string }[] = [],
): Promise<void> {
  const found = await hooks.validate(entity);
  const further = found.filter(({ propertyPath }) => !known.some((violation) => violation.propertyPath === propertyPath));
  const violations = [...(known as typeof found), ...further];
  if (violations.length > 0) throw violationsProblem(violations);
  if (overrides.has('onAfterValidation')) await runHook(hooks.onAfterValidation(action, request, entity));
}

/** The body as an object, or the 400 that asks for one. */
export function bodyOf(request: ApiRequest): Record<string, unknown> {
  if (isObject(request.body)) return request.body;
  throw problem('invalid_body', { reason: request.body === undefined ? 'there is none' : 'it is something else' });
}

/** The body as whatever JSON it is, for code of the application to read. */
export function anyBodyOf(request: ApiRequest): unknown {
  return request.body ?? bodyOf(request);
}

/** The address of a new entity: beside the list, under the prefix and the placeholders of the request's own path. */
function locationOf({ api, framework }: ApiRuntime, request: ApiRequest, key: unknown, format: string): string {
  const path = segmentsOf(targetOf(request.url).path);
  const depth = segmentsOf(framework.prefix).length + segmentsOf(api.basePath).length;
  const base = path.slice(0, depth).join('/');
  const list = path.length === depth ? base.slice(0, -`.${format}`.length) : base;
  const entity = api.actions.find(({ kind }) => kind === 'entity');
  const segment = entity?.segment;
  const id = encodeURIComponent(String(key));
  // the entity may not have every format of the list
  const suffix = entity && !entity.formats.some((known) => known === format) ? entity.formats[0] : format;
  return `${framework.declaration.server.baseUrl}/${list}/${id}${segment ? `/${segment}` : ''}.${suffix}`;
}

function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '');
}
