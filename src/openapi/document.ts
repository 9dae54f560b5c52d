import { isTurnLong, nextTurn } from '../event-loop.ts';
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
export function openApiDocument(described: Described, info: Info, serving: Serving = {}): OpenApiDocument {
  const steps = documentSteps(described, info, serving);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** The same in several turns of the event loop. */
export async function openApiInTurns(described: Described, info: Info, serving: Serving): Promise<OpenApiDocument> {
  const steps = documentSteps(described, info, serving);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
    if (isTurnLong()) await nextTurn();
  }
}

/** Yields after each model and route, and at first. */
function* documentSteps(
  described: Described,
  info: Info,
  { prefix = '', ownServer = true }: Serving,
): Generator<void, OpenApiDocument> {
  const { declaration, mapper } = described;
  // the code of this folder has just been loaded
  yield;
  const records = described.records.filter((record) => !isHidden(record));
  const shown = new Set(records.map(({ api }) => api));
  const apis = declaration.apis.filter((api) => shown.has(api)).map((api) => ({ ...api, meta: metaOf(mapper, api.class.value) }));
  const operations = operationsOf(described, records);
  yield;
  const writer = operationWriter(described, operations, ownServer ? declaration.server.requestIdHeader : null);
  const { describe, components, read } = writer.schemas;
  // the models of APIs get the plain names, even if another model embeds them first
  for (const { groups, meta } of apis) read.prefer(meta, groups.read);
  for (const { groups, meta } of apis) {
    read.of(meta, groups.read);
    yield;
  }
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of operations) {
    const path = operation.record.path.replace('{_format}', operation.format);
    paths[path] ??= {};
    paths[path][operation.method.toLowerCase()] = writer.describe(operation);
    yield;
  }
  const tags = apis.map(({ name, basePath, class: model, description, meta }) => ({
    name,
    description: description ?? describe(meta) ?? `The API of ${model.name} at ${basePath}.`,
  }));
  const others = new Set(records.filter(({ api }) => api === null).map(ownerOf));
  const responses = writer.sharedResponses();
  const schemas = components.schemas();
  const shownSchemas: Record<string, JsonSchema> = {};
  for (const [name, schema] of Object.entries(schemas)) {
    shownSchemas[name] = { ...schema, examples: [exampleOf(schema, schemas)] };
    yield;
  }
  return {
    openapi: '3.1.1',
    info: { ...info },
    servers: [serverAt(`${declaration.server.baseUrl}${prefix.replace(/\/$/, '')}` || '/')],
    tags: [...tags, ...[...others].map((name) => ({ name, description: `Routes of ${name}.` }))],
    paths,
    components: {
      ...writer.headers.components(),
      responses,
      schemas: shownSchemas,
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
