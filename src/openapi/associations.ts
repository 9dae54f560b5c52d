import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { accessorsFor } from '../change/accessors.ts';
import type { Mapper } from '../database/mapper.ts';
import type { AssociationDeclaration } from '../declaration/types.ts';
import { targetsOf } from '../model/field-plan.ts';
import { concreteClasses, metaOf } from '../model/hierarchy.ts';

/** The classes of the items that a body can add to an association, or remove from it. */
export function itemClasses(
  mapper: Mapper,
  owner: EntityMetadata,
  { property, types }: AssociationDeclaration,
): readonly EntityMetadata[] {
  if (types.length > 0) return types.map(({ value }) => metaOf(mapper, value));
  const association = owner.properties[property as never] as EntityProperty | undefined;
  return association ? targetsOf(association) : [];
}

/** The methods of the model that add or remove an item and decide the response themselves: `Course.addTag`. */
export function itemMethods(
  mapper: Mapper,
  owner: EntityMetadata,
  association: AssociationDeclaration,
  verb: 'add' | 'remove',
): readonly string[] {
  const types = itemClasses(mapper, owner, association);
  const methods = concreteClasses(mapper, owner).flatMap((meta) =>
    types
      .flatMap((type) => accessorsFor(meta, association.property, type).methods[verb] ?? [])
      .map((name) => `${meta.className}.${name}`),
  );
  return [...new Set(methods)];
}
