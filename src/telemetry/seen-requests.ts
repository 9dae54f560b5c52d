import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/** The label of what no route answers: whoever asks for anything at all makes no label of their own. */
export const unknownRoute = '(unknown)';

const requestKey = Symbol('request');

/** Remembers with each answer what was asked, for those who are told when it is over. */
export function noteRequests(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    (reply.raw as { [requestKey]?: FastifyRequest })[requestKey] = request;
    done();
  });
}

/** What an answer is for, unless it was given before any route was looked for. */
export function requestOf(response: ServerResponse): FastifyRequest | undefined {
  return (response as { [requestKey]?: FastifyRequest })[requestKey];
}

/** The route of a request as it was declared, `/api/person/{id}.{_format}`: never what was asked for itself. */
export function routeOf(request: FastifyRequest | undefined): string {
  if (!request || request.is404) return unknownRoute;
  const { config, url } = request.routeOptions;
  return (config as { readonly pattern?: string }).pattern ?? url ?? unknownRoute;
}
