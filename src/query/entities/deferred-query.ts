import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { QueryBuilder } from '@mikro-orm/sql';
import { isToOne } from './filters.ts';

// biome-ignore lint/suspicious/noExplicitAny: the builder of whatever model a declaration names
export type AnyQueryBuilder = QueryBuilder<any, any, any, any, any, any, any>;

/** The alias of the model in every query that an application gets. */
export const rootAlias = 'e';

/** A condition without its values, and the values in their order. Conditions of the same shape have the same SQL. */
export interface Shape {
  readonly key: string;
  readonly values: readonly unknown[];
}

/** The shape of a query that has only simple conditions so far, and was not built; otherwise null. */
export function deferredShape(query: AnyQueryBuilder): Shape | null {
  return deferredIn(query)?.shape() ?? null;
}

/** MikroORM's own builder of a query, built now if it was deferred. */
export function builtQuery(query: AnyQueryBuilder): AnyQueryBuilder {
  return deferredIn(query)?.builder() ?? query;
}

/** Another builder of a deferred query, with this alias for the model; null if the query was built, and can have changed since. */
export function builtUnder(query: AnyQueryBuilder, alias: string): AnyQueryBuilder | null {
  return deferredIn(query)?.builderUnder(alias) ?? null;
}

/**
 * A query on a model that is built when it is first used for more than simple conditions. Most restrictions are one such
 * condition, whose SQL is known from earlier requests. To build and process a query takes longer than all the rest of a request
 * for one row.
 */
export function deferredQuery(meta: EntityMetadata, build: (alias: string) => AnyQueryBuilder): AnyQueryBuilder {
  return new Proxy(new Deferred(meta, build), handler) as unknown as AnyQueryBuilder;
}

/** The key of the object deferredKey a proxy. A weak map with an entry for each request would keep the garbage collector busy. */
const deferredKey = Symbol('deferred');

function deferredIn(query: AnyQueryBuilder): Deferred | undefined {
  return (query as { readonly [deferredKey]?: Deferred })[deferredKey];
}

type Method = 'where' | 'andWhere';

class Deferred {
  readonly #meta: EntityMetadata;
  readonly #build: (alias: string) => AnyQueryBuilder;
  readonly #conditions: { readonly method: Method; readonly condition: object; readonly shape: Shape }[] = [];
  #built: AnyQueryBuilder | null = null;
  #others: Map<string, AnyQueryBuilder> | null = null;

  constructor(meta: EntityMetadata, build: (alias: string) => AnyQueryBuilder) {
    this.#meta = meta;
    this.#build = build;
  }

  builder(): AnyQueryBuilder {
    this.#built ??= this.#builder(rootAlias);
    return this.#built;
  }

  /** Null once the query is built. */
  builderUnder(alias: string): AnyQueryBuilder | null {
    if (this.#built) return null;
    this.#others ??= new Map();
    const known = this.#others.get(alias) ?? this.#builder(alias);
    this.#others.set(alias, known);
    return known;
  }

  #builder(alias: string): AnyQueryBuilder {
    const built = this.#build(alias);
    for (const { condition, method } of this.#conditions) built[method](condition as never);
    return built;
  }

  /** Null once the query is built. */
  shape(): Shape | null {
    if (this.#built) return null;
    const only = this.#conditions.length === 1 ? this.#conditions[0] : undefined;
    if (only) return only.shape;
    const shapes = this.#conditions.map(({ shape }) => shape);
    return { key: shapes.map(({ key }) => key).join(), values: shapes.flatMap(({ values }) => values) };
  }

  add(method: Method, condition: unknown, more: readonly unknown[]): void {
    this.#others = null;
    const values: unknown[] = [];
    const simple = this.#built || more.length > 0 ? null : simpleCondition(condition, this.#meta, values);
    if (simple) this.#conditions.push({ method, condition: simple.copy, shape: { key: `${method}${simple.key}`, values } });
    else (this.builder()[method] as (...args: unknown[]) => unknown)(condition, ...more);
  }
}

const handler: ProxyHandler<Deferred> = {
  get(deferred, name, query) {
    if (name === deferredKey) return deferred;
    if (name === 'where' || name === 'andWhere') return addingMethod(deferred, name, query);
    // a promise that is resolved with the query reads `then`
    if (name === 'then' && !(name in QueryBuilder.prototype)) return undefined;
    return memberOf(deferred.builder(), name, query);
  },
  set: (deferred, name, value) => Reflect.set(deferred.builder(), name, value),
  // whether it is a promise is checked for every restriction
  has: (deferred, name) => (name === 'then' ? name in QueryBuilder.prototype : Reflect.has(deferred.builder(), name)),
  getPrototypeOf: () => QueryBuilder.prototype,
};

// functions of their own, because a function with closures in it allocates a context whenever it is called
function addingMethod(deferred: Deferred, method: Method, query: unknown) {
  return (condition: unknown, ...more: unknown[]) => {
    deferred.add(method, condition, more);
    return query;
  };
}

function memberOf(builder: AnyQueryBuilder, name: string | symbol, query: unknown): unknown {
  const value: unknown = Reflect.get(builder, name, builder);
  // MikroORM recognizes a subquery by its class
  if (typeof value !== 'function' || name === 'constructor') return value;
  return (...args: unknown[]) => {
    const returned: unknown = value.apply(builder, args);
    return returned === builder ? query : returned;
  };
}

interface SimpleCondition {
  readonly key: string;
  /** The condition as it was when it was added. */
  readonly copy: object;
}

const comparisons = new Set(['$eq', '$ne', '$gt', '$gte', '$lt', '$lte', '$in', '$nin']);

/** Null if a condition is more than comparisons of columns with simple values. The values are added to `values`. */
function simpleCondition(condition: unknown, meta: EntityMetadata, values: unknown[]): SimpleCondition | null {
  if (!isPlainObject(condition)) return null;
  const copy: Record<string, unknown> = {};
  let key = '{';
  for (const name in condition) {
    const value = condition[name];
    const part = name === '$and' || name === '$or' ? simpleList(value, meta, values) : simpleValue(value, meta, name, values);
    if (!part) return null;
    copy[name] = part.copy;
    key += `${name}:${part.key},`;
  }
  return { key: `${key}}`, copy };
}

interface SimplePart {
  readonly key: string;
  readonly copy: unknown;
}

function simpleList(given: unknown, meta: EntityMetadata, values: unknown[]): SimplePart | null {
  if (!Array.isArray(given) || given.length === 0) return null;
  const parts = given.map((part) => simpleCondition(part, meta, values));
  if (parts.includes(null)) return null;
  const simple = parts as SimpleCondition[];
  return { key: `[${simple.map(({ key }) => key).join()}]`, copy: simple.map(({ copy }) => copy) };
}

function simpleValue(given: unknown, meta: EntityMetadata, name: string, values: unknown[]): SimplePart | null {
  const property = meta.properties[name as never] as EntityProperty | undefined;
  const column = property && plainColumn(property);
  if (!column) return null;
  if (!isPlainObject(given)) return literal(given, values);
  const copy: Record<string, unknown> = {};
  let key = '{';
  for (const operator in given) {
    const value = given[operator];
    const isKey = column !== property && operator === column.name;
    if (!isKey && !comparisons.has(operator)) return null;
    const part = Array.isArray(value) && !isKey ? literals(value, values) : literal(value, values);
    if (!part) return null;
    copy[operator] = part.copy;
    key += `${operator}:${part.key},`;
  }
  return { key: `${key}}`, copy };
}

const plainColumns = new WeakMap<EntityProperty, EntityProperty | null>();

/** The property whose values the column holds unconverted: the property itself, or the key of the row that it refers to. */
function plainColumn(property: EntityProperty): EntityProperty | null {
  let column = plainColumns.get(property);
  if (column === undefined) {
    column = findPlainColumn(property);
    plainColumns.set(property, column);
  }
  return column;
}

function findPlainColumn(property: EntityProperty): EntityProperty | null {
  const { customType, embedded, fieldNames, formula, kind, persist, targetMeta } = property;
  if (customType || embedded || formula || persist === false || fieldNames?.length !== 1) return null;
  if (kind === 'scalar') return property;
  const [key, ...others] = isToOne(property) && property.owner ? (targetMeta?.getPrimaryProps() ?? []) : [];
  return key && others.length === 0 && key.kind === 'scalar' ? plainColumn(key) : null;
}

function literals(given: readonly unknown[], values: unknown[]): SimplePart | null {
  const parts = given.map((value) => (value === null ? null : literal(value, values)));
  return parts.includes(null) ? null : { key: `[${parts.map((part) => part?.key).join()}]`, copy: [...given] };
}

function literal(value: unknown, values: unknown[]): SimplePart | null {
  if (value === null) return { key: 'null', copy: null };
  const type = typeof value;
  if (type !== 'string' && type !== 'number' && type !== 'boolean' && type !== 'bigint') return null;
  values.push(value);
  return { key: type, copy: value };
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return false;
  return Object.getOwnPropertySymbols(value).length === 0;
}
