import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Application } from '../application.ts';
import { didYouMean, listed } from '../declaration/suggest.ts';
import { prepareClose } from './close-server.ts';
import { type Command, directoryPositional } from './command.ts';
import { reachDatabase, withDatabaseNews } from './database-start.ts';
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
    'SIGTERM and SIGINT let requests under way end, for ten seconds at most; a second signal stops at once.',
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
    const app = await start(application, level, io);
    const close = prepareClose(app);
    try {
      await announcePublic(application, io);
      const { host, port } = application.declaration.server;
      await listen(app, { host, port, ...asked });
      say(io.stdout, `listening on ${addressOf(app)}`);
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
  await reachDatabase(application);
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

async function listen(app: FastifyInstance, { host, port }: { host: string; port: number }): Promise<void> {
  try {
    await app.listen({ host, port });
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
function addressOf(app: FastifyInstance): string {
  const { address, family, port } = app.server.address() as AddressInfo;
  const host = address === '0.0.0.0' || address === '::' ? '127.0.0.1' : family === 'IPv6' ? `[${address}]` : address;
  return `http://${host}:${port}`;
}
