import { Collection, type EntityMetadata, type EntityProperty, helper, Reference, ScalarReference, Utils } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import { CompositeKey } from '../model/composite-key.ts';
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
import { entityKey, isComposite, keyOf } from '../model/identifier.ts';
import { type Normalization, normalizationOf } from '../model/normalization.ts';
import { toJson } from './kind-conversions.ts';
import { Normalized } from './normalizer.ts';
import { dateTimeToJson, integerToJson } from './to-json.ts';

/** Turns entities, lists and plain values into JSON values. Of each entity, only the fields in the active groups are included. */
export interface Serializer {
  /** The plan of an entity's class, created once. */
  planFor(meta: EntityMetadata): FieldPlan;
  /** The same for an entity that is not the row of the action. */
  planInside(meta: EntityMetadata): FieldPlan;
  /** The JSON of a value that an action returned. Its entities embed only visible rows. */
  serialize(value: unknown, rows?: VisibleRows): unknown;
  /** The same for a value inside an entity: hidden rows are left out. */
  embed(value: unknown, rows: VisibleRows): unknown;
}

/** The embedded rows that a caller can see. */
export interface VisibleRows {
  /** The rows of the action, if other rows have other groups. */
  readonly subjects?: ReadonlySet<unknown>;
  /** Whether rows of a class can be hidden. */
  isLimited(meta: EntityMetadata): boolean;
  /** Whether a row of such a class is visible. */
  shows(entity: object): boolean;
  /** The same for a row of which only the key is known. */
  showsKey(meta: EntityMetadata, key: unknown): boolean;
  /** Takes long lists, to be written after everything else. Without it, they are written at once. */
  readonly later?: (list: LongList) => void;
  /** The value of a property that code of the model computes. The code runs once, however often the entity is written. */
  computed(entity: object, property: string, compute: () => unknown): unknown;
}

/** A list that is written item by item into an array that is in its place already. */
export interface LongList {
  /** The items in order. To sort them takes long as well, so it belongs to the work that is done later. */
  items(): readonly unknown[];
  add(item: unknown): void;
}

/** Items from which a list is long. */
export const longList = 100;

/** Writes the items of a list, later if it is long. */
export function writtenList<Item>(
  items: readonly Item[],
  rows: VisibleRows,
  write: (item: Item, written: unknown[]) => void,
  inOrder = (some: readonly Item[]) => some,
): unknown[] {
  const written: unknown[] = [];
  if (rows.later && items.length > longList)
    rows.later({ items: () => inOrder(items), add: (item) => write(item as Item, written) });
  else for (const item of inOrder(items)) write(item, written);
  return written;
}

const unlimited: VisibleRows = Object.freeze({
  isLimited: () => false,
  shows: () => true,
  showsKey: () => true,
  computed: (_entity: object, _property: string, compute: () => unknown) => compute(),
});

type Write = (target: Record<string, unknown>, entity: Record<string, unknown>, rows: VisibleRows) => void;
type WriteEntity = (entity: object, rows: VisibleRows) => object | null;
type WriteValue = (value: unknown, rows: VisibleRows) => unknown;

interface Compiled {
  readonly plan: FieldPlan;
  readonly write: WriteEntity;
}

/**
 * Creates the serializer of a set of groups. A class is compiled on first use. If `inside` are other groups, they apply to all
 * entities except the subjects of {@link VisibleRows}.
 */
export function createSerializer(mapper: Mapper, groups: readonly string[], inside: readonly string[] = groups): Serializer {
  const isSame = groups === inside;
  const compiled = new Map<EntityMetadata, Compiled>();
  const compiledInside = isSame ? compiled : new Map<EntityMetadata, Compiled>();
  const asGiven = valueSerializer((entity, rows) => {
    const meta = metaOfEntity(mapper, entity);
    return (rows.subjects?.has(entity) ? compile(meta) : compileInside(meta)).write(entity, rows);
  });
  // results of model code are treated like other values inside an entity
  const embedded = valueSerializer((entity, rows) => {
    const meta = metaOfEntity(mapper, entity);
    return isVisible(entity, meta, rows) ? compileInside(meta).write(entity, rows) : undefined;
  });

  function compile(meta: EntityMetadata): Compiled {
    return once(compiled, meta, () => planFields(mapper, meta, groups, inside));
  }

  function compileInside(meta: EntityMetadata): Compiled {
    return once(compiledInside, meta, () => planFields(mapper, meta, inside));
  }

  function once(among: Map<EntityMetadata, Compiled>, meta: EntityMetadata, planOf: () => FieldPlan): Compiled {
    let known = among.get(meta);
    if (!known) {
      const plan = planOf();
      known = { plan, write: compilePlan(plan, embedded) };
      among.set(meta, known);
    }
    return known;
  }

  /** Creates the serializer of any value, with a function for entities. Undefined means left out. */
  function valueSerializer(writeEntity: (entity: object, rows: VisibleRows) => unknown): WriteValue {
    function serialize(value: unknown, rows: VisibleRows): unknown {
      if (value === null || value === undefined) return null;
      switch (typeof value) {
        case 'bigint':
          return integerToJson(value);
        case 'object':
          return serializeObject(value, rows);
        case 'function':
        case 'symbol':
          return undefined;
        default:
          return value;
      }
    }

    function serializeItems(items: Iterable<unknown>, rows: VisibleRows): unknown[] {
      return writtenList(Array.isArray(items) ? items : [...items], rows, (item, written) => {
        const json = serialize(item, rows);
        if (json !== undefined || !isEntityOrReference(item)) written.push(json);
      });
    }

    function serializeObject(value: object, rows: VisibleRows): unknown {
      if (Array.isArray(value)) return serializeItems(value, rows);
      if (isEntity(value)) return writeEntity(value, rows);
      if (value instanceof Collection) return serializeItems(value.getItems(false), rows);
      if (value instanceof Reference || value instanceof ScalarReference) return serialize(value.unwrap(), rows);
      if (value instanceof Date) return dateTimeToJson(value);
      if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
      if (value instanceof Set) return serializeItems(value, rows);
      if (value instanceof Map) return serialize(Object.fromEntries(value), rows);
      const embeddable = mapper.getMetadata().find(value.constructor as never);
      if (embeddable?.embeddable) {
        const written = compileEmbedded(planOf(embeddable), embedded)(value, rows);
        const normalization = normalizationOf(mapper, embeddable);
        return normalization ? new Normalized(normalization, written) : written;
      }
      const own = (value as { toJSON?: () => unknown }).toJSON;
      if (typeof own === 'function') return serialize(own.call(value), rows);
      const result: Record<string, unknown> = {};
      for (const [key, item] of Object.entries(value)) {
        const json = serialize(item, rows);
        result[key] = json === undefined && isEntityOrReference(item) ? null : json;
      }
      return result;
    }

    return serialize;
  }

  function planOf(embeddable: EntityMetadata): FieldPlan {
    const fields = planProperties(embeddable, ownProperties(embeddable), { mapper, groups: inside, ancestors: [embeddable] });
    return { variants: new Map([[embeddable, fields]]) };
  }

  return {
    planFor: (meta) => compile(meta).plan,
    planInside: (meta) => compileInside(meta).plan,
    serialize: (value, rows = unlimited) => asGiven(value, rows),
    embed: embedded,
  };
}

function isVisible(entity: object, meta: EntityMetadata, rows: VisibleRows): boolean {
  return !rows.isLimited(meta) || rows.shows(entity);
}

function isEntityOrReference(value: unknown): boolean {
  return isEntity(value) || value instanceof Reference;
}

/** Whether a value is an entity, loaded or not. A wrapped reference to an entity does not count. */
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
  // a reference to an abstract class shows its key, whatever the class of the row is
  const unread = [...variants.values()].every(({ needsRow }) => !needsRow) ? [...variants.values()][0] : undefined;
  return (entity, rows) => {
    const wrapped = helper(entity);
    const variant = variants.get(wrapped.__meta.class) ?? unread;
    // A row that a filter of the model hides stays a bare reference: none of its fields is shown.
    if (!variant || (variant.needsRow && !wrapped.isInitialized())) return null;
    const target: Record<string, unknown> = {};
    for (const write of variant.writes) write(target, entity as Record<string, unknown>, rows);
    return variant.normalization ? new Normalized(variant.normalization, target) : target;
  };
}

/** The same for an entity inside another one: null if it is hidden. */
function compileAssociated(plan: FieldPlan, serialize: WriteValue): WriteEntity {
  const write = compilePlan(plan, serialize);
  const metas = [...plan.variants.keys()];
  // a row that was not read yet can be of any of the classes
  return (entity, rows) => (metas.some((meta) => rows.isLimited(meta)) && !rows.shows(entity) ? null : write(entity, rows));
}

function compileField(field: Field, serialize: WriteValue): Write {
  const { name, normalization } = field;
  const write = compileOwnField(field, serialize);
  if (!normalization) return write;
  return (target, entity, rows) => {
    write(target, entity, rows);
    target[name] = new Normalized(normalization, target[name]);
  };
}

function compileOwnField(field: Field, serialize: WriteValue): Write {
  const { name, property, metadata } = field;
  const own = metadata.serializer;
  if (own) {
    return (target, entity, rows) => {
      // a value that was never set is null in the next response, so it is in this one
      target[name] = serialize(
        rows.computed(entity, property, () => own(entity[property] ?? null)),
        rows,
      );
    };
  }
  if (field.kind === 'scalar' && field.computed) {
    return (target, entity, rows) => {
      const value = rows.computed(entity, property, () => entity[property]);
      target[name] = serialize(value instanceof ScalarReference ? value.unwrap() : value, rows) ?? null;
    };
  }
  const convert = compileValue(field, serialize);
  return (target, entity, rows) => {
    const value = entity[property];
    target[name] = value === null || value === undefined ? null : (convert(value, rows) ?? null);
  };
}

function compileValue(field: Field, serialize: WriteValue): WriteValue {
  switch (field.kind) {
    case 'scalar': {
      const convert: WriteValue = field.value.kind === 'any' ? serialize : toJson(field.value);
      return (value, rows) => convert(value instanceof ScalarReference ? value.unwrap() : value, rows);
    }
    case 'embedded': {
      const write = compileEmbedded(field.plan, serialize);
      const hides = hidesParts(field);
      const shown = [...field.plan.variants.values()];
      return (value, rows) => {
        if (Array.isArray(value)) return value.map((item) => write(item, rows));
        const isHidden = hides && shown.some((fields) => isBlank(fields, value as object, propertyIn));
        return isHidden ? null : write(value, rows);
      };
    }
    case 'to-one': {
      const write = compileAssociated(field.plan, serialize);
      const [keyed] = targetsOf(field.metadata);
      return (value, rows) => {
        const target = Reference.unwrapReference(value as object);
        // a model can have the key instead of the entity: a list, if the key has several columns
        if (typeof target === 'object' && !Array.isArray(target)) return write(target, rows);
        const isHidden = keyed && rows.isLimited(keyed) && !rows.showsKey(keyed, target);
        return isHidden ? null : serialize(target, rows);
      };
    }
    case 'to-many': {
      const write = compileAssociated(field.plan, serialize);
      const inOrder = orderOf(field.metadata);
      return (value, rows) =>
        writtenList(
          (value as Collection<object>).getItems(false),
          rows,
          (item, written) => {
            const json = write(item, rows);
            if (json !== null) written.push(json);
          },
          inOrder,
        );
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
  return (value, rows) => {
    const variant = only ?? variants.find(({ meta }) => isEmbedded(value as Record<string, unknown>, meta));
    const target: Record<string, unknown> = {};
    for (const write of variant?.writes ?? []) write(target, value as Record<string, unknown>, rows);
    return target;
  };
}

function isEmbedded(value: Record<string, unknown>, meta: EntityMetadata): boolean {
  return value.constructor === meta.class || value[String(meta.root.discriminatorColumn)] === meta.discriminatorValue;
}

/** A to-many association without a declared order is sorted by key, so that the same data gives the same response. */
function orderOf(property: EntityProperty): (items: readonly object[]) => readonly object[] {
  if (property.orderBy || property.fixedOrder) return (items) => items;
  // a composite key is made of its parts, which takes longer than a comparison
  return (items) =>
    items
      .map((item) => ({ item, key: primaryKey(item) }))
      .sort((a, b) => compareKeys(a.key, b.key))
      .map(({ item }) => item);
}

function primaryKey(entity: object): unknown {
  const { __meta } = helper(entity);
  return isComposite(__meta) ? entityKey(entity) : (entity as Record<string, unknown>)[keyOf(__meta).name as string];
}

function compareKeys(a: unknown, b: unknown): number {
  if (a === b) return 0;
  if (a instanceof CompositeKey && b instanceof CompositeKey) {
    const at = a.findIndex((part, i) => part !== b[i]);
    return at < 0 ? 0 : compareKeys(a[at], b[at]);
  }
  return (a as string) < (b as string) ? -1 : 1;
}
