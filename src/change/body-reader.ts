import { Collection, type EntityMetadata, helper, Reference, raw, ScalarReference } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import type { RequestEntityManager } from '../database/mapper.ts';
import { maxViolations, missingValue, problem, type Violation, violationOf } from '../errors.ts';
import { isTurnLong, nextTurn } from '../event-loop.ts';
import { keyText, valuesOf } from '../model/composite-key.ts';
import { typeOf } from '../model/hierarchy.ts';
import { entityKey } from '../model/identifier.ts';
import { loadItems } from '../query/entities/populate-steps.ts';
import type { Parsed } from '../serialization/from-json.ts';
import { hiddenParts, looksMissing, retainedInItems, retainedParts } from './embedded-parts.ts';
import {
  type AssociationWrite,
  type EmbeddedPlan,
  type EmbeddedWrite,
  isSetOnce,
  type ScalarWrite,
  type WritableField,
  type WritePlan,
} from './write-plan.ts';

/** Items of an embedded list. The mapper compares each with all others when it looks for changes. */
const mostItems = 10_000;

/** How a body is applied: it makes a new entity, sets the fields that were sent, or replaces all fields. */
export type WriteMode = 'create' | 'patch' | 'replace';

/** Resolves the JSON of associations to entities. */
export interface ResolveAssociation {
  /** Whether a denormalizer reads the association: it accepts any JSON, and not only objects. */
  denormalizes(field: AssociationWrite): boolean;
  /** The entity; throws 400 with the reason if it cannot be resolved. */
  entity(
    field: AssociationWrite,
    json: unknown,
    path: string,
    scope: { em: RequestEntityManager; request: ApiRequest },
  ): Promise<object>;
  /** Reads the rows of a list together, before {@link entity} is called for each item. */
  load(
    field: AssociationWrite,
    items: readonly unknown[],
    scope: { em: RequestEntityManager; request: ApiRequest },
  ): Promise<void>;
}

type Values = Record<string, unknown>;

interface Reading {
  readonly em: RequestEntityManager;
  readonly request: ApiRequest;
  readonly mode: WriteMode;
  /** The path of the object in the body, with a dot at its end; empty for the body itself. */
  readonly path?: string;
  readonly resolve: ResolveAssociation;
  /** The entities, or keys, of an association that the caller cannot see. */
  readonly hiddenAmong: (field: AssociationWrite, associated: readonly unknown[]) => Promise<readonly unknown[]>;
}

/**
 * Reads a body against a plan. Fields that are not allowed throw 400 at once. Values of the wrong type or length become
 * violations, which are collected. The returned values are by property of the model.
 */
export async function readBody(
  plan: WritePlan,
  body: Values,
  entity: object | null,
  reading: Reading,
): Promise<{ readonly values: Values; readonly violations: Violation[] }> {
  const { path = '' } = reading;
  checkIdentity(plan, body, entity, path);
  const ignored = new Set([plan.idKey, 'id', ...typeKeys(plan, entity)].filter((key) => !plan.fields.has(key)));
  if (entity) for (const { name } of plan.keyParts) if (!plan.fields.has(name)) ignored.add(name);
  checkKeys(body, plan.fields, plan.visible, ignored, path);
  // a client-given key is set once, when the row is created
  if (entity) for (const field of plan.fields.values()) if (isSetOnce(field)) ignored.add(field.name);
  const reader = new FieldReader(reading);
  const values = await reader.fields(plan.fields, body, entity as Values | null, reading.mode, path, ignored);
  for (const field of entity ? [] : plan.fields.values()) {
    // a row with an empty key could not have a path
    if (field.metadata.primary && values[field.property] === '') reader.violations.push(missingValue(path + field.name));
  }
  return { values, violations: reader.violations };
}

/** Checks an item that only names a row: it has no other fields, and its key is that of the row. */
export function checkItem(plan: WritePlan, item: Values, entity: object): void {
  const own = [...new Set([plan.idKey, ...plan.keyParts.map(({ name }) => name)])];
  const field = Object.keys(item).find((key) => key !== 'id' && !own.includes(key));
  if (field !== undefined) throw problem('unknown_field', { field, allowed: [...own, '_if_match'].join(', ') });
  checkIdentity(plan, item, entity, '');
}

function checkIdentity(plan: WritePlan, body: Values, entity: object | null, path: string): void {
  for (const key of new Set([plan.idKey, 'id'])) {
    if (!Object.hasOwn(body, key)) continue;
    // a part of a composite key is checked with the other parts
    if (plan.keyParts.some(({ name }) => name === key)) continue;
    const writable = plan.fields.get(key);
    if (writable && (!entity || !writable.metadata.primary)) continue;
    const id = entity ? entityKey(entity) : undefined;
    const read = plan.parseId(body[key]);
    if (read !== undefined && String(read) === String(id)) continue;
    throw problem('identity_mismatch', {
      field: path + key,
      expected: entity ? 'be the id in the path, or be left out' : 'be left out: the server generates it',
    });
  }
  if (entity) checkKeyParts(plan, body, entity);
  for (const key of typeKeys(plan, entity)) {
    if (!Object.hasOwn(body, key) || plan.fields.has(key)) continue;
    const type = typeOf(plan.meta);
    const named = plan.showsType ? `"${type}"` : 'the type of the entity';
    if (body[key] !== type) throw problem('identity_mismatch', { field: path + key, expected: `be ${named}, or be left out` });
  }
}

/** The fields that may have the type. Those of a row whose type the caller cannot see do not exist: its type could be guessed. */
function typeKeys({ hidesType, typeKey }: WritePlan, entity: object | null): ReadonlySet<string> {
  return entity && hidesType ? new Set() : new Set([typeKey, 'type']);
}

/** A row keeps its key: parts of it may be sent only as they are. */
function checkKeyParts({ keyParts }: WritePlan, body: Values, entity: object): void {
  for (const { at, length, name, parse } of keyParts) {
    if (!Object.hasOwn(body, name)) continue;
    const read = parse(body[name]);
    const own = keyText(valuesOf(entityKey(entity)).slice(at, at + length));
    if (read !== undefined && keyText(valuesOf(read)) === own) continue;
    throw problem('identity_mismatch', { field: name, expected: 'be the one in the path, or be left out' });
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

/** Reads the fields of one body, and collects their violations. `current` are the values that the entity has so far. */
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

  /** The value for the model, or undefined if it is a violation. */
  async #field(field: WritableField, json: unknown, current: Values | null, mode: WriteMode, path: string): Promise<unknown> {
    if (json === null && field.kind !== 'to-many') {
      const retained = (await this.#hiddenToOne(field, current)) ?? retainedParts(field, current);
      if (retained !== undefined) return retained;
      return field.nullable ? null : this.#refuse(missingValue(path));
    }
    switch (field.kind) {
      case 'scalar':
        return this.#scalar(field, json, current, mode, path);
      case 'embedded':
        return this.#embedded(field, json, current, mode, path);
      case 'to-one':
        return this.#toOne(field, json, path);
      case 'to-many':
        return this.#toMany(field, json, current, path);
    }
  }

  #refuse(violation: Violation): undefined {
    this.violations.push(violation);
  }

  #scalar(field: ScalarWrite, json: unknown, current: Values | null, mode: WriteMode, path: string): unknown {
    // checked before it is merged, because it may be nested too deep for that
    const sent = field.parse(json);
    return field.merges && mode === 'patch' && isObject(json) && 'value' in sent
      ? this.#merged(field, json, current, path)
      : this.#valueIn(sent, path);
  }

  async #merged(field: ScalarWrite, json: Values, current: Values | null, path: string): Promise<unknown> {
    if (isTurnLong()) await nextTurn();
    const before = current?.[field.property];
    const merged = mergePatch(before instanceof ScalarReference ? before.unwrap() : before, json);
    if (isTurnLong()) await nextTurn();
    const parsed = field.parse(merged);
    if (isTurnLong()) await nextTurn();
    return this.#valueIn(parsed, path);
  }

  #valueIn(parsed: Parsed, path: string): unknown {
    return 'value' in parsed ? parsed.value : this.#refuse({ propertyPath: path, ...parsed.refused });
  }

  async #toOne(field: AssociationWrite, json: unknown, path: string): Promise<unknown> {
    const isKeyAlone = field.metadata.mapToPk && !isObject(json);
    const sent = isKeyAlone ? { id: json } : json;
    const entity = await this.#entity(field, sent, path, 'an object with the id of the associated entity');
    return entity && field.metadata.mapToPk ? keyAlone(entity) : entity;
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
    await this.#reading.resolve.load(field, json, this.#reading);
    for (const [position, item] of json.entries()) {
      if (this.violations.length >= maxViolations) break;
      if (isTurnLong()) await nextTurn();
      // duplicates are looked up once
      const text = referenceText(item);
      if (text !== null && seen.has(text)) continue;
      if (text !== null) seen.add(text);
      const entity = await this.#entity(field, item, `${path}[${position}]`, 'an object with the id of an associated entity');
      if (entity) items.add(entity);
    }
    for (const retained of await this.#hiddenItems(field, current)) items.add(retained);
    return [...items];
  }

  /** A linked row that the caller cannot see was sent to them as null. If they send null back, the link stays. */
  async #hiddenToOne(field: WritableField, current: Values | null): Promise<unknown> {
    const linked = field.kind === 'to-one' ? current?.[field.property] : null;
    if (field.kind !== 'to-one' || linked === null || linked === undefined) return undefined;
    const { em, hiddenAmong } = this.#reading;
    const [target] = field.targets;
    const isKey = target && field.metadata.mapToPk;
    const row = isKey ? em.getReference(target.class, linked as never) : Reference.unwrapReference(linked as object);
    const [hidden] = await hiddenAmong(field, [row]);
    return hidden && isKey ? linked : hidden;
  }

  /** The items that the caller cannot see: they stay in the list. Loads the items, because only loaded ones can be removed. */
  async #hiddenItems(field: AssociationWrite, current: Values | null): Promise<readonly object[]> {
    const collection = current?.[field.property];
    if (!(collection instanceof Collection)) return [];
    if (!collection.isInitialized()) await loadItems(this.#reading.em, collection);
    return (await this.#reading.hiddenAmong(field, collection.getItems(false))) as object[];
  }

  async #embedded(field: EmbeddedWrite, json: unknown, current: Values | null, mode: WriteMode, path: string): Promise<unknown> {
    if (!field.array) {
      const before = (current?.[field.property] ?? null) as Values | null;
      const made = await this.#embeddable(field, json, before, mode, path);
      return before === null && mode !== 'create' && looksMissing(field, made) ? null : made;
    }
    if (!Array.isArray(json)) return this.#refuse(wrongType(path, 'a list of objects'));
    if (json.length > mostItems)
      return this.#refuse(violationOf(path, `must not have more than ${mostItems} items`, 'too_many', { max: mostItems }));
    const items: unknown[] = [];
    const retain = retainedInItems(field, current);
    for (const [position, item] of json.entries()) {
      if (this.violations.length >= maxViolations) return undefined;
      if (isTurnLong()) await nextTurn();
      const made = await this.#embeddable(field, item, null, mode, `${path}[${position}]`);
      items.push(retain && isObject(made) ? retain(made, item) : made);
    }
    // the mapper cannot create a list with holes
    return items.includes(undefined) ? undefined : items;
  }

  async #embeddable(
    field: EmbeddedWrite,
    json: unknown,
    before: Values | null,
    outerMode: WriteMode,
    path: string,
  ): Promise<unknown> {
    if (!isObject(json)) return this.#refuse(wrongType(path, 'an object'));
    const plan = chooseEmbeddable(field.plans, json, path);
    // an object of another class is replaced
    const isOther = plan.discriminator && before && before[plan.discriminator.property] !== plan.discriminator.value;
    const current = isOther ? null : before;
    const keys = new Set(plan.discriminator ? [plan.discriminator.key] : []);
    checkKeys(json, plan.fields, new Set(), keys, `${path}.`);
    // an object that is missing so far cannot be patched
    const mode = outerMode === 'patch' && current === null ? 'create' : outerMode;
    const values = await this.fields(plan.fields, json, current, mode, `${path}.`, keys);
    if (mode === 'replace' && current) Object.assign(values, hiddenParts(plan, current, json));
    const made = plan.discriminator ? { ...values, [plan.discriminator.property]: plan.discriminator.value } : values;
    return isOther ? this.#reading.em.create(plan.meta.class, made as never, { managed: false, persist: false } as never) : made;
  }

  /** PUT sets a field that was not sent to the value that it would have in a new row. */
  async #absent(field: WritableField, current: Values | null, path: string): Promise<unknown> {
    if (field.unseen && current) return undefined;
    if (field.kind === 'to-many') return this.#hiddenItems(field, current);
    const retained = (await this.#hiddenToOne(field, current)) ?? retainedParts(field, current);
    if (retained !== undefined) return retained;
    const { default: literal, defaultRaw, onCreate } = field.metadata;
    if (literal !== undefined && literal !== null) return literal;
    if (literal === undefined && defaultRaw !== undefined) return raw(defaultRaw);
    if (field.nullable) return null;
    if (onCreate) return onCreate(current as never, this.#reading.em);
    return field.required ? this.#refuse(missingValue(path)) : undefined;
  }
}

/** A reference as text; null for other values, which may be nested too deep for `JSON.stringify`. */
function referenceText(item: unknown): string | null {
  const parts = isObject(item) ? Object.values(item) : [item];
  return parts.some((part) => typeof part === 'object' && part !== null) ? null : JSON.stringify(item);
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

/** The class of a new entity: `type` chooses it if the model has several. `path` is that of the body, with a dot at its end. */
export function chooseClass(metas: readonly EntityMetadata[], typeKey: string, body: Values, path: string): EntityMetadata {
  const key = Object.hasOwn(body, typeKey) ? typeKey : 'type';
  if (metas.length === 1 && !Object.hasOwn(body, key)) return metas[0] as EntityMetadata;
  const chosen = metas.find((meta) => typeOf(meta) === body[key]);
  if (chosen) return chosen;
  // if there is only one class, a wrong type is found when the body is read
  if (metas.length === 1) return metas[0] as EntityMetadata;
  throw problem('unknown_type', { field: path + typeKey, allowed: metas.map(typeOf).join(', ') });
}

/** The key that a model has instead of an entity. MikroORM writes one of several columns only as a list. */
function keyAlone(entity: object): unknown {
  const key = entityKey(entity);
  return Array.isArray(key) ? [...key] : helper(entity).getPrimaryKey();
}
