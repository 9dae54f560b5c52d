import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { restrictsQueries } from '../../actions/controller/controller-class.ts';
import { bodyDenormalizerOf, denormalizerClasses, denormalizerOf } from '../../change/associations.ts';
import type { Mapper } from '../../database/mapper.ts';
import type {
  ActionDeclaration,
  ApiDeclaration,
  Catalog,
  Declaration,
  DescribedDeclaration,
  StandardSchema,
} from '../../declaration/types.ts';
import { metaOf, sameLine } from '../../model/hierarchy.ts';
import type { RouteRecord } from '../../route/record.ts';
import { type JsonSchema, listIf, mapRefs } from '../json-schema.ts';
import { sourceComments } from '../source-comments.ts';
import { Components, type SchemaContext } from './components.ts';
import { readSchemas } from './read-schemas.ts';
import { type BodyGroups, writeSchemas } from './write-schemas.ts';

export interface SchemaSource {
  readonly declaration: Declaration;
  readonly catalog: Catalog;
  readonly mapper: Mapper;
  /** The directory of the application's sources. */
  readonly directory: string;
}

export interface Described extends SchemaSource {
  readonly records: readonly RouteRecord[];
  readonly production: boolean;
}

export type Schemas = ReturnType<typeof schemasOf>;

/** The schemas of models, and the declared schemas of bodies and results of custom handlers. */
export function schemasOf({ catalog, declaration, directory, mapper }: SchemaSource) {
  const components = new Components();
  const denormalizers = denormalizerClasses(catalog.denormalizers);
  const restricted = declaration.apis.filter(restricts).map(({ class: model }) => metaOf(mapper, model.value));
  const sourceComment = sourceComments(directory, catalog);
  const context: SchemaContext = {
    mapper,
    components,
    hides: (meta) => restricted.some((other) => sameLine(meta, other)),
    describe: (meta, property) => commentOf(meta, property) ?? sourceComment(meta, property),
    denormalizes: (meta, property) => denormalizerOf(denormalizers, meta, property) !== undefined,
  };
  const read = readSchemas(context);
  const write = writeSchemas(context);

  function body(api: ApiDeclaration, action: ActionDeclaration, declared: DescribedDeclaration): JsonSchema {
    if (declared.kind !== 'model') return plain(`${nameOf(api, action)}Body`, declared, 'input');
    const meta = metaOf(mapper, declared.model.value);
    return declared.as === 'reference' ? write.reference([meta]) : write.of(meta, 'create', bodyGroups(api, action));
  }

  function result(api: ApiDeclaration, action: ActionDeclaration, declared: DescribedDeclaration): JsonSchema {
    if (declared.kind !== 'model') return plain(`${nameOf(api, action)}Result`, declared, 'output');
    const meta = metaOf(mapper, declared.model.value);
    const { read: groups } = action.groups;
    return declared.as === 'collection'
      ? read.collection(meta, api, groups)
      : listIf(declared.as === 'list', read.of(meta, groups));
  }

  function plain(name: string, declared: Exclude<DescribedDeclaration, { kind: 'model' }>, direction: 'input' | 'output') {
    const schema = declared.kind === 'json' ? declared.schema : jsonSchemaOf(declared.schema, direction);
    return schema === null ? {} : named(name, schema);
  }

  /** Adds a schema and its `$defs` to the components of the document. */
  function named(name: string, { $schema: _, $id: __, $defs, ...schema }: JsonSchema): JsonSchema {
    const own = components.reserve([name]);
    const parts = Object.entries(($defs ?? {}) as Record<string, JsonSchema>).map(([key, part]) => ({
      part,
      pointer: `#/$defs/${key}`,
      reserved: components.reserve([`${name}${capital(key)}`]),
    }));
    const refs = new Map([['#', own.ref.$ref], ...parts.map(({ pointer, reserved }) => [pointer, reserved.ref.$ref] as const)]);
    const inDocument = (part: JsonSchema) => mapRefs(part, (ref) => String(refs.get(ref) ?? ref)) as JsonSchema;
    for (const { part, reserved } of parts) reserved.define(inDocument(part));
    own.define(inDocument(schema));
    return own.ref;
  }

  /** Whether the application itself reads the body that names an item of an association. */
  function denormalizes(api: ApiDeclaration, { association, name }: ActionDeclaration, meta: EntityMetadata): boolean {
    const own = bodyDenormalizerOf(denormalizers, `${api.name}.${name}`);
    return own !== undefined || (association !== null && context.denormalizes(meta, association.property));
  }

  return { components, describe: context.describe, read, write, body, result, denormalizes };
}

export function bodyGroups(api: ApiDeclaration, action: ActionDeclaration): BodyGroups {
  return { active: action.groups.write, usual: api.groups.write, read: action.groups.read };
}

function restricts({ controller }: ApiDeclaration): boolean {
  return controller !== null && restrictsQueries(controller.value as never);
}

function commentOf(meta: EntityMetadata, property?: string): string | undefined {
  if (property === undefined) return meta.comment || undefined;
  return (meta.properties[property as never] as EntityProperty | undefined)?.comment || undefined;
}

function nameOf(api: ApiDeclaration, action: ActionDeclaration): string {
  return `${capital(api.name)}${capital(action.name)}`;
}

function capital(text: string): string {
  return text.replace(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_, first: string) => first.toUpperCase());
}

interface SelfDescribing extends StandardSchema {
  readonly '~standard': StandardSchema['~standard'] & {
    readonly jsonSchema?: Readonly<Record<'input' | 'output', (options: { target: string }) => JsonSchema>>;
  };
  /** The methods of zod and arktype. */
  toJSONSchema?(options: { io: string }): JsonSchema;
  toJsonSchema?(): JsonSchema;
}

/** The JSON Schema of a Standard Schema; null if the library cannot express it. */
function jsonSchemaOf(schema: StandardSchema, direction: 'input' | 'output'): JsonSchema | null {
  const own = schema as SelfDescribing;
  try {
    const made =
      own['~standard'].jsonSchema?.[direction]({ target: 'draft-2020-12' }) ??
      own.toJSONSchema?.({ io: direction }) ??
      own.toJsonSchema?.();
    return made === undefined ? null : (JSON.parse(JSON.stringify(made)) as JsonSchema);
  } catch {
    return null;
  }
}
