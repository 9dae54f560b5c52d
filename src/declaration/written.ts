import { optionFor, type Shape } from './shape.ts';
import type { Place } from './vocabulary.ts';

export type Written = WrittenScalar | WrittenList | WrittenMapping;

interface WrittenScalar {
  readonly kind: 'scalar';
  readonly place: Place;
  readonly value: unknown;
  /** Taken as it is: placeholders in it stay what they are. */
  readonly literal?: true;
}

interface WrittenList {
  readonly kind: 'list';
  readonly place: Place;
  readonly items: readonly Written[];
}

export interface WrittenMapping {
  readonly kind: 'mapping';
  readonly place: Place;
  readonly entries: ReadonlyMap<string, WrittenEntry>;
}

export interface WrittenEntry {
  readonly keyPlace: Place;
  readonly node: Written;
}

/** The shape under a key of a mapping, as far as the schema knows it. */
export function shapeUnder(shape: Shape | null, key: string): Shape | null {
  const mapping = shape && optionFor(shape, 'mapping');
  if (mapping?.kind === 'map') return mapping.of;
  if (mapping?.kind === 'object' && Object.hasOwn(mapping.keys, key)) return mapping.keys[key]?.shape ?? null;
  return null;
}

/** The shape of the items of a list, as far as the schema knows it. */
export function shapeOfItems(shape: Shape | null): Shape | null {
  const list = shape && optionFor(shape, 'list');
  return list?.kind === 'list' ? list.of : null;
}

/** The value without its places; mappings have no prototype, so that no key has a meaning of its own. */
export function plainValue(node: Written): unknown {
  if (node.kind === 'scalar') return node.value;
  if (node.kind === 'list') return node.items.map(plainValue);
  const value: Record<string, unknown> = Object.create(null);
  for (const [key, entry] of node.entries) value[key] = plainValue(entry.node);
  return value;
}
