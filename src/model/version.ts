import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';

/** The property that counts the changes of a model's rows, or tells the time of the last one; null where there is none. */
export function versionOf(meta: EntityMetadata): EntityProperty | null {
  const { properties, versionProperty } = meta;
  return versionProperty === undefined ? null : ((properties[versionProperty as never] as EntityProperty | undefined) ?? null);
}

/** The version that an entity or a column holds, as a text: the same for the same version, wherever it was read. Null: none. */
export function versionText(value: unknown): string | null {
  if (value instanceof Date) return String(value.getTime());
  return value === null || value === undefined ? null : String(value);
}
