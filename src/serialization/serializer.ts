import { Collection, type EntityMetadata, type EntityProperty, helper, Reference, ScalarReference, Utils } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import {
  type Field,
  type FieldPlan,
  hidesParts,
  isBlank,
  ownProperties,
  planFields,
  planProperties,
  targetsOf,
} from '../model/field-plan.ts';
import { metaOfEntity } from '../model/hierarchy.ts';
import { keyOf } from '../model/identifier.ts';
import { type Normalization, normalizationOf } from '../model/normalization.ts';
import { toJson } from './kind-conversions.ts';
import { Normalized } from './normalizer.ts';
import { dateTimeToJson, integerToJson } from './to-json.ts';

/** Turns entities, lists and plain values into what JSON can hold, showing of each entity the fields in the active groups only. */
export interface Serializer {
  /** The plan of an entity's class, made once. */
  planFor(meta: EntityMetadata): FieldPlan;
  /** What goes out for a value that an action gave. Of what its entities embed, only what is in sight. */
  serialize(value: unknown, sight?: VisibleRows): unknown;
  /** The same for a value that stands in an entity: rows that the caller does not see are left out. */
  embed(value: unknown, sight: VisibleRows): unknown;
}

/** What a caller sees of the rows that others embed. */
export interface VisibleRows {
  /** Whether rows of a class can be out of sight. */
  isLimited(meta: EntityMetadata): boolean;
  /** Whether a row of such a class is in sight. */
  shows(entity: object): boolean;
  /** The same for a row of which there is only the key. */
  showsKey(meta: EntityMetadata, key: unknown): boolean;
  /** What code of the model makes of a property: it runs once, however often the entity is written. */
  computed(entity: object, property: string, compute: () => unknown): unknown;
}

const unlimited: VisibleRows = Object.freeze({
  isLimited: () => false,
  shows: () => true,
  showsKey: () => true,
  computed: (_entity: object, _property: string, compute: () => unknown) => compute(),
});

type Write = (target: Record<string, unknown>, entity: Record<string, unknown>, sight: VisibleRows) => void;
type WriteEntity = (entity: object, sight: VisibleRows) => object | null;
type WriteValue = (value: unknown, sight: VisibleRows) => unknown;

/** Makes the serializer of a set of groups. Everything it knows of a class is compiled when the class is first met. */
export function createSerializer(mapper: Mapper, groups: readonly string[]): Serializer {
  const compiled = new Map<EntityMetadata, { plan: FieldPlan; write: WriteEntity }>();
  const asGiven = valueSerializer((entity, sight) => compile(metaOfEntity(mapper, entity)).write(entity, sight));
  // what the model's own code gives is embedded like everything else in an entity
  const embedded = valueSerializer((entity, sight) => {
    const meta = metaOfEntity(mapper, entity);
    return isInSight(entity, meta, sight) ? compile(meta).write(entity, sight) : undefined;
  });

  function compile(meta: EntityMetadata): { plan: FieldPlan; write: WriteEntity } {
    let known = compiled.get(meta);
    if (!known) {
      const plan = planFields(mapper, meta, groups);
      known = { plan, write: compilePlan(plan, embedded) };
      compiled.set(meta, known);
    }
    return known;
  }

  /** Makes what serializes any value, with its own way for entities. What it leaves out is undefined. */
  function valueSerializer(writeEntity: (entity: object, sight: VisibleRows) => unknown): WriteValue {
    function serialize(value: unknown, sight: VisibleRows): unknown {
      if (value === null || value === undefined) return null;
      switch (typeof value) {
        case 'bigint':
          return integerToJson(value);
        case 'object':
          return serializeObject(value, sight);
        case 'function':
        case 'symbol':
          return undefined;
        default:
          return value;
      }
    }

    function serializeItems(items: Iterable<unknown>, sight: VisibleRows): unknown[] {
      const written: unknown[] = [];
      for (const item of items) {
        const json = serialize(item, sight);
        if (json !== undefined || !isEntityOrReference(item)) written.push(json);
      }
      return written;
    }

    function serializeObject(value: object, sight: VisibleRows): unknown {
      if (Array.isArray(value)) return serializeItems(value, sight);
      if (isEntity(value)) return writeEntity(value, sight);
      if (value instanceof Collection) return serializeItems(value.getItems(false), sight);
      if (value instanceof Reference || value instanceof ScalarReference) return serialize(value.unwrap(), sight);
      if (value instanceof Date) return dateTimeToJson(value);
      if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
      if (value instanceof Set) return serializeItems(value, sight);
      if (value instanceof Map) return serialize(Object.fromEntries(value), sight);
      const embeddable = mapper.getMetadata().find(value.constructor as never);
      if (embeddable?.embeddable) {
        const written = compileEmbedded(planOf(embeddable), embedded)(value, sight);
        const normalization = normalizationOf(mapper, embeddable);
        return normalization ? new Normalized(normalization, written) : written;
      }
      const own = (value as { toJSON?: () => unknown }).toJSON;
      if (typeof own === 'function') return serialize(own.call(value), sight);
      const result: Record<string, unknown> = {};
      for (const [key, item] of Object.entries(value)) {
        const json = serialize(item, sight);
        result[key] = json === undefined && isEntityOrReference(item) ? null : json;
      }
      return result;
    }

    return serialize;
  }

  function planOf(embeddable: EntityMetadata): FieldPlan {
    const fields = planProperties(embeddable, ownProperties(embeddable), { mapper, groups, ancestors: [embeddable] });
    return { variants: new Map([[embeddable, fields]]) };
  }

  return {
    planFor: (meta) => compile(meta).plan,
    serialize: (value, sight = unlimited) => asGiven(value, sight),
    embed: embedded,
  };
}

function isInSight(entity: object, meta: EntityMetadata, sight: VisibleRows): boolean {
  return !sight.isLimited(meta) || sight.shows(entity);
}

function isEntityOrReference(value: unknown): boolean {
  return isEntity(value) || value instanceof Reference;
}

/** Whether a value is an entity, loaded or not. A wrapped reference to one is none. */
export function isEntity(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Utils.isEntity(value, true) && !(value instanceof Reference);
}

function compilePlan(plan: FieldPlan, serialize: WriteValue): WriteEntity {
  const variants = new Map<unknown, { needsRow: boolean; writes: Write[]; normalization: Normalization | null }>();
  for (const [meta, fields] of plan.variants) {
    variants.set(meta.class, {
      needsRow: fields.some((field) => !field.metadata.primary),
      writes: fields.map((field) => compileField(field, serialize)),
      normalization: plan.normalizations?.get(meta) ?? null,
    });
  }
  // a reference to an abstract class shows its key, whatever the row will turn out to be
  const unread = [...variants.values()].every(({ needsRow }) => !needsRow) ? [...variants.values()][0] : undefined;
  return (entity, sight) => {
    const wrapped = helper(entity);
    const variant = variants.get(wrapped.__meta.class) ?? unread;
    // A row that a filter of the model hides stays a bare reference: nothing of it is shown.
    if (!variant || (variant.needsRow && !wrapped.isInitialized())) return null;
    const target: Record<string, unknown> = {};
    for (const write of variant.writes) write(target, entity as Record<string, unknown>, sight);
    return variant.normalization ? new Normalized(variant.normalization, target) : target;
  };
}

/** The same for an entity that stands in another one: nothing of what is out of sight. */
function compileAssociated(plan: FieldPlan, serialize: WriteValue): WriteEntity {
  const write = compilePlan(plan, serialize);
  const metas = [...plan.variants.keys()];
  // a row that nobody has read yet can be any of the classes
  return (entity, sight) => (metas.some((meta) => sight.isLimited(meta)) && !sight.shows(entity) ? null : write(entity, sight));
}

function compileField(field: Field, serialize: WriteValue): Write {
  const { name, normalization } = field;
  const write = compileOwnField(field, serialize);
  if (!normalization) return write;
  return (target, entity, sight) => {
    write(target, entity, sight);
    target[name] = new Normalized(normalization, target[name]);
  };
}

function compileOwnField(field: Field, serialize: WriteValue): Write {
  const { name, property, metadata } = field;
  const own = metadata.serializer;
  if (own) {
    return (target, entity, sight) => {
      // a value that was never set is null in the next response, so it is in this one
      target[name] = serialize(
        sight.computed(entity, property, () => own(entity[property] ?? null)),
        sight,
      );
    };
  }
  if (field.kind === 'scalar' && field.computed) {
    return (target, entity, sight) => {
      const value = sight.computed(entity, property, () => entity[property]);
      target[name] = serialize(value instanceof ScalarReference ? value.unwrap() : value, sight) ?? null;
    };
  }
  const convert = compileValue(field, serialize);
  return (target, entity, sight) => {
    const value = entity[property];
    target[name] = value === null || value === undefined ? null : (convert(value, sight) ?? null);
  };
}

function compileValue(field: Field, serialize: WriteValue): WriteValue {
  switch (field.kind) {
    case 'scalar': {
      const convert: WriteValue = field.value.kind === 'any' ? serialize : toJson(field.value);
      return (value, sight) => convert(value instanceof ScalarReference ? value.unwrap() : value, sight);
    }
    case 'embedded': {
      const write = compileEmbedded(field.plan, serialize);
      const hides = hidesParts(field);
      const shown = [...field.plan.variants.values()];
      return (value, sight) => {
        if (Array.isArray(value)) return value.map((item) => write(item, sight));
        const isHidden = hides && shown.some((fields) => isBlank(fields, value as object, propertyIn));
        return isHidden ? null : write(value, sight);
      };
    }
    case 'to-one': {
      const write = compileAssociated(field.plan, serialize);
      const [keyed] = targetsOf(field.metadata);
      return (value, sight) => {
        const target = Reference.unwrapReference(value as object);
        if (typeof target === 'object') return write(target, sight);
        // a model can have the key in place of the entity
        const isHidden = keyed && sight.isLimited(keyed) && !sight.showsKey(keyed, target);
        return isHidden ? null : serialize(target, sight);
      };
    }
    case 'to-many': {
      const write = compileAssociated(field.plan, serialize);
      const inOrder = orderOf(field.metadata);
      return (value, sight) => inOrder((value as Collection<object>).getItems(false)).flatMap((item) => write(item, sight) ?? []);
    }
  }
}

function propertyIn(embedded: object, { property }: Field): unknown {
  return (embedded as Record<string, unknown>)[property];
}

function compileEmbedded(plan: FieldPlan, serialize: WriteValue): WriteValue {
  const variants = [...plan.variants].map(([meta, fields]) => ({
    meta,
    writes: fields.map((field) => compileField(field, serialize)),
  }));
  const only = variants.length === 1 ? variants[0] : undefined;
  return (value, sight) => {
    const variant = only ?? variants.find(({ meta }) => isEmbedded(value as Record<string, unknown>, meta));
    const target: Record<string, unknown> = {};
    for (const write of variant?.writes ?? []) write(target, value as Record<string, unknown>, sight);
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
