import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { jsonName } from '../../model/field-plan.ts';
import { isComposite } from '../../model/identifier.ts';
import type { JsonSchema } from '../json-schema.ts';

/** The extensions in the schema of a row: its model, and where a composite key is in the row, such as `["course.id", "nr"]`. */
export function modelKeywords(meta: EntityMetadata): JsonSchema {
  return { 'x-model': meta.className, ...(isComposite(meta) && { 'x-key': keyPaths(meta) }) };
}

function keyPaths(meta: EntityMetadata): string[] {
  return (meta.getPrimaryProps() as EntityProperty[]).flatMap((property) => {
    const name = jsonName(property);
    return property.targetMeta ? keyPaths(property.targetMeta).map((path) => `${name}.${path}`) : [name];
  });
}
