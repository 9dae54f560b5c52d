import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, type FastifyServerOptions } from 'fastify';
import { type Application, type ApplicationOptions, loadApplication } from './application.ts';
import type { Observer } from './controller/observer.ts';
import { mountApplication } from './plugin.ts';
import { problemDocument, problemType, STATUS_CODES, toProblem } from './response/problem-document.ts';
import { sendProblem } from './response/send-problem.ts';

/** Milliseconds in which a request must have arrived, its body included: a connection that trickles is not held open for it. */
const requestTimeout = 60_000;

export type ServerOptions = ApplicationOptions & { readonly fastify?: FastifyServerOptions };

/** A Fastify server with an application mounted on it, not listening yet. */
export async function createServer({ fastify, ...options }: ServerOptions): Promise<FastifyInstance> {
  return serverOf(await loadApplication(options as ApplicationOptions), fastify);
}

export interface ServerParts {
  /** Sees the server before anything is mounted on it. */
  readonly prepare?: (app: FastifyInstance) => void;
  /** Watches every request. */
  readonly observer?: Observer;
}

/** The server of an application that was loaded before. */
export async function serverOf(
  application: Application,
  fastify: FastifyServerOptions = {},
  { observer, prepare }: ServerParts = {},
): Promise<FastifyInstance> {
  const { bodyLimit } = application.declaration.server;
  const answer = (error: unknown, request: FastifyRequest, reply: FastifyReply) =>
    sendProblem(toProblem(error, bodyLimit), request, reply);
  const app = Fastify({
    exposeHeadRoutes: false,
    // requirements are checked more exactly than Fastify's router does
    routerOptions: { allowUnsafeRegex: true },
    // such as malformed percent-encoding, which no route is found for
    frameworkErrors: answer,
    clientErrorHandler: refuseConnection,
    // Fastify's own default is to wait for ever
    requestTimeout,
    schemaController: { compilersFactory: compilersOnDemand() },
    ...fastify,
  });
  app.setErrorHandler(answer);
  prepare?.(app);
  try {
    await app.register((scope) => mountApplication(scope, application, { alone: true, observer }));
    await app.ready();
  } catch (error) {
    await app.close();
    throw error;
  }
  return app;
}

/** Fastify's own compilers of JSON Schemas, loaded when the first schema comes. No route of ours has one. */
function compilersOnDemand() {
  const fromHere = createRequire(import.meta.url);
  const fromFastify = createRequire(fromHere.resolve('fastify'));
  return {
    buildValidator: (...given: unknown[]) => fromFastify('@fastify/ajv-compiler')()(...given),
    buildSerializer: (...given: unknown[]) => fromFastify('@fastify/fast-json-stringify-compiler')()(...given),
  };
}

/** Answers bytes that are no request: there is neither a request nor a reply to do it with. */
function refuseConnection({ code }: { code?: unknown }, socket: Socket): void {
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, reason] =
    code === 'HPE_HEADER_OVERFLOW'
      ? [431, 'the headers of the request are too large']
      : code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? [408, 'the request took too long to arrive']
        : [400, 'the request is no valid HTTP'];
  const body = JSON.stringify(problemDocument(toProblem({ statusCode: status, message: reason }, 0), '/'));
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `Content-Type: ${problemType}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}
