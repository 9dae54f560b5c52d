import { type EntityMetadata, type EntityProperty, Reference, ReferenceKind } from '@mikro-orm/core';
import type { Mapper } from '../../database/mapper.ts';
import { targetsOf } from '../../model/field-plan.ts';
import { concreteClasses, hasDiscriminator } from '../../model/hierarchy.ts';
import { isComposite, type KeyPart, keyParts } from '../../model/identifier.ts';
import { makerFor } from '../../model/private-members.ts';
import { valueKindOf } from '../../model/value-kind.ts';
import { dateOf, parsedJson } from '../../serialization/to-json.ts';
import {
  columnReader,
  compileInstance,
  compileReference,
  type InstanceContext,
  type InstanceValue,
  type MakeInstance,
  NoInstance,
  refuseInstance,
} from './instance.ts';

/** The statement in which the columns of instances are selected. */
export interface InstanceColumns {
  readonly mapper: Mapper;
  readonly alias: string;
  /** Adds a column to the statement and returns its position. */
  add(sql: string): number;
  quote(name: string): string;
  /** How an association is made if more than its key is loaded; otherwise null. */
  loaded?(property: EntityProperty, concrete: EntityMetadata): InstanceValue | null;
}

/** Plans instances of a model from the columns of its table, or throws {@link NoInstance} with the reason. */
export function planInstance(meta: EntityMetadata, columns: InstanceColumns): MakeInstance {
  if (meta.inheritanceType === 'tpt' || meta.root.inheritanceType === 'tpt' || meta.virtual)
    throw new NoInstance(`${meta.className} has a table for each type`);
  const classes = concreteClasses(columns.mapper, meta);
  const makers = classes.map((concrete) => compileInstance(concrete, valuesOf(concrete, columns)));
  const [only] = makers;
  if (only && classes.length === 1 && !(hasDiscriminator(meta) && meta.root === meta)) return only;
  const property = meta.root.properties[meta.root.discriminatorColumn as never] as EntityProperty;
  const type = columns.add(`${columns.alias}.${columns.quote(property.fieldNames[0] as string)}`);
  const byType = new Map(classes.map((concrete, i) => [String(concrete.discriminatorValue), makers[i] as MakeInstance]));
  return (row, many, context) => byType.get(String(row[type]))?.(row, many, context) ?? null;
}

function valuesOf(concrete: EntityMetadata, columns: InstanceColumns): InstanceValue[] {
  refuseInstance(concrete);
  return (Object.values(concrete.properties) as EntityProperty[]).flatMap((property): InstanceValue[] => {
    if (property.embedded || property.inherited) return [];
    const loaded = columns.loaded?.(property, concrete);
    if (loaded) return [loaded];
    refuseProperty(concrete, property);
    if (property.persist === false || property.lazy || property.formula || !property.fieldNames?.length) return [];
    switch (property.kind) {
      case ReferenceKind.SCALAR:
        return [scalarOf(property, columns)];
      case ReferenceKind.EMBEDDED:
        return [{ kind: 'made', property, make: embeddedOf(property, columns) as MakeInstance }];
      case ReferenceKind.MANY_TO_ONE:
        return [referenceOf(property, columns)];
      case ReferenceKind.ONE_TO_ONE:
        return property.owner ? [referenceOf(property, columns)] : [];
      default:
        return [];
    }
  });
}

/** Rejects properties that MikroORM reads in its own way. */
function refuseProperty({ className }: EntityMetadata, property: EntityProperty): void {
  const name = `${className}.${String(property.name)}`;
  if (property.eager) throw new NoInstance(`${name} is loaded with each row`);
  if (property.formula) throw new NoInstance(`${name} is computed by the database`);
  if (property.kind === ReferenceKind.ONE_TO_ONE && !property.owner) throw new NoInstance(`${name} is held by another table`);
  if (property.kind === ReferenceKind.SCALAR && property.ref) throw new NoInstance(`${name} is a reference to a value`);
}

function scalarOf(property: EntityProperty, { add, alias, mapper, quote }: InstanceColumns): InstanceValue {
  if (property.fieldNames.length !== 1) throw new NoInstance(`${String(property.name)} has several columns`);
  const { read, sql } = columnReader(mapper, property, `${alias}.${quote(property.fieldNames[0] as string)}`);
  return { kind: 'value', property, column: add(sql), read };
}

/** A reference: an instance that has only its key, and throws on access to any other property. */
function referenceOf(property: EntityProperty, { add, alias, mapper, quote }: InstanceColumns): InstanceValue {
  const targets = targetsOf(property);
  const names = property.fieldNames;
  const wrap = property.ref ? (entity: object) => Reference.create(entity as never) : (entity: object) => entity;
  const readerOf = (target: EntityMetadata, name: string) => {
    const { leaf } = keyParts(target)[0] as KeyPart;
    const { read, sql } = columnReader(mapper, leaf, `${alias}.${quote(name)}`);
    const refer = compileReference(target);
    const column = add(sql);
    return (row: unknown[], context: InstanceContext) => {
      const value = row[column];
      if (value === null || value === undefined) return null;
      const id = read ? read(value) : value;
      return property.mapToPk ? id : wrap(refer(id, context));
    };
  };
  if (targets.some(isComposite)) throw new NoInstance(`${String(property.name)} has a key of several columns`);
  if (!property.polymorphic) {
    if (names.length !== 1 || !targets[0]) throw new NoInstance(`${String(property.name)} has several columns`);
    const read = readerOf(targets[0], names[0] as string);
    return { kind: 'made', property, make: ((row, _many, context) => read(row, context)) as MakeInstance };
  }
  const [typeName, keyName, ...others] = names;
  if (typeName === undefined || keyName === undefined || others.length > 0)
    throw new NoInstance(`${String(property.name)} has several columns`);
  const type = add(`${alias}.${quote(typeName)}`);
  const byType = new Map(
    Object.entries(property.discriminatorMap ?? {}).flatMap(([value, cls]) => {
      const target = targets.find((candidate) => candidate.class === cls);
      return target ? [[value, readerOf(target, keyName)] as const] : [];
    }),
  );
  return {
    kind: 'made',
    property,
    make: ((row, _many, context) => byType.get(String(row[type]))?.(row, context) ?? null) as MakeInstance,
  };
}

type Make = (row: unknown[]) => unknown;

function embeddedOf(property: EntityProperty, columns: InstanceColumns): Make {
  const target = property.targetMeta as EntityMetadata;
  if (target.discriminatorMap || target.polymorphs)
    throw new NoInstance(`${String(property.name)} can be one of several classes`);
  if (property.object || property.array) return storedEmbedded(property, columns);
  const parts = (Object.entries(property.embeddedProps) as [string, EntityProperty][]).map(([name, place]) => {
    if (place.kind === ReferenceKind.EMBEDDED) {
      const inner = columnsWithin(place, columns);
      return { name, make: embeddedOf(place, columns), columns: inner };
    }
    if (place.kind !== ReferenceKind.SCALAR) throw new NoInstance(`${String(property.name)} holds an association`);
    const value = scalarOf(place, columns) as Extract<InstanceValue, { kind: 'value' }>;
    const make: Make = (row) => {
      const given = row[value.column];
      return given === null ? null : value.read ? value.read(given) : given;
    };
    return { name, make, columns: [value.column] };
  });
  const own = parts.flatMap((part) => part.columns);
  const isAlways = property.nullable !== true;
  const makeObject = makerFor(target, target.class.prototype);
  return (row) => {
    if (!isAlways && own.every((column) => row[column] === null)) return null;
    const embedded = makeObject() as Record<string, unknown>;
    for (const { make, name } of parts) embedded[name] = make(row);
    return embedded;
  };
}

/** All columns of an embedded object, and of those within it. */
function columnsWithin(property: EntityProperty, columns: InstanceColumns): number[] {
  if (property.object || property.array)
    return [columns.add(`${columns.alias}.${columns.quote(property.fieldNames[0] as string)}`)];
  return (Object.values(property.embeddedProps) as EntityProperty[]).flatMap((place) => {
    if (place.kind === ReferenceKind.EMBEDDED) return columnsWithin(place, columns);
    return [(scalarOf(place, columns) as Extract<InstanceValue, { kind: 'value' }>).column];
  });
}

/** An embeddable that is stored as JSON, or a list of them. */
function storedEmbedded(property: EntityProperty, { add, alias, mapper, quote }: InstanceColumns): Make {
  const column = add(`${alias}.${quote(property.fieldNames[0] as string)}`);
  const read = storedReader(property, mapper);
  return (row) => (row[column] === null ? null : read(parsedJson(row[column])));
}

function storedReader(property: EntityProperty, mapper: Mapper): (json: unknown) => unknown {
  const platform = mapper.driver.getPlatform();
  const target = property.targetMeta as EntityMetadata;
  const makeObject = makerFor(target, target.class.prototype);
  const members = (Object.entries(property.embeddedProps) as [string, EntityProperty][]).map(([name, place]) => {
    const key = place.fieldNames?.[0];
    if (place.kind === ReferenceKind.EMBEDDED) return { name, key, read: storedReader(place, mapper) };
    if (place.kind !== ReferenceKind.SCALAR) throw new NoInstance(`${String(property.name)} holds an association`);
    const { kind } = valueKindOf(place, platform);
    const custom = place.customType;
    if (custom) return { name, key, read: (value: unknown) => custom.convertToJSValue(value, platform) };
    return { name, key, read: kind === 'datetime' ? (dateOf as (value: unknown) => unknown) : (value: unknown) => value };
  });
  const one = (json: unknown): unknown => {
    if (json === null || typeof json !== 'object') return json;
    const given = json as Record<string, unknown>;
    const embedded = makeObject() as Record<string, unknown>;
    for (const { key, name, read } of members) {
      const value = given[key as string] ?? given[name];
      if (value !== undefined) embedded[name] = value === null ? null : read(value);
    }
    return embedded;
  };
  return (json) => (Array.isArray(json) ? json.map(one) : one(json));
}
