import { Collection, type EntityMetadata, type EntityProperty, Reference, ReferenceKind } from '@mikro-orm/core';
import { isToMany, targetsOf } from '../model/field-plan.ts';
import { isKindOf, sameLine } from '../model/hierarchy.ts';

type Verb = 'add' | 'remove';

/** How items of a type get into and out of an association of an entity. */
export interface Accessors {
  /** Whether the association holds the items themselves. Otherwise the model's methods store something else for them. */
  readonly holds: boolean;
  /** The names of the model's own methods; null if it has none. */
  readonly methods: Readonly<Record<Verb, string | null>>;
  /** The collections that have to be loaded before an item is added or removed. */
  readonly touches: readonly string[];
  /** Adds or removes an item, and returns the result of the model's method. */
  change(verb: Verb, entity: object, item: object): unknown;
  /** Whether an item is in the association; null if only the model's methods can tell. */
  contains(entity: object, item: object): boolean | null;
}

const known = new WeakMap<EntityMetadata, Map<string, Map<EntityMetadata, Accessors>>>();

/**
 * Finds how items of a type are added to a property of a model and removed from it. If the association holds the type: by
 * `add<Property>`, also with the property's singular, and without such a method by the collection itself. Otherwise: by
 * `add<Type>`, also with a class that the type extends, if the entities in the association refer to the type; then by
 * `add<Property>`.
 */
export function accessorsFor(meta: EntityMetadata, property: string, type: EntityMetadata): Accessors {
  const ofModel = known.get(meta) ?? new Map<string, Map<EntityMetadata, Accessors>>();
  known.set(meta, ofModel);
  const ofProperty = ofModel.get(property) ?? new Map<EntityMetadata, Accessors>();
  ofModel.set(property, ofProperty);
  const accessors = ofProperty.get(type) ?? findAccessors(meta, property, type);
  ofProperty.set(type, accessors);
  return accessors;
}

function findAccessors(meta: EntityMetadata, property: string, type: EntityMetadata): Accessors {
  const association = collectionNamed(meta, property);
  const holds = association !== null && targetsOf(association).some((target) => isKindOf(type, target));
  const names = accessorNames(property);
  const methods =
    association && !holds
      ? pairOf(meta, [...(refersTo(association, type) ? lineOf(type) : []), ...names])
      : { add: named(meta, 'add', names), remove: named(meta, 'remove', names) };
  const link = association && !holds ? linkTo(association, type) : null;
  return {
    holds,
    methods,
    touches: association ? [property] : toManyProperties(meta),
    change(verb, entity, item) {
      const method = methods[verb];
      if (method) return (entity as Record<string, (item: object) => unknown>)[method]?.(item);
      const collection = (entity as Record<string, unknown>)[property] as Collection<object>;
      return void collection[verb](item);
    },
    contains(entity, item) {
      const collection = (entity as Record<string, unknown>)[property];
      if (!(collection instanceof Collection) || !(holds || link)) return null;
      if (!link) return collection.contains(item, false);
      return collection
        .getItems(false)
        .some((each) => Reference.unwrapReference((each as Record<string, object>)[link] as object) === item);
    },
  };
}

/** Why items of some types cannot be added to a property of a model, or removed from it; null if they can. */
export function linkError(
  meta: EntityMetadata,
  property: string,
  types: readonly EntityMetadata[],
  verbs: readonly Verb[],
): string | null {
  const association = collectionNamed(meta, property);
  if (types.length === 0) return `"${property}" is not a to-many association of ${meta.className}, so its types must be named`;
  for (const type of types) {
    const { holds, methods } = accessorsFor(meta, property, type);
    const missing = holds ? [] : verbs.filter((verb) => methods[verb] === null);
    if (missing.length === 0) continue;
    const own = methods.add?.slice('add'.length) ?? methods.remove?.slice('remove'.length);
    const name = own ?? (association && refersTo(association, type) ? type.className : accessorNames(property).at(-1));
    const wanted = missing.map((verb) => `${verb}${name}(item)`).join(' and ');
    if (!association) return `${meta.className} has no to-many association "${property}", and no ${wanted}`;
    const held = targetsOf(association).map(({ className }) => className);
    return `"${property}" of ${meta.className} holds ${held.join(', ')}, not ${type.className}; name a type that it holds, or write ${wanted} on ${meta.className}`;
  }
  return null;
}

/** Whether items can be added to a property of a model and removed from it, by a collection or by methods. */
export function takesItems(meta: EntityMetadata, property: string): boolean {
  const names = accessorNames(property);
  return (
    collectionNamed(meta, property) !== null || (named(meta, 'add', names) !== null && named(meta, 'remove', names) !== null)
  );
}

interface WronglyHeld {
  readonly property: string;
  readonly item: object;
  readonly holds: readonly string[];
}

/**
 * A to-many association into which a method put an item of a wrong class. It would be stored as the row of another class with the
 * same key.
 */
export function wronglyHeld(meta: EntityMetadata, entity: object): WronglyHeld | null {
  for (const association of (meta.relations as EntityProperty[]).filter(isToMany)) {
    const property = association.name as string;
    const collection = Object.hasOwn(entity, property) ? (entity as Record<string, unknown>)[property] : null;
    if (!(collection instanceof Collection) || !collection.isDirty()) continue;
    const targets = targetsOf(association);
    const item = (collection.getItems(false) as object[]).find((each) => !targets.some((target) => each instanceof target.class));
    if (item) return { property, item, holds: targets.map(({ className }) => className) };
  }
  return null;
}

/** Whether the entities of an association refer to entities of a type, as participations refer to persons. */
function refersTo(association: EntityProperty, type: EntityMetadata): boolean {
  const relations = targetsOf(association).flatMap((target) => target.relations as EntityProperty[]);
  return relations.some((relation) => targetsOf(relation).some((target) => sameLine(target, type)));
}

/**
 * The property by which the entities of an association refer to an item, if an item can be there only once. That is so with a
 * unique constraint, or if two of these entities could not differ in anything else.
 */
function linkTo(association: EntityProperty, type: EntityMetadata): string | null {
  const { kind, mappedBy, targetMeta: target } = association;
  if (kind !== ReferenceKind.ONE_TO_MANY || !target || !mappedBy || association.polymorphTargets) return null;
  const [link, ...others] = (target.relations as EntityProperty[]).filter(
    ({ mapToPk, name, owner, kind, persist, polymorphic, targetMeta }) =>
      name !== mappedBy &&
      (kind === ReferenceKind.MANY_TO_ONE || (kind === ReferenceKind.ONE_TO_ONE && owner)) &&
      !(polymorphic || mapToPk || persist === false) &&
      targetMeta !== undefined &&
      isKindOf(type, targetMeta),
  );
  if (!link || others.length > 0) return null;
  const pair = [mappedBy, link.name] as readonly unknown[];
  const isPair = (names: readonly unknown[]) => names.length === 2 && pair.every((name) => names.includes(name));
  const isUnique =
    link.unique ||
    link.kind === ReferenceKind.ONE_TO_ONE ||
    isPair(target.primaryKeys) ||
    target.uniques.some(({ expression, properties, where }) => !expression && !where && isPair([properties ?? []].flat()));
  const isMade = ({ name, onCreate, onUpdate, persist, primary, version }: EntityProperty) =>
    pair.includes(name) || primary || version || onCreate || onUpdate || persist === false;
  return isUnique || (target.props as EntityProperty[]).every(isMade) ? (link.name as string) : null;
}

function collectionNamed(meta: EntityMetadata, property: string): EntityProperty | null {
  const association = meta.properties[property as never] as EntityProperty | undefined;
  return association && isToMany(association) ? association : null;
}

/** The names of a class and of those that it extends. */
function lineOf({ class: type }: EntityMetadata): string[] {
  const names: string[] = [];
  for (let each: unknown = type; typeof each === 'function' && each.name; each = Object.getPrototypeOf(each))
    names.push(each.name);
  return [...new Set(names)];
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

/** The first name that the model has a method for. */
function named(meta: EntityMetadata, verb: Verb, names: readonly string[]): string | null {
  const prototype = meta.class.prototype as Record<string, unknown>;
  return names.map((name) => verb + name).find((name) => typeof prototype[name] === 'function') ?? null;
}

/** The methods of the first name for which the model has at least one. */
function pairOf(meta: EntityMetadata, names: readonly string[]): Accessors['methods'] {
  const pairs = names.map((name) => ({ add: named(meta, 'add', [name]), remove: named(meta, 'remove', [name]) }));
  return pairs.find(({ add, remove }) => add ?? remove) ?? { add: null, remove: null };
}

function toManyProperties(meta: EntityMetadata): string[] {
  return (meta.relations as EntityProperty[])
    .filter((property) => isToMany(property) && property.persist !== false)
    .map(({ name }) => name as string);
}
