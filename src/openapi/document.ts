import { metaOf } from '../model/hierarchy.ts';
import { isHidden } from '../route/record.ts';
import { exampleOf } from './example.ts';
import type { Info } from './info.ts';
import type { JsonSchema } from './json-schema.ts';
import { operationWriter } from './operation-writer.ts';
import { operationsOf, ownerOf } from './operations.ts';
import type { Described } from './schemas/schemas.ts';

/** An OpenAPI document, ready for `JSON.stringify`. */
export type OpenApiDocument = JsonSchema;

export interface Serving {
  readonly prefix?: string;
  /** Whether our own server serves the application: its responses have the ids of their requests. */
  readonly ownServer?: boolean;
}

/** Describes every route of an application that is not hidden, from the plans that requests use. */
export function openApiDocument(
  described: Described,
  info: Info,
  { prefix = '', ownServer = true }: Serving = {},
): OpenApiDocument {
  const { declaration, mapper } = described;
  const records = described.records.filter((record) => !isHidden(record));
  const shown = new Set(records.map(({ api }) => api));
  const apis = declaration.apis.filter((api) => shown.has(api)).map((api) => ({ ...api, meta: metaOf(mapper, api.class.value) }));
  const operations = operationsOf(described, records);
  const writer = operationWriter(described, operations, ownServer ? declaration.server.requestIdHeader : null);
  const { describe, components, read } = writer.schemas;
  // the models of APIs get the plain names, even if another model embeds them first
  for (const { groups, meta } of apis) read.prefer(meta, groups.read);
  for (const { groups, meta } of apis) read.of(meta, groups.read);
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of operations) {
    const path = operation.record.path.replace('{_format}', operation.format);
    paths[path] ??= {};
    paths[path][operation.method.toLowerCase()] = writer.describe(operation);
  }
  const tags = apis.map(({ name, basePath, class: model, description, meta }) => ({
    name,
    description: description ?? describe(meta) ?? `The API of ${model.name} at ${basePath}.`,
  }));
  const others = new Set(records.filter(({ api }) => api === null).map(ownerOf));
  const responses = writer.sharedResponses();
  return {
    openapi: '3.1.1',
    info: { ...info },
    servers: [serverAt(`${declaration.server.baseUrl}${prefix.replace(/\/$/, '')}` || '/')],
    tags: [...tags, ...[...others].map((name) => ({ name, description: `Routes of ${name}.` }))],
    paths,
    components: {
      ...writer.headers.components(),
      responses,
      schemas: withExamples(components.schemas()),
      securitySchemes: writer.securitySchemes,
    },
  };
}

/** A prefix can have parameters in the notation of Fastify; they become variables of the server. */
function serverAt(url: string): JsonSchema {
  const names = [...url.matchAll(/\/:(\w+)/g)].map(([, name]) => name as string);
  if (names.length === 0) return { url };
  const variables = Object.fromEntries(names.map((name) => [name, { default: name }]));
  return { url: url.replace(/\/:(\w+)/g, '/{$1}'), variables };
}

function withExamples(schemas: Record<string, JsonSchema>): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, { ...schema, examples: [exampleOf(schema, schemas)] }]),
  );
}
