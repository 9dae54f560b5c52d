import type { Application } from '../application.ts';
import { parameterNames } from '../declaration/names/list-names.ts';
import type { DeclaredGroup, HttpMethod } from '../declaration/types.ts';
import { databaseErrors } from '../dialect/errors.ts';
import { Problem } from '../errors.ts';
import { metaOf } from '../model/hierarchy.ts';
import { itemMethods } from '../openapi/associations.ts';
import { explainMatch } from '../route/explain-match.ts';
import type { Match } from '../route/match.ts';
import type { RouteRecord } from '../route/record.ts';
import { explainedFields } from './explained-fields.ts';
import type { Caller, ExplainedRoute, Explanation, Reason, Step } from './explanation.ts';
import { parsedJson } from './json.ts';
import { reasonOf, type Watched, withRoleOf } from './reason.ts';
import { type Recording, Stopped } from './recorder.ts';
import { isOverridden } from './route-action.ts';

/** Turns the recording of a request into an explanation. */
export async function describe(watched: Watched): Promise<Explanation> {
  const { application, database, recording, request } = watched;
  const { method, path } = request;
  const { match, others } = explainMatch(application.records, method, path);
  const json = parsedJson(watched.answer.text);
  const stop = stopOf(watched);
  const writes = stop?.before === 'database';
  const status = stop ? (match && !writes ? statusOf(match.record, method) : null) : watched.answer.status;
  const reason: Reason | null = writes
    ? handlerWrites(match)
    : stop
      ? null
      : await reasonOf({ ...watched, match, problem: problemOf(recording.error) ?? problemOf(json) });
  const sent = stop || status === null || status >= 300 ? undefined : json;
  const fields = explainedFields(application, match, method, recording.steps, sent);
  return {
    method,
    path,
    outcome: stop && !writes ? 'stopped' : status === null || status >= 500 ? 'failed' : status >= 400 ? 'refused' : 'answered',
    status,
    reason: withRoleOf(reason, fields.absent),
    database,
    route: match && routeOf(match, method, watched),
    others: match ? [] : others.map(({ record, reason: why }) => ({ name: record.name, path: record.path, reason: why })),
    caller: callerOf(recording, request.by),
    steps: named(withoutRepeats(recording.steps), match),
    fields,
    changes: stop?.before === 'change' ? recording.changes : [],
    next: stop && match && stop.before !== 'database' ? nextSteps(match.record, method, stop.before, application) : [],
  };
}

/** The step before which a write was stopped; null if the request ran to its end. */
function stopOf({ recording: { error }, request }: Watched): { readonly before: Stopped['before'] | 'database' } | null {
  if (error instanceof Stopped) return error;
  if (isReadOnlyError(error)) return { before: 'database' };
  return error instanceof Problem && error.code === 'invalid_body' && !request.hasBody ? { before: 'body' } : null;
}

/** Whether the database rejected a write because the connection is read-only. */
function isReadOnlyError(error: unknown): boolean {
  return error instanceof Error && (databaseErrors.isReadOnly(error) || isReadOnlyError(error.cause));
}

function handlerWrites(match: Match | null): Reason {
  const who = match ? `${match.record.controller}.${match.record.handler}` : 'it';
  return {
    code: null,
    message: `${who} changes the database, which "explain" does not allow; its response is unknown`,
    remedy: 'a handler of GET should not write: HEAD requests, caches and crawlers may call it at any time',
  };
}

function routeOf({ record, format, params }: Match, method: string, { plans }: Watched): ExplainedRoute {
  const { name, path, controller, handler, roles } = record;
  const reads = method === 'GET' || method === 'HEAD';
  // only default actions are planned, and HEAD as GET
  const plan = plans.get(record);
  const planned = plan?.get((method === 'HEAD' ? 'GET' : method) as HttpMethod);
  return {
    name,
    path,
    format,
    params,
    controller,
    handler,
    roles: roles[method as HttpMethod] ?? [],
    compiled: planned === undefined ? null : planned === null,
    needsEntity: planned ?? null,
    asked: parameterNames(record.action, reads),
  };
}

function callerOf({ user, authenticationError: error }: Recording, by: Caller['by']): Caller {
  const refused = error === null ? null : error instanceof Error ? error.message : String(error);
  if (!user) return { by, user: null, refused };
  const { id, roles, ...claims } = user;
  return { by, user: { id, roles: [...roles], claims: Object.keys(claims) }, refused };
}

/** The built-in voter is asked about a group as often as needed, because it only compares names. One time is enough to explain. */
function withoutRepeats(steps: readonly Step[]): readonly Step[] {
  const seen = new Set<string>();
  return steps.filter((step) => {
    if (step.kind !== 'check' || !step.isForGroups) return true;
    const text = JSON.stringify(step);
    const isNew = !seen.has(text);
    seen.add(text);
    return isNew;
  });
}

/** Adds the entity of the path as the subject: compiled reads pass none to the built-in voter, which ignores it. */
function named(steps: readonly Step[], match: Match | null): readonly Step[] {
  const { api, single } = match?.record ?? {};
  if (!api || !single) return steps;
  const subject = `${api.class.name} ${match?.params.id}`;
  return steps.map((step) => (step.kind === 'check' && !step.isForGroups && step.subject === null ? { ...step, subject } : step));
}

/** The code and the detail of a thrown problem, or of a problem document: a response to HEAD has no body. */
function problemOf(found: unknown): { code: string; detail: string } | null {
  if (found instanceof Problem) return { code: found.code, detail: found.message };
  const { code, detail } = (found ?? {}) as { code?: unknown; detail?: unknown };
  return typeof code === 'string' && typeof detail === 'string' ? { code, detail } : null;
}

/** The status of a write that succeeds; null if application code decides. */
function statusOf({ action, handler }: RouteRecord, method: string): number | null {
  if (handler === 'indexApi') return 201;
  if (handler === 'entityApi') return method === 'DELETE' ? 204 : 200;
  return action?.association && handler === 'addRemoveApi' ? 200 : null;
}

/** The remaining steps of a stopped write. */
function nextSteps(record: RouteRecord, method: string, before: Stopped['before'], application: Application): readonly string[] {
  if (before === 'handler') return [`${record.controller}.${record.handler}, which is not run: it may do more than write`];
  const hook = (name: 'beforeValidation' | 'afterValidation' | 'afterCommit' | 'beforeSerialize') =>
    record.api && isOverridden(record.api, name) ? [`${record.controller}.${name}`] : [];
  const later = [...hook('afterCommit'), ...hook('beforeSerialize')];
  if (record.handler === 'entityApi' && method === 'DELETE')
    return ['delete the row, in one transaction', ...later, 'return 204'];
  const reading = record.action?.association
    ? ['lock the row', 'find the item named in the body', changeOf(record, method, application)]
    : [`read the body within ${groupsText(record.action?.groups.write ?? [])}`];
  const write = record.handler === 'indexApi' ? 'insert the row' : 'update the row';
  return [
    ...(before === 'body' ? [...reading, ...hook('beforeValidation'), 'validate'] : []),
    ...hook('afterValidation'),
    record.action?.association ? 'write the changes, and commit' : `${write}, in one transaction`,
    ...later,
    `return ${statusOf(record, method)} with ${record.action?.association ? 'the item' : 'the row'} in ${groupsText(record.action?.groups.read ?? [])}`,
  ];
}

/** `the group read`, `the groups read, read:medical (needs PERSON_MEDICAL)` */
function groupsText(groups: readonly DeclaredGroup[]): string {
  const names = groups.map(({ name, role }) => (role === null ? name : `${name} (needs ${role})`));
  return `the ${names.length === 1 ? 'group' : 'groups'} ${names.join(', ')}`;
}

/** `Course.addTag` */
function changeOf({ action, api }: RouteRecord, method: string, { mapper }: Application): string {
  const what = method === 'POST' ? 'add' : 'remove';
  const association = action?.association;
  const meta = api && metaOf(mapper, api.class.value);
  const own = meta && association ? itemMethods(mapper, meta, association, what) : [];
  return own.length > 0 ? own.join(' or ') : `${what} it ${what === 'add' ? 'to' : 'from'} ${association?.property}`;
}
