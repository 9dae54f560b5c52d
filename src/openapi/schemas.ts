import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { restrictsQueries } from '../actions/api-controller.ts';
import { denormalizerOf, denormalizersOf } from '../change/associations.ts';
import type { Mapper } from '../database/mapper.ts';
import type { ApiDeclaration, Catalog, Declaration } from '../declaration/types.ts';
import { metaOf, sameLine } from '../model/hierarchy.ts';
import type { RouteRecord } from '../route/record.ts';
import { Components } from './components.ts';
import { DeclaredSchemas } from './declared-schemas.ts';
import { ReadSchemas } from './read-schemas.ts';
import { sourceComments } from './source-comments.ts';
import { WriteSchemas } from './write-schemas.ts';

/** What a document is made of. */
export interface Described {
  readonly declaration: Declaration;
  readonly catalog: Catalog;
  readonly mapper: Mapper;
  readonly records: readonly RouteRecord[];
  /** Where its sources are. */
  readonly directory: string;
}

/** What makes the schemas of an application, and where they are kept. */
export function schemasOf({ catalog, declaration, directory, mapper }: Omit<Described, 'records'>) {
  const denormalizers = denormalizersOf(catalog.denormalizers);
  const restricted = declaration.apis.filter(restricts).map(({ class: model }) => metaOf(mapper, model.value));
  const saidInSource = sourceComments(directory, catalog);
  const describe = (meta: EntityMetadata, property?: string) => commentOf(meta, property) ?? saidInSource(meta, property);
  const around = {
    hides: (meta: EntityMetadata) => restricted.some((other) => sameLine(meta, other)),
    describe,
    denormalizes: (meta: EntityMetadata, property: string) => denormalizerOf(denormalizers, meta, property) !== undefined,
  };
  const components = new Components();
  const read = new ReadSchemas(components, around);
  const write = new WriteSchemas(mapper, components, around);
  return { components, describe, read, write, declared: new DeclaredSchemas(mapper, components, read, write) };
}

function restricts({ controller }: ApiDeclaration): boolean {
  return controller !== null && restrictsQueries(controller.value as never);
}

/** What the model itself says of a property, or of the class. */
function commentOf(meta: EntityMetadata, property?: string): string | undefined {
  if (property === undefined) return meta.comment || undefined;
  return (meta.properties[property as never] as EntityProperty | undefined)?.comment || undefined;
}
