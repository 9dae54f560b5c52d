import {
  ArrayType,
  Collection,
  type EntityMetadata,
  type EntityProperty,
  type Platform,
  Reference,
  ReferenceKind,
  type Type,
} from '@mikro-orm/core';
import type { Mapper, RequestEntityManager } from '../../database/mapper.ts';
import { type Dialect, dialectOf } from '../../dialect/dialect.ts';
import { columnKinds } from '../../dialect/value-kind.ts';
import { keyText } from '../../model/composite-key.ts';
import { constructionOf } from '../../model/construction.ts';
import { isToMany, ownProperties } from '../../model/field-plan.ts';
import { keyOf } from '../../model/identifier.ts';
import { hasAccessor } from '../../model/own-code.ts';
import { hasPrivateMembers, makerFor } from '../../model/private-members.ts';
import { notLoaded } from '../../model/unloaded.ts';
import { type ValueKind, valueKindOf } from '../../model/value-kind.ts';
import { dateOf, integerToJson, parsedJson } from '../../serialization/to-json.ts';

/** The parts of a request that an instance needs. */
export interface InstanceContext {
  em(): RequestEntityManager;
}

/** Rows of to-many associations, by the number of the association and the key of the owner. */
type ManyRows = readonly ReadonlyMap<unknown, readonly unknown[][]>[];

/** Makes an instance of a model from a row; null if there is no row. */
export type MakeInstance = (row: unknown[], many: ManyRows, context: InstanceContext) => object | null;

/** A property of an instance, and how its value is made from a row. */
export type InstanceValue = { readonly property: EntityProperty } & (
  | { readonly kind: 'value'; readonly column: number; readonly read: ((value: unknown) => unknown) | null }
  | { readonly kind: 'made'; readonly make: MakeInstance }
  | { readonly kind: 'many'; readonly items: () => MakeInstance; readonly source: number; readonly columns: readonly number[] }
);

/** Thrown while an instance is planned, with the reason why the model's rows can only become entities of MikroORM. */
export class NoInstance extends Error {}

const contextKey = Symbol('context');

/**
 * Makes instances of a class without MikroORM. They are ordinary objects with the prototype of the class, so that its methods and
 * getters work, and cost next to nothing. MikroORM puts accessors for every property on the prototype, which would make each
 * assignment slow; a prototype between the two shadows them. Properties that were not read throw on access, and collections that
 * were not read come from a managed entity. So missing data is never taken for data.
 */
export function compileInstance(meta: EntityMetadata, values: readonly InstanceValue[]): MakeInstance {
  const shadow = shadowOf(meta, values);
  const lines = values.flatMap((value, i) => {
    const target = `o[${JSON.stringify(value.property.name)}]`;
    if (value.kind === 'value') {
      const given = `r[${value.column}]`;
      return [`${target} = ${value.read ? `${given} === null ? null : v[${i}].read(${given})` : given};`];
    }
    return value.kind === 'made' ? [`${target} = v[${i}].make(r, m, c);`] : [`${target} = h(o, v[${i}], r, m, c);`];
  });
  const make = hasPrivateMembers(meta.class) ? makerFor(meta, shadow) : null;
  const source = `return function Row(r, m, c) { const o = ${make ? 'n()' : 'this'}; o[k] = c; ${lines.join(' ')} return o; }`;
  const Row = new Function('v', 'k', 'h', 'n', source)(values, contextKey, collectionOf, make) as new (
    ...given: Parameters<MakeInstance>
  ) => object;
  Row.prototype = shadow;
  return (row, many, context) => new Row(row, many, context);
}

/** Makes objects for rows that are not written yet, by the constructor of the class. To-many associations are empty. */
export function compileNew(meta: EntityMetadata): (context: InstanceContext) => object {
  refuseInstance(meta);
  const many = ownProperties(meta).filter(isToMany);
  const make = constructionOf(meta);
  return (context) => {
    const instance = make() as Record<string | symbol, unknown>;
    instance[contextKey] = context;
    for (const property of many) {
      const collection = new Collection<object>(instance as never, [], true);
      collection.property = property as never;
      instance[property.name as string] = collection;
    }
    return instance;
  };
}

function collectionOf(
  owner: object,
  { columns, items, property, source }: Extract<InstanceValue, { kind: 'many' }>,
  row: unknown[],
  many: ManyRows,
  context: InstanceContext,
): Collection<object> {
  const rows = many[source]?.get(keyText(columns.map((column) => row[column]))) ?? [];
  const make = items();
  const collection = new Collection<object>(owner as never, rows.map((item) => make(item, many, context)) as never, true);
  collection.property = property as never;
  return collection;
}

function shadowOf(meta: EntityMetadata, values: readonly InstanceValue[]): object {
  const read = new Set(values.map(({ property }) => property.name));
  const descriptors: PropertyDescriptorMap = {};
  for (const property of Object.values(meta.properties) as EntityProperty[]) {
    const name = property.name as string;
    if (property.embedded || property.inherited || (property.persist === false && !property.formula)) continue;
    descriptors[name] = read.has(property.name)
      ? { value: undefined, writable: true, enumerable: true, configurable: true }
      : missingProperty(meta, property);
  }
  descriptors.__helper = {
    configurable: true,
    get(this: object) {
      const wrapped = Reflect.get(meta.class.prototype, '__helper', this) as { init: () => Promise<object> };
      wrapped.init = initRead;
      return wrapped;
    },
  };
  return Object.create(meta.class.prototype, descriptors);
}

/** Replaces the method of MikroORM that would read the row again. One function for all objects: a function for each would grow old with it. */
async function initRead(this: { readonly entity: object }): Promise<object> {
  return this.entity;
}

function missingProperty(meta: EntityMetadata, property: EntityProperty): PropertyDescriptor {
  const { kind, name } = property;
  const isMany = kind === ReferenceKind.ONE_TO_MANY || kind === ReferenceKind.MANY_TO_MANY;
  return {
    configurable: true,
    enumerable: false,
    get(this: object) {
      if (!isMany) throw notLoaded(meta, name as string);
      const collection = new InstanceCollection(meta, this, property);
      (this as Record<string, unknown>)[name as string] = collection;
      return collection;
    },
    set(this: object, value: unknown) {
      Object.defineProperty(this, name as string, { value, writable: true, enumerable: true, configurable: true });
    },
  };
}

interface Keyed {
  readonly __meta?: EntityMetadata;
  readonly [name: string]: unknown;
}

/** A collection of an instance. Items that were not read are loaded through a managed entity, if code calls for that. */
export class InstanceCollection extends Collection<object> {
  readonly #meta: EntityMetadata;
  /** The number of items that were read; null if none were. */
  readonly #stored: number | null;
  #isFilling = false;
  /** The items that code has added, even if it has removed them again. */
  readonly added = new Set<object>();

  constructor(meta: EntityMetadata, instance: object, property: EntityProperty, items: readonly object[] | null = null) {
    super(instance as never, (items ?? undefined) as never, items !== null);
    this.property = property as never;
    this.#stored = items?.length ?? null;
    this.#meta = meta;
  }

  #managed(): Collection<object> {
    const managed = managedEntity(this.#meta, this.owner) as Record<string, Collection<object>>;
    return managed[this.property.name as string] as Collection<object>;
  }

  override init(options?: never): Promise<never> {
    return this.initBy((managed) => managed.init(options));
  }

  /** Takes the items of the managed entity over, after `load` has loaded its collection. */
  async initBy(load: (managed: Collection<object>) => Promise<unknown>): Promise<never> {
    if (this.#stored !== null) return this as never;
    const added = this.isDirty() ? this.getItems(false) : [];
    const loaded = this.#managed();
    await load(loaded);
    this.#isFilling = true;
    this.hydrate(loaded.getItems() as never);
    this.#isFilling = false;
    this.add(added as never);
    return this as never;
  }

  override add(item: never, ...items: never[]): number {
    for (const each of [item, ...items].flat() as object[]) this.added.add(Reference.unwrapReference(each));
    return super.add(item, ...items);
  }

  override matching(options: never): Promise<never> {
    return this.#managed().matching(options) as Promise<never>;
  }

  override loadCount(options?: never): Promise<number> {
    if (this.#stored !== null && !(options as { where?: unknown } | undefined)?.where) return Promise.resolve(this.#stored);
    return this.#managed().loadCount(options);
  }

  /** Compares by key: MikroORM has one object for each row, but here there may be several objects for one. */
  override contains(item: never, check?: boolean): boolean {
    return super.contains(item, check) || (!this.#isFilling && super.contains(this.#own(item), check));
  }

  override remove(item: never, ...items: never[]): number {
    const own = (each: unknown) => (typeof each === 'function' ? each : this.#own(each as never)) as never;
    const given: unknown = item;
    return super.remove(Array.isArray(given) ? (given.map(own) as never) : own(given), ...items.map(own));
  }

  #own(item: never): never {
    const given = Reference.unwrapReference(item as object) as Keyed;
    const items = this.getItems(false) as Keyed[];
    const key = given?.__meta && given[keyOf(given.__meta).name as string];
    if (items.includes(given) || key === undefined || key === null) return item;
    const isSame = (each: Keyed) =>
      each.__meta?.root === given.__meta?.root && each[keyOf(each.__meta as EntityMetadata).name] === key;
    return (items.find(isSame) ?? item) as never;
  }

  /** Loaded items belong to the managed entity already. */
  protected override propagate(item: never, method: never): void {
    if (!this.#isFilling) super.propagate(item, method);
  }
}

// MikroORM must not start to manage an instance, and all that it refers to, because a collection of it has a managed entity
Object.defineProperty(InstanceCollection.prototype, 'getEntityManager', { value: () => undefined });

/** Whether an object was made of a row, or of a key, and MikroORM does not manage it. */
export function isInstance(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, contextKey);
}

/** The managed entity of an instance, whose collections can be loaded. */
function managedEntity(meta: EntityMetadata, instance: object): object {
  const context = (instance as { [contextKey]?: InstanceContext })[contextKey];
  if (!context) throw notLoaded(meta, 'a collection');
  const data: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(instance)) {
    const property = meta.properties[name as never] as EntityProperty | undefined;
    if (!property || value instanceof Collection) continue;
    const target = property.targetMeta?.embeddable ? undefined : property.targetMeta;
    data[name] = target && value !== null ? keyIn(value, property, context) : value;
  }
  return context.em().merge(meta.class, data as never, { refresh: false } as never) as object;
}

/**
 * The key of an associated instance, read from the object so that MikroORM does not start to manage it. If the association can
 * hold several classes, a managed reference tells which one.
 */
function keyIn(value: unknown, { polymorphic, targetMeta }: EntityProperty, context: InstanceContext): unknown {
  const entity = Reference.unwrapReference(value as object) as Record<string, unknown>;
  if (typeof entity !== 'object') return entity;
  const meta = (polymorphic ? (entity as { __meta?: EntityMetadata }).__meta : targetMeta) as EntityMetadata;
  const key = entity[keyOf(meta).name as string];
  return polymorphic ? context.em().getReference(meta.class, key as never) : key;
}

/**
 * Makes references: instances of a class that have only their key. When code calls MikroORM for one (`wrap(place).init()`), it
 * becomes managed by the entity manager of the request, which can load it.
 */
export function compileReference(meta: EntityMetadata): (key: unknown, context: InstanceContext) => object {
  const key = keyOf(meta);
  const make = compileInstance(meta, [{ kind: 'value', property: key, column: 0, read: null }]);
  const unused: InstanceContext = {
    em: () => {
      throw new Error('this reference does not belong to a request');
    },
  };
  const shadow = Object.getPrototypeOf(make([null], [], unused)) as object;
  Object.defineProperty(shadow, '__helper', {
    configurable: true,
    get(this: { [contextKey]?: InstanceContext; __helper: Wrapped }) {
      const em = this[contextKey]?.em();
      // from now on it is what MikroORM itself would have made
      delete this[contextKey];
      Object.setPrototypeOf(this, meta.class.prototype);
      const wrapped = this.__helper;
      wrapped.__initialized = false;
      if (!em || em.getUnitOfWork().getById(meta.class, (this as Record<string, unknown>)[key.name as string] as never))
        return wrapped;
      wrapped.__managed = true;
      wrapped.__em = em;
      // without this, MikroORM would take it for a new row
      wrapped.__originalEntityData = { [key.name]: (this as Record<string, unknown>)[key.name as string] };
      em.getUnitOfWork().getIdentityMap().store(this);
      return wrapped;
    },
  });
  return (given, context) => make([given], [], context) as object;
}

interface Wrapped {
  __initialized: boolean;
  __managed: boolean;
  __em: unknown;
  __originalEntityData: object;
}

/** Converts a column's value to what MikroORM would have put into an entity; `sql` is the column as it is selected. */
export function columnReader(
  mapper: Mapper,
  property: EntityProperty,
  column: string,
): { readonly sql: string; readonly read: ((value: unknown) => unknown) | null } {
  const platform = mapper.driver.getPlatform();
  const dialect = dialectOf(mapper);
  const kind = valueKindOf(property, platform);
  const custom = property.customType as Type<unknown> | undefined;
  if (property.hasConvertToJSValueSQL || kind.kind === 'any')
    throw new NoInstance(`${String(property.name)} has a type that only MikroORM reads`);
  const given = driverReader(kind, property, custom, dialect);
  const sql =
    custom instanceof ArrayType
      ? dialect.sql.listColumn(column)
      : kind.kind === 'datetime'
        ? dialect.sql.timeColumn(column, columnType(property))
        : column;
  return { sql, read: jsReader(kind, property, custom, given, platform) };
}

function jsReader(
  { kind }: ValueKind,
  property: EntityProperty,
  custom: Type<unknown> | undefined,
  given: ((value: unknown) => unknown) | null,
  platform: Platform,
): ((value: unknown) => unknown) | null {
  if (custom) {
    return given
      ? (value) => custom.convertToJSValue(given(value), platform)
      : (value) => custom.convertToJSValue(value, platform);
  }
  if (kind === 'datetime' || property.runtimeType === 'Date') return dateOf;
  return given;
}

/** Converts a column's value to what the driver of MikroORM would have returned; null if it is the same. */
function driverReader(
  kind: ValueKind,
  property: EntityProperty,
  custom: Type<unknown> | undefined,
  { values: { readsText } }: Dialect,
): ((value: unknown) => unknown) | null {
  if (!readsText) {
    if (kind.kind === 'boolean') return (value) => Boolean(Number(value));
    if (kind.kind === 'blob') return (value) => Buffer.from(value as Uint8Array);
    return (value) => (typeof value === 'bigint' ? integerToJson(value) : value);
  }
  if (custom instanceof ArrayType) return (value) => JSON.parse(value as string);
  switch (columnKinds[kind.kind].hydratedFrom) {
    case 'text':
      return null;
    case 'number':
      return Number;
    case 'boolean':
      return (value) => value === 't';
    case 'json':
      return parsedJson;
    case 'bytes':
      return (value) => Buffer.from((value as string).slice(2), 'hex');
    case 'item':
      return kind.kind === 'enum' && kind.items.every((item) => typeof item === 'number') ? Number : null;
    case 'column':
      return columnTypeReader(columnType(property), String(property.name));
    case 'list':
      throw new NoInstance(`${String(property.name)} is a list of a type of its own`);
    case 'mapper':
      throw new NoInstance(`${String(property.name)} has a type that only MikroORM reads`);
  }
}

function columnTypeReader(type: string, name: string): ((value: unknown) => unknown) | null {
  if (/^(int|integer|smallint|int2|int4|serial|real|float|double)/.test(type)) return Number;
  if (/^bool/.test(type)) return (value) => value === 't';
  if (/^jsonb?$/.test(type)) return parsedJson;
  if (/^bytea/.test(type)) return (value) => Buffer.from((value as string).slice(2), 'hex');
  if (/^(text|varchar|char|character|citext|uuid|numeric|decimal|bigint|int8|date|time|enum)/.test(type)) return null;
  throw new NoInstance(`${name} has a column of the type ${type}`);
}

function columnType(property: EntityProperty): string {
  return String(property.columnTypes?.[0] ?? '').toLowerCase();
}

/** Rejects classes whose columns have accessors: only MikroORM runs that code. */
export function refuseInstance(meta: EntityMetadata): void {
  for (const property of Object.values(meta.properties) as EntityProperty[]) {
    const isColumn = property.persist !== false && !property.embedded && !property.inherited;
    if (isColumn && hasAccessor(meta, property.name as string))
      throw new NoInstance(`${meta.className}.${String(property.name)} has an accessor of its own`);
  }
}
