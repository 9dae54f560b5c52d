import { Collection, type EntityMetadata, helper, Reference, raw } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import type { RequestEntityManager } from '../database/mapper.ts';
import { missingValue, mostViolations, problem, type Violation, violationOf } from '../errors.ts';
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

type Values = Record<string, unknown>;

interface Reading {
  readonly em: RequestEntityManager;
  readonly request: ApiRequest;
  readonly mode: WriteMode;
  readonly resolve: ResolveAssociation;
  /** Those of the entities, or of the keys, in an association that the caller cannot see. */
  readonly hiddenAmong: (field: AssociationWrite, associated: readonly unknown[]) => Promise<readonly unknown[]>;
}

/**
 * Reads a body against a plan. What the body must not hold at all is refused with 400 at once; values of the wrong type
 * or length become violations, all of them together. The values are by property of the model.
 */
export async function readBody(
  plan: WritePlan,
  body: Values,
  entity: object | null,
  reading: Reading,
): Promise<{ readonly values: Values; readonly violations: Violation[] }> {
  checkIdentity(plan, body, entity);
  const ignored = new Set([plan.idKey, 'id', plan.typeKey, 'type'].filter((key) => !plan.fields.has(key)));
  checkKeys(body, plan.fields, plan.visible, ignored, '');
  // a client-given key is set once, when the row is made
  if (entity) for (const field of plan.fields.values()) if (isSetOnce(field)) ignored.add(field.name);
  const reader = new FieldReader(reading);
  const values = await reader.fields(plan.fields, body, entity as Values | null, reading.mode, '', ignored);
  for (const field of entity ? [] : plan.fields.values()) {
    // no path could name such a row
    if (field.metadata.primary && values[field.property] === '') reader.violations.push(missingValue(field.name));
  }
  return { values, violations: reader.violations };
}

function checkIdentity(plan: WritePlan, body: Values, entity: object | null): void {
  for (const key of new Set([plan.idKey, 'id'])) {
    if (!Object.hasOwn(body, key)) continue;
    const writable = plan.fields.get(key);
    if (writable && (!entity || !writable.metadata.primary)) continue;
    const id = entity ? helper(entity).getPrimaryKey() : undefined;
    const read = plan.parseId(body[key]);
    if (read !== undefined && String(read) === String(id)) continue;
    throw problem('identity_mismatch', {
      field: key,
      expected: entity ? 'be the id in the path, or be left out' : 'be left out: the server generates it',
    });
  }
  for (const key of new Set([plan.typeKey, 'type'])) {
    if (!Object.hasOwn(body, key) || plan.fields.has(key)) continue;
    const type = typeOf(plan.meta);
    const named = plan.showsType ? `"${type}"` : 'the type of the entity';
    if (body[key] !== type) throw problem('identity_mismatch', { field: key, expected: `be ${named}, or be left out` });
  }
}

function checkKeys(
  body: Values,
  fields: WritePlan['fields'],
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

/** Reads the fields of one body, and collects what is wrong with them. `current` is what the entity has so far. */
class FieldReader {
  readonly violations: Violation[] = [];
  readonly #reading: Reading;

  constructor(reading: Reading) {
    this.#reading = reading;
  }

  async fields(
    fields: WritePlan['fields'],
    body: Values,
    current: Values | null,
    mode: WriteMode,
    path: string,
    ignored: ReadonlySet<string>,
  ): Promise<Values> {
    const values: Values = {};
    for (const field of fields.values()) {
      if (ignored.has(field.name)) continue;
      const at = path + field.name;
      let value: unknown;
      if (Object.hasOwn(body, field.name)) value = await this.#field(field, body[field.name], current, mode, at);
      else if (mode === 'replace') value = await this.#absent(field, current, at);
      else if (mode === 'create' && field.required) this.violations.push(missingValue(at));
      if (value !== undefined) values[field.property] = value;
    }
    return values;
  }

  /** The value for the model, or undefined where a violation stands in its place. */
  async #field(field: WritableField, json: unknown, current: Values | null, mode: WriteMode, path: string): Promise<unknown> {
    if (json === null && field.kind !== 'to-many') {
      const kept = (await this.#keptToOne(field, current)) ?? keptParts(field, current);
      if (kept !== undefined) return kept;
      return field.nullable ? null : this.#refuse(missingValue(path));
    }
    switch (field.kind) {
      case 'scalar':
        return this.#scalar(field, json, current, mode, path);
      case 'embedded':
        return this.#embedded(field, json, current, mode, path);
      case 'to-one':
        return this.#entity(field, json, path, 'an object with the id of the associated entity');
      case 'to-many':
        return this.#toMany(field, json, current, path);
    }
  }

  #refuse(violation: Violation): undefined {
    this.violations.push(violation);
  }

  #scalar(field: ScalarWrite, json: unknown, current: Values | null, mode: WriteMode, path: string): unknown {
    // what is sent is judged before it is merged: it may be nested too deep for that
    const sent = field.parse(json);
    const merges = field.merges && mode === 'patch' && isObject(json) && 'value' in sent;
    const parsed = merges ? field.parse(mergePatch(current?.[field.property], json)) : sent;
    return 'value' in parsed ? parsed.value : this.#refuse({ propertyPath: path, ...parsed.refused });
  }

  async #entity(field: AssociationWrite, json: unknown, path: string, expected: string): Promise<object | undefined> {
    const { resolve } = this.#reading;
    if (isObject(json) || resolve.denormalizes(field)) return resolve.entity(field, json, path, this.#reading);
    return this.#refuse(wrongType(path, expected));
  }

  async #toMany(field: AssociationWrite, json: unknown, current: Values | null, path: string): Promise<unknown> {
    if (!Array.isArray(json)) return this.#refuse(wrongType(path, 'a list of objects, each with the id of an associated entity'));
    const items = new Set<object>();
    const seen = new Set<string>();
    for (const [position, item] of json.entries()) {
      if (this.violations.length >= mostViolations) break;
      // what is given twice is looked up once
      const text = referenceText(item);
      if (text !== null && seen.has(text)) continue;
      if (text !== null) seen.add(text);
      const entity = await this.#entity(field, item, `${path}[${position}]`, 'an object with the id of an associated entity');
      if (entity) items.add(entity);
    }
    for (const kept of await this.#keptItems(field, current)) items.add(kept);
    return [...items];
  }

  /** A linked row that the caller cannot see was sent to them as null. If they send null back, the link stays. */
  async #keptToOne(field: WritableField, current: Values | null): Promise<unknown> {
    const linked = field.kind === 'to-one' ? current?.[field.property] : null;
    if (field.kind !== 'to-one' || linked === null || linked === undefined) return undefined;
    const [hidden] = await this.#reading.hiddenAmong(field, [Reference.unwrapReference(linked as object)]);
    return hidden;
  }

  /** A list is not about the items that the caller cannot see: they stay. What it leaves out otherwise can be removed once it is known. */
  async #keptItems(field: AssociationWrite, current: Values | null): Promise<readonly object[]> {
    const collection = current?.[field.property];
    if (!(collection instanceof Collection)) return [];
    if (!collection.isInitialized()) {
      await collection.init();
      takeAsRead(this.#reading.em, collection.getItems(false) as object[]);
    }
    return (await this.#reading.hiddenAmong(field, collection.getItems(false))) as object[];
  }

  async #embedded(field: EmbeddedWrite, json: unknown, current: Values | null, mode: WriteMode, path: string): Promise<unknown> {
    if (!field.array) return this.#embeddable(field, json, (current?.[field.property] ?? null) as Values | null, mode, path);
    if (!Array.isArray(json)) return this.#refuse(wrongType(path, 'a list of objects'));
    if (json.length > mostItems)
      return this.#refuse(violationOf(path, `must not have more than ${mostItems} items`, 'too_many', { max: mostItems }));
    const items: unknown[] = [];
    for (const [position, item] of json.entries()) {
      if (this.violations.length >= mostViolations) return undefined;
      items.push(await this.#embeddable(field, item, null, mode, `${path}[${position}]`));
    }
    // the mapper cannot make a list with holes
    return items.includes(undefined) ? undefined : items;
  }

  async #embeddable(
    field: EmbeddedWrite,
    json: unknown,
    current: Values | null,
    outerMode: WriteMode,
    path: string,
  ): Promise<unknown> {
    if (!isObject(json)) return this.#refuse(wrongType(path, 'an object'));
    const plan = chooseEmbeddable(field.plans, json, path);
    const keys = new Set(plan.discriminator ? [plan.discriminator.key] : []);
    checkKeys(json, plan.fields, new Set(), keys, `${path}.`);
    // what is not there yet has nothing to be merged with
    const mode = outerMode === 'patch' && current === null ? 'create' : outerMode;
    const values = await this.fields(plan.fields, json, current, mode, `${path}.`, keys);
    if (mode === 'replace' && current) Object.assign(values, hiddenParts(plan, current));
    return plan.discriminator ? { ...values, [plan.discriminator.property]: plan.discriminator.value } : values;
  }

  /** PUT takes a field that was not sent back to where a new row would have it. */
  async #absent(field: WritableField, current: Values | null, path: string): Promise<unknown> {
    if (field.kind === 'to-many') return this.#keptItems(field, current);
    const kept = (await this.#keptToOne(field, current)) ?? keptParts(field, current);
    if (kept !== undefined) return kept;
    const { default: literal, defaultRaw, onCreate } = field.metadata;
    if (literal !== undefined && literal !== null) return literal;
    if (literal === undefined && defaultRaw !== undefined) return raw(defaultRaw);
    if (field.nullable) return null;
    if (onCreate) return onCreate(current as never, this.#reading.em);
    return field.required ? this.#refuse(missingValue(path)) : undefined;
  }
}

/** A reference as text; null for what is none, which can be nested deeper than text can be made of. */
function referenceText(item: unknown): string | null {
  const parts = isObject(item) ? Object.values(item) : [item];
  return parts.some((part) => typeof part === 'object' && part !== null) ? null : JSON.stringify(item);
}

/**
 * What an embedded object holds beyond the fields that bodies can set. They stay, whatever is sent: null is about what the caller can set.
 * Undefined if nothing of it is left.
 */
function keptParts(field: WritableField, current: Values | null): unknown {
  const embedded = field.kind === 'embedded' && !field.array ? current?.[field.property] : null;
  if (field.kind !== 'embedded' || typeof embedded !== 'object' || embedded === null) return undefined;
  const plan = field.plans.length === 1 ? field.plans[0] : undefined;
  const hidden = plan && hiddenParts(plan, embedded as Values);
  if (!plan || !hidden || Object.values(hidden).every((part) => part === null || part === undefined)) return undefined;
  const cleared = Object.fromEntries([...plan.fields.values()].map(({ property }) => [property, null]));
  return { ...cleared, ...hidden };
}

function hiddenParts({ fields, meta }: EmbeddedPlan, embedded: Values): Values {
  const settable = new Set([...fields.values()].map(({ property }) => property));
  const parts = ownProperties(meta).filter((part) => part.persist !== false && !settable.has(part.name as string));
  return Object.fromEntries(parts.map(({ name }) => [name as string, embedded[name as string]]));
}

function chooseEmbeddable(plans: readonly EmbeddedPlan[], json: Values, path: string): EmbeddedPlan {
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

/** RFC 7396: null removes, objects are merged, everything else replaces. */
function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged: Values = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = mergePatch(merged[key], value);
  }
  return merged;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function wrongType(propertyPath: string, expected: string): Violation {
  return violationOf(propertyPath, `must be ${expected}`, 'type', { expected });
}

/** The class that a new entity is to have: `type` picks it where the model has several. */
export function chooseClass(metas: readonly EntityMetadata[], typeKey: string, body: Values): EntityMetadata {
  const key = Object.hasOwn(body, typeKey) ? typeKey : 'type';
  if (metas.length === 1 && !Object.hasOwn(body, key)) return metas[0] as EntityMetadata;
  const chosen = metas.find((meta) => typeOf(meta) === body[key]);
  if (chosen) return chosen;
  // where there is no choice, a wrong type is found when the body is read
  if (metas.length === 1) return metas[0] as EntityMetadata;
  throw problem('unknown_type', { field: typeKey, allowed: metas.map(typeOf).join(', ') });
}
