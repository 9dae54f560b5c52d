import type { EntityMetadata, Platform } from '@mikro-orm/core';
import { valueKindOf } from '../../model/value-kind.ts';
import { versionOf, versionText } from '../../model/version.ts';
import { dateOf } from '../../serialization/to-json.ts';

/** Makes what reads the version of a row from its column, whichever way the column was read. */
export function versionReader(meta: EntityMetadata, platform: Platform): (value: unknown) => string | null {
  const property = versionOf(meta);
  const isTime = property !== null && ['date', 'datetime'].includes(valueKindOf(property, platform).kind);
  return isTime
    ? (value) => versionText(value === null || value === undefined || value instanceof Date ? value : dateOf(value))
    : versionText;
}
