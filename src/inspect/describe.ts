import type { EntityMetadata } from '@mikro-orm/core';
import type { User } from '../access/user.ts';
import { ApiController } from '../actions/api-controller.ts';
import type { Application } from '../application.ts';
import { planWrites } from '../change/write-plan.ts';
import { askedNames } from '../declaration/names/list-names.ts';
import type { HttpMethod } from '../declaration/types.ts';
import { Problem } from '../errors.ts';
import { readGroups, writeGroups } from '../model/groups.ts';
import { concreteClasses, metaOf } from '../model/hierarchy.ts';
import { explainMatch } from '../route/explain-match.ts';
import type { Match } from '../route/match.ts';
import { createSerializer } from '../serialization/serializer.ts';
import type { Caller, ExplainedFields, ExplainedRoute, Explanation, Reason, Step } from './explanation.ts';
import { pathsIn, readablePaths, writablePaths } from './field-paths.ts';
import { nextSteps, statusOf } from './next-steps.ts';
import { reasonOf } from './reason.ts';
import type { Recording } from './recorder.ts';
import { isReadOnlyError, Stopped } from './stopped.ts';
import type { Watched } from './watched.ts';

/** Puts what was seen of a request into words and lists. */
export async function describe(watched: Watched): Promise<Explanation> {
  const { application, asked, database, recording } = watched;
  const { method, path } = asked;
  const { match, others } = explainMatch(application.records, method, path);
  const json = parsed(watched.answer.text);
  const stop = stopOf(watched);
  const writes = stop?.before === 'database';
  const status = stop ? (match && !writes ? statusOf(match.record, method) : null) : watched.answer.status;
  const reason: Reason | null = writes
    ? handlerWrites(match)
    : stop
      ? null
      : await reasonOf({ ...watched, match, problem: problemOf(recording.error) ?? problemOf(json) });
  return {
    method,
    path,
    outcome: stop && !writes ? 'stopped' : status === null || status >= 500 ? 'failed' : status >= 400 ? 'refused' : 'answered',
    status,
    reason,
    database,
    route: match && routeOf(match, method, watched),
    others: match ? [] : others.map(({ record, reason: why }) => ({ name: record.name, path: record.path, reason: why })),
    caller: callerOf(recording, asked.by),
    steps: named(recording.steps, match),
    fields: fieldsOf(application, match, method, stop || status === null || status >= 300 ? undefined : json),
    next: stop && match && stop.before !== 'database' ? nextSteps(match.record, method, stop.before, application) : [],
  };
}

interface Stop {
  readonly before: Stopped['before'] | 'database';
}

/** Where a write was stopped; null where the request came to its end. */
function stopOf({ asked, recording: { error } }: Watched): Stop | null {
  if (error instanceof Stopped) return error;
  if (isReadOnlyError(error)) return { before: 'database' };
  return error instanceof Problem && error.code === 'invalid_body' && !asked.hasBody ? { before: 'body' } : null;
}

function handlerWrites(match: Match | null): Reason {
  const who = match ? `${match.record.controller}.${match.record.handler}` : 'it';
  return {
    code: null,
    message: `${who} changes the database, which an explanation does not allow; what it would have answered is not known`,
    remedy: 'a request that only reads should not write: HEAD, caches and crawlers call it at will',
  };
}

function routeOf({ record, format, params }: Match, method: string, { needsEntity }: Watched): ExplainedRoute {
  const { name, path, controller, handler, roles } = record;
  const reads = method === 'GET' || method === 'HEAD';
  const planned = reads && (handler === 'indexApi' || handler === 'entityApi') ? needsEntity(record) : undefined;
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
    asked: reads ? askedNames(record.action?.list ?? null) : null,
  };
}

function callerOf({ user, authenticationError: error }: Recording, by: Caller['by']): Caller {
  const refused = error === null ? null : error instanceof Error ? error.message : String(error);
  return { by, user: user ? calling(user) : null, refused };
}

function calling({ id, roles, ...claims }: User): Caller['user'] {
  return { id, roles: [...roles], claims: Object.keys(claims) };
}

/** The built-in voter does not look at the subject, so a compiled read does not hand it one; it is the entity of the path all the same. */
function named(steps: readonly Step[], match: Match | null): readonly Step[] {
  const { api, single } = match?.record ?? {};
  if (!api || !single) return steps;
  const subject = `${api.class.name} ${match?.params.id}`;
  return steps.map((step) => (step.kind === 'check' && step.subject === null ? { ...step, subject } : step));
}

function fieldsOf(application: Application, match: Match | null, method: string, json: unknown): ExplainedFields {
  const sent = json === undefined ? null : pathsIn(json);
  const { api, handler } = match?.record ?? {};
  if (!api) return { read: null, sent, write: null };
  const { mapper } = application;
  const meta = metaOf(mapper, api.class.value);
  const isDefault = handler === 'indexApi' || handler === 'entityApi';
  const type = (api.controller?.value ?? ApiController) as typeof ApiController;
  const isOwn = isDefault && type.prototype[handler] !== ApiController.prototype[handler];
  const read =
    isDefault && !isOwn && method !== 'DELETE' ? readablePaths(createSerializer(mapper, readGroups).planFor(meta)) : null;
  const takesBody = isDefault && !isOwn && ['POST', 'PUT', 'PATCH'].includes(method);
  return { read, sent, write: takesBody ? writablePaths(plansOf(application, meta), method === 'POST') : null };
}

function plansOf({ mapper }: Application, meta: EntityMetadata) {
  return concreteClasses(mapper, meta).map((type) => planWrites(mapper, type, writeGroups));
}

/** The code and the detail of a problem: the one that was thrown, since HEAD is answered without a body, or else the one that came. */
function problemOf(found: unknown): { code: string; detail: string } | null {
  if (found instanceof Problem) return { code: found.code, detail: found.message };
  const { code, detail } = (found ?? {}) as { code?: unknown; detail?: unknown };
  return typeof code === 'string' && typeof detail === 'string' ? { code, detail } : null;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
