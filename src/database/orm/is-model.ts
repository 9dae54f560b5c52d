import { EntitySchema, MetadataStorage } from '@mikro-orm/core';

/** Whether a value is a result of `defineEntity`, a class that was passed to it, or a class with the decorator `@Entity()` or `@Embeddable()`. */
export function isModel(value: unknown): boolean {
  if (EntitySchema.is(value)) return true;
  if (typeof value !== 'function') return false;
  return EntitySchema.REGISTRY.has(value as never) || isDecorated(value);
}

/** A base class with decorators on its properties alone has no name. */
function isDecorated(type: object): boolean {
  const { META_SYMBOL } = MetadataStorage;
  return Object.hasOwn(type, META_SYMBOL) && Boolean((type as Record<symbol, { name?: string }>)[META_SYMBOL]?.name);
}
