import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { hasHooks } from '../actions/api-controller.ts';
import { accessorsFor } from '../change/accessors.ts';
import { planWrites } from '../change/write-plan.ts';
import type { ActionDeclaration, ApiDeclaration, AssociationDeclaration, Format, HttpMethod } from '../declaration/types.ts';
import { planFields, targetsOf } from '../model/field-plan.ts';
import { readGroups, writeGroups } from '../model/groups.ts';
import { concreteClasses, metaOf } from '../model/hierarchy.ts';
import { keyKind } from '../model/identifier.ts';
import { versionOf } from '../model/version.ts';
import { pageParameters } from '../response/page-request.ts';
import { orderRecords } from '../route/order.ts';
import { parsePath, placeholdersOf } from '../route/pattern.ts';
import { defaultIdRequirement, isHidden, type RouteRecord } from '../route/record.ts';
import { maxValueLength } from '../route/requirement.ts';
import { contentTypes, isExport } from '../serialization/formats.ts';
import { type AnswerHeader, AnswerHeaders, type HeadersOf } from './answer-headers.ts';
import type { Components } from './components.ts';
import { type ConditionParameter, conditionParameters, isTagged, needsIfMatch, notModified, takesIfMatch } from './conditions.ts';
import type { DeclaredSchemas } from './declared-schemas.ts';
import { exampleOf } from './example.ts';
import { keyParameter, keyParameters, takesKey } from './idempotency.ts';
import type { Info } from './info.ts';
import { type JsonSchema, valueSchema } from './json-schema.ts';
import { listParameters } from './list-parameters.ts';
import { anyProblemSchema, type ProblemStatus, problemMediaType, problemResponse, problemResponses } from './problems.ts';
import { collectionSchema, type ReadSchemas } from './read-schemas.ts';
import { type Described, schemasOf } from './schemas.ts';
import type { BodyMode, WriteSchemas } from './write-schemas.ts';

/** An OpenAPI document, ready for `JSON.stringify`. */
export type OpenApiDocument = JsonSchema;

/** Describes every route of an application that is not hidden, from the plans that answer its requests. */
export function openApiDocument(described: Described, info: Info, serving: Serving = {}): OpenApiDocument {
  return new Writer(described, serving).document(info);
}

/** Who serves what is described. */
export interface Serving {
  /** What the application is mounted under. */
  readonly prefix?: string;
  /** Whether the server is ours, whose answers tell what their requests are called; one of someone else's may not. */
  readonly ownServer?: boolean;
}

const bodyModes: Readonly<Partial<Record<HttpMethod, BodyMode>>> = { POST: 'create', PATCH: 'patch', PUT: 'replace' };

class Writer {
  readonly #described: Described;
  readonly #components: Components;
  readonly #read: ReadSchemas;
  readonly #write: WriteSchemas;
  readonly #declared: DeclaredSchemas;
  readonly #describe: (meta: EntityMetadata) => string | undefined;
  /** Those that some operation can be refused with. */
  readonly #statuses = new Set<ProblemStatus>();
  readonly #conditionsUsed = new Set<ConditionParameter>();
  readonly #headers: AnswerHeaders;
  readonly #prefix: string;
  #takesKeys = false;
  #isLimited = false;
  /** Whether code of the application answers anywhere, which can refuse as it likes. */
  #answersItself = false;

  constructor(described: Described, { ownServer = true, prefix = '' }: Serving) {
    this.#described = described;
    this.#headers = new AnswerHeaders(ownServer ? described.declaration.server.requestIdHeader : null);
    this.#prefix = prefix;
    const { components, declared, describe, read, write } = schemasOf(described);
    this.#describe = describe;
    this.#components = components;
    this.#read = read;
    this.#write = write;
    this.#declared = declared;
  }

  document(info: Info): OpenApiDocument {
    const { declaration } = this.#described;
    const records = this.#described.records.filter((record) => !isHidden(record));
    const shown = new Set(records.map(({ api }) => api));
    const apis = declaration.apis.filter((api) => shown.has(api));
    // the models of APIs have the plain names, whoever embeds them first
    for (const { class: model } of apis) this.#modelSchema(metaOf(this.#described.mapper, model.value));
    const paths: Record<string, Record<string, unknown>> = {};
    for (const record of orderRecords(records)) {
      for (const format of record.formats) {
        const path = record.path.replace('{_format}', format);
        for (const method of record.methods.filter((one) => isAnswered(record, one))) {
          paths[path] ??= {};
          paths[path][method.toLowerCase()] = this.#operation(record, method, format);
        }
      }
    }
    const responses = {
      ...(this.#conditionsUsed.has('IfNoneMatch') && {
        NotModified: { ...notModified, ...this.#headers.of({ always: ['ETag'], maybe: this.#limitHeaders }) },
      }),
      ...problemResponses(this.#statuses, this.#components, (status) => this.#headers.of(this.#refusalHeaders(status))),
    };
    return {
      openapi: '3.1.1',
      info: { ...info },
      servers: [serverAt(`${declaration.server.baseUrl}${this.#prefix.replace(/\/$/, '')}` || '/')],
      tags: this.#tags(apis, records),
      paths,
      components: {
        ...this.#sharedHeaders(),
        responses,
        schemas: withExamples(this.#components.schemas()),
        securitySchemes: this.#securitySchemes(),
      },
    };
  }

  /** The headers of requests and of answers that operations refer to. */
  #sharedHeaders(): JsonSchema {
    const parameters = { ...conditionParameters(this.#conditionsUsed), ...(this.#takesKeys && keyParameters) };
    const headers = this.#headers.components();
    return {
      ...(Object.keys(headers).length > 0 && { headers }),
      ...(Object.keys(parameters).length > 0 && { parameters }),
    };
  }

  #tags(apis: readonly ApiDeclaration[], records: readonly RouteRecord[]): JsonSchema[] {
    const { mapper } = this.#described;
    const described = apis.map(({ name, basePath, class: model, description }) => ({
      name,
      description: description ?? this.#describe(metaOf(mapper, model.value)) ?? `The API of ${model.name} at ${basePath}.`,
    }));
    const others = new Set(records.filter(({ api }) => api === null).map(tagOf));
    return [...described, ...[...others].map((name) => ({ name, description: `Routes of ${name}.` }))];
  }

  #operation(record: RouteRecord, method: HttpMethod, format: string): JsonSchema {
    const { api, action, definition, name, roles } = record;
    const asked = roles[method] ?? [];
    const body = api && action ? this.#body(api, action, method) : null;
    const description = action?.descriptions[method] ?? definition?.description;
    return {
      operationId: `${name}_${method.toLowerCase()}${format === 'json' ? '' : `_${format}`}`,
      summary: summaryOf(record, method),
      ...(description !== undefined && { description }),
      tags: [tagOf(record)],
      security: this.#security(asked.length > 0),
      ...(asked.length > 0 && { 'x-roles': [...asked] }),
      parameters: [
        ...this.#pathParameters(record),
        ...this.#queryParameters(record, method, format),
        ...this.#conditions(record, method, format),
        ...(this.#takesKey(record, method) ? [keyParameter] : []),
      ],
      ...(body && { requestBody: { required: !isOptional(action, method), content: { 'application/json': { schema: body } } } }),
      responses: this.#responses(record, method, format, asked.length > 0),
    };
  }

  #body(api: ApiDeclaration, action: ActionDeclaration, method: HttpMethod): JsonSchema | null {
    const { mapper } = this.#described;
    const meta = metaOf(mapper, api.class.value);
    if (action.association && (method === 'POST' || method === 'DELETE')) {
      const { property, types } = action.association;
      const own = meta.properties[property as never] as EntityProperty | undefined;
      const targets = types.length > 0 ? types.map(({ value }) => metaOf(mapper, value)) : own ? targetsOf(own) : [];
      return targets.length > 0 ? this.#write.reference(targets) : {};
    }
    if (!isSupplied(action)) {
      if (method === 'GET' || method === 'HEAD') return null;
      return action.body ? this.#declared.body(api, action, action.body) : {};
    }
    const mode = bodyModes[method];
    if (!mode || (action.kind === 'index') !== (mode === 'create')) return null;
    const plans = concreteClasses(mapper, meta).map((of) => planWrites(mapper, of, writeGroups));
    return this.#write.of(plans, meta.className, mode);
  }

  #conditions(record: RouteRecord, method: HttpMethod, format: string): JsonSchema[] {
    const bound = this.#needsIfMatch(record, method) ? 'IfMatchRequired' : 'IfMatch';
    const name = isTagged(record, method, format) ? 'IfNoneMatch' : takesIfMatch(record, method) ? bound : null;
    if (name === null) return [];
    this.#conditionsUsed.add(name);
    return [{ $ref: `#/components/parameters/${name}` }];
  }

  #takesKey(record: RouteRecord, method: HttpMethod): boolean {
    const takes = takesKey(record, method, this.#described.declaration);
    this.#takesKeys ||= takes;
    return takes;
  }

  #needsIfMatch(record: RouteRecord, method: HttpMethod): boolean {
    const { api } = record;
    return needsIfMatch(record, method, api !== null && versionOf(metaOf(this.#described.mapper, api.class.value)) !== null);
  }

  #responses(record: RouteRecord, method: HttpMethod, format: string, guarded: boolean): JsonSchema {
    const good = this.#success(record, method, format).map(([status, described]): [string, JsonSchema] => [
      status,
      { ...described, ...this.#headers.of(this.#successHeaders(record, method, format)) },
    ]);
    if (isTagged(record, method, format) && good.length > 0) good.push(['304', { $ref: '#/components/responses/NotModified' }]);
    const refusals = this.#refusals(record, method, format, guarded).map((status) => {
      this.#statuses.add(status);
      return [String(status), problemResponse(status)] as const;
    });
    return Object.fromEntries([...good, ...refusals, ...this.#others(record, method, format)]);
  }

  #successHeaders(record: RouteRecord, method: HttpMethod, format: string): HeadersOf {
    const own = ownHeaders(record, method, format);
    const limited = this.#isLimitedAt(record) ? limitHeaders : [];
    const replayed: AnswerHeader[] = this.#takesKey(record, method) ? ['IdempotencyReplayed'] : [];
    return answersAsSupplied(record)
      ? { always: [...own, ...limited], maybe: replayed }
      : { always: limited, maybe: [...own, ...replayed] };
  }

  /** What refusals of a status have, whichever operation is refused. */
  #refusalHeaders(status: ProblemStatus): HeadersOf {
    switch (status) {
      case 401:
        return { always: ['WWWAuthenticate'], maybe: this.#limitHeaders };
      case 409:
        // where the first request with a key is still under way
        return { maybe: [...(this.#takesKeys ? (['RetryAfter'] as const) : []), ...this.#limitHeaders] };
      case 429: {
        const counted: AnswerHeader[] = ['RetryAfter', ...limitHeaders];
        return this.#answersItself ? { maybe: counted } : { always: counted };
      }
      case 503:
      case 507:
        return { always: ['RetryAfter'], maybe: this.#limitHeaders };
      default:
        return { maybe: this.#limitHeaders };
    }
  }

  /** What an answer may tell of how often the caller may still ask. */
  get #limitHeaders(): readonly AnswerHeader[] {
    return this.#isLimited ? limitHeaders : [];
  }

  #isLimitedAt({ api }: RouteRecord): boolean {
    const isLimited = (api ?? this.#described.declaration.server).rateLimit !== null;
    this.#isLimited ||= isLimited;
    return isLimited;
  }

  /** What code of the application answers that the declaration knows nothing of. */
  #others(record: RouteRecord, method: HttpMethod, format: string): [string, JsonSchema][] {
    if (answersAsSupplied(record)) return [];
    this.#answersItself = true;
    const description = 'What the application itself answers in other cases.';
    const headers = this.#headers.of({ maybe: this.#isLimitedAt(record) ? limitHeaders : [] });
    if (method === 'HEAD') return [['default', { description, ...headers }]];
    const problem = { [problemMediaType]: { schema: anyProblemSchema(this.#components) } };
    const content = { ...contentOf('json', {}), ...contentOf(format, {}), ...problem };
    return [['default', { description, ...headers, content }]];
  }

  #success({ api, action }: RouteRecord, method: HttpMethod, format: string): [string, JsonSchema][] {
    const answered = (description: string, schema: JsonSchema) => ({ description, content: contentOf(format, schema) });
    if (method === 'HEAD') return [['200', { description: 'What GET would answer, without its body.' }]];
    if (api && action?.result)
      return [['200', answered('What the handler gives.', this.#declared.result(api, action, action.result))]];
    if (!api || !action || !(isSupplied(action) || action.association)) return [['200', answered('What the handler gives.', {})]];
    const meta = metaOf(this.#described.mapper, api.class.value);
    if (action.association)
      return [['200', answered('What was added or removed.', this.#item(meta, action.association, method))]];
    const model = this.#modelSchema(meta);
    switch (`${action.kind} ${method}`) {
      case 'index GET':
        if (isExport(format)) return [['200', answered('The whole list.', model)]];
        return [['200', answered('A page of the list.', this.#collection(api, model))]];
      case 'index POST':
        return [['201', answered('It was created.', model)]];
      case 'entity DELETE':
        return [['204', { description: 'It was removed.' }]];
      case 'entity GET':
      case 'entity PATCH':
      case 'entity PUT':
        return [['200', answered('The entity.', model)]];
      default:
        return [];
    }
  }

  /** What is in an association; a model's own method may give something else than the item that it was given. */
  #item(meta: EntityMetadata, { property, types }: AssociationDeclaration, method: HttpMethod): JsonSchema {
    const { mapper } = this.#described;
    const own = meta.properties[property as never] as EntityProperty | undefined;
    const verb = method === 'DELETE' ? 'remove' : 'add';
    const classes = concreteClasses(mapper, meta);
    if (!own || classes.some((of) => accessorsFor(of, property)?.methods.some((name) => name.startsWith(verb)))) return {};
    const targets = types.length > 0 ? types.map(({ value }) => metaOf(mapper, value)) : targetsOf(own);
    const schemas = targets.map((target) => this.#modelSchema(target));
    return schemas.length === 1 ? (schemas[0] as JsonSchema) : { anyOf: schemas };
  }

  #collection(api: ApiDeclaration, item: JsonSchema): JsonSchema {
    const exact = api.pagination.count === 'exact';
    return collectionSchema(item, metaOf(this.#described.mapper, api.class.value).className, exact, this.#components);
  }

  #refusals(record: RouteRecord, method: HttpMethod, format: string, guarded: boolean): ProblemStatus[] {
    const { api, action, single } = record;
    const writes = method !== 'GET' && method !== 'HEAD';
    const hasBody = writes && !(method === 'DELETE' && action && isSupplied(action));
    const found: [ProblemStatus, boolean][] = [
      [400, true],
      [401, guarded || this.#security(true).length > 0],
      [403, guarded],
      [404, single && api !== null],
      [409, writes],
      [412, isTagged(record, method, format) || (api !== null && writes && (single || action?.kind === 'index'))],
      // whoever sends a body where none is wanted is told so as well
      [413, writes],
      [414, true],
      [415, writes],
      // a handler of the application's own tells of violations as it likes
      [
        422,
        (hasBody || this.#takesKey(record, method)) && action !== null && (isSupplied(action) || action.association !== null),
      ],
      [428, this.#needsIfMatch(record, method)],
      [429, this.#isLimitedAt(record)],
      [500, true],
      [501, this.#takesKey(record, method) && this.#described.declaration.database.schema === 'none'],
      [503, true],
      [507, writes],
    ];
    return found.flatMap(([status, can]) => (can ? [status] : []));
  }

  #pathParameters({ api, requirements, path }: RouteRecord): JsonSchema[] {
    return placeholdersOf(parsePath(path).pattern).map((name) => ({
      name,
      in: 'path',
      required: true,
      schema: this.#placeholderSchema(name, requirements[name], api),
    }));
  }

  #queryParameters({ api, action }: RouteRecord, method: HttpMethod, format: string): JsonSchema[] {
    if (!api || !action?.list || !isSupplied(action) || (method !== 'GET' && method !== 'HEAD')) return [];
    const { mapper } = this.#described;
    const parameters = listParameters(
      action.list,
      api.pagination,
      planFields(mapper, metaOf(mapper, api.class.value), readGroups),
    );
    // an export is the whole list
    return isExport(format) ? parameters.filter(({ name }) => !pageParameters.includes(String(name))) : parameters;
  }

  #placeholderSchema(name: string, requirement: string | undefined, api: ApiDeclaration | null): JsonSchema {
    const text: JsonSchema = { type: 'string', minLength: 1, maxLength: maxValueLength };
    if (name === 'id' && api) {
      const { mapper } = this.#described;
      const kind = keyKind(metaOf(mapper, api.class.value), mapper.driver.getPlatform());
      if (kind.kind === 'integer' && requirement === defaultIdRequirement)
        return { type: 'integer', minimum: 0, maximum: kind.max };
      if (kind.kind === 'uuid') return valueSchema(kind, 'write');
      if (kind.kind === 'date' || kind.kind === 'enum') return valueSchema(kind, 'write');
    }
    return requirement === undefined ? text : { ...text, pattern: `^(?:${requirement})$` };
  }

  #modelSchema(meta: EntityMetadata): JsonSchema {
    return this.#read.of(planFields(this.#described.mapper, meta, readGroups), meta.className);
  }

  /** Where nobody has to say who they are, they still may. */
  #security(guarded: boolean): JsonSchema[] {
    const schemes = Object.keys(this.#securitySchemes()).map((name) => ({ [name]: [] }));
    return guarded || schemes.length === 0 ? schemes : [{}, ...schemes];
  }

  #securitySchemes(): Record<string, JsonSchema> {
    const { apiKeys, jwt } = this.#described.declaration.security;
    return {
      ...(jwt && { token: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } }),
      ...(apiKeys.length > 0 && { key: { type: 'apiKey', in: 'header', name: 'X-Api-Key' } }),
    };
  }
}

const limitHeaders: readonly AnswerHeader[] = ['RateLimit', 'RateLimitPolicy'];

/** What the supplied actions say in headers where they did what was asked. */
function ownHeaders(record: RouteRecord, method: HttpMethod, format: string): AnswerHeader[] {
  if (isTagged(record, method, format)) return ['ETag'];
  const { action } = record;
  if (!action || !isSupplied(action)) return [];
  switch (`${action.kind} ${method}`) {
    case 'index POST':
      return ['ETag', 'Location'];
    case 'entity PATCH':
      return ['ETag'];
    case 'entity PUT':
      return ['ContentLocation', 'ETag'];
    default:
      return [];
  }
}

/** Whether no code of the application takes part in an answer. */
function answersAsSupplied({ api, action }: RouteRecord): boolean {
  return api !== null && action !== null && isSupplied(action) && !answersItself(api);
}

/** What is sent in a format: of others than JSON, nothing is said but their type. */
function contentOf(format: string, schema: JsonSchema): JsonSchema {
  const type = (contentTypes[format as Format] ?? contentTypes.json).split(';', 1)[0] as string;
  return { [type]: { schema: format === 'json' ? schema : { type: 'string' } } };
}

/** Whether an action behaves as supplied, and no method of a controller stands in for it. */
function isSupplied({ kind, controllerAction }: ActionDeclaration): boolean {
  return kind !== 'custom' && controllerAction === null;
}

/** Whether a method is answered by anything but a refusal: one that is enabled where it means nothing is always 400. */
function isAnswered({ action }: RouteRecord, method: HttpMethod): boolean {
  if (action?.association) return method === 'POST' || method === 'DELETE';
  if (!action || !isSupplied(action)) return true;
  const reads = method === 'GET' || method === 'HEAD';
  return reads || (action.kind === 'index') === (method === 'POST');
}

/** Whether a body may be left out: where nothing is known of it, and with DELETE, of which many clients have none. */
function isOptional(action: ActionDeclaration | null, method: HttpMethod): boolean {
  return action !== null && !isSupplied(action) && action.association === null && (action.body === null || method === 'DELETE');
}

function answersItself({ controller }: ApiDeclaration): boolean {
  return controller !== null && hasHooks(controller.value as never);
}

function tagOf({ api, controller }: RouteRecord): string {
  return api?.name ?? controller;
}

/** A prefix can have parameters of its own, as Fastify writes them: what stands there is for the caller to know. */
function serverAt(url: string): JsonSchema {
  const names = [...url.matchAll(/\/:(\w+)/g)].map(([, name]) => name as string);
  if (names.length === 0) return { url };
  const variables = Object.fromEntries(names.map((name) => [name, { default: name }]));
  return { url: url.replace(/\/:(\w+)/g, '/{$1}'), variables };
}

function summaryOf({ api, action, handler, path }: RouteRecord, method: HttpMethod): string {
  if (!api || !action) return `${method} ${path}`;
  const name = api.name.replaceAll('_', ' ');
  if (action.association)
    return method === 'DELETE' ? `Remove from ${action.association.property}` : `Add to ${action.association.property}`;
  if (!isSupplied(action)) return handler.replace(/Api$/, '');
  if (action.kind === 'index') return method === 'POST' ? `Create a ${name}` : `List of ${name}`;
  const verbs: Partial<Record<HttpMethod, string>> = {
    GET: 'Fetch',
    HEAD: 'Fetch',
    PATCH: 'Change',
    PUT: 'Replace',
    DELETE: 'Remove',
  };
  return `${verbs[method] ?? method} a ${name}`;
}

/** Every schema with an example that it allows. */
function withExamples(schemas: Record<string, JsonSchema>): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, { ...schema, examples: [exampleOf(schema, schemas)] }]),
  );
}
