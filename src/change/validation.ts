import { type EntityMetadata, type EntityProperty, helper, isRaw, Reference, ReferenceKind } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import type { StandardSchema } from '../declaration/types.ts';
import { mostViolations, type Violation } from '../errors.ts';
import { jsonName, ownProperties } from '../model/field-plan.ts';
import { isKnownToCallers } from '../model/groups.ts';
import { metaOfEntity } from '../model/hierarchy.ts';
import { codePoints } from '../model/identifier.ts';
import { type ValueKind, valueKindOf } from '../model/value-kind.ts';
import { isRequired } from './write-plan.ts';

type Check = (entity: Record<string, unknown>, isNew: boolean) => Violation | null;

/** Finds every broken rule of entities: what the model knows, its `static constraints`, and its own `validate()`. */
export class Validator {
  readonly #mapper: Mapper;
  readonly #checks = new Map<EntityMetadata, readonly Check[]>();

  constructor(mapper: Mapper) {
    this.#mapper = mapper;
  }

  /** `known` are violations that were found before: a property that has one is not judged again. */
  async validate(entity: object, known: readonly Violation[] = []): Promise<Violation[]> {
    const meta = metaOfEntity(this.#mapper, entity);
    const isNew = !helper(entity).__originalEntityData;
    const found = [...known];
    const add = (given: Violation | null) => {
      const violation = given && tellable(meta, given);
      if (
        violation &&
        found.length < mostViolations &&
        !found.some(
          ({ propertyPath, code }) => propertyPath === violation.propertyPath && (known.length > 0 || code === violation.code),
        )
      ) {
        found.push(violation);
      }
    };
    for (const check of this.#checksOf(meta)) add(check(entity as Record<string, unknown>, isNew));
    for (const violation of await constraintViolations(meta, entity as Record<string, unknown>)) add(violation);
    for (const violation of await ownViolations(entity, found.length > 0)) add(violation);
    return found;
  }

  #checksOf(meta: EntityMetadata): readonly Check[] {
    let checks = this.#checks.get(meta);
    if (!checks) {
      const platform = this.#mapper.driver.getPlatform();
      checks = ownProperties(meta)
        .filter((property) => property.persist !== false)
        .flatMap((property) =>
          checksOf(property, property.kind === ReferenceKind.SCALAR ? valueKindOf(property, platform) : null),
        );
      this.#checks.set(meta, checks);
    }
    return checks;
  }
}

/** A violation as callers are told of it: where it is about a property that they do not know, only that a rule is broken. */
function tellable(meta: EntityMetadata, violation: Violation): Violation {
  const [name] = violation.propertyPath.split(/[.[]/);
  const properties = ownProperties(meta).filter((property) => property.name === name || jsonName(property) === name);
  if (properties.length === 0 || properties.some(isKnownToCallers)) return violation;
  return { propertyPath: '', title: 'breaks a rule of the model', code: 'model', parameters: {} };
}

function checksOf(property: EntityProperty, kind: ValueKind | null): Check[] {
  const name = property.name as string;
  const propertyPath = jsonName(property);
  const checks: Check[] = [];
  if (isRequired(property)) {
    checks.push((entity, isNew) => {
      const value = entity[name];
      const absent = value === null || (value === undefined && isNew);
      return absent ? { propertyPath, title: 'is required', code: 'required', parameters: {} } : null;
    });
  }
  if (kind?.kind === 'string' && kind.length !== null) {
    const max = kind.length;
    checks.push((entity) => {
      const value = entity[name];
      const tooLong = typeof value === 'string' && value.length > max && codePoints(value) > max;
      return tooLong
        ? { propertyPath, title: `must not be longer than ${max} characters`, code: 'too_long', parameters: { max } }
        : null;
    });
  }
  if (kind?.kind === 'enum') {
    const { items } = kind;
    checks.push((entity) => {
      const value = entity[name];
      const allowed = value === null || value === undefined || isRaw(value) || items.includes(value as string | number);
      return allowed
        ? null
        : { propertyPath, title: `must be one of: ${items.join(', ')}`, code: 'enum', parameters: { allowed: [...items] } };
    });
  }
  return checks;
}

/** `static constraints` is a schema of the whole model, or an object of schemas by property. */
async function constraintViolations(meta: EntityMetadata, entity: Record<string, unknown>): Promise<Violation[]> {
  const constraints = (meta.class as { constraints?: StandardSchema | Record<string, StandardSchema> }).constraints;
  if (!constraints) return [];
  if (isSchema(constraints)) return issuesOf(meta, constraints, snapshot(meta, entity), []);
  const found: Violation[] = [];
  for (const [property, schema] of Object.entries(constraints)) {
    found.push(...(await issuesOf(meta, schema, plain(entity[property]), [property])));
  }
  return found;
}

// arktype's schemas are functions
function isSchema(value: object): value is StandardSchema {
  return '~standard' in value;
}

async function issuesOf(
  meta: EntityMetadata,
  schema: StandardSchema,
  value: unknown,
  prefix: PropertyKey[],
): Promise<Violation[]> {
  const result = await schema['~standard'].validate(value);
  return (result.issues ?? []).map(({ message, path = [] }) => {
    const keys = [...prefix, ...path.map((part) => (typeof part === 'object' ? part.key : part))];
    return { propertyPath: pathText(meta, keys), title: message, code: 'constraint', parameters: {} };
  });
}

function pathText(meta: EntityMetadata, keys: readonly PropertyKey[]): string {
  const [first, ...rest] = keys;
  if (first === undefined) return '';
  const property = meta.properties[first as never] as EntityProperty | undefined;
  return rest.reduce<string>(
    (text, key) => (typeof key === 'number' ? `${text}[${key}]` : `${text}.${String(key)}`),
    property ? jsonName(property) : String(first),
  );
}

/** A schema is shown the model's properties as a plain object, with references unwrapped. */
function snapshot(meta: EntityMetadata, entity: Record<string, unknown>): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const property of ownProperties(meta)) {
    const name = property.name as string;
    const isMany = property.kind === ReferenceKind.ONE_TO_MANY || property.kind === ReferenceKind.MANY_TO_MANY;
    // a collection that nobody has loaded has no items yet
    const value = isMany && !Object.hasOwn(entity, name) ? [] : plain(entity[name]);
    if (value !== undefined) values[property.name as string] = value;
  }
  return values;
}

function plain(value: unknown): unknown {
  if (value instanceof Reference) return value.unwrap();
  const collection = value as
    | { isInitialized?: (fully?: boolean) => boolean; getItems?: (check: boolean) => unknown[] }
    | null
    | undefined;
  return typeof collection?.getItems === 'function' ? collection.getItems(false) : value;
}

/** The model's own `validate()`. On an entity that already failed it may meet values it never expects, and then its failure says nothing new. */
async function ownViolations(entity: object, hasFailed: boolean): Promise<Violation[]> {
  const own = (entity as { validate?: () => unknown }).validate;
  if (typeof own !== 'function') return [];
  try {
    const found = (await own.call(entity)) ?? [];
    if (!Array.isArray(found))
      throw new TypeError(`${entity.constructor.name}.validate() must return a list of { propertyPath, title }`);
    return found.map((violation: Violation) => ({
      ...violation,
      code: violation.code ?? 'model',
      parameters: violation.parameters ?? {},
    }));
  } catch (error) {
    if (hasFailed) return [];
    throw error;
  }
}
