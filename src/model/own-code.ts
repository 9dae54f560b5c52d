import type { EntityMetadata } from '@mikro-orm/core';

/** The accessors of each class as the application wrote it, before the mapper put its own beside them. */
const accessors = new WeakMap<object, ReadonlySet<string>>();

/**
 * Remembers which properties of a model are accessors of its own. To be called before the mapper sees the class. An existing MikroORM
 * instance has seen it, and has put setters without getters on its prototype.
 */
export function noteAccessors(type: unknown): void {
  if (typeof type !== 'function' || accessors.has(type)) return;
  const names = new Set<string>();
  for (const { prototype } of lineOf(type)) {
    const isDecorated = Object.hasOwn(prototype, '__meta');
    for (const [name, { get, set }] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      if (get || (set && !isDecorated)) names.add(name);
    }
  }
  accessors.set(type, names);
}

/** Whether reading or setting a property runs code of the model's own; of a class that was never noted, nobody knows. */
export function hasAccessor(meta: EntityMetadata, property: string): boolean {
  return accessors.get(meta.class)?.has(property) ?? true;
}

/** Whether a model has rules that only an entity can be held against. */
export function hasRules(meta: EntityMetadata): boolean {
  return 'constraints' in meta.class || typeof (meta.class.prototype as { validate?: unknown }).validate === 'function';
}

/** Whether making an entity runs no code of the application: neither a constructor nor values of fields. */
export function isBare(meta: EntityMetadata): boolean {
  return lineOf(meta.class).every((type) => /^class\b[^{}]*\{\s*\}$/.test(Function.prototype.toString.call(type)));
}

export type Class = { readonly prototype: object };

/** A class and those that it extends. */
export function lineOf(type: unknown): Class[] {
  const line: Class[] = [];
  for (let each = type; typeof each === 'function' && each !== Function.prototype; each = Object.getPrototypeOf(each)) {
    if (each.prototype) line.push(each as unknown as Class);
  }
  return line;
}
