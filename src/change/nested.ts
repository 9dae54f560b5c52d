import { type EntityMetadata, type EntityProperty, Reference } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import type { RequestEntityManager } from '../database/mapper.ts';
import { problem, type Violation, violationOf } from '../errors.ts';
import { isObject } from './body-reader.ts';
import type { WritePlan } from './write-plan.ts';

/** The associations of a class whose rows a body creates together with their owner, by their names in JSON. */
export type NestedPlan = ReadonlyMap<string, NestedField>;

export interface NestedField {
  readonly property: EntityProperty;
  readonly maxItems: number;
  readonly nested: NestedPlan;
  /** Throws if the caller may not create such rows. */
  check(request: ApiRequest): void | Promise<void>;
}

/** A row that is created together with its owner, and its path in the body. */
export interface NestedRow {
  readonly entity: object;
  readonly path: string;
}

/** The lists of a body that create rows, and the body without them. */
export interface SplitBody {
  readonly body: Record<string, unknown>;
  readonly lists: readonly { readonly field: NestedField; readonly name: string; readonly items: unknown }[];
}

export const noNested: NestedPlan = new Map();

/** Separates the lists that create rows. A list that has references only is left to its field, if bodies can set that. */
export function splitBody(plan: WritePlan, body: Record<string, unknown>, nested: NestedPlan): SplitBody {
  const lists = [...nested].flatMap(([name, field]) => {
    // a subclass may lack the association
    if (!Object.hasOwn(body, name) || !Object.hasOwn(plan.meta.properties, field.property.name)) return [];
    const items = body[name];
    const areReferences = Array.isArray(items) && items.every(isReference);
    return plan.fields.has(name) && areReferences ? [] : [{ field, name, items }];
  });
  if (lists.length === 0) return { body, lists };
  const rest = Object.entries(body).filter(([name]) => !lists.some((list) => list.name === name));
  return { body: Object.fromEntries(rest), lists };
}

function isReference(item: unknown): boolean {
  return isObject(item) && Object.hasOwn(item, 'id') && Object.keys(item).every((key) => key === 'id' || key === 'type');
}

/** The objects of a list, with the paths of its items; violations for anything else. */
export function nestedItems(
  { maxItems }: NestedField,
  items: unknown,
  path: string,
  violations: Violation[],
): { readonly body: Record<string, unknown>; readonly path: string }[] {
  if (!Array.isArray(items)) {
    violations.push(violationOf(path, 'must be a list of objects', 'type', { expected: 'a list of objects' }));
    return [];
  }
  if (items.length > maxItems) throw problem('too_many_items', { place: `the list "${path}"`, limit: maxItems });
  return items.flatMap((body, index) => {
    const at = `${path}[${index}]`;
    if (isObject(body)) return [{ body, path: at }];
    violations.push(violationOf(at, 'must be an object', 'type', { expected: 'an object' }));
    return [];
  });
}

/** The plan of a row that is created with its owner, without the field that refers to the owner. */
export function planWithin(plan: WritePlan, { mappedBy }: EntityProperty): WritePlan {
  const fields = new Map([...plan.fields].filter(([, { property }]) => property !== mappedBy));
  return { ...plan, fields };
}

/** Makes a row refer to its owner. */
export function setOwner(em: RequestEntityManager, child: object, { mappedBy, targetMeta }: EntityProperty, owner: object): void {
  const property = (targetMeta as EntityMetadata).properties[mappedBy as never] as EntityProperty;
  const value = property.ref ? Reference.create(owner as never) : owner;
  em.assign(child as never, { [mappedBy]: value } as never);
}
