import type { Format, HttpMethod } from '../declaration/types.ts';
import { planFields } from '../model/field-plan.ts';
import { readGroups } from '../model/groups.ts';
import { keyKind } from '../model/identifier.ts';
import { pageParameters } from '../response/page-request.ts';
import { parsePath, placeholdersOf } from '../route/pattern.ts';
import { defaultIdRequirement } from '../route/record.ts';
import { maxValueLength } from '../route/requirement.ts';
import { contentTypes, isExport } from '../serialization/formats.ts';
import { itemClasses, itemMethods } from './associations.ts';
import { Headers, type HeadersOf, type ResponseHeader } from './headers.ts';
import { anyOf, type JsonSchema, valueSchema } from './json-schema.ts';
import { listParameters } from './list-parameters.ts';
import { type Operation, ownerOf } from './operations.ts';
import { anyProblemSchema, type ProblemStatus, problemMediaType, problemResponse, problemResponses } from './problems.ts';
import { type Described, Schemas } from './schemas.ts';
import type { BodyMode } from './write-schemas.ts';

const bodyModes: Readonly<Partial<Record<HttpMethod, BodyMode>>> = { POST: 'create', PATCH: 'patch', PUT: 'replace' };

const limitHeaders: readonly ResponseHeader[] = ['RateLimit', 'RateLimitPolicy'];

/** Describes operations; what several of them refer to is kept for the components of the document. */
export class OperationWriter {
  readonly schemas: Schemas;
  readonly headers: Headers;
  readonly securitySchemes: Readonly<Record<string, JsonSchema>>;
  readonly #described: Described;
  readonly #operations: readonly Operation[];

  constructor(described: Described, operations: readonly Operation[], requestId: string | null) {
    const { apiKeys, jwt } = described.declaration.security;
    this.#described = described;
    this.#operations = operations;
    this.schemas = new Schemas(described);
    this.headers = new Headers(requestId);
    this.securitySchemes = {
      ...(jwt && { token: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } }),
      ...(apiKeys.length > 0 && { key: { type: 'apiKey', in: 'header', name: 'X-Api-Key' } }),
    };
  }

  describe(operation: Operation): JsonSchema {
    const { format, isSupplied, method, record, roles } = operation;
    const { action, definition, name } = record;
    const schema = this.#body(operation);
    const description = action?.descriptions[method] ?? definition?.description;
    // one that nothing is known of can be left out, and so can that of DELETE, since many clients have none
    const isOptional = !isSupplied && !action?.association && (!action?.body || method === 'DELETE');
    return {
      operationId: `${name}_${method.toLowerCase()}${format === 'json' ? '' : `_${format}`}`,
      summary: summaryOf(operation),
      ...(description !== undefined && { description }),
      tags: [ownerOf(record)],
      security: this.#security(roles.length > 0),
      ...(roles.length > 0 && { 'x-roles': [...roles] }),
      parameters: [...this.#pathParameters(operation), ...this.#queryParameters(operation), ...this.#headerParameters(operation)],
      ...(schema && { requestBody: { required: !isOptional, content: { 'application/json': { schema } } } }),
      responses: this.#responses(operation),
    };
  }

  /** The responses that operations refer to. */
  sharedResponses(): JsonSchema {
    const maybe = this.#operations.some(({ isLimited }) => isLimited) ? limitHeaders : [];
    const notModified = { description: 'What the caller has is what would be sent.' };
    const statuses = new Set(this.#operations.flatMap((operation) => this.#refusals(operation)));
    return {
      ...(this.#operations.some(({ isTagged }) => isTagged) && {
        NotModified: { ...notModified, ...this.headers.of({ always: ['ETag'], maybe }) },
      }),
      ...problemResponses(statuses, this.schemas.components, (status) => this.headers.of(this.#refusalHeaders(status, maybe))),
    };
  }

  /** What refusals of a status have, whichever operation is refused. */
  #refusalHeaders(status: ProblemStatus, maybe: readonly ResponseHeader[]): HeadersOf {
    const counted: readonly ResponseHeader[] = ['RetryAfter', ...limitHeaders];
    switch (status) {
      case 401:
        return { always: ['WWWAuthenticate'], maybe };
      case 409:
        // where the first request with a key is still under way
        return { maybe: this.#operations.some(({ takesKey }) => takesKey) ? ['RetryAfter', ...maybe] : maybe };
      case 429:
        return this.#operations.some(({ hasOwnCode }) => hasOwnCode) ? { maybe: counted } : { always: counted };
      case 503:
      case 507:
        return { always: ['RetryAfter'], maybe };
      default:
        return { maybe };
    }
  }

  #body({ isSupplied, meta, method, reads, record: { action, api } }: Operation): JsonSchema | null {
    if (!api || !action || !meta || reads) return null;
    if (action.association) {
      const targets = itemClasses(this.#described.mapper, meta, action.association);
      return targets.length > 0 ? this.schemas.write.reference(targets) : {};
    }
    if (!isSupplied) return action.body ? this.schemas.body(api, action, action.body) : {};
    const mode = bodyModes[method];
    return mode ? this.schemas.write.of(meta, mode) : null;
  }

  #pathParameters({ meta, record: { path, requirements } }: Operation): JsonSchema[] {
    const { mapper } = this.#described;
    const key = meta && keyKind(meta, mapper.driver.getPlatform());
    const schemaOf = (name: string): JsonSchema => {
      const requirement = requirements[name];
      if (name === 'id' && key) {
        if (key.kind === 'integer' && requirement === defaultIdRequirement)
          return { type: 'integer', minimum: 0, maximum: key.max };
        if (key.kind === 'uuid' || key.kind === 'date' || key.kind === 'enum') return valueSchema(key, 'write');
      }
      const text: JsonSchema = { type: 'string', minLength: 1, maxLength: maxValueLength };
      return requirement === undefined ? text : { ...text, pattern: `^(?:${requirement})$` };
    };
    const names = placeholdersOf(parsePath(path).pattern);
    return names.map((name) => ({ name, in: 'path', required: true, schema: schemaOf(name) }));
  }

  #queryParameters({ format, isSupplied, meta, reads, record: { action, api } }: Operation): JsonSchema[] {
    if (!api || !meta || !action?.list || !isSupplied || !reads) return [];
    const parameters = listParameters(action.list, api.pagination, planFields(this.#described.mapper, meta, readGroups));
    // an export is the whole list
    return isExport(format) ? parameters.filter(({ name }) => !pageParameters.includes(String(name))) : parameters;
  }

  #headerParameters({ ifMatch, isTagged, takesKey }: Operation): JsonSchema[] {
    return [
      ...(isTagged ? [this.headers.parameter('IfNoneMatch')] : []),
      ...(ifMatch ? [this.headers.parameter(ifMatch)] : []),
      ...(takesKey ? [this.headers.parameter('IdempotencyKey')] : []),
    ];
  }

  #responses(operation: Operation): JsonSchema {
    const { hasOwnCode, isTagged } = operation;
    const [status, described] = this.#success(operation);
    return {
      [status]: { ...described, ...this.headers.of(successHeaders(operation)) },
      ...(isTagged && { 304: { $ref: '#/components/responses/NotModified' } }),
      ...Object.fromEntries(this.#refusals(operation).map((refusal) => [refusal, problemResponse(refusal)])),
      ...(hasOwnCode && { default: this.#otherResponse(operation) }),
    };
  }

  #success(operation: Operation): [status: number, described: JsonSchema] {
    const { format, isSupplied, meta, method, record } = operation;
    const { action, api } = record;
    const answered = (description: string, schema: JsonSchema) => ({ description, content: contentOf(format, schema) });
    if (method === 'HEAD') return [200, { description: 'What GET would answer, without its body.' }];
    if (api && action?.result) return [200, answered('What the handler gives.', this.schemas.result(api, action, action.result))];
    if (!api || !meta || !action || !(isSupplied || action.association)) return [200, answered('What the handler gives.', {})];
    if (action.association) return [200, answered('What was added or removed.', this.#item(operation))];
    const model = this.schemas.read.of(meta);
    if (method === 'POST') return [201, answered('It was created.', model)];
    if (method === 'DELETE') return [204, { description: 'It was removed.' }];
    if (action.kind !== 'index') return [200, answered('The entity.', model)];
    if (isExport(format)) return [200, answered('The whole list.', model)];
    return [200, answered('A page of the list.', this.schemas.read.collection(meta, api))];
  }

  /** What is in an association; a model's own method may give something else than the item that it was given. */
  #item({ meta, method, record: { action } }: Operation): JsonSchema {
    const { mapper } = this.#described;
    if (!meta || !action?.association || !Object.hasOwn(meta.properties, action.association.property)) return {};
    if (itemMethods(mapper, meta, action.association.property, method === 'DELETE' ? 'remove' : 'add').length > 0) return {};
    return anyOf(itemClasses(mapper, meta, action.association).map((target) => this.schemas.read.of(target)));
  }

  /** What code of the application answers that the declaration knows nothing of. */
  #otherResponse({ format, isLimited, method }: Operation): JsonSchema {
    const description = 'What the application itself answers in other cases.';
    const headers = this.headers.of({ maybe: isLimited ? limitHeaders : [] });
    if (method === 'HEAD') return { description, ...headers };
    const problem = { [problemMediaType]: { schema: anyProblemSchema(this.schemas.components) } };
    return { description, ...headers, content: { ...contentOf('json', {}), ...contentOf(format, {}), ...problem } };
  }

  #refusals({ ifMatch, isLimited, isSupplied, isTagged, method, reads, record, roles, takesKey }: Operation): ProblemStatus[] {
    const { api, action, single } = record;
    const guarded = roles.length > 0;
    const hasBody = !reads && !(method === 'DELETE' && isSupplied);
    const found: [ProblemStatus, boolean][] = [
      [400, true],
      [401, guarded || Object.keys(this.securitySchemes).length > 0],
      [403, guarded],
      [404, single && api !== null],
      [409, !reads],
      [412, isTagged || (api !== null && !reads && (single || action?.kind === 'index'))],
      // whoever sends a body where none is wanted is told so as well
      [413, !reads],
      [414, true],
      [415, !reads],
      // a handler of the application's own tells of violations as it likes
      [422, (hasBody || takesKey) && action !== null && (isSupplied || action.association !== null)],
      [428, ifMatch === 'IfMatchRequired'],
      [429, isLimited],
      [500, true],
      [501, takesKey && this.#described.declaration.database.schema === 'none'],
      [503, true],
      [507, !reads],
    ];
    return found.flatMap(([status, can]) => (can ? [status] : []));
  }

  /** Where nobody has to say who they are, they still may. */
  #security(guarded: boolean): JsonSchema[] {
    const schemes = Object.keys(this.securitySchemes).map((name) => ({ [name]: [] }));
    return guarded || schemes.length === 0 ? schemes : [{}, ...schemes];
  }
}

function successHeaders(operation: Operation): HeadersOf {
  const own = ownHeaders(operation);
  const limited = operation.isLimited ? limitHeaders : [];
  const replayed: readonly ResponseHeader[] = operation.takesKey ? ['IdempotencyReplayed'] : [];
  return operation.hasOwnCode
    ? { always: limited, maybe: [...own, ...replayed] }
    : { always: [...own, ...limited], maybe: replayed };
}

/** The headers of default actions that did what was asked. */
function ownHeaders({ isSupplied, isTagged, method }: Operation): ResponseHeader[] {
  if (isTagged) return ['ETag'];
  if (!isSupplied) return [];
  const written: Partial<Record<HttpMethod, ResponseHeader[]>> = {
    POST: ['ETag', 'Location'],
    PATCH: ['ETag'],
    PUT: ['ContentLocation', 'ETag'],
  };
  return written[method] ?? [];
}

/** What is sent in a format: of others than JSON, nothing is said but their type. */
function contentOf(format: string, schema: JsonSchema): JsonSchema {
  const type = (contentTypes[format as Format] ?? contentTypes.json).split(';', 1)[0] as string;
  return { [type]: { schema: format === 'json' ? schema : { type: 'string' } } };
}

const verbs: Readonly<Partial<Record<HttpMethod, string>>> = {
  GET: 'Fetch',
  HEAD: 'Fetch',
  PATCH: 'Change',
  PUT: 'Replace',
  DELETE: 'Remove',
};

function summaryOf({ isSupplied, method, record }: Operation): string {
  const { action, api, handler, path } = record;
  if (!api || !action) return `${method} ${path}`;
  const name = api.name.replaceAll('_', ' ');
  if (action.association)
    return method === 'DELETE' ? `Remove from ${action.association.property}` : `Add to ${action.association.property}`;
  if (!isSupplied) return handler.replace(/Api$/, '');
  if (action.kind === 'index') return method === 'POST' ? `Create a ${name}` : `List of ${name}`;
  return `${verbs[method] ?? method} a ${name}`;
}
