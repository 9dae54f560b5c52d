import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { restrictsQueries } from '../controller/api-controller.ts';
import type { Mapper } from '../database/mapper.ts';
import type { ApiDeclaration, Catalog, Declaration } from '../declaration/types.ts';
import { metaOf, sameLine } from '../model/hierarchy.ts';
import type { RouteRecord } from '../route/record.ts';
import { isDenormalizerClass } from '../serialization/denormalizer.ts';
import { Components } from './components.ts';
import { DeclaredSchemas } from './declared-schemas.ts';
import { ReadSchemas } from './read-schemas.ts';
import { WriteSchemas } from './write-schemas.ts';

/** What a document is made of. */
export interface Described {
  readonly declaration: Declaration;
  readonly catalog: Catalog;
  readonly mapper: Mapper;
  readonly records: readonly RouteRecord[];
}

/** What makes the schemas of an application, and where they are kept. */
export function schemasOf({ catalog, declaration, mapper }: Pick<Described, 'catalog' | 'declaration' | 'mapper'>) {
  const denormalized = new Set(
    catalog.denormalizers.flatMap(({ value }) => (isDenormalizerClass(value) ? value.properties : [])),
  );
  const restricted = declaration.apis.filter(restricts).map(({ class: model }) => metaOf(mapper, model.value));
  const around = {
    hides: (meta: EntityMetadata) => restricted.some((other) => sameLine(meta, other)),
    describe: descriptionOf,
    denormalizes: (meta: EntityMetadata, property: string) => denormalized.has(`${meta.className}.${property}`),
  };
  const components = new Components();
  const read = new ReadSchemas(components, around);
  const write = new WriteSchemas(mapper, components, around);
  return { components, read, write, declared: new DeclaredSchemas(mapper, components, read, write) };
}

function restricts({ controller }: ApiDeclaration): boolean {
  return controller !== null && restrictsQueries(controller.value as never);
}

/** What the model itself says of a property, or of the class. */
export function descriptionOf(meta: EntityMetadata, property?: string): string | undefined {
  if (property === undefined) return meta.comment || undefined;
  return (meta.properties[property as never] as EntityProperty | undefined)?.comment || undefined;
}
