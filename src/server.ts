import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, type FastifyServerOptions } from 'fastify';
import { type Application, type ApplicationOptions, loadApplication } from './application.ts';
import { problem } from './errors.ts';
import { mountApplication } from './plugin.ts';
import { toProblem } from './response/problem-document.ts';
import { sendProblem } from './response/send-problem.ts';

export type ServerOptions = ApplicationOptions & { readonly fastify?: FastifyServerOptions };

/** A Fastify server with an application mounted on it, not listening yet. */
export async function createServer({ fastify, ...options }: ServerOptions): Promise<FastifyInstance> {
  return serverOf(await loadApplication(options as ApplicationOptions), fastify);
}

/** The server of an application that was loaded before. */
export async function serverOf(application: Application, fastify: FastifyServerOptions = {}): Promise<FastifyInstance> {
  const { bodyLimit } = application.declaration.server;
  const answer = (error: unknown, request: FastifyRequest, reply: FastifyReply) => sendProblem(toProblem(error, bodyLimit), request, reply);
  const app = Fastify({
    exposeHeadRoutes: false,
    // requirements are checked more exactly than Fastify's router does
    routerOptions: { allowUnsafeRegex: true },
    // such as malformed percent-encoding, which no route is found for
    frameworkErrors: answer,
    ...fastify,
  });
  app.setNotFoundHandler((request) => {
    throw problem('not_found', { path: request.url.split('?', 1)[0] as string });
  });
  app.setErrorHandler(answer);
  try {
    await app.register((scope) => mountApplication(scope, application));
    await app.ready();
  } catch (error) {
    await app.close();
    throw error;
  }
  return app;
}
