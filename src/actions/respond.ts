import { Collection, type EntityMetadata, helper, Reference } from '@mikro-orm/core';
import type { FastifyReply } from 'fastify';
import type { ApiRequest } from '../access/user.ts';
import type { RequestEntityManager } from '../database/mapper.ts';
import { TooLargeError } from '../database/too-large.ts';
import type { Format } from '../declaration/types.ts';
import { problem } from '../errors.ts';
import { isTurnLong, nextTurn, type Pace, turnLength } from '../event-loop.ts';
import { chosenOf, type FieldChoice } from '../model/field-choice.ts';
import type { FieldPlan } from '../model/field-plan.ts';
import { type ActiveGroups, groupsKey } from '../model/groups.ts';
import { isKindOf, metaOfEntity } from '../model/hierarchy.ts';
import { entityKey } from '../model/identifier.ts';
import { hasOneOf } from '../model/key-condition.ts';
import { byClass, populatePlan } from '../query/entities/populate.ts';
import { EntityVisibility, serializeVisible } from '../query/visibility/entity-visibility.ts';
import { JsonReply } from '../response/json-reply.ts';
import { jsonInTurns } from '../response/long-json.ts';
import { targetOf } from '../response/request-target.ts';
import { type CsvColumn, csvColumns } from '../serialization/csv.ts';
import { contentTypes, hasColumns, isExport, itemsOf, rewriteInTurns } from '../serialization/formats.ts';
import { isEntity } from '../serialization/serializer.ts';
import { type RequestState, stateOf } from '../store/request-state.ts';
import { FoundRow, FoundRows } from '../store/row-store.ts';
import { BulkReply } from './bulk/bulk-reply.ts';
import { ExportReply, sendExport } from './export/export-reply.ts';
import { areViolations } from './failure.ts';
import { type GroupGrants, subjectOf } from './group-grants.ts';
import { markOf, versionedEntity } from './precondition.ts';
import { RowSerializer } from './row-serializer.ts';
import type { Framework } from './start/runtime.ts';
import { isKnown } from './tagged.ts';

/** The action that responds, and its options. */
interface Responding {
  /** The model of the API. */
  readonly model?: EntityMetadata | null;
  /** Whether `_index` or `_entity` responds: after a change, they return the entity as GET would. */
  readonly isDefault?: boolean;
  readonly pace?: Pace;
  /** Collects the rows that the response shows. */
  readonly shown?: ShownRows | undefined;
  /** Decides about the groups of a response before the request was admitted, and of one with groups of its own. */
  readonly grants: GroupGrants;
}

/** A row in a response: its class, and its key as text. */
export type ShownRow = readonly [className: string, key: string];

/** The rows that a response shows. */
export interface ShownRows {
  /** The rows that the action returned. */
  readonly returned: ShownRow[];
  /** The rows that are embedded in others, if they can be hidden from a caller. */
  readonly embedded: ShownRow[];
  /** The groups of the response, if they depend on roles. */
  groups?: string;
}

/** The status, headers and body of a response. */
export interface RenderedResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Null for a response without a body. */
  readonly body: string | null;
}

/** Sends the result of an action: serialized in its groups, or 204 if it is undefined. */
export async function respond(
  framework: Framework,
  request: ApiRequest,
  reply: FastifyReply,
  given: unknown,
  format: Format,
  responding: Responding,
): Promise<FastifyReply> {
  if (given instanceof ExportReply) return sendExport(framework, request, reply, given.options);
  const pace: Pace = (length, part) => framework.responses.makeRoom(request, reply, length, part);
  const answer = await answerOf(framework, request, given, format, { ...responding, ...(!writes(request.method) && { pace }) });
  return send(framework, request, reply, answer);
}

export function send(
  { responses }: Framework,
  request: ApiRequest,
  reply: FastifyReply,
  { body, headers, status }: RenderedResponse,
): FastifyReply {
  if (body !== null) responses.admit(request, reply, body);
  return reply
    .code(status)
    .headers(headers)
    .send(body ?? undefined);
}

/** The response to a request, from the result of its action. */
export async function answerOf(
  framework: Framework,
  request: ApiRequest,
  given: unknown,
  format: Format,
  { grants, model = null, isDefault = false, pace, shown: rows }: Responding,
): Promise<RenderedResponse> {
  const { value, status: own, groups, headers } = given instanceof JsonReply ? given : new JsonReply(given);
  // violations: nothing was written
  const status = own === 200 && writes(request.method) && areViolations(value) ? 422 : own;
  if (value === undefined) return { status: status === 200 ? 204 : status, headers, body: null };
  const state = stateOf(request, framework.mapper);
  const active = await groupsFor(request, state, grants, groups);
  if (rows && !(groups ? grants.named(groups) : grants).fixed) rows.groups = groups ? 'named by code' : groupsKey(active);
  if (value instanceof FoundRow) {
    rows?.returned.push([(model as EntityMetadata).className, String(value.key)]);
    const shown = await written(await jsonOf(value, request, state), format, () =>
      csvColumns(framework.serializer(active).planFor(model as EntityMetadata)),
    );
    const answer = { status, headers: { ...headers, 'content-type': contentTypes[format] }, body: shown };
    if (!isDefault) return answer;
    const mark = model && markOf(framework.tags, model, value);
    return writtenResponse(framework, request, answer, await framework.tags.ofAny(shown, mark));
  }
  if (value instanceof FoundRows) {
    for (const { key } of value.rows) rows?.returned.push([(model as EntityMetadata).className, String(key)]);
    const items = `[${await jsonOf(value, request, state)}]`;
    const shown = isExport(format)
      ? await written(items, format, () => csvColumns(framework.serializer(active).planFor(model as EntityMetadata)))
      : await rewriteInTurns(format, `{"count":${value.rows.length},"results":${items}}`, null);
    return { status, headers: { ...headers, 'content-type': contentTypes[format] }, body: shown };
  }
  const serializer = framework.serializer(active);
  const { choice, em } = state;
  const byRow =
    given instanceof BulkReply && given.groupsOf.size > 0 ? new RowSerializer(framework, given.groupsOf, serializer) : null;
  if (rows?.groups !== undefined && byRow) rows.groups = groupsOfRows(given as BulkReply, active);
  const subject = isDefault ? value : subjectOf(state);
  const subjects = byRow ? new Set((given as BulkReply).groupsOf.keys()) : new Set([subject]);
  for (const [meta, entities] of byClass(em, entitiesIn(value))) {
    if (rows) noteReturned(rows, meta, entities);
    await loadRows(em, meta, entities);
    for (const [own, those] of Map.groupBy(entities, (entity) => byRow?.of(entity) ?? serializer)) {
      for (const plan of new Set([own.planFor(meta), own.planInside(meta)])) {
        if (writes(request.method)) await readFormulas(em, meta, those, plan);
        await populatePlan(em, those, plan, writes(request.method));
      }
    }
  }
  const visibility = new EntityVisibility(framework.mapper, em, framework.visibilityOf(request), subjects);
  const shown = chosen(await serializeVisible(byRow ?? serializer, value, visibility), choice);
  if (rows) for (const [{ className }, key] of visibility.shownRows()) rows.embedded.push([className, key]);
  if (isTurnLong()) await nextTurn();
  const json =
    pace && isList(shown) ? await listJson(shown, pace) : visibility.hasLong ? await jsonInTurns(shown) : JSON.stringify(shown);
  const planOf = (meta: EntityMetadata) =>
    byRow || value === subject ? (byRow ?? serializer).planFor(meta) : serializer.planInside(meta);
  const columns = () => columnsIn(framework, value, planOf, model, choice);
  const body = await written(json, format, columns);
  const answer = { status, headers: { ...headers, 'content-type': contentTypes[format] }, body };
  const isRead = !writes(request.method);
  if (isRead ? status !== 200 : !isDefault || !isEntity(value) || (status !== 200 && status !== 201)) return answer;
  const tag = ownTag(headers) ?? (await tagOf(framework, body, value, model));
  return isRead ? taggedResponse(request, answer, tag) : writtenResponse(framework, request, answer, tag);
}

/** The JSON of rows. Reading what they embed can fail after they were written: then the caller learns that they were. */
async function jsonOf(rows: FoundRow | FoundRows, { method }: ApiRequest, state: RequestState): Promise<string> {
  if (isTurnLong()) await nextTurn();
  try {
    return await rows.json();
  } catch (error) {
    if (!(error instanceof TooLargeError) || !writes(method) || state.isInTransaction) throw error;
    throw problem('written_response_too_large', { limit: error.limit }, { cause: error });
  }
}

/** The groups of a response: those of the request, or groups of its own as far as their roles are granted. */
async function groupsFor(
  request: ApiRequest,
  state: RequestState,
  grants: GroupGrants,
  own: readonly string[] | null,
): Promise<ActiveGroups> {
  if (!own) {
    state.groups ??= await grants.ofCollection(request);
    return state.groups;
  }
  return grants.named(own).ofRequest(request, state);
}

/** The groups of a list as they are stored. If they differ between rows, nobody can have them: they depend on each row. */
function groupsOfRows({ groupsOf }: BulkReply, active: ActiveGroups): string {
  return [...groupsOf.values()].every((groups) => groups === active) ? groupsKey(active) : 'by row';
}

/** An entity that was never written is not a row. */
function noteReturned({ returned }: ShownRows, { className }: EntityMetadata, entities: readonly object[]): void {
  for (const entity of entities) {
    const wrapped = helper(entity);
    if (wrapped.hasPrimaryKey()) returned.push([className, String(entityKey(entity))]);
  }
}

/** The response to GET and HEAD; 304 if the client has it already. */
function taggedResponse(
  { headers: sent }: ApiRequest,
  { body, headers, status }: RenderedResponse,
  tag: string,
): RenderedResponse {
  if (!isKnown(sent, tag)) return { status, headers: { ...headers, etag: tag }, body };
  const { 'content-type': _, ...others } = headers;
  return { status: 304, headers: { ...others, etag: tag }, body: null };
}

/** The response to a change of an entity. The tag belongs to the body of the response, not to that of the request. */
function writtenResponse(
  { declaration }: Framework,
  request: ApiRequest,
  { body, headers, status }: RenderedResponse,
  tag: string,
): RenderedResponse {
  const location =
    request.method === 'PUT' ? { 'content-location': declaration.server.baseUrl + targetOf(request.url).path } : {};
  return { status, headers: { ...location, ...headers, etag: tag }, body };
}

/** A handler may set its own tag, because it knows what its response depends on. */
function ownTag(headers: Readonly<Record<string, string>>): string | null {
  for (const name in headers) if (name.toLowerCase() === 'etag') return headers[name] ?? null;
  return null;
}

function tagOf({ tags }: Framework, body: string, value: unknown, model: EntityMetadata | null): string | Promise<string> {
  if (!isEntity(value)) return tags.ofAny(body, null);
  const { meta, versioned } = versionedEntity(value as object, model);
  return tags.ofAny(body, markOf(tags, meta, versioned));
}

function written(json: string, format: Format, columns: () => readonly CsvColumn[] | null): string | Promise<string> {
  return rewriteInTurns(format, json, hasColumns(format) ? columns() : null);
}

/**
 * The columns of an entity or of a list of entities: those of the API's model if all are of it, else those of all their classes.
 * Null for other values.
 */
function columnsIn(
  { mapper }: Framework,
  value: unknown,
  planOf: (meta: EntityMetadata) => FieldPlan,
  model: EntityMetadata | null,
  choice: FieldChoice | null,
): readonly CsvColumn[] | null {
  const items = itemsOf(value);
  if (items.length === 0 || !items.every(isEntity)) return null;
  const classes = new Set(items.map((item) => metaOfEntity(mapper, item as object)));
  if (model && [...classes].every((meta) => isKindOf(meta, model))) return csvColumns(planOf(model), choice);
  const plans = [...classes].map((meta) => planOf(meta));
  const variants = new Map(plans.flatMap((plan) => [...plan.variants]));
  const normalizations = new Map(plans.flatMap((plan) => [...(plan.normalizations ?? [])]));
  return csvColumns({ variants, normalizations }, choice);
}

/** Reduces the items of a list to the chosen fields. */
function chosen(value: unknown, choice: FieldChoice | null): unknown {
  if (!choice || typeof value !== 'object' || value === null || !('results' in value)) return value;
  return { ...value, results: chosenOf(value.results, choice) };
}

interface List {
  readonly results: readonly unknown[];
}

function isList(value: unknown): value is List {
  return (
    typeof value === 'object' && value !== null && 'results' in value && Array.isArray(value.results) && !('toJSON' in value)
  );
}

/** The JSON of a list, as `JSON.stringify` returns it, with pauses for other requests. */
async function listJson(list: List, pace: Pace): Promise<string> {
  const items = await itemsJson(list.results, pace);
  const members: string[] = [];
  for (const [name, value] of Object.entries(list)) {
    const json = name === 'results' ? `[${items}]` : JSON.stringify(value);
    if (json !== undefined) members.push(`${JSON.stringify(name)}:${json}`);
  }
  return `{${members.join(',')}}`;
}

async function itemsJson(items: readonly unknown[], pace: Pace): Promise<string> {
  let json = '';
  let paused = 0;
  for (const [index, item] of items.entries()) {
    json += `${index === 0 ? '' : ','}${JSON.stringify(item) ?? 'null'}`;
    if (json.length - paused <= turnLength) continue;
    paused = json.length;
    await pace(json.length, (index + 1) / items.length);
  }
  return json;
}

/** A handler may return references to rows that were not loaded yet. */
async function loadRows(em: RequestEntityManager, meta: EntityMetadata, entities: readonly object[]): Promise<void> {
  const unread = entities.filter((entity) => !helper(entity).isInitialized());
  if (unread.length === 0) return;
  const keys = unread.map((entity) => entityKey(entity));
  await em.find(meta.class, { $and: [hasOneOf(meta, em.getPlatform(), keys)] } as never);
}

export function writes(method: string): boolean {
  return method !== 'GET' && method !== 'HEAD';
}

/** Reads computed columns again: after a write, their values in the entities are outdated or missing. */
async function readFormulas(
  em: RequestEntityManager,
  meta: EntityMetadata,
  entities: readonly object[],
  plan: FieldPlan,
): Promise<void> {
  const names = (plan.variants.get(meta) ?? []).filter(({ metadata }) => metadata.formula).map(({ property }) => property);
  const stored = entities.filter((entity) => helper(entity).__originalEntityData);
  if (names.length === 0 || stored.length === 0) return;
  const byKey = new Map(stored.map((entity) => [String(entityKey(entity)), entity as Record<string, unknown>]));
  const keys = stored.map((entity) => entityKey(entity));
  const where = { $and: [hasOneOf(meta, em.getPlatform(), keys)] };
  const options = { fields: names, filters: false, disableIdentityMap: true };
  for (const row of (await em.find(meta.class, where as never, options as never)) as Record<string, unknown>[]) {
    const entity = byKey.get(String(entityKey(row))) as Record<string, unknown>;
    for (const name of names) entity[name] = row[name];
  }
}

function entitiesIn(value: unknown): Set<object> {
  const found = new Set<object>();
  collect(value, found);
  return found;
}

/** Collects the entities of a response at any depth. */
function collect(value: unknown, found: Set<object>): void {
  if (typeof value !== 'object' || value === null) return;
  if (isEntity(value)) found.add(value);
  else if (Array.isArray(value) || value instanceof Set) for (const item of value) collect(item, found);
  else if (value instanceof Collection) collect(value.getItems(false), found);
  else if (value instanceof Reference) collect(value.unwrap(), found);
  else if (value instanceof Map) collect([...value.values()], found);
  else if (Object.getPrototypeOf(value) === Object.prototype || Object.getPrototypeOf(value) === null)
    collect(Object.values(value), found);
}
