import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { httpMethods } from '../declaration/types.ts';

// Callers must not be able to create labels: unknown paths and methods share one each.
export const unknownRoute = '(unknown)';
export const knownMethods: ReadonlySet<string> = new Set([...httpMethods, 'OPTIONS']);

const requestKey = Symbol('request');

/** Keeps the request with each response, for watches that are called when the response has ended. */
export function attachRequests(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    (reply.raw as { [requestKey]?: FastifyRequest })[requestKey] = request;
    done();
  });
}

/** The request of a response; undefined if the gate sent it before Fastify saw the request. */
export function requestOf(response: ServerResponse): FastifyRequest | undefined {
  return (response as { [requestKey]?: FastifyRequest })[requestKey];
}

/** The declared route of a request, `/api/person/{id}.{_format}`, never its own path. */
export function routeOf(request: FastifyRequest | undefined): string {
  if (!request || request.is404) return unknownRoute;
  const { config, url } = request.routeOptions;
  return (config as { readonly pattern?: string }).pattern ?? url ?? unknownRoute;
}
