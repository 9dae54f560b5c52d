import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Application } from '../application.ts';
import { didYouMean, listed } from '../declaration/suggest.ts';
import { prepareClose } from './close-server.ts';
import { type Command, directoryPositional } from './command.ts';
import { reachDatabase, untilReached, withDatabaseNews } from './database-start.ts';
import { ApplicationFailure, CallFailure, Failure, messageOf } from './failure.ts';
import { type Io, say } from './io.ts';
import { listenOn, listenOptions } from './listen-options.ts';
import { applicationDirectory, openApplication } from './open-application.ts';
import { publicMethods } from './route-text.ts';

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

export const serve: Command = {
  details: [
    'Prints "listening on http://127.0.0.1:N" on stdout once it is ready. Before that, routes that anybody may call are listed as',
    'PUBLIC on stderr. Logs go to stderr as JSON, one object a line: LOG_LEVEL=info logs every request; the default is warn.',
    'SIGTERM and SIGINT let requests under way end, for app_main.server.shutdown_timeout at most; a second signal stops at once.',
    'A database that is out of reach is waited for: requests are answered with 503 until it is there.',
  ],
  positionals: [directoryPositional],
  options: listenOptions,
  exitCodes: { 0: 'stopped when asked to', 1: 'the application is at fault, or cannot be served', 2: 'the call is at fault' },
  example: 'declarest serve my-application --port 8080 --host 0.0.0.0',

  async run(given, io) {
    const asked = listenOn(given);
    const level = logLevel(io.env);
    const stopped = io.untilStopped();
    applicationDirectory(given.positionals.dir, io);
    // Before the modules of the application: once theirs are looked for in other places too, each later one takes longer.
    await import('../server.ts');
    const application = await openApplication(given.positionals.dir, io);
    const { server } = application.declaration;
    let place = { host: server.host, port: server.port, ...asked };
    const away = await reachDatabase(application);
    if (away !== null) {
      const port = await answerUntilReached(application, place, away, stopped, io);
      if (port === null) return 0;
      place = { ...place, port };
    }
    const app = await start(application, level, io);
    const close = prepareClose(app, server.shutdownTimeout);
    try {
      await announcePublic(application, io);
      await listen(place, () => app.listen(place));
      say(io.stdout, `listening on ${addressOf(app.server.address() as AddressInfo)}`);
      await stopped;
    } finally {
      await close();
    }
    return 0;
  },
};

function logLevel(env: NodeJS.ProcessEnv): string {
  const level = (env.LOG_LEVEL || 'warn').toLowerCase();
  if (logLevels.includes(level)) return level;
  throw new CallFailure(`LOG_LEVEL is "${env.LOG_LEVEL}";${didYouMean(level, logLevels)} use one of: ${listed(logLevels)}`);
}

async function start(application: Application, level: string, io: Io): Promise<FastifyInstance> {
  const { serverOf } = await import('../server.ts');
  const news: string[] = [];
  try {
    const app = await serverOf(
      withDatabaseNews(application, (line) => news.push(line)),
      { logger: { level, stream: io.stderr } },
    );
    for (const line of news) say(io.stderr, line);
    return app;
  } catch (error) {
    await application.mapper.close(true);
    throw error instanceof Failure ? error : new ApplicationFailure(`cannot start: ${messageOf(error)}`, error);
  }
}

async function announcePublic({ records }: Application, { stderr }: Io): Promise<void> {
  const { describeRecords } = await import('../route/describe.ts');
  const lines = describeRecords(records).flatMap((route) => {
    const methods = publicMethods(route);
    return methods.length > 0 ? [`PUBLIC  ${methods.join(',')} ${route.path}  ${route.name}`] : [];
  });
  // in one go: each write to a terminal or a pipe holds up the start
  if (lines.length > 0) say(stderr, lines.join('\n'));
}

/** Answers 503 until the database is there, and gives the port; null where it is not waited for any more. */
async function answerUntilReached(
  application: Application,
  place: { readonly host: string; readonly port: number },
  away: string,
  stopped: Promise<void>,
  io: Io,
): Promise<number | null> {
  const { startWaiting } = await import('./waiting-server.ts');
  const waiting = await listen(place, () => startWaiting(application.declaration.server, place));
  try {
    say(io.stderr, `${away}; waiting for it, and answering 503 on ${addressOf(waiting.address)} until then`);
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
      return 'this machine has no such address; use --host 127.0.0.1, or --host 0.0.0.0 for every address it has';
    default:
      return messageOf(error);
  }
}

/** The address to call: where the server listens on every one, the loopback address. */
function addressOf({ address, family, port }: AddressInfo): string {
  const host = address === '0.0.0.0' || address === '::' ? '127.0.0.1' : family === 'IPv6' ? `[${address}]` : address;
  return `http://${host}:${port}`;
}
