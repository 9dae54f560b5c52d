import type { FastifyRequest } from 'fastify';
import type { Guard } from '../access/guard.ts';
import type { ApiRequest, User } from '../access/user.ts';
import type { ParameterValues } from '../declaration/types.ts';
import { checkParameters } from '../response/page-request.ts';
import type { RouteHandler } from '../route/mount.ts';
import type { ParameterReader } from '../serialization/parameter-reader.ts';

const readerKey = Symbol('parameter reader');
const valuesKey = Symbol('parameters');

interface Holder extends FastifyRequest {
  [readerKey]?: ParameterReader;
  [valuesKey]?: ParameterValues;
}

const none: ParameterValues = Object.freeze(Object.create(null));
const noNames: readonly string[] = Object.freeze([]);

/** The same handler for requests with declared parameters. Hooks of the host can read them too. */
export function withParameters(handler: RouteHandler, reader: ParameterReader): RouteHandler {
  const bind = (request: FastifyRequest) => {
    (request as Holder)[readerKey] = reader;
  };
  const reading: RouteHandler = (request, reply) => {
    bind(request);
    return handler(request, reply);
  };
  const beforeBody = (request: FastifyRequest) => {
    bind(request);
    handler.beforeBody?.(request);
  };
  return Object.assign(reading, { beforeBody });
}

/** The values of declared parameters, read on first use; throws 400 if one is missing or malformed. */
export function parametersOf(request: FastifyRequest): ParameterValues {
  const holder = request as Holder;
  const reader = holder[readerKey];
  if (!reader) return none;
  holder[valuesKey] ??= reader.read(request.query as Record<string, unknown>);
  return holder[valuesKey];
}

/**
 * The request for `customizeQuery` if it restricts rows that are referenced or embedded. Its parameters are the defaults of
 * `_entity`, because those of the request itself may have other types.
 */
export function withDefaults(request: ApiRequest, entity: ParameterReader | null): ApiRequest {
  if (!entity && !(request as Holder)[readerKey]) return request;
  const parameters = entity?.defaults() ?? none;
  return Object.create(request, { parameters: { value: parameters, enumerable: true } });
}

/** The names that the action of a request declares. */
export function declaredNames(request: FastifyRequest): readonly string[] {
  return (request as Holder)[readerKey]?.names ?? noNames;
}

/** Rejects query parameters that the action does not declare. */
export function refuseUndeclared(request: FastifyRequest): void {
  checkParameters(request.query as Record<string, unknown>, declaredNames(request));
}

/**
 * Reads declared parameters before the row is read, because `customizeQuery` may depend on them. If the roles do not depend on
 * the row, callers without them are denied first, so that they do not learn which values are allowed.
 */
export async function readBeforeRow(request: ApiRequest, guard: Guard, user: User | null): Promise<void> {
  try {
    parametersOf(request);
  } catch (error) {
    if (!guard.readsSubject) await guard.check(null, user, request);
    throw error;
  }
}
