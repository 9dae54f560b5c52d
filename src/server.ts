import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify';
import { type Application, type ApplicationOptions, loadApplication } from './application.ts';
import { problem } from './errors.ts';
import { mountApplication } from './plugin.ts';
import { problemDocument, problemType, toProblem } from './response/problem-document.ts';

export type ServerOptions = ApplicationOptions & { readonly fastify?: FastifyServerOptions };

/** A Fastify server with an application mounted on it, not listening yet. */
export async function createServer({ fastify, ...options }: ServerOptions): Promise<FastifyInstance> {
  return serverOf(await loadApplication(options as ApplicationOptions), fastify);
}

/** The server of an application that was loaded before. */
export async function serverOf(application: Application, fastify: FastifyServerOptions = {}): Promise<FastifyInstance> {
  const app = Fastify({
    exposeHeadRoutes: false,
    // requirements are checked more exactly than Fastify's router does
    routerOptions: { allowUnsafeRegex: true },
    ...fastify,
  });
  const { bodyLimit } = application.declaration.server;
  const path = (url: string) => url.split('?', 1)[0] as string;
  app.setNotFoundHandler((request) => {
    throw problem('not_found', { path: path(request.url) });
  });
  app.setErrorHandler((error, request, reply) => {
    const found = toProblem(error, bodyLimit);
    if (found.status >= 500) request.log.error({ err: found.cause ?? error }, found.message);
    return reply
      .code(found.status)
      .headers(found.headers)
      .type(problemType)
      .send(JSON.stringify(problemDocument(found, path(request.url))));
  });
  try {
    await app.register((scope) => mountApplication(scope, application));
    await app.ready();
  } catch (error) {
    await app.close();
    throw error;
  }
  return app;
}
