import type { EntityMetadata, EntityProperty, Platform } from '@mikro-orm/core';
import { type ControllerClass, isOverridden } from '../actions/controller/controller-class.ts';
import type { Format, HttpMethod } from '../declaration/types.ts';
import { jsonName, planFields } from '../model/field-plan.ts';
import { groupNames } from '../model/groups.ts';
import { isComposite, keyKind, keyParts } from '../model/identifier.ts';
import { valueKindOf } from '../model/value-kind.ts';
import { pageParameters } from '../response/page-request.ts';
import { parsePath, placeholdersOf } from '../route/pattern.ts';
import { defaultIdRequirement } from '../route/record.ts';
import { maxValueLength } from '../route/requirement.ts';
import { contentTypes, isExport } from '../serialization/formats.ts';
import { aggregateParameters } from './aggregates.ts';
import { itemClasses, itemMethods } from './associations.ts';
import { bulkBody, bulkOf, bulkSuccess, bulkSummary, createBody, isBulkOnly, nestedRoles } from './bulk.ts';
import { declaredParameters } from './declared-parameters.ts';
import { withArticle, wordsOf } from './english.ts';
import { describedHeaders, type HeadersOf, type ResponseHeader } from './headers.ts';
import { anyOf, type JsonSchema, valueSchema } from './json-schema.ts';
import { listParameters } from './list-parameters.ts';
import { nounsOf } from './operation-ids.ts';
import { type Operation, ownerOf } from './operations.ts';
import { anyProblemSchema, type ProblemStatus, problemContent, problemResponse, problemResponses } from './problems.ts';
import { bodyGroups, type Described, schemasOf } from './schemas/schemas.ts';
import type { BodyMode } from './schemas/write-schemas.ts';

const bodyModes: Readonly<Partial<Record<HttpMethod, BodyMode>>> = { POST: 'create', PATCH: 'patch', PUT: 'replace' };

const limitHeaders: readonly ResponseHeader[] = ['RateLimit', 'RateLimitPolicy'];

/** Describes operations, and collects the components that they share. */
export function operationWriter(described: Described, operations: readonly Operation[], requestId: string | null) {
  const { declaration, mapper } = described;
  const { apiKeys, jwt } = declaration.security;
  const schemas = schemasOf(described);
  const headers = describedHeaders(requestId);
  const securitySchemes: Readonly<Record<string, JsonSchema>> = {
    ...(jwt && { token: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } }),
    ...(apiKeys.length > 0 && { key: { type: 'apiKey', in: 'header', name: 'X-Api-Key' } }),
  };

  function describe(operation: Operation): JsonSchema {
    const { isSupplied, method, record, roles } = operation;
    const { action, definition } = record;
    const schema = body(operation);
    const description = action?.descriptions[method] ?? definition?.description;
    // a body without a schema is optional, and so is that of DELETE, since many clients cannot send one
    const isOptional = !isSupplied && !action?.association && (!action?.body || method === 'DELETE');
    return {
      operationId: operation.id,
      summary: summaryOf(operation),
      ...(description !== undefined && { description }),
      tags: [ownerOf(record)],
      security: security(roles.length > 0),
      ...(roles.length > 0 && { 'x-roles': [...roles] }),
      ...(action && { 'x-action': action.name }),
      ...(action?.association && { 'x-association': associationName(operation, action.association.property) }),
      parameters: [...pathParameters(operation), ...queryParameters(operation), ...headerParameters(operation)],
      ...(schema && { requestBody: { required: !isOptional, content: { 'application/json': { schema } } } }),
      responses: responses(operation),
    };
  }

  /** The responses that operations refer to. */
  function sharedResponses(): JsonSchema {
    const maybe = operations.some(({ isLimited }) => isLimited) ? limitHeaders : [];
    const takesLists = operations.some((operation) => bulkOf(operation) !== null);
    const notModified = { description: 'The copy of the caller is up to date.' };
    const refused = (isXml: boolean) => {
      const alike = operations.filter(({ format }) => (format === 'xml') === isXml);
      const statuses = new Set(alike.flatMap((operation) => refusals(operation)));
      const headersOf = (status: ProblemStatus) => headers.of(refusalHeaders(status, maybe));
      return problemResponses(statuses, schemas.components, headersOf, isXml ? 'xml' : 'json', takesLists);
    };
    return {
      ...(operations.some(({ isTagged }) => isTagged) && {
        NotModified: { ...notModified, ...headers.of({ always: ['ETag'], maybe }) },
      }),
      ...refused(false),
      ...refused(true),
    };
  }

  /** The headers of responses with an error status, for all operations. */
  function refusalHeaders(status: ProblemStatus, maybe: readonly ResponseHeader[]): HeadersOf {
    switch (status) {
      case 401:
        return { always: ['WWWAuthenticate'], maybe };
      case 409:
        // if the first request with a key is still running
        return { maybe: operations.some(({ takesKey }) => takesKey) ? ['RetryAfter', ...maybe] : maybe };
      case 429:
        return operations.some(({ hasOwnCode }) => hasOwnCode)
          ? { maybe: ['RetryAfter', ...limitHeaders] }
          : { always: ['RetryAfter'], maybe: limitHeaders };
      case 503:
      case 507:
        return { always: ['RetryAfter'], maybe };
      default:
        return { maybe };
    }
  }

  function body(operation: Operation): JsonSchema | null {
    const { isSupplied, meta, method, reads, record } = operation;
    const { action, api } = record;
    if (!api || !action || !meta || reads) return null;
    if (action.association) {
      if (schemas.denormalizes(api, action, meta)) return { description: 'Read by code of the application.' };
      const targets = itemClasses(mapper, meta, action.association);
      return targets.length > 0 ? schemas.write.reference(targets) : {};
    }
    if (!isSupplied) return action.body ? schemas.body(api, action, action.body) : {};
    const bulk = bulkOf(operation);
    if (bulk) return bulkBody(operation, bulk, schemas, mapper);
    if (method === 'POST') return createBody(operation, schemas);
    const mode = bodyModes[method];
    return mode ? schemas.write.of(meta, mode, bodyGroups(api, action)) : null;
  }

  function pathParameters({ meta, record: { api, path, requirements } }: Operation): JsonSchema[] {
    const loadsItself = api?.controller != null && isOverridden(api.controller.value as ControllerClass, 'getEntity');
    const key = meta && !isComposite(meta) && keyKind(meta, mapper.driver.getPlatform());
    const schemaOf = (name: string): JsonSchema => {
      const requirement = requirements[name];
      if (name === 'id' && meta && isComposite(meta) && !loadsItself) return compositeSchema(meta, mapper.driver.getPlatform());
      if (name === 'id' && key && !loadsItself) {
        if (key.kind === 'integer' && requirement === defaultIdRequirement)
          return { type: 'integer', minimum: 0, maximum: key.max };
        if (key.kind === 'uuid' || key.kind === 'date' || key.kind === 'enum') return valueSchema(key, 'write');
      }
      const text: JsonSchema = { type: 'string', minLength: 1, maxLength: maxValueLength };
      return requirement === undefined ? text : { ...text, pattern: `^(?:${requirement})$` };
    };
    const names = placeholdersOf(parsePath(path).pattern);
    const description = meta && isComposite(meta) && !loadsItself ? { description: compositeDescription(meta) } : {};
    return names.map((name) => ({
      name,
      in: 'path',
      required: true,
      ...(name === 'id' && description),
      schema: schemaOf(name),
    }));
  }

  function queryParameters(operation: Operation): JsonSchema[] {
    return [...ofList(operation), ...declaredParameters(operation.record.action?.parameters ?? [])];
  }

  function ofList({ format, isSupplied, meta, reads, record: { action, api } }: Operation): JsonSchema[] {
    if (!api || !meta || !action?.list || !isSupplied || !reads) return [];
    const { read } = action.groups;
    const fields = planFields(mapper, meta, groupNames(read));
    if (action.kind === 'aggregate') return aggregateParameters(action.list, api, fields, read, isExport(format));
    const parameters = listParameters(action.list, api.pagination, fields, read);
    // an export is the whole list
    return isExport(format) ? parameters.filter(({ name }) => !pageParameters.includes(String(name))) : parameters;
  }

  function headerParameters({ ifMatch, isTagged, takesKey }: Operation): JsonSchema[] {
    return [
      ...(isTagged ? [headers.parameter('IfNoneMatch')] : []),
      ...(ifMatch ? [headers.parameter(ifMatch)] : []),
      ...(takesKey ? [headers.parameter('IdempotencyKey')] : []),
    ];
  }

  function responses(operation: Operation): JsonSchema {
    const { format, hasOwnCode, isTagged } = operation;
    const [status, described] = success(operation);
    return {
      [status]: { ...described, ...headers.of(successHeaders(operation)) },
      ...(isTagged && { 304: { $ref: '#/components/responses/NotModified' } }),
      ...Object.fromEntries(refusals(operation).map((refusal) => [refusal, problemResponse(refusal, format)])),
      ...(hasOwnCode && { default: otherResponse(operation) }),
    };
  }

  function success(operation: Operation): [status: number, described: JsonSchema] {
    const { format, isSupplied, meta, method, record } = operation;
    const { action, api } = record;
    const answered = (description: string, schema: JsonSchema) => ({ description, content: contentOf(format, schema) });
    if (method === 'HEAD') return [200, { description: 'The response to GET, without its body.' }];
    if (api && action?.result) return [200, answered('The result of the handler.', schemas.result(api, action, action.result))];
    if (!api || !meta || !action || !(isSupplied || action.association)) return [200, answered('The result of the handler.', {})];
    if (action.association) return [200, answered('The item that was added or removed.', item(operation))];
    if (action.kind === 'aggregate') return [200, answered('The groups.', schemas.read.aggregates(meta, api, action))];
    const bulk = bulkOf(operation);
    if (bulk) return bulkSuccess(operation, bulk, schemas, answered);
    const model = schemas.read.of(meta, action.groups.read);
    if (method === 'POST') return [201, answered('The created entity.', model)];
    if (method === 'DELETE') return [204, { description: 'The entity was deleted.' }];
    if (action.kind !== 'index') return [200, answered('The entity.', model)];
    if (isExport(format)) return [200, answered('The whole list.', model)];
    return [200, answered('A page of the list.', schemas.read.collection(meta, api, action.groups.read))];
  }

  /** The item of an association; a method of the model may return something else. */
  function item({ meta, method, record: { action } }: Operation): JsonSchema {
    if (!meta || !action?.association || !Object.hasOwn(meta.properties, action.association.property)) return {};
    if (itemMethods(mapper, meta, action.association, method === 'DELETE' ? 'remove' : 'add').length > 0) return {};
    const { read } = action.groups;
    return anyOf(itemClasses(mapper, meta, action.association).map((target) => schemas.read.of(target, read)));
  }

  /** Responses of application code that the declaration does not describe. */
  function otherResponse({ format, isLimited, method }: Operation): JsonSchema {
    const description = 'Other responses of the application.';
    const limits = headers.of({ maybe: isLimited ? limitHeaders : [] });
    if (method === 'HEAD') return { description, ...limits };
    const problem = problemContent(format, format === 'xml' ? {} : anyProblemSchema(schemas.components));
    return { description, ...limits, content: { ...contentOf('json', {}), ...contentOf(format, {}), ...problem } };
  }

  function refusals(operation: Operation): ProblemStatus[] {
    const { ifMatch, isLimited, isSupplied, isTagged, method, reads, record, roles, takesKey } = operation;
    const { api, action, single } = record;
    const namesRows = bulkOf(operation) !== null && method !== 'POST';
    const guarded = roles.length > 0 || nestedRoles(operation).length > 0;
    const hasBody = !reads && !(method === 'DELETE' && isSupplied);
    const found: [ProblemStatus, boolean][] = [
      [400, true],
      [401, guarded || Object.keys(securitySchemes).length > 0],
      [403, guarded],
      // without an id: a repeated request whose row the caller does not see any more
      [404, (single || takesKey || namesRows) && api !== null],
      [409, !reads],
      [412, isTagged || (api !== null && !reads && (single || action?.kind === 'index'))],
      // for the body of a write, also one that the action does not expect, or for the response to a read
      [413, true],
      [414, true],
      [415, !reads],
      // custom handlers report violations in their own way
      [422, (hasBody || takesKey) && action !== null && (isSupplied || action.association !== null)],
      [428, ifMatch === 'IfMatchRequired' || (namesRows && api?.requireIfMatch === true)],
      // by the server, if the address sent too many wrong credentials
      [429, isLimited || declaration.server.rateLimit !== null],
      [500, true],
      [501, takesKey && declaration.database.schema !== 'update'],
      [503, true],
      [507, !reads],
    ];
    return found.flatMap(([status, can]) => (can ? [status] : []));
  }

  /** Credentials are optional for public operations. */
  function security(guarded: boolean): JsonSchema[] {
    const schemes = Object.keys(securitySchemes).map((name) => ({ [name]: [] }));
    return guarded || schemes.length === 0 ? schemes : [{}, ...schemes];
  }

  return { schemas, headers, securitySchemes, describe, sharedResponses };
}

function successHeaders(operation: Operation): HeadersOf {
  const isBulk = bulkOf(operation) !== null;
  const own = isBulkOnly(operation) ? [] : ownHeaders(operation);
  const limited = operation.isLimited ? limitHeaders : [];
  const replayed: readonly ResponseHeader[] = operation.takesKey ? ['IdempotencyReplayed'] : [];
  const uncertain: readonly ResponseHeader[] = operation.location === 'maybe' ? ['Location', ...replayed] : replayed;
  return operation.hasOwnCode || isBulk
    ? { always: limited, maybe: [...own, ...uncertain] }
    : { always: [...own, ...limited], maybe: uncertain };
}

/** The headers of default actions that succeeded. */
function ownHeaders({ isSupplied, isTagged, location, method }: Operation): ResponseHeader[] {
  if (isTagged) return ['ETag'];
  if (!isSupplied) return [];
  const written: Partial<Record<HttpMethod, ResponseHeader[]>> = {
    POST: location === 'always' ? ['ETag', 'Location'] : ['ETag'],
    PATCH: ['ETag'],
    PUT: ['ContentLocation', 'ETag'],
  };
  return written[method] ?? [];
}

/** The content in a format; only JSON has a schema. */
function contentOf(format: string, schema: JsonSchema): JsonSchema {
  const type = (contentTypes[format as Format] ?? contentTypes.json).split(';', 1)[0] as string;
  return { [type]: { schema: format === 'json' ? schema : { type: 'string' } } };
}

const verbs: Readonly<Partial<Record<HttpMethod, string>>> = {
  GET: 'Get',
  HEAD: 'Get',
  PATCH: 'Update',
  PUT: 'Replace',
  DELETE: 'Delete',
};

function summaryOf(operation: Operation): string {
  const { isSupplied, method, record } = operation;
  const { action, api, path, single } = record;
  if (!api || !action) return `${method} ${path}`;
  const { many, one } = nounsOf(api);
  if (action.association) {
    const items = `the ${wordsOf(action.association.property)} of ${withArticle(one)}`;
    return method === 'DELETE' ? `Remove from ${items}` : `Add to ${items}`;
  }
  // a handler of its own may do something else than its method says
  if (!isSupplied && action.kind === 'custom') return capital(`${single ? one : many}: ${wordsOf(action.name)}`);
  if (action.kind === 'aggregate') return `Aggregate ${many}`;
  if (isBulkOnly(operation)) return bulkSummary(method, many);
  if (action.kind === 'index') return method === 'POST' ? `Create ${withArticle(one)}` : `List ${many}`;
  return `${verbs[method] ?? method} ${withArticle(one)}`;
}

/** The name of an association in JSON. A model may have methods for an association without having the property. */
function associationName({ meta }: Operation, property: string): string {
  const metadata = meta?.properties[property as never] as EntityProperty | undefined;
  return metadata ? jsonName(metadata) : property;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A path contains the items of a list separated by commas, each percent-encoded. */
function compositeSchema(meta: EntityMetadata, platform: Platform): JsonSchema {
  const parts = keyParts(meta);
  const areIntegers = parts.every(({ leaf }) => valueKindOf(leaf, platform).kind === 'integer');
  const items = areIntegers ? { type: 'integer', minimum: 0 } : { type: 'string', minLength: 1 };
  return { type: 'array', items, minItems: parts.length, maxItems: parts.length };
}

function compositeDescription(meta: EntityMetadata): string {
  const names = keyParts(meta).map(({ path }) => path);
  return `The parts of the key, separated by commas: ${names.join(', ')}`;
}
