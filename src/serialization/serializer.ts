import { Collection, type EntityMetadata, type EntityProperty, helper, Reference, ScalarReference, Utils } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import { type Field, type FieldPlan, ownProperties, planFields, planProperties } from '../model/field-plan.ts';
import { metaOfEntity } from '../model/hierarchy.ts';
import { keyOf } from '../model/identifier.ts';
import { dateTimeToJson, integerToJson, toJson } from './to-json.ts';

/** Turns entities, lists and plain values into what JSON can hold, showing of each entity the fields in the active groups only. */
export interface Serializer {
  /** The plan of an entity's class, made once. */
  planFor(meta: EntityMetadata): FieldPlan;
  serialize(value: unknown): unknown;
}

type Write = (target: Record<string, unknown>, entity: Record<string, unknown>) => void;
type WriteEntity = (entity: object) => Record<string, unknown> | null;

/** Makes the serializer of a set of groups. Everything it knows of a class is compiled when the class is first met. */
export function createSerializer(mapper: Mapper, groups: readonly string[]): Serializer {
  const compiled = new Map<EntityMetadata, { plan: FieldPlan; write: WriteEntity }>();

  function compile(meta: EntityMetadata): { plan: FieldPlan; write: WriteEntity } {
    let known = compiled.get(meta);
    if (!known) {
      const plan = planFields(mapper, meta, groups);
      known = { plan, write: compilePlan(plan, serialize) };
      compiled.set(meta, known);
    }
    return known;
  }

  function serialize(value: unknown): unknown {
    if (value === null || value === undefined) return null;
    switch (typeof value) {
      case 'bigint':
        return integerToJson(value);
      case 'object':
        return serializeObject(value);
      case 'function':
      case 'symbol':
        return undefined;
      default:
        return value;
    }
  }

  function serializeObject(value: object): unknown {
    if (Array.isArray(value)) return value.map(serialize);
    if (isEntity(value)) return compile(metaOfEntity(mapper, value)).write(value);
    if (value instanceof Collection) return value.getItems(false).map(serialize);
    if (value instanceof Reference || value instanceof ScalarReference) return serialize(value.unwrap());
    if (value instanceof Date) return dateTimeToJson(value);
    if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
    if (value instanceof Set) return [...value].map(serialize);
    if (value instanceof Map) return serialize(Object.fromEntries(value));
    const embeddable = mapper.getMetadata().find(value.constructor as never);
    if (embeddable?.embeddable) return compileEmbedded(planOf(embeddable), serialize)(value);
    const own = (value as { toJSON?: () => unknown }).toJSON;
    if (typeof own === 'function') return serialize(own.call(value));
    const result: Record<string, unknown> = {};
    for (const [key, item] of Object.entries(value)) result[key] = serialize(item);
    return result;
  }

  function planOf(embeddable: EntityMetadata): FieldPlan {
    return { variants: new Map([[embeddable, planProperties(mapper, ownProperties(embeddable), groups, [embeddable])]]) };
  }

  return { planFor: (meta) => compile(meta).plan, serialize };
}

/** Whether a value is an entity, loaded or not. A wrapped reference to one is none. */
export function isEntity(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Utils.isEntity(value, true) && !(value instanceof Reference);
}

function compilePlan(plan: FieldPlan, serialize: (value: unknown) => unknown): WriteEntity {
  const variants = new Map<unknown, { needsRow: boolean; writes: Write[] }>();
  for (const [meta, fields] of plan.variants) {
    variants.set(meta.class, {
      needsRow: fields.some((field) => !field.metadata.primary),
      writes: fields.map((field) => compileField(field, serialize)),
    });
  }
  // a reference to an abstract class shows its key, whatever the row will turn out to be
  const unread = [...variants.values()].every(({ needsRow }) => !needsRow) ? [...variants.values()][0] : undefined;
  return (entity) => {
    const wrapped = helper(entity);
    const variant = variants.get(wrapped.__meta.class) ?? unread;
    // A row that a filter of the model hides stays a bare reference: nothing of it is shown.
    if (!variant || (variant.needsRow && !wrapped.isInitialized())) return null;
    const target: Record<string, unknown> = {};
    for (const write of variant.writes) write(target, entity as Record<string, unknown>);
    return target;
  };
}

function compileField(field: Field, serialize: (value: unknown) => unknown): Write {
  const { name, property, metadata } = field;
  const own = metadata.serializer;
  if (own) {
    return (target, entity) => {
      // what was never set is null in the next answer, so it is in this one
      target[name] = serialize(own(entity[property] ?? null));
    };
  }
  const convert = compileValue(field, serialize);
  return (target, entity) => {
    const value = entity[property];
    target[name] = value === null || value === undefined ? null : (convert(value) ?? null);
  };
}

function compileValue(field: Field, serialize: (value: unknown) => unknown): (value: unknown) => unknown {
  switch (field.kind) {
    case 'scalar': {
      const convert = field.computed || field.value.kind === 'any' ? serialize : toJson(field.value);
      return (value) => convert(value instanceof ScalarReference ? value.unwrap() : value);
    }
    case 'embedded': {
      const write = compileEmbedded(field.plan, serialize);
      return (value) => (Array.isArray(value) ? value.map(write) : write(value));
    }
    case 'to-one': {
      const write = compilePlan(field.plan, serialize);
      return (value) => {
        const target = Reference.unwrapReference(value as object);
        return typeof target === 'object' ? write(target) : serialize(target);
      };
    }
    case 'to-many': {
      const write = compilePlan(field.plan, serialize);
      const inOrder = orderOf(field.metadata);
      return (value) => inOrder((value as Collection<object>).getItems(false)).flatMap((item) => write(item) ?? []);
    }
  }
}

function compileEmbedded(plan: FieldPlan, serialize: (value: unknown) => unknown): (value: unknown) => unknown {
  const variants = [...plan.variants].map(([meta, fields]) => ({
    meta,
    writes: fields.map((field) => compileField(field, serialize)),
  }));
  const only = variants.length === 1 ? variants[0] : undefined;
  return (value) => {
    const variant = only ?? variants.find(({ meta }) => isEmbedded(value as Record<string, unknown>, meta));
    const target: Record<string, unknown> = {};
    for (const write of variant?.writes ?? []) write(target, value as Record<string, unknown>);
    return target;
  };
}

function isEmbedded(value: Record<string, unknown>, meta: EntityMetadata): boolean {
  return value.constructor === meta.class || value[String(meta.root.discriminatorColumn)] === meta.discriminatorValue;
}

/** A to-many that the model does not order is given by key, so that the same data is the same answer. */
function orderOf(property: EntityProperty): (items: object[]) => object[] {
  if (property.orderBy || property.fixedOrder) return (items) => items;
  return (items) => items.slice().sort((a, b) => compareKeys(primaryKey(a), primaryKey(b)));
}

function primaryKey(entity: object): unknown {
  const { __meta } = helper(entity);
  return __meta.compositePK
    ? helper(entity).getSerializedPrimaryKey()
    : (entity as Record<string, unknown>)[keyOf(__meta).name as string];
}

function compareKeys(a: unknown, b: unknown): number {
  if (a === b) return 0;
  return (a as string) < (b as string) ? -1 : 1;
}
