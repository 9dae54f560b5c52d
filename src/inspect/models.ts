import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import { jsonName, ownProperties } from '../model/field-plan.ts';
import { inGroups } from '../model/groups.ts';
import { entitiesOf } from '../model/hierarchy.ts';
import { defaultFilters } from '../query/entities/filters.ts';
import type { Places } from './places.ts';

/** What a model has in each of its groups, whoever shows it. */
export interface ModelAccess {
  readonly model: string;
  readonly groups: Readonly<Record<string, readonly ModelField[]>>;
  /** What is in no group, or hidden: nothing shows it by itself, and no body can set it. */
  readonly closed: readonly ModelField[];
  /** The filters that are on by default, which hide rows wherever the mapper looks. */
  readonly filters: readonly string[];
  readonly place: string;
  /** Where the filters are written, or the model. */
  readonly filtersPlace: string;
}

export interface ModelField {
  /** The key in JSON. */
  readonly name: string;
  readonly property: string;
  readonly place: string;
}

/** Every class that rows can be and every embeddable, by name. */
export function modelsOf(mapper: Mapper, places: Places): readonly ModelAccess[] {
  const embeddables = [...mapper.getMetadata().getAll().values()].filter((meta) => meta.embeddable);
  return [...entitiesOf(mapper), ...embeddables]
    .filter((meta) => !meta.abstract)
    .sort((a, b) => (a.className < b.className ? -1 : 1))
    .map((meta) => modelAccess(meta, places));
}

function modelAccess(meta: EntityMetadata, places: Places): ModelAccess {
  const properties = ownProperties(meta);
  const names = [...new Set(properties.flatMap(({ groups }) => groups ?? []))].sort();
  const described = (property: EntityProperty) => ({
    name: jsonName(property),
    property: property.name as string,
    place: places.ofProperty(meta, property.name as string),
  });
  return {
    model: meta.className,
    groups: Object.fromEntries(
      names.map((group) => [group, properties.filter((property) => inGroups(property, [group])).map(described)]),
    ),
    closed: properties.filter((property) => !inGroups(property, names)).map(described),
    filters: defaultFilters(meta).sort(),
    place: places.ofClass('models', meta.className),
    filtersPlace: places.ofFilters(meta),
  };
}
