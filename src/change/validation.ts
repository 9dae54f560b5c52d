import { type EntityMetadata, type EntityProperty, helper, isRaw, Reference, ReferenceKind } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import type { Mapper } from '../database/mapper.ts';
import type { StandardSchema } from '../declaration/types.ts';
import { maxViolations, missingValue, type Violation, violationOf } from '../errors.ts';
import { type Rule, rulesOf } from '../model/constraints.ts';
import { isToMany, jsonName, ownProperties } from '../model/field-plan.ts';
import { type ActiveGroups, isKnownTo } from '../model/groups.ts';
import { discriminatorProperty, metaOfEntity } from '../model/hierarchy.ts';
import { codePoints } from '../model/identifier.ts';
import { withLoadedData } from '../model/unloaded.ts';
import { type ValueKind, valueKindOf } from '../model/value-kind.ts';
import { isInstance } from '../query/rows/instance.ts';
import { isRequired } from './write-plan.ts';

/** The information about a request that rules get. */
export interface ValidationContext {
  readonly action: string;
  readonly request: ApiRequest;
  /** The validation groups of the action: constraints of other groups do not apply. */
  readonly groups: readonly string[];
}

type Check = (entity: Record<string, unknown>, isNew: boolean) => Violation | null;

/** Finds every broken rule of an entity: those of its columns, its `static constraints`, and its own `validate()`. */
export class Validator {
  readonly #mapper: Mapper;
  readonly #checks = new Map<EntityMetadata, readonly Check[]>();
  readonly #rules = new Map<EntityMetadata, readonly Rule[]>();

  constructor(mapper: Mapper) {
    this.#mapper = mapper;
  }

  /** `known` are the groups whose properties violations may name. */
  async validate(entity: object, context: ValidationContext, known: ActiveGroups): Promise<Violation[]> {
    const meta = metaOfEntity(this.#mapper, entity);
    const isNew = isInstance(entity) || !helper(entity).__originalEntityData;
    const found: Violation[] = [];
    const add = (given: Violation | null) => {
      const violation = given && forCallers(meta, given, known);
      if (!violation || found.length >= maxViolations) return;
      const isKnown = found.some(({ propertyPath, code }) => propertyPath === violation.propertyPath && code === violation.code);
      if (!isKnown) found.push(violation);
    };
    for (const check of this.#checksOf(meta)) add(check(entity as Record<string, unknown>, isNew));
    for (const { groups, property, schema } of this.#rulesOf(meta)) {
      if (groups && !groups.some((group) => context.groups.includes(group))) continue;
      const values = entity as Record<string, unknown>;
      const value = property === null ? snapshot(meta, values) : plain(values[property]);
      for (const violation of await issuesOf(meta, schema, value, property === null ? [] : [property])) add(violation);
    }
    for (const violation of await ownViolations(entity, context, found.length > 0)) add(violation);
    return found;
  }

  #rulesOf(meta: EntityMetadata): readonly Rule[] {
    const rules = this.#rules.get(meta) ?? rulesOf(meta);
    this.#rules.set(meta, rules);
    return rules;
  }

  #checksOf(meta: EntityMetadata): readonly Check[] {
    let checks = this.#checks.get(meta);
    if (!checks) {
      const platform = this.#mapper.driver.getPlatform();
      checks = ownProperties(meta)
        .filter((property) => property.persist !== false && !isMadeByMapper(meta, property))
        .flatMap((property) =>
          checksOf(property, property.kind === ReferenceKind.SCALAR ? valueKindOf(property, platform) : null),
        );
      this.#checks.set(meta, checks);
    }
    return checks;
  }
}

/** Whether MikroORM writes the discriminator of a class, which has no property for it. */
function isMadeByMapper(meta: EntityMetadata, { name, userDefined }: EntityProperty): boolean {
  return userDefined === false && name === discriminatorProperty(meta);
}

/** A violation for callers. If they do not know its property, it says only that a rule is broken. */
function forCallers(meta: EntityMetadata, violation: Violation, known: ActiveGroups): Violation {
  const [name] = violation.propertyPath.split(/[.[]/);
  const properties = ownProperties(meta).filter((property) => property.name === name || jsonName(property) === name);
  if (properties.length === 0 || properties.some((property) => isKnownTo(known, property))) return violation;
  return violationOf('', 'breaks a rule of the model', 'model');
}

function checksOf(property: EntityProperty, kind: ValueKind | null): Check[] {
  const name = property.name as string;
  const path = jsonName(property);
  const checks: Check[] = [];
  if (isRequired(property)) {
    checks.push(({ [name]: value }, isNew) => {
      const isAbsent = value === null || (value === undefined && isNew);
      return isAbsent ? missingValue(path) : null;
    });
  }
  if (kind?.kind === 'string' && kind.length !== null) {
    const max = kind.length;
    const tooLong = violationOf(path, `must not be longer than ${max} characters`, 'too_long', { max });
    checks.push(({ [name]: value }) =>
      typeof value === 'string' && value.length > max && codePoints(value) > max ? tooLong : null,
    );
  }
  if (kind?.kind === 'enum') {
    const { items } = kind;
    const other = violationOf(path, `must be one of: ${items.join(', ')}`, 'enum', { allowed: [...items] });
    checks.push(({ [name]: value }) => {
      const isAllowed = value === null || value === undefined || isRaw(value) || items.includes(value as string | number);
      return isAllowed ? null : other;
    });
  }
  return checks;
}

async function issuesOf(meta: EntityMetadata, schema: StandardSchema, value: unknown, prefix: PropertyKey[]) {
  const result = await schema['~standard'].validate(value);
  return (result.issues ?? []).map(({ message, path = [] }) => {
    const keys = [...prefix, ...path.map((part) => (typeof part === 'object' ? part.key : part))];
    return violationOf(pathText(meta, keys), message, 'constraint');
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

/** The properties of an entity for a schema: a plain object with unwrapped references. */
function snapshot(meta: EntityMetadata, entity: Record<string, unknown>): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const property of ownProperties(meta)) {
    const name = property.name as string;
    // a collection that was not loaded has no items yet
    const value = isToMany(property) && !Object.hasOwn(entity, name) ? [] : plain(entity[name]);
    if (value !== undefined) values[name] = value;
  }
  return values;
}

function plain(value: unknown): unknown {
  if (value instanceof Reference) return value.unwrap();
  const collection = value as { getItems?: (check: boolean) => unknown[] } | null | undefined;
  return typeof collection?.getItems === 'function' ? collection.getItems(false) : value;
}

/** The violations of the model's own `validate()`. On an invalid entity it may fail on unexpected values; that is ignored. */
async function ownViolations(entity: object, context: ValidationContext, hasFailed: boolean): Promise<Violation[]> {
  const own = (entity as { validate?: (context: ValidationContext) => unknown }).validate;
  if (typeof own !== 'function') return [];
  try {
    const found = (await withLoadedData(() => own.call(entity, context))) ?? [];
    if (!Array.isArray(found))
      throw new TypeError(`${entity.constructor.name}.validate() must return a list of { propertyPath, title }`);
    return found.map((given: Violation) => ({ ...given, code: given.code ?? 'model', parameters: given.parameters ?? {} }));
  } catch (error) {
    if (hasFailed) return [];
    throw error;
  }
}
