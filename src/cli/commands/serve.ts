import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Application } from '../../application.ts';
import { SchemaErrors } from '../../database/schema/schema-errors.ts';
import { modeOf } from '../../declaration/read/mode.ts';
import { didYouMean, listed } from '../../declaration/suggest.ts';
import { type LogLevel, logLevels } from '../../declaration/types.ts';
import { dialectOf } from '../../dialect/dialect.ts';
import type { ServerParts } from '../../server.ts';
import { integerOption, listenOn, listenOptions } from '../arguments.ts';
import { type Command, type Given, isGiven, optionValue } from '../command.ts';
import { ApplicationFailure, CallFailure, type ExitCode, Failure, messageOf } from '../failure.ts';
import { withFastImports } from '../fast-imports.ts';
import { type Io, say } from '../io.ts';
import { applicationDirectory, openApplication } from '../open-application.ts';
import { withProgress } from '../progress.ts';

export default {
  details: [
    'Prints "listening on http://127.0.0.1:N" on stdout when the server is ready. Before that, it lists PUBLIC routes (no role required), the mode (NODE_ENV) and the address of the docs page on stderr.',
    'Logs go to stderr as JSON, one object per line, without secrets. LOG_LEVEL=info logs every request; the default is app_main.server.log.level (warn).',
    'On SIGTERM or SIGINT, running requests may finish within app_main.server.shutdown_timeout. A second signal stops the server at once.',
    '--workers N starts N processes and replaces a process that ends. A signal to the main process stops all of them. SIGHUP restarts them one by one with the current code and configuration, without a failed request.',
    'If the database is unreachable, the server waits for it and answers requests with 503.',
  ],
  options: {
    ...listenOptions,
    timing: { doc: 'Add Server-Timing to responses, whatever the configuration says. Ignored in production.' },
    workers: { value: 'N', doc: 'The number of processes that share the port. Default: 1.' },
  },
  exitCodes: { 0: 'stopped by a signal', 1: 'error in the application, or the server cannot start', 2: 'wrong command line' },
  example: 'declarest serve my-application --port 8080 --host 0.0.0.0',

  async run(given, io) {
    const requested = listenOn(given, io.env);
    const level = logLevel(io.env);
    const workers = workersIn(given);
    // loaded only for several processes
    const several = workers > 1 ? await import('../workers.ts') : null;
    if (several && !several.isWorker()) return serveBy(several, workers, given, requested, io);
    return serveHere(given, requested, level, several, io);
  },
} satisfies Command;

type Several = typeof import('../workers.ts');

/** Serves in this process, which may be a worker. */
async function serveHere(
  given: Given,
  requested: ReturnType<typeof listenOn>,
  level: LogLevel | undefined,
  several: Several | null,
  io: Io,
): Promise<ExitCode> {
  const { dir } = given.positionals;
  const stopped = several ? several.untilWorkerStopped() : io.untilStopped();
  applicationDirectory(dir, io);
  // Before the modules of the application: loading them registers resolution hooks, which slow down later imports.
  await withFastImports(() => import('@mikro-orm/sql'));
  await import('../../server.ts');
  const application = await openApplication(dir, io);
  const { server } = application.declaration;
  let place = { host: server.host, port: server.port, ...requested };
  const { reachDatabase } = await import('../database-start.ts');
  const trouble = await reachDatabase(application);
  if (trouble !== null) {
    if (several?.isReplacement()) {
      await application.mapper.close(true);
      throw new ApplicationFailure(trouble);
    }
    const port = await answerUntilReached(application, place, trouble, stopped, io);
    if (port === null) return 0;
    place = { ...place, port };
  }
  const shared = several && server.metrics ? await import('../shared-metrics.ts') : null;
  const explaining = application.production ? null : await import('../running-explanations.ts');
  const parts = {
    ...(explaining && { explanations: explaining.runningExplanations(application, io.env) }),
    ...(isGiven(given, 'timing') && { timing: true }),
    ...(several && shared && { sharedMetrics: shared.workerMetrics(several.workerName()) }),
  };
  if (io.env.DECLAREST_DEV) {
    const fits = await orClose(application, () => untilItFits(application, stopped, io));
    if (!fits) return 0;
  }
  const app = await start(application, level, parts, io);
  const { prepareClose } = await import('../close-server.ts');
  const { boundHeap } = await import('../bound-heap.ts');
  const close = prepareClose(app, server.shutdownTimeout);
  try {
    if (!several) await announceAccess(application, io);
    await listen(place, () => app.listen(place));
    boundHeap(application.mapper);
    const address = addressOf(app.server.address() as AddressInfo);
    if (several) several.reportListening(address);
    else await announceListening(application, address, io);
    await stopped;
  } finally {
    await close();
  }
  return 0;
}

function workersIn(given: Given): number {
  const text = optionValue(given, 'workers');
  return text === undefined ? 1 : integerOption('workers', text, { min: 1, max: 256 });
}

/** Prepares the database once, then runs the workers. */
async function serveBy(
  several: Several,
  count: number,
  given: Given,
  requested: ReturnType<typeof listenOn>,
  io: Io,
): Promise<ExitCode> {
  const stopped = io.untilStopped();
  const application = await openApplication(given.positionals.dir, io);
  const { server } = application.declaration;
  if (dialectOf(application.mapper).connections.memory) {
    throw new CallFailure(
      '--workers does not work with a database in memory, which belongs to one process; set app_main.database.url to a file or a server',
    );
  }
  const { reachDatabase } = await import('../database-start.ts');
  // if it is unreachable, the workers prepare it; they wait for each other
  if ((await reachDatabase(application)) === null) await orClose(application, () => prepareOnce(application, io));
  await application.mapper.close(true);
  await announceAccess(application, io);
  // workers that start later keep the address, even if the configuration has changed
  const { host, port } = { ...server, ...requested };
  const flags = isGiven(given, 'timing') ? ['--timing'] : [];
  const options = [`--host=${host}`, `--port=${port}`, `--workers=${count}`, ...flags];
  const args = [applicationDirectory(given.positionals.dir, io), ...options];
  const onListening = (address: string) => announceListening(application, address, io);
  const onStart = server.metrics ? (await import('../shared-metrics.ts')).relayMetrics() : undefined;
  const { shutdownTimeout } = server;
  await several.runWorkers({ count, args, shutdownTimeout, onListening, onStart }, stopped, io);
  return 0;
}

/** Under "declarest dev": prepares the database, or shows the differences and waits until it fits. False: stopped before that. */
async function untilItFits(application: Application, stopped: Promise<void>, io: Io): Promise<boolean> {
  const isStopped = stopped.then(() => true);
  for (let last = ''; ; ) {
    try {
      await prepareOnce(application, io);
      return true;
    } catch (error) {
      if (!(error instanceof SchemaErrors)) throw error;
      if (error.message !== last) say(io.stderr, `${error.message}\nwaiting for a change of the database, or in config/ or src/`);
      last = error.message;
    }
    if (await Promise.race([isStopped, sleep(1000, false)])) {
      await application.mapper.close(true);
      return false;
    }
  }
}

/** Updates or checks the schema of the database, and seeds a new one. */
async function prepareOnce(application: Application, io: Io): Promise<void> {
  const { prepareDatabase } = await import('../../database/prepare-database.ts');
  const { withDatabaseNews } = await import('../database-start.ts');
  const { addSearchIndexes } = await import('../../query/list/search-index.ts');
  const noted = withDatabaseNews(application, (line) => say(io.stderr, line));
  const { declaration, directory, mapper, onMigration: onNews, onSchemaChange: onStatement, seed } = noted;
  const extensions = addSearchIndexes(mapper, declaration.apis);
  await prepareDatabase(mapper, declaration.database, { directory, seed, extensions, onStatement, onNews });
}

/** Runs a part of the start, and closes the database if it fails. */
async function orClose<Result>({ mapper }: Application, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    await mapper.close(true);
    throw error instanceof Failure || error instanceof SchemaErrors
      ? error
      : new ApplicationFailure(`cannot start: ${messageOf(error)}`, error);
  }
}

/** The level from the environment; undefined if it is not set. */
function logLevel(env: NodeJS.ProcessEnv): LogLevel | undefined {
  if (!env.LOG_LEVEL) return undefined;
  const level = env.LOG_LEVEL.toLowerCase();
  const known = logLevels.find((one) => one === level);
  if (known) return known;
  throw new CallFailure(`LOG_LEVEL is "${env.LOG_LEVEL}";${didYouMean(level, logLevels)} use one of: ${listed(logLevels)}`);
}

async function start(
  application: Application,
  level: LogLevel | undefined,
  parts: ServerParts,
  io: Io,
): Promise<FastifyInstance> {
  const { serverOf } = await import('../../server.ts');
  const { withDatabaseNews } = await import('../database-start.ts');
  const news: string[] = [];
  const noted = withDatabaseNews(application, (line) => news.push(line));
  const logger = { stream: io.stderr, ...(level && { level }) };
  const starting = 'preparing the database and the server';
  const app = await withProgress(io, starting, () => orClose(application, () => serverOf(noted, { logger }, parts)));
  for (const line of news) say(io.stderr, line);
  return app;
}

/** Prints the warnings of the declaration and the public routes. */
async function announceAccess({ declaration, records, warnings }: Application, { stderr }: Io): Promise<void> {
  const { describeRecords } = await import('../../route/describe.ts');
  const open = describeRecords(records).flatMap((route) => {
    const methods = route.methods.filter((method) => !route.roles[method]?.length);
    return methods.length > 0 ? [`PUBLIC  ${methods.join(',')} ${route.path}  ${route.name}`] : [];
  });
  const lines = [...warnings.map(({ text }) => text), ...open];
  const { metrics } = declaration.server;
  if (metrics?.role === null) lines.push(`PUBLIC  GET,HEAD ${metrics.path}  metrics`);
  // one write: each write to a terminal or pipe delays the start
  if (lines.length > 0) say(stderr, lines.join('\n'));
}

async function announceListening(application: Application, address: string, { env, stderr, stdout }: Io): Promise<void> {
  const { placesOf, servedParts } = await import('../../openapi/places.ts');
  const { docs, explorer } = placesOf(application.declaration, application.records, servedParts(application, true));
  const mode = `${modeOf(env)} mode${env.NODE_ENV ? '' : ' (NODE_ENV is not set)'}`;
  const pages = Object.entries({ docs, explorer }).flatMap(([name, path]) =>
    path === null ? [] : [`${name} on ${address}${path}`],
  );
  say(stderr, [mode, ...pages].join('\n'));
  say(stdout, `listening on ${address}`);
}

/** Responds with 503 until the database is reachable, and returns the port; null if the process was stopped first. */
async function answerUntilReached(
  application: Application,
  place: { readonly host: string; readonly port: number },
  trouble: string,
  stopped: Promise<void>,
  io: Io,
): Promise<number | null> {
  const { startWaiting } = await import('../waiting-server.ts');
  const { untilReached } = await import('../database-start.ts');
  const { corsOf } = await import('../../server.ts');
  const cors = await corsOf(application);
  const waiting = await listen(place, () => startWaiting(application.declaration.server, { ...place, cors }));
  try {
    say(io.stderr, `${trouble}; waiting for it, and returning 503 on ${addressOf(waiting.address)} until then`);
    if (await untilReached(application, stopped)) return waiting.address.port;
    await application.mapper.close(true);
    return null;
  } finally {
    await waiting.close();
  }
}

async function listen<Result>({ host, port }: { host: string; port: number }, begin: () => Promise<Result>): Promise<Result> {
  try {
    return await begin();
  } catch (error) {
    throw new ApplicationFailure(`cannot listen on ${host}:${port}: ${listenRemedy(error, port)}`, error);
  }
}

function listenRemedy(error: unknown, port: number): string {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return 'the port is in use; stop the program that uses it, or choose another port with --port (0 for any free one)';
    case 'EACCES':
      return `this user may not open port ${port}; choose one above 1023 with --port`;
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'this machine does not have that address; use --host 127.0.0.1, or --host 0.0.0.0 for all its addresses (the environment variable HOST sets it too)';
    default:
      return messageOf(error);
  }
}

/** The URL of the server; for wildcard addresses, with the loopback address. */
function addressOf({ address, family, port }: AddressInfo): string {
  const host = address === '0.0.0.0' || address === '::' ? '127.0.0.1' : family === 'IPv6' ? `[${address}]` : address;
  return `http://${host}:${port}`;
}
