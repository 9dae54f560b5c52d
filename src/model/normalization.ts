import type { EntityMetadata } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';

/** Replaces the JSON of a property or a model in responses, by a normalizer of the application. */
export interface Normalization {
  /** The name of the normalizer class. */
  readonly by: string;
  /** The JSON Schema of its result. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** Makes the result from the JSON value that would be sent otherwise. */
  normalize(json: unknown): unknown;
}

const registered = new WeakMap<Mapper, ReadonlyMap<string, Normalization>>();

/** Registers normalizations by `Model.property` and `Model`. Must be called before the first field plan is made. */
export function registerNormalizations(mapper: Mapper, normalizations: ReadonlyMap<string, Normalization>): void {
  registered.set(mapper, normalizations);
}

/** The normalization of a property or, without one, of a model: that of the class itself, else that of its nearest parent. */
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

/** The names of the fields that a normalization makes, by its schema; null if the schema has no properties. */
export function madeNames({ schema }: Normalization): readonly string[] | null {
  const { properties } = schema as { properties?: object };
  return properties ? Object.keys(properties) : null;
}
