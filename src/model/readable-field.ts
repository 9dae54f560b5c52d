import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { type Field, type FieldPlan, jsonName, ownProperties } from './field-plan.ts';

/** A field that a caller may read, and so may name in a filter, a sort, a search or a choice of fields. */
export interface ReadableField {
  readonly field: Field;
  /** All fields on the path, from the first name to the last. */
  readonly fields: readonly Field[];
  /**
   * Whether the caller reads the stored value. False if the model computes the value or serializes it in its own way: then the
   * column reveals more.
   */
  readonly isStored: boolean;
}

/**
 * Finds the field at a dotted path of JSON names (`center.name`) in a field plan. Null if it does not exist, or if the groups of
 * the plan do not show it. Callers must not be able to distinguish the two.
 *
 * If rows can have several classes, all classes that have the property must show it, and from the same column.
 */
export function readableField(plan: FieldPlan, path: string): ReadableField | null {
  return find(plan, path.split('.'), (property) => jsonName(property));
}

/** The same for a path of property names, as declarations write it. */
export function readableProperty(plan: FieldPlan, path: string): ReadableField | null {
  return find(plan, path.split('.'), (property) => property.name as string);
}

/** The path of the field that an aggregate names: `amount` of `amount:sum`, unless that is the whole name of a field. */
export function aggregatedPath(plan: FieldPlan, name: string): string {
  return readableField(plan, name) ? name : name.replace(/:\w+$/, '');
}

type Naming = (property: EntityProperty) => string;

function find(plan: FieldPlan, [name, ...rest]: readonly string[], nameOf: Naming): ReadableField | null {
  const field = fieldNamed(plan, name as string, nameOf);
  if (!field) return null;
  const isStored =
    !plan.normalizations && !field.normalization && !field.metadata.serializer && !(field.kind === 'scalar' && field.computed);
  if (rest.length === 0) return { field, fields: [field], isStored };
  if (field.kind === 'scalar' || field.normalization) return null;
  const inner = find(field.plan, rest, nameOf);
  return inner && { field: inner.field, fields: [field, ...inner.fields], isStored: isStored && inner.isStored };
}

function fieldNamed({ variants }: FieldPlan, name: string, nameOf: Naming): Field | null {
  const shown = [...variants].map(
    ([meta, fields]) => [meta, fields.find(({ metadata }) => nameOf(metadata) === name) ?? null] as const,
  );
  const first = shown.find(([, field]) => field)?.[1];
  if (!first) return null;
  const isEverywhere = shown.every(([meta, field]) =>
    field ? isSameColumn(field.metadata, first.metadata) : !holds(meta, name, first.metadata, nameOf),
  );
  return isEverywhere ? first : null;
}

/** Whether a class that does not show the field has it: under its name, or in its column under another name. */
function holds(meta: EntityMetadata, name: string, field: EntityProperty, nameOf: Naming): boolean {
  return ownProperties(meta).some((property) => nameOf(property) === name || sharesColumn(property, field));
}

function isSameColumn(a: EntityProperty, b: EntityProperty): boolean {
  return a.kind === b.kind && a.name === b.name && a.fieldNames?.join() === b.fieldNames?.join();
}

function sharesColumn(a: EntityProperty, b: EntityProperty): boolean {
  return a.fieldNames?.some((column) => b.fieldNames?.includes(column)) ?? false;
}
