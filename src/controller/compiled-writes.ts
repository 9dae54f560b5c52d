import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ApiRequest } from '../access/user.ts';
import { accessorsFor } from '../change/accessors.ts';
import { CompiledChange, needsUnitOfWork } from '../change/compiled-change.ts';
import { CompiledLink, type Pivot, pivotFor } from '../change/compiled-link.ts';
import { CompiledMethods } from '../change/compiled-methods.ts';
import { type ColumnValue, type MayRefer, PlainBody, readReference } from '../change/plain-body.ts';
import type { Executor } from '../database/executor.ts';
import type { Writer } from '../database/writer.ts';
import type { HttpMethod } from '../declaration/types.ts';
import { type Problem, problem, violationsProblem } from '../errors.ts';
import { modelName } from '../model/hierarchy.ts';
import { type Identifier, identifierParser } from '../model/identifier.ts';
import { hasRules } from '../model/own-code.ts';
import { CompiledRead } from '../query/compiled-read.ts';
import { canHideRows } from '../query/filters.ts';
import { singleKey } from '../query/key-query.ts';
import { isPlain, restrictedQuery } from '../query/restriction.ts';
import type { RouteHandler } from '../route/mount.ts';
import type { RouteRecord } from '../route/record.ts';
import { contentTypes } from '../serialization/formats.ts';
import { checkAccess } from './admission.ts';
import { ApiController } from './api-controller.ts';
import { hasKey } from './dispatch.ts';
import { locationOf } from './index-action.ts';
import { isConditional } from './precondition.ts';
import { stateOf, withState } from './request-state.ts';
import { type ApiRuntime, restrictionOf } from './runtime.ts';

/** Everything that a compiled write is made of. */
interface Compiling {
  readonly runtime: ApiRuntime;
  readonly record: RouteRecord;
  readonly method: HttpMethod;
  readonly format: string;
  readonly executor: Executor;
  readonly writer: Writer;
}

/** What a write is answered with, or null where it is for the general handler to do or to refuse. */
type Attempt = (request: ApiRequest) => Promise<Answer | null>;

interface Answer {
  readonly status: number;
  readonly json?: string;
  readonly location?: string;
  readonly tag?: string;
}

/**
 * The compiled form of a write that no code of the application takes part in; undefined where there is none.
 *
 * It does only what succeeds. A body that is not plain, a row that is not there, a caller who is refused, a constraint that
 * is broken: nothing was changed then, and the general handler, which comes after it, says what is wrong.
 */
export function compiledWrite(compiling: Compiling, controller: ApiController, general: RouteHandler): RouteHandler | undefined {
  const attempt = isUnhooked(controller) ? attemptOf(compiling) : undefined;
  if (!attempt) return undefined;
  return async (incoming: FastifyRequest, reply: FastifyReply) => {
    const request = incoming as ApiRequest;
    if (hasKey(request)) return general(incoming, reply);
    for (const _ in request.query as object) return general(incoming, reply);
    if (isConditional(request)) return general(incoming, reply);
    const answer = await attempt(request);
    if (!answer) return general(incoming, reply);
    if (answer.location !== undefined) reply.header('location', answer.location);
    if (answer.tag !== undefined) reply.header('etag', answer.tag);
    reply.code(answer.status);
    if (answer.json === undefined) return reply.send();
    reply.type(contentTypes.json);
    return answer.json;
  };
}

function isUnhooked(controller: ApiController): boolean {
  const base = ApiController.prototype;
  const hooks = [
    'indexApi',
    'entityApi',
    'addRemoveApi',
    'addRemove',
    'getEntity',
    'validate',
    'onPostFetchEntity',
    'onPostCheckAccess',
    'onAfterValidation',
    'onAfterFlush',
    'onBeforeSerialize',
  ] as const;
  return hooks.every((name) => controller[name] === base[name]);
}

function attemptOf(compiling: Compiling): Attempt | undefined {
  const { method, record } = compiling;
  if (record.action?.association) return record.handler === 'addRemoveApi' ? linking(compiling) : undefined;
  if (record.handler === 'indexApi' && method === 'POST') return creating(compiling);
  if (record.handler === 'entityApi' && method === 'PATCH') return patching(compiling);
  if (record.handler === 'entityApi' && method === 'DELETE') return removing(compiling);
  return undefined;
}

function creating({ executor, format, runtime, writer }: Compiling): Attempt | undefined {
  const { framework, meta } = runtime;
  const read = answerOf(runtime, meta, executor);
  if (!read || hasRules(meta) || needsUnitOfWork(framework.mapper, meta, 'create')) return undefined;
  const change = new CompiledChange(framework.mapper, meta, read, writer);
  const plain = plainBody(runtime, executor);
  return async (request) => {
    const columns = plain.read(request.body, true);
    if (!columns) return null;
    await checkAccess(runtime, '_index', request, null);
    const refusal = await refusedReference(runtime, columns, request);
    if (refusal) throw refusal;
    const row = await unlessMisfit(change.insert(columns));
    if (!row) return null;
    const location = locationOf(runtime, request, read.keyOf(row), format);
    const json = await read.json(row);
    return { status: 201, location, json, tag: framework.tags.of(json, null) };
  };
}

function patching({ executor, method, runtime, writer }: Compiling): Attempt | undefined {
  const { framework, meta } = runtime;
  const admit = admission(runtime, '_entity', method, executor);
  const read = answerOf(runtime, meta, executor);
  if (!read || !admit || hasRules(meta) || needsUnitOfWork(framework.mapper, meta, 'update')) return undefined;
  const change = new CompiledChange(framework.mapper, meta, read, writer);
  const plain = plainBody(runtime, executor);
  return async (request) => {
    const columns = plain.read(request.body, false);
    if (!columns) return null;
    const id = await admit(request);
    if (id === null) return null;
    const refusal = await refusedReference(runtime, columns, request);
    if (refusal) return refuse(runtime, read, id, refusal);
    const row = await unlessMisfit(change.patch(id, columns));
    if (!row) return null;
    const json = await read.json(row);
    return { status: 200, json, tag: framework.tags.of(json, null) };
  };
}

function removing({ executor, method, runtime, writer }: Compiling): Attempt | undefined {
  const { framework, meta } = runtime;
  const admit = admission(runtime, '_entity', method, executor);
  const read = readOf(runtime, meta, executor);
  if (!read || !admit || needsUnitOfWork(framework.mapper, meta, 'delete')) return undefined;
  const change = new CompiledChange(framework.mapper, meta, read, writer);
  return async (request) => {
    const id = await admit(request);
    return id !== null && (await unlessRefused(change.remove(id))) ? { status: 204 } : null;
  };
}

function linking({ executor, method, record, runtime, writer }: Compiling): Attempt | undefined {
  const { framework, meta } = runtime;
  const { mapper } = framework;
  const { association, name } = record.action as NonNullable<RouteRecord['action']>;
  const property = meta.properties[association?.property as never] as EntityProperty | undefined;
  const what = method === 'POST' ? 'add' : method === 'DELETE' ? 'remove' : null;
  const admit = admission(runtime, name, method, executor);
  const pivot = property && pivotFor(mapper, meta, property);
  if (!what || !admit || !pivot || needsUnitOfWork(mapper, meta, 'update')) return undefined;
  const target = property.targetMeta as EntityMetadata;
  const named = association?.types.map(({ value }) => mapper.getMetadata().get(value as never).class) ?? [];
  const mayRefer = referenceCheck(runtime, property.name as string, target, executor);
  if (!mayRefer || named.some((type) => type !== target.class)) return undefined;
  const owners = readOf(runtime, meta, executor);
  const change = linkOf(runtime, property, pivot, executor, writer);
  const parseId = identifierParser(target, mapper.driver.getPlatform(), 'json');
  if (!change || !owners) return undefined;
  return async (request) => {
    const item = readReference(request.body, target, parseId);
    if (item === undefined || !change.isUsable()) return null;
    const id = await admit(request);
    if (id === null) return null;
    if (!(await mayRefer(request, item)))
      return refuse(runtime, owners, id, framework.associations.itemRefusal({ missing: true }, [target]));
    return (await unlessRefused(change.run(what, id, item))) ?? null;
  };
}

/** How an item gets into an association and out of it, and what is answered then. */
interface Link {
  isUsable(): boolean;
  run(what: 'add' | 'remove', owner: Identifier, item: Identifier): Promise<Answer | undefined>;
}

function linkOf(runtime: ApiRuntime, property: EntityProperty, pivot: Pivot, executor: Executor, writer: Writer): Link | null {
  const { framework, hooks, meta } = runtime;
  const { mapper } = framework;
  const target = property.targetMeta as EntityMetadata;
  const accessors = accessorsFor(meta, property.name as string);
  const hasCode = hasRules(meta) || (accessors?.methods.length ?? 0) > 0;
  const items = answerOf(runtime, target, executor, hasCode);
  if (!items) return null;
  if (!hasCode) {
    const link = new CompiledLink(mapper, meta, target, pivot, items, writer);
    return {
      isUsable: () => true,
      run: async (what, owner, item) => {
        const row = await link.change(what, owner, item);
        return row && { status: 200, json: await items.json(row) };
      },
    };
  }
  const owners = answerOf(runtime, meta, executor, true);
  if (!accessors || !owners || !CompiledMethods.isPossible(meta, property, accessors, owners, items)) return null;
  const methods = new CompiledMethods(mapper, meta, property, accessors, pivot, { owners, items }, writer);
  const validate = async (entity: object) => {
    const violations = await hooks.validate(entity);
    if (violations.length > 0) throw violationsProblem(violations);
  };
  return {
    isUsable: () => methods.isUsable,
    run: async (what, owner, item) => {
      const linked = await methods.change(what, owner, item, validate);
      if (!linked) return undefined;
      if (linked !== 'owner') return { status: 200, json: await items.json(linked.item) };
      const [row] = await owners.one(owner);
      return { status: 200, json: row ? await owners.json(row) : 'null' };
    },
  };
}

function plainBody(runtime: ApiRuntime, executor: Executor): PlainBody {
  const { framework, meta } = runtime;
  return new PlainBody(
    framework.mapper,
    framework.deserializer().planFor(meta),
    ({ property, targets }) => referenceCheck(runtime, property, targets[0] as EntityMetadata, executor),
    (target) => framework.doors.isOpen(target),
  );
}

/** Who may put rows of the target into an association; null where that takes more than a row. */
function referenceCheck(runtime: ApiRuntime, property: string, target: EntityMetadata, executor: Executor): MayRefer | null {
  const { associations, mapper } = runtime.framework;
  if (associations.denormalizes(runtime.meta, property) || canHideRows(target)) return null;
  const { doors } = associations.references;
  if (doors.isOpen(target)) return () => true;
  const read = readOf(runtime, target, executor, true);
  if (!read || read.subjectRefusal !== null) return null;
  return async (request, id) => {
    if (await doors.isOpenTo(request, target)) return true;
    const [row] = await read.one(id);
    if (!row) return false;
    const { em } = stateOf(request, mapper);
    return doors.isSeen(em, request, target, id, read.subjectOf(row, em));
  };
}

/** What keeps the caller from referring to what the columns of a body refer to; null where nothing does. */
async function refusedReference(
  { framework }: ApiRuntime,
  columns: readonly ColumnValue[],
  request: ApiRequest,
): Promise<Problem | null> {
  for (const { refersTo } of columns) {
    if (!refersTo || (await refersTo.mayRefer(request, refersTo.id))) continue;
    return framework.associations.refusal({ missing: true }, refersTo.field.targets, refersTo.field.name);
  }
  return null;
}

/** Throws what is wrong with a body, or first that there is no row that it could be for. */
async function refuse({ meta }: ApiRuntime, read: CompiledRead, id: Identifier, refusal: Problem): Promise<never> {
  const rows = await read.one(id);
  throw rows.length > 0 ? refusal : problem('entity_not_found', { model: modelName(meta) });
}

/** The reads of each model, with a subject and without, which its methods share. */
const reads = new WeakMap<Executor, Map<EntityMetadata, Map<boolean, CompiledRead | null>>>();

function readOf({ framework }: ApiRuntime, meta: EntityMetadata, executor: Executor, withSubject = false): CompiledRead | null {
  const known = reads.get(executor) ?? new Map<EntityMetadata, Map<boolean, CompiledRead | null>>();
  reads.set(executor, known);
  const ofModel = known.get(meta) ?? new Map<boolean, CompiledRead | null>();
  known.set(meta, ofModel);
  const found = ofModel.get(withSubject);
  if (found !== undefined) return found;
  const plan = framework.serializer().planFor(meta);
  const isLimited = (embedded: EntityMetadata) => framework.doors.limitsOf(embedded).length > 0;
  const compiled = CompiledRead.compile(framework.mapper, meta, plan, [], executor, { withSubject, isLimited });
  const read = compiled instanceof CompiledRead ? compiled : null;
  ofModel.set(withSubject, read);
  return read;
}

/** The same for what a write answers with; what a caller may not see of it is found out by the general handler. */
function answerOf(runtime: ApiRuntime, meta: EntityMetadata, executor: Executor, withSubject = false): CompiledRead | null {
  const read = readOf(runtime, meta, executor, withSubject);
  return read?.takesLook ? null : read;
}

/**
 * Makes what finds the id of the entity that a request is about, and throws where there is none that the caller may do this
 * to. It gives null where the general handler has to find out, and is undefined where that is always so.
 */
function admission(
  runtime: ApiRuntime,
  action: string,
  method: HttpMethod,
  executor: Executor,
): ((request: ApiRequest) => Promise<Identifier | null>) | undefined {
  const { framework, meta, restricts } = runtime;
  const guard = runtime.guardOf(action, method);
  const judged = guard.readsSubject;
  const read = readOf(runtime, meta, executor, judged);
  if (!read || (judged && read.subjectRefusal !== null)) return undefined;
  return async (request) => {
    const id = runtime.parseId((request.params as { id: string }).id);
    if (id === undefined) throw problem('entity_not_found', { model: modelName(meta) });
    // that there is no such row is told before that a caller may not have it
    if (!judged && !restricts) return guard.public || (await isGranted(runtime, action, request)) ? id : null;
    const restrict = restrictionOf(runtime, action, request);
    let row: unknown[] | undefined;
    if (restrict) {
      const state = stateOf(request, framework.mapper);
      const restricted = await withState(state, () => restrictedQuery(state.em, meta, restrict));
      if (!isPlain(restricted)) return null;
      [row] = await (read.oneWhere(id, restricted) ?? read.oneOf(singleKey(meta, restricted, id)));
    } else [row] = await read.one(id);
    if (!row) throw problem('entity_not_found', { model: modelName(meta) });
    await checkAccess(runtime, action, request, judged ? read.subjectOf(row, stateOf(request, framework.mapper).em) : null);
    return id;
  };
}

async function isGranted(runtime: ApiRuntime, action: string, request: ApiRequest): Promise<boolean> {
  try {
    await checkAccess(runtime, action, request, null);
    return true;
  } catch {
    return false;
  }
}

/** What a change gave; undefined where the database refused it, and so left everything as it was. */
async function unlessRefused<Result>(change: Promise<Result>): Promise<Result | undefined> {
  try {
    return await change;
  } catch (error) {
    const { code, errcode } = error as { code?: string; errcode?: number };
    // a constraint, or a pivot table that would take a link twice
    const refused =
      code === 'ERR_SQLITE_ERROR' ? (Number(errcode) & 0xff) === 19 || errcode === 1 : /^23|^42P10$/.test(code ?? '');
    if (!refused) throw error;
    return undefined;
  }
}

/** What a change gave; undefined where a value is none that its column takes, which only PostgreSQL itself knows of some types. */
async function unlessMisfit<Result>(change: Promise<Result>): Promise<Result | undefined> {
  try {
    return await change;
  } catch (error) {
    if (!/^22/.test(String((error as { code?: unknown }).code))) throw error;
    return undefined;
  }
}
