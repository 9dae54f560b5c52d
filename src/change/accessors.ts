import type { Collection, EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { isToMany, targetsOf } from '../model/field-plan.ts';

/** How an item gets into and out of an association of an entity. */
export interface Accessors {
  readonly property: string;
  add(entity: object, item: object): unknown;
  remove(entity: object, item: object): unknown;
  /** The names of the model's own methods; empty where it has none. */
  readonly methods: readonly string[];
  /** The collections that have to be loaded before either is called. */
  readonly touches: readonly string[];
  /** Whether an entity is of a class that the association holds. */
  holds(item: object): boolean;
}

const known = new WeakMap<EntityMetadata, Map<string, Accessors | null>>();

/** The model's own `add<Name>` and `remove<Name>`, and the collection itself for what the model does not have. Null: there is no such association. */
export function accessorsFor(meta: EntityMetadata, property: string): Accessors | null {
  const ofModel = known.get(meta) ?? new Map<string, Accessors | null>();
  known.set(meta, ofModel);
  let accessors = ofModel.get(property);
  if (accessors === undefined) {
    accessors = findAccessors(meta, property);
    ofModel.set(property, accessors);
  }
  return accessors;
}

function findAccessors(meta: EntityMetadata, property: string): Accessors | null {
  const association = meta.properties[property as never] as EntityProperty | undefined;
  const isCollection = association !== undefined && isToMany(association);
  const add = methodNamed(meta, 'add', property);
  const remove = methodNamed(meta, 'remove', property);
  if (!isCollection && !(add && remove)) return null;
  const targets = association ? targetsOf(association) : [];
  return {
    property,
    holds: (item) => targets.some((target) => item instanceof target.class),
    methods: [add, remove].filter((name) => name !== null),
    add: (entity, item) => (add ? call(entity, add, item) : void collectionOf(entity, property).add(item)),
    remove: (entity, item) => (remove ? call(entity, remove, item) : void collectionOf(entity, property).remove(item)),
    touches: isCollection ? [property] : toManyProperties(meta),
  };
}

/** The names that a pair of methods for a property may have: `participants` → `Participants`, `Participant`. */
export function accessorNames(property: string): string[] {
  const name = property.charAt(0).toUpperCase() + property.slice(1);
  return [...new Set([name, ...singulars(name)])];
}

function singulars(plural: string): string[] {
  if (/people$/i.test(plural)) return [plural.replace(/people$/i, (found) => (found[0] === 'P' ? 'Person' : 'person'))];
  if (/children$/i.test(plural)) return [plural.slice(0, -3)];
  if (/ies$/.test(plural)) return [`${plural.slice(0, -3)}y`, plural.slice(0, -1)];
  if (/ves$/.test(plural)) return [`${plural.slice(0, -3)}f`, `${plural.slice(0, -3)}fe`, plural.slice(0, -1)];
  if (/(?:s|x|z|ch|sh)es$/.test(plural)) return [plural.slice(0, -2), plural.slice(0, -1)];
  if (/s$/.test(plural)) return [plural.slice(0, -1)];
  return [];
}

function methodNamed(meta: EntityMetadata, verb: 'add' | 'remove', property: string): string | null {
  const prototype = meta.class.prototype as Record<string, unknown>;
  return (
    accessorNames(property)
      .map((name) => verb + name)
      .find((name) => typeof prototype[name] === 'function') ?? null
  );
}

function call(entity: object, method: string, item: object): unknown {
  return (entity as Record<string, (item: object) => unknown>)[method]?.(item);
}

function collectionOf(entity: object, property: string): Collection<object> {
  return (entity as Record<string, unknown>)[property] as Collection<object>;
}

function toManyProperties(meta: EntityMetadata): string[] {
  return (meta.relations as EntityProperty[])
    .filter((property) => isToMany(property) && property.persist !== false)
    .map(({ name }) => name as string);
}
