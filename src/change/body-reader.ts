import { Collection, type EntityMetadata, helper, Reference, raw } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import type { RequestEntityManager } from '../database/mapper.ts';
import { mostViolations, problem, type Violation } from '../errors.ts';
import { ownProperties } from '../model/field-plan.ts';
import { typeOf } from '../model/hierarchy.ts';
import { takeAsRead } from '../query/entities/hold-row.ts';
import {
  type AssociationWrite,
  type EmbeddedPlan,
  type EmbeddedWrite,
  isSetOnce,
  type ScalarWrite,
  type WritableField,
  type WritePlan,
} from './write-plan.ts';

/** Entries of an embedded list: the mapper holds each against all others when it looks for what changed. */
const mostItems = 10_000;

/** What a body does to an entity: makes a new one, sets the fields that were sent, or replaces all of them. */
export type WriteMode = 'create' | 'patch' | 'replace';

/** Finds the entities that the JSON of associations stands for. */
export interface ResolveAssociation {
  /** Whether the association is read by a denormalizer, which takes whatever it likes, and not only objects. */
  denormalizes(field: AssociationWrite): boolean;
  /** The entity, or throws the 400 that says why there is none. */
  entity(
    field: AssociationWrite,
    json: unknown,
    path: string,
    scope: { em: RequestEntityManager; request: ApiRequest },
  ): Promise<object>;
}

export interface ReadBody {
  /** By property of the model. */
  readonly values: Record<string, unknown>;
  readonly violations: Violation[];
}

interface Scope {
  readonly em: RequestEntityManager;
  readonly request: ApiRequest;
  readonly mode: WriteMode;
  readonly resolve: ResolveAssociation;
  /** Those of the entities, or of the keys, in an association that the caller cannot see. */
  readonly hiddenAmong: (field: AssociationWrite, associated: readonly unknown[]) => Promise<readonly unknown[]>;
  readonly violations: Violation[];
}

/**
 * Reads a body against a plan. What the body must not hold at all is refused with 400 at once; values of the wrong type
 * or length become violations, all of them together.
 */
export async function readBody(
  plan: WritePlan,
  body: Record<string, unknown>,
  entity: object | null,
  options: Omit<Scope, 'violations'>,
): Promise<ReadBody> {
  const scope: Scope = { ...options, violations: [] };
  checkIdentity(plan, body, entity);
  const ignored = new Set([plan.idKey, 'id', plan.typeKey, 'type'].filter((key) => !plan.fields.has(key)));
  checkKeys(body, plan.fields, plan.visible, ignored, '');
  // a client-given key is set once, when the row is made
  if (entity) for (const field of plan.fields.values()) if (isSetOnce(field)) ignored.add(field.name);
  const values = await readFields(plan.fields, body, entity as Record<string, unknown> | null, scope, '', ignored);
  for (const field of entity ? [] : plan.fields.values()) {
    // no path could name such a row
    if (field.metadata.primary && values[field.property] === '') scope.violations.push(missing(field.name));
  }
  return { values, violations: scope.violations };
}

function checkIdentity(plan: WritePlan, body: Record<string, unknown>, entity: object | null): void {
  for (const key of new Set([plan.idKey, 'id'])) {
    if (!Object.hasOwn(body, key)) continue;
    const writable = plan.fields.get(key);
    if (writable && (!entity || !writable.metadata.primary)) continue;
    const id = entity ? helper(entity).getPrimaryKey() : undefined;
    const given = body[key];
    const read = plan.parseId(given);
    const agrees = read !== undefined && String(read) === String(id);
    if (!agrees) {
      throw problem('identity_mismatch', {
        field: key,
        expected: entity ? 'be the id of the path, or be left out' : 'be left out: the server gives a new entity its id',
      });
    }
  }
  for (const key of new Set([plan.typeKey, 'type'])) {
    if (!Object.hasOwn(body, key) || plan.fields.has(key)) continue;
    const type = typeOf(plan.meta);
    const named = plan.showsType ? `"${type}"` : 'that of the entity';
    if (body[key] !== type) throw problem('identity_mismatch', { field: key, expected: `be ${named}, or be left out` });
  }
}

function checkKeys(
  body: Record<string, unknown>,
  fields: ReadonlyMap<string, WritableField>,
  visible: ReadonlySet<string>,
  accepted: ReadonlySet<string>,
  path: string,
): void {
  for (const key of Object.keys(body)) {
    if (fields.has(key) || accepted.has(key)) continue;
    const allowed = [...fields.keys()].map((name) => path + name).join(', ') || 'nothing';
    throw problem(visible.has(key) ? 'field_not_writable' : 'unknown_field', { field: path + key, allowed });
  }
}

async function readFields(
  fields: ReadonlyMap<string, WritableField>,
  body: Record<string, unknown>,
  current: Record<string, unknown> | null,
  scope: Scope,
  path: string,
  ignored: ReadonlySet<string>,
): Promise<Record<string, unknown>> {
  const values: Record<string, unknown> = {};
  for (const field of fields.values()) {
    if (ignored.has(field.name)) continue;
    if (Object.hasOwn(body, field.name)) {
      const value = await readField(field, body[field.name], current, scope, path + field.name);
      if (value !== undefined) values[field.property] = value;
    } else if (scope.mode === 'replace') {
      const value = await valueOfAbsent(field, current, scope, path);
      if (value !== undefined) values[field.property] = value;
    } else if (scope.mode === 'create' && field.required) {
      scope.violations.push(missing(path + field.name));
    }
  }
  return values;
}

/** The value for the model, or undefined where a violation stands in its place. */
async function readField(
  field: WritableField,
  json: unknown,
  current: Record<string, unknown> | null,
  scope: Scope,
  path: string,
): Promise<unknown> {
  if (json === null && field.kind !== 'to-many') {
    const kept = (await keptToOne(field, current, scope)) ?? keptParts(field, current);
    if (kept !== undefined) return kept;
    if (field.nullable) return null;
    scope.violations.push(missing(path));
    return undefined;
  }
  switch (field.kind) {
    case 'scalar':
      return readScalar(field, json, current, scope, path);
    case 'embedded':
      return readEmbedded(field, json, current, scope, path);
    case 'to-one':
      if (isObject(json) || scope.resolve.denormalizes(field)) return scope.resolve.entity(field, json, path, scope);
      scope.violations.push(wrongType(path, 'an object with the id of the associated entity'));
      return undefined;
    case 'to-many':
      return readToMany(field, json, current, scope, path);
  }
}

function readScalar(
  field: ScalarWrite,
  json: unknown,
  current: Record<string, unknown> | null,
  scope: Scope,
  path: string,
): unknown {
  // what is sent is judged before it is merged: it may be nested too deep for that
  const sent = field.parse(json);
  const merges = field.merges && scope.mode === 'patch' && isObject(json) && 'value' in sent;
  const parsed = merges ? field.parse(mergePatch(current?.[field.property], json)) : sent;
  if ('value' in parsed) return parsed.value;
  scope.violations.push({ propertyPath: path, ...parsed.refused });
  return undefined;
}

async function readToMany(
  field: AssociationWrite,
  json: unknown,
  current: Record<string, unknown> | null,
  scope: Scope,
  path: string,
): Promise<unknown> {
  if (!Array.isArray(json)) {
    scope.violations.push(wrongType(path, 'a list of objects, each with the id of an associated entity'));
    return undefined;
  }
  const items = new Set<object>();
  const seen = new Set<string>();
  for (const [position, item] of json.entries()) {
    if (scope.violations.length >= mostViolations) break;
    const at = `${path}[${position}]`;
    // what is given twice is looked up once
    const text = referenceText(item);
    if (text !== null && seen.has(text)) continue;
    if (text !== null) seen.add(text);
    if (isObject(item) || scope.resolve.denormalizes(field)) items.add(await scope.resolve.entity(field, item, at, scope));
    else scope.violations.push(wrongType(at, 'an object with the id of an associated entity'));
  }
  for (const kept of await keptItems(field, current, scope)) items.add(kept);
  return [...items];
}

/** A reference as text; null for what is none, which can be nested deeper than text can be made of. */
function referenceText(item: unknown): string | null {
  const parts = isObject(item) ? Object.values(item) : [item];
  return parts.some((part) => typeof part === 'object' && part !== null) ? null : JSON.stringify(item);
}

/** What a caller cannot see is null to them, so that null does not mean it: the link stays as it is. */
async function keptToOne(field: WritableField, current: Record<string, unknown> | null, scope: Scope): Promise<unknown> {
  const linked = field.kind === 'to-one' ? current?.[field.property] : null;
  if (field.kind !== 'to-one' || linked === null || linked === undefined) return undefined;
  const [hidden] = await scope.hiddenAmong(field, [Reference.unwrapReference(linked as object)]);
  return hidden;
}

/**
 * What an embedded object holds beyond the fields that bodies can set. They stay, whatever is sent: null is about what the caller can set.
 * Undefined if nothing of it is left.
 */
function keptParts(field: WritableField, current: Record<string, unknown> | null): unknown {
  const embedded = field.kind === 'embedded' && !field.array ? current?.[field.property] : null;
  if (field.kind !== 'embedded' || typeof embedded !== 'object' || embedded === null) return undefined;
  const plan = field.plans.length === 1 ? field.plans[0] : undefined;
  const hidden = plan && hiddenParts(plan, embedded as Record<string, unknown>);
  if (!plan || !hidden || Object.values(hidden).every((part) => part === null || part === undefined)) return undefined;
  const cleared = Object.fromEntries([...plan.fields.values()].map(({ property }) => [property, null]));
  return { ...cleared, ...hidden };
}

function hiddenParts({ fields, meta }: EmbeddedPlan, embedded: Record<string, unknown>): Record<string, unknown> {
  const settable = new Set([...fields.values()].map(({ property }) => property));
  const parts = ownProperties(meta).filter((part) => part.persist !== false && !settable.has(part.name as string));
  return Object.fromEntries(parts.map(({ name }) => [name as string, embedded[name as string]]));
}

/** A list is not about the items that the caller cannot see: they stay. What it leaves out otherwise can be removed once it is known. */
async function keptItems(
  field: AssociationWrite,
  current: Record<string, unknown> | null,
  scope: Scope,
): Promise<readonly object[]> {
  const collection = current?.[field.property];
  await know(collection, scope.em);
  if (!(collection instanceof Collection)) return [];
  return (await scope.hiddenAmong(field, collection.getItems(false))) as object[];
}

async function know(collection: unknown, em: RequestEntityManager): Promise<void> {
  if (!(collection instanceof Collection) || collection.isInitialized()) return;
  await collection.init();
  takeAsRead(em, collection.getItems(false) as object[]);
}

async function readEmbedded(
  field: EmbeddedWrite,
  json: unknown,
  current: Record<string, unknown> | null,
  scope: Scope,
  path: string,
): Promise<unknown> {
  if (field.array) {
    if (!Array.isArray(json)) {
      scope.violations.push(wrongType(path, 'a list of objects'));
      return undefined;
    }
    if (json.length > mostItems) {
      scope.violations.push(tooMany(path));
      return undefined;
    }
    const items: unknown[] = [];
    for (const [position, item] of json.entries()) {
      if (scope.violations.length >= mostViolations) return undefined;
      items.push(await readEmbeddable(field, item, null, scope, `${path}[${position}]`));
    }
    // the mapper cannot make a list with holes
    return items.includes(undefined) ? undefined : items;
  }
  return readEmbeddable(field, json, (current?.[field.property] ?? null) as Record<string, unknown> | null, scope, path);
}

async function readEmbeddable(
  field: EmbeddedWrite,
  json: unknown,
  current: Record<string, unknown> | null,
  scope: Scope,
  path: string,
): Promise<unknown> {
  if (!isObject(json)) {
    scope.violations.push(wrongType(path, 'an object'));
    return undefined;
  }
  const plan = chooseEmbeddable(field.plans, json, path);
  const keys = new Set(plan.discriminator ? [plan.discriminator.key] : []);
  checkKeys(json, plan.fields, new Set(), keys, `${path}.`);
  // what is not there yet has nothing to be merged with
  const mode: WriteMode = scope.mode === 'patch' && current === null ? 'create' : scope.mode;
  const values = await readFields(plan.fields, json, current, { ...scope, mode }, `${path}.`, keys);
  if (mode === 'replace' && current) Object.assign(values, hiddenParts(plan, current));
  return plan.discriminator ? { ...values, [plan.discriminator.property]: plan.discriminator.value } : values;
}

function chooseEmbeddable(plans: readonly EmbeddedPlan[], json: Record<string, unknown>, path: string): EmbeddedPlan {
  const chosen =
    plans.length === 1
      ? plans[0]
      : plans.find(({ discriminator }) => discriminator && json[discriminator.key] === discriminator.value);
  if (chosen) return chosen;
  const key = plans.find(({ discriminator }) => discriminator)?.discriminator?.key ?? 'type';
  throw problem('unknown_type', {
    field: `${path}.${key}`,
    allowed: plans.map(({ discriminator }) => discriminator?.value).join(', '),
  });
}

/** PUT takes a field that was not sent back to where a new row would have it. */
async function valueOfAbsent(
  field: WritableField,
  current: Record<string, unknown> | null,
  scope: Scope,
  path: string,
): Promise<unknown> {
  if (field.kind === 'to-many') return keptItems(field, current, scope);
  const kept = (await keptToOne(field, current, scope)) ?? keptParts(field, current);
  if (kept !== undefined) return kept;
  const { default: literal, defaultRaw, onCreate } = field.metadata;
  if (literal !== undefined && literal !== null) return literal;
  if (literal === undefined && defaultRaw !== undefined) return raw(defaultRaw);
  if (field.nullable) return null;
  if (onCreate) return onCreate(current as never, scope.em);
  if (field.required) scope.violations.push(missing(path + field.name));
  return undefined;
}

/** RFC 7396: null removes, objects are merged, everything else replaces. */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = mergePatch(merged[key], value);
  }
  return merged;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function missing(propertyPath: string): Violation {
  return { propertyPath, title: 'is required', code: 'required', parameters: {} };
}

function wrongType(propertyPath: string, expected: string): Violation {
  return { propertyPath, title: `must be ${expected}`, code: 'type', parameters: { expected } };
}

function tooMany(propertyPath: string): Violation {
  const title = `must not have more than ${mostItems} items`;
  return { propertyPath, title, code: 'too_many', parameters: { max: mostItems } };
}

/** The class that a new entity is to have: `type` picks it where the model has several. */
export function chooseClass(metas: readonly EntityMetadata[], typeKey: string, body: Record<string, unknown>): EntityMetadata {
  const key = Object.hasOwn(body, typeKey) ? typeKey : 'type';
  if (metas.length === 1 && !Object.hasOwn(body, key)) return metas[0] as EntityMetadata;
  const chosen = metas.find((meta) => typeOf(meta) === body[key]);
  if (chosen) return chosen;
  // where there is no choice, a wrong type is found when the body is read
  if (metas.length === 1) return metas[0] as EntityMetadata;
  throw problem('unknown_type', { field: typeKey, allowed: metas.map(typeOf).join(', ') });
}
