import type { EntityMetadata } from '@mikro-orm/core';

/** The accessors that the application wrote in each class, recorded before MikroORM adds its own. */
const accessors = new WeakMap<object, ReadonlySet<string>>();

/**
 * Records which properties of a model are its own accessors. Must be called before MikroORM discovers the class. An existing MikroORM
 * instance has discovered it before, and has put setters without getters on its prototype.
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

/** Whether reading or setting a property runs code of the model; assumed for a class whose accessors were not recorded. */
export function hasAccessor(meta: EntityMetadata, property: string): boolean {
  return accessors.get(meta.class)?.has(property) ?? true;
}

/** Whether a model has rules that can only be checked on an entity. */
export function hasRules(meta: EntityMetadata): boolean {
  return 'constraints' in meta.class || typeof (meta.class.prototype as { validate?: unknown }).validate === 'function';
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
