import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import { jsonName, ownProperties } from '../model/field-plan.ts';
import { inGroups } from '../model/groups.ts';
import { entitiesOf } from '../model/hierarchy.ts';
import { defaultFilters } from '../query/entities/filters.ts';
import type { Places } from './places.ts';

export type ModelAccess = ReturnType<typeof modelAccess>;

/** Every concrete class of rows and every embeddable, by name. */
export function modelsOf(mapper: Mapper, places: Places): readonly ModelAccess[] {
  const embeddables = [...mapper.getMetadata().getAll().values()].filter((meta) => meta.embeddable);
  return [...entitiesOf(mapper), ...embeddables]
    .filter((meta) => !meta.abstract)
    .sort((a, b) => (a.className < b.className ? -1 : 1))
    .map((meta) => modelAccess(meta, places));
}

function modelAccess(meta: EntityMetadata, places: Places) {
  const properties = ownProperties(meta);
  const names = [...new Set(properties.flatMap(({ groups }) => groups ?? []))].sort();
  const described = (property: EntityProperty) => ({
    /** The key in JSON. */
    name: jsonName(property),
    property: property.name as string,
    place: places.ofProperty(meta, property.name as string),
  });
  return {
    model: meta.className,
    /** The fields of each group, whether a route shows them or not. */
    groups: Object.fromEntries(
      names.map((group) => [group, properties.filter((property) => inGroups(property, [group])).map(described)]),
    ),
    /** Fields that are hidden or in no group: no default action reads or writes them. */
    closed: properties.filter((property) => !inGroups(property, names)).map(described),
    /** The default filters, which hide rows from every query of the mapper. */
    filters: defaultFilters(meta).sort(),
    place: places.ofClass('models', meta.className),
    /** The place of the filters, or else of the model. */
    filtersPlace: places.ofFilters(meta),
  };
}
