import type { EntityMetadata } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';

/** What an application sends in place of what would go out for a property or a model. */
export interface Normalization {
  /** The class that does it. */
  readonly by: string;
  /** What it makes, as a JSON Schema. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** Makes it of the value of JSON that would go out otherwise. */
  normalize(json: unknown): unknown;
}

const registered = new WeakMap<Mapper, ReadonlyMap<string, Normalization>>();

/** Notes the normalizations of an application by `Model.property` and `Model`. To be called before the first field plan is made. */
export function registerNormalizations(mapper: Mapper, normalizations: ReadonlyMap<string, Normalization>): void {
  registered.set(mapper, normalizations);
}

/** What is registered for a property or, without one, for a model: that of the class itself, else of the class it inherits from. */
export function normalizationOf(mapper: Mapper, owner: EntityMetadata, property?: string): Normalization | null {
  const known = registered.get(mapper);
  if (!known || known.size === 0) return null;
  for (let type = owner.class as { name: string } | null; type?.name; type = Object.getPrototypeOf(type)) {
    const found = known.get(property === undefined ? type.name : `${type.name}.${property}`);
    if (found) return found;
  }
  return null;
}

/** The normalization of an embedded object, or of each in a list, and then of the property that holds it. */
export function combined(model: Normalization | null, property: Normalization | null, isList: boolean): Normalization | null {
  if (!model) return property;
  const each = (json: unknown) => (json === null ? null : model.normalize(json));
  const embedded = (json: unknown) => (isList && Array.isArray(json) ? json.map(each) : each(json));
  if (property) return { ...property, normalize: (json) => property.normalize(embedded(json)) };
  const whole = isList ? { type: 'array', items: model.schema } : model.schema;
  return { by: model.by, schema: { anyOf: [whole, { type: 'null' }] }, normalize: embedded };
}

/** The names of the fields that a normalization makes, as far as its schema tells; null if it makes no object. */
export function madeNames({ schema }: Normalization): readonly string[] | null {
  const { properties } = schema as { properties?: object };
  return properties ? Object.keys(properties) : null;
}
