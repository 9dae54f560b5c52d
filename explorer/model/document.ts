import type { Key } from './key.ts';
import { modelsOf, optionsOf, propertiesOf, resolve, type Schema, type Schemas } from './schema.ts';

export interface Parameter {
  readonly name: string;
  readonly in: 'query' | 'path' | 'header';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: Schema;
  /** The role that a caller needs for the parameter. */
  readonly 'x-role'?: string;
  /** The roles for single values, by field. */
  readonly 'x-role-of'?: Readonly<Record<string, string>>;
}

type Content = Readonly<Record<string, { readonly schema?: Schema }>>;

interface DocumentOperation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly (Parameter | { readonly $ref: string })[];
  readonly requestBody?: { readonly required?: boolean; readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
  readonly 'x-action'?: string;
  readonly 'x-association'?: string;
}

export interface SecurityScheme {
  readonly type: string;
  readonly scheme?: string;
  readonly in?: string;
  readonly name?: string;
}

export interface OpenApiDocument {
  readonly info: { readonly title: string; readonly version: string; readonly description?: string };
  readonly tags?: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentOperation>>>>;
  readonly components?: {
    readonly schemas?: Schemas;
    readonly parameters?: Readonly<Record<string, Parameter>>;
    readonly securitySchemes?: Readonly<Record<string, SecurityScheme>>;
  };
}

/** One method of a path, as the explorer needs it. */
export interface Operation {
  /** The `operationId`. */
  readonly id: string | null;
  readonly method: string;
  readonly path: string;
  readonly format: string;
  readonly action: string | null;
  readonly association: string | null;
  readonly summary: string;
  readonly description: string | null;
  readonly query: readonly Parameter[];
  /** The placeholders of the path, `id` included. */
  readonly inPath: readonly Parameter[];
  readonly body: Schema | null;
  readonly bodyRequired: boolean;
  readonly result: Schema | null;
  readonly isPublic: boolean;
  readonly takesKey: boolean;
  readonly takesTag: boolean;
}

export interface Api {
  readonly name: string;
  readonly description: string | null;
  readonly list: Operation | null;
  readonly exports: readonly Operation[];
  /** Counts and other values for groups of rows. */
  readonly aggregate: Operation | null;
  readonly aggregateExports: readonly Operation[];
  readonly create: Operation | null;
  readonly get: Operation | null;
  readonly patch: Operation | null;
  readonly put: Operation | null;
  readonly remove: Operation | null;
  /** Adding to and removing from associations, by property. */
  readonly associations: ReadonlyMap<string, { readonly add: Operation | null; readonly remove: Operation | null }>;
  /** Custom actions, and routes of services. */
  readonly actions: readonly Operation[];
  /** The model of the rows; null if the API does not show any. */
  readonly model: string | null;
  /** The schema of a row. */
  readonly item: Schema;
  /** The rows of the list, which can have fewer fields. */
  readonly row: Schema;
  readonly key: Key;
}

export interface Catalogue {
  readonly title: string;
  readonly version: string;
  readonly description: string | null;
  readonly schemas: Schemas;
  readonly apis: readonly Api[];
  readonly security: Readonly<Record<string, SecurityScheme>>;
}

/** Reads the OpenAPI document. `mount` stands before every path, as the server of the document says. */
export function readDocument(document: OpenApiDocument, mount = ''): Catalogue {
  const schemas = document.components?.schemas ?? {};
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => method !== 'head' && method !== 'options')
      .map(([method, described]) => ({
        tag: described.tags?.[0] ?? '',
        operation: operationOf(document, mount + path, method, described),
      })),
  );
  const names = [...new Set([...(document.tags ?? []).map(({ name }) => name), ...operations.map(({ tag }) => tag)])];
  const apis = names.flatMap((name) => {
    const own = operations.filter(({ tag }) => tag === name).map(({ operation }) => operation);
    const description = document.tags?.find((tag) => tag.name === name)?.description ?? null;
    return own.length === 0 ? [] : [apiOf(name, description, own, schemas)];
  });
  const { title, version, description = null } = document.info;
  return { title, version, description, schemas, apis, security: document.components?.securitySchemes ?? {} };
}

function operationOf(document: OpenApiDocument, path: string, method: string, described: DocumentOperation): Operation {
  const shared = document.components?.parameters ?? {};
  const parameters = (described.parameters ?? []).flatMap((each) =>
    '$ref' in each ? (shared[each.$ref.slice(each.$ref.lastIndexOf('/') + 1)] ?? []) : each,
  );
  const takes = (name: string) => parameters.some((each) => each.in === 'header' && each.name.toLowerCase() === name);
  const success = Object.entries(described.responses).find(([status]) => status.startsWith('2'))?.[1];
  return {
    id: described.operationId ?? null,
    method: method.toUpperCase(),
    path,
    format: /\.(\w+)$/.exec(path)?.[1] ?? 'json',
    action: described['x-action'] ?? null,
    association: described['x-association'] ?? null,
    summary: described.summary ?? `${method.toUpperCase()} ${path}`,
    description: described.description ?? null,
    query: parameters.filter((each) => each.in === 'query'),
    inPath: parameters.filter((each) => each.in === 'path'),
    body: described.requestBody?.content['application/json']?.schema ?? null,
    bodyRequired: described.requestBody?.required === true,
    result: success?.content?.['application/json']?.schema ?? null,
    isPublic: (described.security ?? [{}]).some((scheme) => Object.keys(scheme).length === 0),
    takesKey: takes('idempotency-key'),
    takesTag: takes('if-match'),
  };
}

function apiOf(name: string, description: string | null, all: readonly Operation[], schemas: Schemas): Api {
  const json = all.filter(({ format }) => format === 'json');
  const find = (action: string, method: string) =>
    json.find((operation) => operation.action === action && operation.method === method) ?? null;
  const exportsOf = (action: string) =>
    all.filter((each) => each.action === action && each.method === 'GET' && each.format !== 'json');
  const list = find('_index', 'GET');
  const get = find('_entity', 'GET');
  const create = find('_index', 'POST');
  const patch = find('_entity', 'PATCH');
  const put = find('_entity', 'PUT');
  const results = list?.result && propertiesOf(schemas, list.result).get('results');
  const item =
    get?.result ?? (results && resolve(schemas, results).items) ?? create?.result ?? patch?.result ?? put?.result ?? {};
  const model = modelsOf(schemas, item)[0] ?? null;
  const associated = json.filter(({ association }) => association !== null);
  return {
    name,
    description,
    list,
    exports: exportsOf('_index'),
    aggregate: find('_aggregate', 'GET'),
    aggregateExports: exportsOf('_aggregate'),
    create,
    get,
    patch,
    put,
    remove: find('_entity', 'DELETE'),
    associations: new Map(
      [...new Set(associated.map(({ association }) => association as string))].map((property) => {
        const of = (method: string) => associated.find((each) => each.association === property && each.method === method) ?? null;
        return [property, { add: of('POST'), remove: of('DELETE') }];
      }),
    ),
    actions: json.filter(
      ({ action, association }) => !['_index', '_entity', '_aggregate'].includes(action ?? '') && association === null,
    ),
    model,
    item,
    row: (results && resolve(schemas, results).items) ?? item,
    key: keyOf(schemas, model, item),
  };
}

/** The key of rows. Its name is the one in references to the model. */
function keyOf(schemas: Schemas, model: string | null, item: Schema): Key {
  const composite = optionsOf(schemas, item)[0]?.['x-key'];
  if (composite) return composite;
  const reference = Object.entries(schemas).find(
    ([name, schema]) => name.endsWith('Reference') && schema['x-model'] === model && model !== null,
  )?.[1];
  const named = reference?.required?.find((property) => property !== 'type');
  return [named ?? (propertiesOf(schemas, item).has('id') ? 'id' : ([...propertiesOf(schemas, item).keys()][0] ?? 'id'))];
}

/** The APIs that show rows of a model, the most useful one first. */
export function apiOfModel({ apis, schemas }: Catalogue, model: string): Api | null {
  const own = apis.filter((api) => modelsOf(schemas, api.item).includes(model) || variantsOf(schemas, api.item).includes(model));
  return own.find(({ get, list }) => get && list) ?? own.find(({ get }) => get) ?? own[0] ?? null;
}

/** The classes of a model with a discriminator: `Note` and `Letter` for `Document`. */
function variantsOf(schemas: Schemas, item: Schema): readonly string[] {
  const { anyOf, oneOf } = resolve(schemas, item);
  return (oneOf ?? anyOf ?? []).flatMap((option) => modelsOf(schemas, option));
}

/** Whether an action is about one row. */
export function isSingle({ inPath }: Operation): boolean {
  return inPath.some(({ name }) => name === 'id');
}

/** Whether the id of an operation has several parts. */
export function hasCompositeId({ inPath }: Pick<Operation, 'inPath'>): boolean {
  return inPath.some(({ name, schema }) => name === 'id' && schema.type === 'array');
}

/** The placeholders of a path other than the id: those of the base path. */
export function placeholdersOf({ inPath }: Operation): readonly Parameter[] {
  return inPath.filter(({ name }) => name !== 'id');
}
