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

/** The same handler for requests that may have the declared parameters. Hooks of the host find them too. */
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

/** The values of declared parameters, read when first asked for; throws 400 if one is missing or malformed. */
export function parametersOf(request: FastifyRequest): ParameterValues {
  const holder = request as Holder;
  const reader = holder[readerKey];
  if (!reader) return none;
  holder[valuesKey] ??= reader.read(request.query as Record<string, unknown>);
  return holder[valuesKey];
}

/**
 * A request as `customizeQuery` sees it for rows that another request refers to or embeds: its parameters are not those of that
 * request, whose types may be others, but the defaults of `_entity`.
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

/** Refuses every query parameter that the action does not declare. */
export function refuseUndeclared(request: FastifyRequest): void {
  checkParameters(request.query as Record<string, unknown>, declaredNames(request));
}

/**
 * Reads declared parameters before a row is looked for: `customizeQuery` may depend on them. Callers who lack a role whatever the
 * row is are denied first, and do not learn which values are allowed.
 */
export async function readBeforeRow(request: ApiRequest, guard: Guard, user: User | null): Promise<void> {
  try {
    parametersOf(request);
  } catch (error) {
    if (!guard.readsSubject) await guard.check(null, user, request);
    throw error;
  }
}
