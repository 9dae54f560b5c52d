import { channel } from 'node:diagnostics_channel';
import type { FastifyInstance, FastifyPluginAsync, FastifyRequest, onRequestHookHandler } from 'fastify';
import { watchedCall } from './access/access-watch.ts';
import { ApiKeyAuthenticator } from './access/api-keys.ts';
import {
  type Authenticator,
  authenticateWith,
  challengeOf,
  credentialHeaders,
  isAuthenticatorClass,
} from './access/authenticator.ts';
import { compileGuard, type Guard } from './access/guard.ts';
import type { ApiRequest } from './access/user.ts';
import { exportPlaces } from './actions/export/export-places.ts';
import { parametersOf } from './actions/parameters.ts';
import { isBound } from './actions/precondition.ts';
import type { BodyCheck } from './actions/start/body-check.ts';
import { hidingClasses } from './actions/start/check-lists.ts';
import { compileHandlers } from './actions/start/handlers.ts';
import type { Find, Observer } from './actions/start/observer.ts';
import { type Application, type ApplicationOptions, declaresBodies, instancesOf, loadApplication } from './application.ts';
import { denormalizersOf } from './change/associations.ts';
import { conflictProblem } from './change/conflict.ts';
import { separateEarlyUpdates } from './change/early-updates.ts';
import { countLinks } from './change/link-versions.ts';
import { checkSharedColumns } from './change/shared-columns.ts';
import { createCursors, createExecutor, createWriter } from './database/create-connections.ts';
import type { ConnectionCounts, Executor } from './database/executor.ts';
import type { Mapper } from './database/mapper.ts';
import { prepareDatabase } from './database/prepare-database.ts';
import type { Reads, ReplicaReads } from './database/replicas.ts';
import { schemaComparison } from './database/schema/compare.ts';
import type { Difference } from './database/schema/differences.ts';
import { faultOf, outOfDate } from './database/schema/schema-errors.ts';
import { mayBeSchemaFault, readBy, SchemaMonitor } from './database/schema/schema-monitor.ts';
import type { StatementWatch } from './database/statement-watch.ts';
import { removeExpiredResponses } from './database/tables/idempotency-table.ts';
import type { Writer } from './database/writer.ts';
import type { ActionDeclaration, RateLimitDeclaration } from './declaration/types.ts';
import { dialectOf } from './dialect/dialect.ts';
import { Problem, problem } from './errors.ts';
import { servedParts } from './openapi/places.ts';
import { addSearchIndexes } from './query/list/search-index.ts';
import { textMatching } from './query/list/text-matching.ts';
import { rootFiltersOf } from './query/rows/root-filter.ts';
import { responseCaching } from './response/caching.ts';
import { rootMessage } from './response/loggable-error.ts';
import { noSniffing, problemFormats, retryLater, toProblem } from './response/problem-document.ts';
import { type LogProblem, sendProblem } from './response/send-problem.ts';
import { mountRoutes } from './route/mount.ts';
import { acceptJson } from './serialization/json-body.ts';
import { groupsOf, stateOf } from './store/request-state.ts';
import { type Telemetry, tracingOf } from './telemetry/telemetry.ts';
import { authentication } from './traffic/authentication.ts';
import { decorateRequests, limitTargets, readQueries, unusedSettings } from './traffic/embedded.ts';
import type { RateLimiter } from './traffic/rate-limiter.ts';

/**
 * Mounts an application on a Fastify instance.
 *
 * @example
 * await app.register(declarest, { app_main: { apis }, models: [Person, Center], voters: [PersonVoter] });
 */
export const declarest: FastifyPluginAsync<ApplicationOptions> = async (app, options) => {
  const application = await loadApplication(options);
  for (const { text } of application.warnings) app.log.warn(text);
  const unused = unusedSettings(application.source);
  if (unused !== null) app.log.warn(unused);
  const tracing = await tracingOf(application.directory, application.declaration);
  const watching = tracing && { access: tracing.access, statements: { waits: tracing.waits }, onProblem: tracing.problem };
  const parts = servedParts(application, false);
  if (parts.explorer && !application.production) {
    const { offerExplorer } = await import('./openapi/explorer/offer.ts');
    offerExplorer(app, application, parts);
  }
  await mountApplication(app, application, watching ?? {});
  if (!parts.pages && !parts.explorer) return;
  const { mountDescription } = await import('./openapi/mount.ts');
  mountDescription(app, application, parts, null);
};

/** Publishes `{ app, application, alone }` for every application that is mounted to serve, for tools such as our own tests. */
const mountings = channel('declarest.mounted');

/** @internal */
export interface Mounted {
  readonly executor: Executor;
  /** Whether the database still fits the models. */
  schemaFits(): Promise<boolean>;
  /** Checks roles for further routes, such as the metrics. */
  guardFor(roles: readonly string[]): Guard;
  /** The number of statements that are running or queued. */
  statementsUnderWay(): number;
  /** Rejects exports that wait for others to end. */
  refuseWaiting(): void;
  /** Whether each replica is used, by its name; null if there are none. */
  replicas(): ReadonlyMap<string, boolean> | null;
  /** Connection counts by purpose; empty if the database needs no connections. */
  connections(): ReadonlyMap<string, ConnectionCounts>;
}

/** @internal */
interface MountingOptions extends Partial<Pick<Telemetry, 'access' | 'statements' | 'onProblem'>> {
  /** Whether the host has no other routes. */
  readonly alone?: boolean;
  readonly observer?: Observer | undefined;
}

/** @internal */
export async function mountApplication(
  app: FastifyInstance,
  application: Application,
  { access, alone = false, observer, onProblem, statements }: MountingOptions = {},
): Promise<Mounted> {
  const { catalog, declaration, mapper, records, seed } = application;
  const authenticators = await authenticatorsOf(application, (message) => app.log.warn(message));
  try {
    const extensions = addSearchIndexes(mapper, declaration.apis);
    const onStatement =
      application.onSchemaChange ?? ((sql: string) => app.log.info({ sql }, 'changed the schema of the database'));
    const onNews = application.onMigration ?? ((line: string) => app.log.warn(line));
    const { directory } = application;
    await prepareDatabase(mapper, declaration.database, { directory, seed, extensions, onStatement, onNews });
  } catch (error) {
    // an application that does not start has no onClose hook
    await mapper.close().catch(() => undefined);
    throw error;
  }
  countLinks(mapper);
  separateEarlyUpdates(mapper);
  checkSharedColumns(mapper);
  const watch = { ...statements, sent: application.onStatement };
  const executor = createExecutor(mapper, watch, { bytes: declaration.server.responseLimit });
  const cursors = createCursors(mapper, watch);
  const writer = createWriter(mapper, watch);
  const { connections } = dialectOf(mapper);
  if (statements) connections.watch(statements);
  const replicas = observer ? null : await replicasOf(app, application, { executor, cursors }, watch);
  const removal = declaration.server.idempotency && !observer ? removeExpiredResponses(mapper, writer) : null;
  app.addHook('onClose', async () => {
    await removal?.close();
    await Promise.all([cursors.close(), executor.close(), writer.close(), replicas?.executor.close()]);
    await mapper.close();
  });

  decorateRequests(app, requestParameters);
  readQueries(app);
  if (!alone) app.addHook('onRequest', sendNoSniffing).addHook('onRequest', limitTargets(declaration.server));
  app.addHook('onRequest', responseCaching(credentialHeaders(authenticators)));
  const authenticate: Find = (request) => authenticateWith(authenticators, request);
  const find = access ? watchedCall(authenticate, access) : authenticate;
  const limiter = await rateLimiterOf(application, writer);
  const wrong = await credentialLimitOf(declaration.server.rateLimit, authenticators);
  app.addHook('onRequest', authentication(observer?.authentication(find) ?? find, wrong));
  acceptJson(app, declaration.server);
  const challenge = challengeOf(authenticators);
  const schema = monitorSchema(app, application, executor);
  handleErrors(app, application, { challenge, observer, onProblem, schema });
  const filters = application.compiledReads ? await rootFiltersOf(mapper, declaration.apis) : new Map();
  const listOptions = {
    isHiding: hidingClasses(declaration.apis, mapper),
    matching: await textMatching(mapper, declaration.apis),
  };
  const compiled = {
    ...application,
    challenge,
    denormalizers: denormalizersOf(catalog.denormalizers, application.create),
    prefix: app.prefix,
    pathRules: app.initialConfig.routerOptions ?? {},
  };
  const bodies = await bodyChecksOf(application);
  const places = exportPlaces(declaration);
  app.addHook('preClose', async () => places.close());
  const reads = replicas ?? undefined;
  const changing = observer?.writer() ?? writer;
  const compilers = { access, bodies, cursors, executor, filters, listOptions, observer, places, reads, writer: changing };
  mountRoutes(app, records, compileHandlers(compiled, compilers), {
    alone,
    route: { bodyLimit: declaration.server.bodyLimit },
    ...(limiter && {
      admit: ({ api }) => {
        const { rateLimit } = api ?? declaration.server;
        return rateLimit && limiter.hook(rateLimit);
      },
    }),
  });
  if (!observer) mountings.publish({ app, application, alone });
  return {
    executor,
    schemaFits: () => schema.fits(),
    guardFor: (roles) => compileGuard(roles, application.voters, challenge),
    statementsUnderWay: () => {
      const { used = 0, waiting = 0 } = connections.pool() ?? {};
      return executor.underWay() + writer.underWay() + (replicas?.executor.underWay() ?? 0) + used + waiting;
    },
    refuseWaiting: () => places.close(),
    replicas: () => replicas && new Map(Array.from(replicas.status(), ([name, { isUsable }]) => [name, isUsable])),
    connections: () => {
      const counts = {
        mapper: connections.pool(),
        reads: executor.connections?.(),
        writes: writer.connections?.(),
        ...Object.fromEntries(Array.from(replicas?.status() ?? [], ([name, state]) => [`replica ${name}`, state.connections])),
      };
      return new Map(Object.entries(counts).flatMap(([name, count]) => (count ? [[name, count] as const] : [])));
    },
  };
}

/** Starts to use the replicas, if there are some. */
async function replicasOf(
  app: FastifyInstance,
  { declaration, mapper }: Application,
  primary: Reads,
  watch: StatementWatch,
): Promise<ReplicaReads | null> {
  const { replicas } = dialectOf(mapper).connections;
  if (replicas === null) return null;
  return replicas({
    primary,
    watch,
    limits: { bytes: declaration.server.responseLimit },
    onChange(replica, reason) {
      if (reason === null) app.log.info({ replica }, 'the replica serves reads');
      else app.log.warn({ replica, reason }, 'the replica is not used; the primary serves its reads');
    },
  });
}

/** Only for a host's server: our own server sends this header with every response. */
const sendNoSniffing: onRequestHookHandler = (_request, reply, done) => {
  reply.header(noSniffing.name, noSniffing.value);
  done();
};

function requestParameters(this: FastifyRequest) {
  return parametersOf(this);
}

/** Loads the rate limiter if a limit is declared. */
async function rateLimiterOf({ declaration, mapper }: Application, writer: Writer): Promise<RateLimiter | null> {
  const { apis, server } = declaration;
  if (server.rateLimit === null && apis.every(({ rateLimit }) => rateLimit === null)) return null;
  const { RateLimiter } = await import('./traffic/rate-limiter.ts');
  if (server.rateLimitStore === 'memory') return new RateLimiter(null);
  const { createRateTable } = await import('./database/tables/rate-table.ts');
  return new RateLimiter(createRateTable(mapper, writer));
}

/** Loads the limit of wrong credentials if requests are limited. */
async function credentialLimitOf(limit: RateLimitDeclaration | null, authenticators: readonly Authenticator[]) {
  if (limit === null) return null;
  const { CredentialLimit } = await import('./traffic/credential-limit.ts');
  return new CredentialLimit(limit, authenticators);
}

async function authenticatorsOf(
  { catalog, create, declaration: { security }, directory, production }: Application,
  warn: (message: string) => void,
): Promise<Authenticator[]> {
  const found: Authenticator[] = [];
  if (security.jwt) {
    // loaded only if tokens are accepted
    const { JwtAuthenticator } = await import('./access/jwt.ts');
    const { loadJwtKeys } = await import('./access/jwt-keys.ts');
    found.push(new JwtAuthenticator(security.jwt, await loadJwtKeys(security.jwt, { directory, production, warn })));
  }
  if (security.apiKeys.length > 0) found.push(new ApiKeyAuthenticator(security.apiKeys));
  const own = security.authenticator ? [security.authenticator] : catalog.authenticators;
  return [...found, ...instancesOf(own, isAuthenticatorClass, create)];
}

/** Loads the checks of bodies if some are declared. */
async function bodyChecksOf(application: Application): Promise<ReadonlyMap<ActionDeclaration, BodyCheck>> {
  if (!declaresBodies(application.declaration)) return new Map();
  const { bodyChecks } = await import('./openapi/declared-bodies.ts');
  return bodyChecks(application);
}

/** Compares the database with the models: for readiness, and if the schema may be the reason for a failed request. */
function monitorSchema(
  app: FastifyInstance,
  { declaration: { database }, mapper }: Application,
  executor: Executor,
): SchemaMonitor {
  let comparison: ReturnType<typeof schemaComparison> | undefined;
  const isChecked = database.schema !== 'none' && !database.readOnly;
  const monitor = new SchemaMonitor({
    compare: () => {
      comparison ??= schemaComparison(mapper);
      return comparison(readBy(executor));
    },
    isStrict: isChecked,
    onChange(differences) {
      if (differences.length === 0) app.log.warn('the database matches the models again');
      else app.log.error({ differences: differences.map(faultOf) }, outOfDate);
    },
  });
  if (database.schema === 'none') {
    app.addHook('onListen', async () => {
      const warn = (differences: readonly Difference[]) => app.log.warn({ differences: differences.map(faultOf) }, outOfDate);
      // the requests report a database that is unreachable
      monitor.glance(warn).catch(() => undefined);
    });
  }
  return monitor;
}

interface ErrorHandling extends Pick<MountingOptions, 'onProblem'> {
  readonly challenge: string;
  readonly observer: Observer | undefined;
  readonly schema: SchemaMonitor;
}

/** Turns every error into a problem document. Server errors are logged, and the response has no details of them. */
function handleErrors(
  app: FastifyInstance,
  { mapper, declaration, records }: Application,
  { challenge, observer, onProblem, schema }: ErrorHandling,
): void {
  const formatOf = problemFormats(records);
  app.setErrorHandler((error, request, reply) => {
    observer?.failed(error, stateOf(request as ApiRequest, mapper).isMissing);
    const answer = (found: Problem, log?: LogProblem) => {
      onProblem?.(found);
      // a 401 needs a challenge, also if code of the application threw it without one
      if (found.status === 401 && !reply.hasHeader('www-authenticate')) reply.header('www-authenticate', challenge);
      return sendProblem(found, request, reply, formatOf, log);
    };
    const found =
      error instanceof Problem
        ? error
        : (conflictOf(error, request as ApiRequest, mapper) ?? toProblem(error, declaration.server.bodyLimit));
    if (found.status !== 500 || !mayBeSchemaFault(error)) return answer(found);
    return schema.blame(error).then(
      (differences) => {
        if (differences === null) return answer(found);
        return answer(problem('schema_mismatch', {}, { headers: retryLater, cause: error }), ({ log }, { message }) => {
          const cause = rootMessage(error);
          if (schema.isNews(cause)) log.error({ cause, differences: differences.map(faultOf) }, message);
        });
      },
      () => answer(found),
    );
  });
}

/** A concurrent change returns 409, or 412 if the request has a precondition. */
function conflictOf(error: unknown, request: ApiRequest, mapper: Mapper): Problem | null {
  const found = conflictProblem(error, mapper, groupsOf(request, mapper));
  if (found?.code !== 'conflict_version' || !isBound(request)) return found;
  return problem('precondition_failed', { reason: found.message }, { cause: error });
}
