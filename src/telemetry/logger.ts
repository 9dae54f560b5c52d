import Fastify, { type FastifyServerOptions } from 'fastify';
import type { Declaration } from '../declaration/types.ts';
import { loggableError } from '../response/loggable-error.ts';
import { targetOf } from '../response/request-target.ts';
import { scrubber } from './scrubber.ts';

/** The options of a logger that Fastify creates. */
type LoggerOptions = Exclude<NonNullable<FastifyServerOptions['logger']>, boolean>;

/** Fastify's own log lines without those of each request: we log one line after its response was sent. */
function fewerLines(): FastifyServerOptions {
  const requestIdLogLabel = 'request_id';
  // Fastify before 5.10
  if (!Fastify.LogController) return { disableRequestLogging: true, requestIdLogLabel };
  class FewerLines extends Fastify.LogController {
    override incomingRequest(): void {}
    override requestCompleted(): void {}
  }
  return { logController: new FewerLines({ requestIdLogLabel }) };
}

/** Logging options of a server that keep secrets out of its log. A logger instance is left as it is. */
export function safelyLogging({ logger }: FastifyServerOptions, declaration: Declaration): FastifyServerOptions {
  if (!logger) return {};
  const given: LoggerOptions = logger === true ? {} : logger;
  const scrub = scrubber(declaration);
  const before = given.hooks?.streamWrite;
  return {
    logger: {
      level: declaration.server.log.level,
      ...given,
      serializers: { err: loggableError, req: shownRequest, ...given.serializers },
      hooks: { logMethod: withSafeMessage, ...given.hooks, streamWrite: (line: string) => scrub(before ? before(line) : line) },
    },
    ...fewerLines(),
  };
}

type LogMethod = NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']>;

/** If an error is logged without a message, the line gets the message of the error. */
const withSafeMessage: LogMethod = function withSafeMessage(args, method) {
  const [first, ...rest] = args as unknown[];
  const error = first instanceof Error ? first : (first as { err?: unknown } | null)?.err;
  if (!(error instanceof Error) || rest.length > 0) return method.apply(this, args);
  const err = loggableError(error);
  return method.apply(this, [{ ...(first === error ? {} : (first as object)), err }, err.message] as unknown as typeof args);
};

/** A request in a line of the application or of Fastify: without headers and parameters, which may be secret. */
function shownRequest(request: { readonly method?: string; readonly url?: string }) {
  return { method: String(request.method), path: shownPath(request.url ?? '/') };
}

/** The path of a URL, shortened for the log. */
export function shownPath(url: string): string {
  const { path } = targetOf(url);
  return path.length > 300 ? `${path.slice(0, 300)}…` : path;
}
