import type { ApiRequest } from '../access/user.ts';
import { isObject } from '../change/body-reader.ts';
import { Problem, problem, type Violation, violationsProblem } from '../errors.ts';
import { isTurnLong, nextTurn } from '../event-loop.ts';
import { entityKey } from '../model/identifier.ts';
import { JsonReply } from '../response/json-reply.ts';
import { targetOf } from '../response/request-target.ts';
import { groupsOf, stateOf } from '../store/request-state.ts';
import { FoundRow } from '../store/row-store.ts';
import type { WriteStore } from '../store/write-store.ts';
import { runAfterCommit } from './after-commit.ts';
import { isItem } from './bulk/item-request.ts';
import { EarlyReply, runHook } from './hooks.ts';
import { refuseUndeclared } from './parameters.ts';
import { refusePrecondition } from './precondition.ts';
import type { ApiRuntime } from './start/runtime.ts';

/** `_index` POST, once access was granted: deserialize → validate → write in one transaction → 201 with `Location`. */
export async function create(api: ApiRuntime, store: Pick<WriteStore, 'create'>, request: ApiRequest, format: string) {
  refuseUndeclared(request);
  refusePrecondition(api, request);
  const { framework, hooks } = api;
  const state = stateOf(request, framework.mapper);
  const created = await store.create(request, {
    make: () => makeEntity(api, request),
    check: (entity) => validated(api, '_index', request, entity),
  });
  await runAfterCommit(state, () => hooks.afterCommit('_index', request, created));
  const key = created instanceof FoundRow ? created.key : entityKey(created);
  const location = locationOf(api, request, key, format);
  return new JsonReply(created, { status: 201, headers: location === null ? {} : { location } });
}

/** The entity of a body, valid and with the rows that are created together with it. */
export async function makeEntity(api: ApiRuntime, request: ApiRequest): Promise<object> {
  const { framework, meta, nested } = api;
  const { em } = stateOf(request, framework.mapper);
  const groups = groupsOf(request, framework.mapper);
  const deserializer = framework.deserializer(groups);
  const body = bodyOf(request);
  const scope = { em, request, nested };
  if (nested.size > 0 && !isItem(request)) await deserializer.load(meta, [body], scope);
  const made = await deserializer.create([meta], body, scope);
  const context = { action: '_index', request, groups: validationGroups(api, '_index') };
  const ofRows = async () => {
    const found: Violation[] = [];
    for (const { entity, path } of made.rows) {
      for (const violation of await framework.validator.validate(entity, context, groups))
        found.push({ ...violation, propertyPath: violation.propertyPath === '' ? path : `${path}.${violation.propertyPath}` });
      if (isTurnLong()) await nextTurn();
    }
    return found;
  };
  await validated(api, '_index', request, made.entity, made.violations, ofRows);
  return made.entity;
}

/**
 * Validates an entity between the hooks `beforeValidation` and `afterValidation`. Throws all broken rules together with the known
 * violations of the body. Values that `beforeValidation` sets are validated and written. `ofRows` validates rows that are created
 * together with the entity.
 */
export async function validated(
  api: ApiRuntime,
  action: string,
  request: ApiRequest,
  entity: object,
  known: readonly Violation[] = [],
  ofRows?: () => Promise<Violation[]>,
): Promise<void> {
  const { hooks } = api;
  await beforeValidation(api, action, request, entity, known);
  const own = await hooks.validate(entity, { action, request, groups: validationGroups(api, action) });
  const found = ofRows ? [...own, ...(await ofRows())] : own;
  const further = found.filter(({ propertyPath }) => !known.some((violation) => violation.propertyPath === propertyPath));
  const violations = [...known, ...further];
  if (violations.length > 0) throw violationsProblem(violations);
  await runHook(hooks.afterValidation(action, request, entity));
}

/** With an invalid body, the hook may fail on unexpected values. Then only the violations of the body are thrown. */
async function beforeValidation(
  { hooks }: ApiRuntime,
  action: string,
  request: ApiRequest,
  entity: object,
  known: readonly Violation[],
): Promise<void> {
  try {
    await runHook(hooks.beforeValidation(action, request, entity));
  } catch (error) {
    if (known.length === 0 || error instanceof Problem || error instanceof EarlyReply) throw error;
    throw violationsProblem(known);
  }
}

/** The groups of constraints that apply to an action. */
export function validationGroups({ api }: ApiRuntime, action: string): readonly string[] {
  return api.actions.find(({ name }) => name === action)?.validationGroups ?? [];
}

/** The body as an object; throws 400 if it is missing or something else. */
export function bodyOf(request: ApiRequest): Record<string, unknown> {
  if (isObject(request.body)) return request.body;
  throw problem('invalid_body', { reason: request.body === undefined ? 'it is missing' : 'it is not an object' });
}

/** The body as any JSON, for code of the application; throws 400 if it is missing. */
export function anyBodyOf(request: ApiRequest): unknown {
  return request.body ?? bodyOf(request);
}

/**
 * The URL of a new entity: beside the list, under the prefix and with the placeholders of the request's own path. Null if no
 * route serves it.
 */
function locationOf({ api, framework, location }: ApiRuntime, request: ApiRequest, key: unknown, format: string): string | null {
  if (!location) return null;
  const path = segmentsOf(targetOf(request.url).path);
  const mounted = segmentsOf(framework.prefix).length;
  const depth = mounted + segmentsOf(api.basePath).length;
  const base = `/${path.slice(mounted, depth).join('/')}`;
  const list = path.length === depth ? base.slice(0, -`.${format}`.length) : base;
  const found = location.pathOf(list, key, format, framework.pathRules);
  const before = path.slice(0, mounted).map((segment) => `/${segment}`);
  return found === null ? null : framework.declaration.server.baseUrl + before.join('') + found;
}

function segmentsOf(path: string): string[] {
  return path.split('/').filter((segment) => segment !== '');
}
