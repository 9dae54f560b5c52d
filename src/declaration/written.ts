import { optionFor, type Shape } from './shape.ts';
import type { Place } from './vocabulary.ts';

/** A part of the declaration as it was written, with its place: a mapping has entries, a list has items, other parts a value. */
export interface Written {
  readonly place: Place;
  /** Where its key was written, if it is an entry of a mapping. */
  readonly keyPlace?: Place;
  readonly entries?: ReadonlyMap<string, Written>;
  readonly items?: readonly Written[];
  readonly value?: unknown;
  /** Whether placeholders in the value are not replaced. */
  readonly literal?: true;
}

export type WrittenMapping = Written & Required<Pick<Written, 'entries'>>;

export function isMapping(node: Written): node is WrittenMapping {
  return node.entries !== undefined;
}

/** Whether a key has no value: `app_main:` with everything below commented out. */
export function isEmpty({ entries, items, value }: Written): boolean {
  return !entries && !items && value === null;
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

/** The value without its places. Mappings have no prototype, so that no key has a special meaning. */
export function plainValue({ entries, items, value }: Written): unknown {
  if (!entries) return items ? items.map(plainValue) : value;
  const mapping: Record<string, unknown> = Object.create(null);
  for (const [key, entry] of entries) mapping[key] = plainValue(entry);
  return mapping;
}
