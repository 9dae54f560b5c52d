import type { IncomingMessage, Server } from 'node:http';
import { createRequire } from 'node:module';
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, type FastifyServerOptions } from 'fastify';
import { trustedProxies } from './access/trusted-proxies.ts';
import type { Observer } from './actions/start/observer.ts';
import { type Application, type ApplicationOptions, loadApplication } from './application.ts';
import type { HealthDeclaration, ServerDeclaration } from './declaration/types.ts';
import type { Explanations } from './openapi/explorer/explain.ts';
import { servedParts } from './openapi/places.ts';
import { type Mounted, mountApplication } from './plugin.ts';
import { noSniffing, problemFormats, toProblem } from './response/problem-document.ts';
import { targetOf } from './response/request-target.ts';
import { sendProblem } from './response/send-problem.ts';
import { allowedMethods } from './route/match.ts';
import { safelyLogging } from './telemetry/logger.ts';
import { type SharedMetrics, type Telemetry, tracingOf, watchServer } from './telemetry/telemetry.ts';
import type { Cors } from './traffic/cors.ts';
import { Gate, type GateOptions, keepGate } from './traffic/gate.ts';
import { mountHealth } from './traffic/health.ts';
import { handleRejected, refuseConnection, strictHttp } from './traffic/protocol.ts';
import { databaseProbe } from './traffic/readiness.ts';
import { RequestIds } from './traffic/request-id.ts';

export type ServerOptions = ApplicationOptions & { readonly fastify?: FastifyServerOptions };

/** A Fastify server with an application mounted on it, not listening yet. */
export async function createServer({ fastify, ...options }: ServerOptions): Promise<FastifyInstance> {
  const application = await loadApplication(options as ApplicationOptions);
  const app = await serverOf(application, fastify);
  for (const { text } of application.warnings) app.log.warn(text);
  return app;
}

/** @internal */
export interface ServerParts {
  /** Called with the server before anything is mounted on it. */
  readonly prepare?: (app: FastifyInstance) => void;
  readonly observer?: Observer;
  /** Whether responses have `Server-Timing`; overrides the declaration. Ignored in production. */
  readonly timing?: boolean;
  /** Explains requests for the explorer. Ignored in production. */
  readonly explanations?: Explanations;
  /** Present if several processes serve. */
  readonly sharedMetrics?: SharedMetrics;
}

/** @internal */
export async function serverOf(
  application: Application,
  fastify: FastifyServerOptions = {},
  { explanations, observer, prepare, sharedMetrics, timing }: ServerParts = {},
): Promise<FastifyInstance> {
  const { server } = application.declaration;
  const { bodyLimit } = server;
  const ids = server.requestIdHeader === null ? null : new RequestIds(server.requestIdHeader);
  const formatOf = problemFormats(application.records);
  const proxies = server.trustProxy.length > 0 ? trustedProxies(server.trustProxy) : null;
  const cors = await corsOf(application);
  let onProblem: Telemetry['onProblem'];
  const answer = (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    if (ids) reply.header(ids.header, request.id);
    const found = toProblem(error, bodyLimit);
    onProblem?.(found);
    return sendProblem(found, request, reply, formatOf);
  };
  const app = Fastify({
    exposeHeadRoutes: false,
    // requirements are checked more exactly than Fastify's router does
    routerOptions: { allowUnsafeRegex: true },
    // such as malformed percent-encoding
    frameworkErrors: (error, request, reply) => {
      // no hook has run
      cors?.mark(request.raw, { setHeader: (name, value) => reply.header(name, value) });
      return answer(error, request, reply);
    },
    clientErrorHandler: (error, socket) => refuseConnection(error, socket, ids),
    ...(ids && { genReqId: (request: IncomingMessage) => ids.of(request) }),
    schemaController: { compilersFactory: compilersOnDemand() },
    // a start may wait for another process that migrates the database
    pluginTimeout: 0,
    ...timeLimits(server),
    ...(proxies && { trustProxy: proxies.trusts }),
    ...fastify,
    ...safelyLogging(fastify, application.declaration),
  });
  app.setErrorHandler(answer);
  sendCommonHeaders(app, ids);
  prepare?.(app);
  try {
    let mounted: Mounted | undefined;
    const isHealth = healthPaths(server);
    const { metrics, ...watching } = await watchServer(app, server, {
      ids,
      isQuiet: (url) => isHealth(url) || targetOf(url).path === server.metrics?.path,
      shared: sharedMetrics,
      timing: (timing ?? server.timing) && !application.production,
      tracing: await tracingOf(application.directory, application.declaration),
    });
    onProblem = watching.onProblem;
    await cors?.register(app);
    const parts = servedParts(application, true);
    if (parts.explorer && !application.production) {
      const { offerExplorer } = await import('./openapi/explorer/offer.ts');
      offerExplorer(app, application, parts, explanations !== undefined);
    }
    if (server.compress) {
      const { compressionPlaces, compressResponses } = await import('./traffic/compression.ts');
      await compressResponses(app, server.compress, compressionPlaces(application.directory));
    }
    const gate = gateBefore(app, server, {
      cors,
      isExempt: isHealth,
      ids,
      formatOf,
      clientOf: proxies?.clientOf,
      watch: watching.watch,
      onDrain: () => mounted?.refuseWaiting(),
      statementsUnderWay: () => mounted?.statementsUnderWay() ?? 0,
    });
    await app.register(async (scope) => {
      mounted = await mountApplication(scope, application, { alone: true, observer, ...watching });
      if (!metrics || !server.metrics) return;
      const { path, role } = server.metrics;
      metrics.addGauges(gate, mounted);
      metrics.mount(
        scope,
        path,
        mounted.guardFor(role === null ? [] : [role]),
        sharedMetrics?.share(() => metrics.report()),
      );
    });
    const answers = databaseProbe({ rows: (...given) => (mounted as Mounted).executor.rows(...given) });
    const health = ownHealth(application);
    const isFit = () => (mounted as Mounted).schemaFits();
    const isReady = async () => gate.isOpen && (await answers()) && (await isFit()) && gate.isOpen;
    mountHealth(app, health, isReady, () => {
      const states = mounted?.replicas();
      return states ? { usable: [...states.values()].filter((isUsable) => isUsable).length, declared: states.size } : null;
    });
    if (parts.pages || parts.explorer) {
      const { mountDescription } = await import('./openapi/mount.ts');
      const own = application.production ? undefined : explanations;
      mountDescription(app, application, parts, health, own);
      if (own) app.addHook('onClose', () => own.close());
    }
    await app.ready();
  } catch (error) {
    await app.close();
    throw error;
  }
  return app;
}

/** Loads the handling of other origins if some are allowed. */
export async function corsOf({ catalog, declaration, records }: Application): Promise<Cors | undefined> {
  const { cors } = declaration.server;
  if (cors === null) return undefined;
  const { Cors } = await import('./traffic/cors.ts');
  return new Cors(cors, { declaration, records, hasAuthenticators: catalog.authenticators.length > 0 });
}

/** Sends the headers that every response has. */
function sendCommonHeaders(app: FastifyInstance, ids: RequestIds | null): void {
  const { name, value } = noSniffing;
  app.addHook('onRequest', (request, reply, done) => {
    reply.header(name, value);
    if (ids) reply.header(ids.header, request.id);
    done();
  });
}

/** Limits that Node enforces. */
function timeLimits({ headerLimit, headerTimeout, keepAliveTimeout, requestTimeout }: ServerDeclaration) {
  // a request cannot take less time than its headers
  const whole = Math.max(requestTimeout, headerTimeout);
  return {
    requestTimeout: whole,
    keepAliveTimeout,
    http: {
      ...strictHttp,
      maxHeaderSize: headerLimit,
      headersTimeout: headerTimeout,
      requestTimeout: whole,
      connectionsCheckingInterval: Math.min(Math.max(Math.floor(headerTimeout / 4), 50), 1000),
    },
  };
}

/** Puts a gate before the server, on every address that it listens on. */
function gateBefore(app: FastifyInstance, server: ServerDeclaration, options: Omit<GateOptions, 'onShed'>): Gate {
  const gate = new Gate(server, {
    ...options,
    onShed: (shed, inFlight) => app.log.warn({ shed, inFlight }, 'overloaded: requests were rejected'),
  });
  keepGate(app, gate);
  const { ids } = options;
  gate.guard(app.server as Server);
  handleRejected(app.server as Server, ids, { hasHandler: true });
  app.addHook('onListen', async () => {
    for (const server of furtherServers(app)) {
      gate.guard(server);
      handleRejected(server, ids);
    }
  });
  app.addHook('onClose', async () => gate.close());
  return gate;
}

/** Paths that are served under any load: they need neither credentials nor much work. */
function healthPaths({ health: { live, ready } }: ServerDeclaration): (url: string) => boolean {
  return (url) => {
    const { path } = targetOf(url);
    return path === live || path === ready;
  };
}

/** Fastify creates a server for each address that "localhost" resolves to. */
function furtherServers(app: FastifyInstance): readonly Server[] {
  const bindings = Object.getOwnPropertySymbols(app).find(({ description }) => description === 'fastify.serverBindings');
  return bindings ? ((app as unknown as Record<symbol, Server[]>)[bindings] ?? []) : [];
}

/** The health checks, except at paths that a route of the application has. */
function ownHealth({ declaration, records }: Application): HealthDeclaration {
  const free = (path: string | null) => (path !== null && allowedMethods(records, path).length === 0 ? path : null);
  const { live, ready } = declaration.server.health;
  return { live: free(live), ready: free(ready) };
}

/** Fastify's own compilers of JSON Schemas, loaded on first use only: none of our routes has a schema. */
function compilersOnDemand() {
  const fromFastify = (name: string) => createRequire(createRequire(import.meta.url).resolve('fastify'))(name);
  return {
    buildValidator: (...given: unknown[]) => fromFastify('@fastify/ajv-compiler')()(...given),
    buildSerializer: (...given: unknown[]) => fromFastify('@fastify/fast-json-stringify-compiler')()(...given),
  };
}
