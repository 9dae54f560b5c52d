import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';

/** The property that counts the changes of a row, or holds the time of the last change; null if the model has none. */
export function versionOf(meta: EntityMetadata): EntityProperty | null {
  const { properties, versionProperty } = meta;
  return versionProperty === undefined ? null : ((properties[versionProperty as never] as EntityProperty | undefined) ?? null);
}

/** The version in an entity or a column, as a text that is the same for both. Null: none. */
export function versionText(value: unknown): string | null {
  if (value instanceof Date) return String(value.getTime());
  return value === null || value === undefined ? null : String(value);
}
