import Fastify, { type FastifyServerOptions } from 'fastify';
import type { Declaration } from '../declaration/types.ts';
import { loggableError } from '../response/loggable-error.ts';
import { targetOf } from '../response/request-target.ts';
import { scrubber } from './scrubber.ts';

/** What Fastify takes for a logger that it makes itself. */
type LoggerOptions = Exclude<NonNullable<FastifyServerOptions['logger']>, boolean>;

/** Fastify's own lines, but those of each request: there is one for it when it has its answer. */
class FewerLines extends Fastify.LogController {
  override incomingRequest(): void {}
  override requestCompleted(): void {}
}

/** The options of a server that logs, where it does, nothing that is secret. A logger that was made elsewhere is left as it is. */
export function safelyLogging(options: FastifyServerOptions, declaration: Declaration): FastifyServerOptions {
  const { logger } = options;
  if (!logger) return {};
  return {
    logger: safeLogger(logger === true ? {} : logger, declaration),
    logController: new FewerLines({ requestIdLogLabel: 'request_id' }),
  };
}

function safeLogger(given: LoggerOptions, declaration: Declaration): LoggerOptions {
  const scrub = scrubber(declaration);
  const before = given.hooks?.streamWrite;
  return {
    level: declaration.server.log.level,
    ...given,
    serializers: { err: loggableError, req: shownRequest, ...given.serializers },
    hooks: { logMethod: withSafeMessage, ...given.hooks, streamWrite: (line: string) => scrub(before ? before(line) : line) },
  };
}

type LogMethod = NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']>;

/** Where an error is logged without a word, its message becomes that of the line. */
const withSafeMessage: LogMethod = function withSafeMessage(args, method) {
  const [first, ...rest] = args as unknown[];
  const error = first instanceof Error ? first : (first as { err?: unknown } | null)?.err;
  if (!(error instanceof Error) || rest.length > 0) return method.apply(this, args);
  const err = loggableError(error);
  return method.apply(this, [{ ...(first === error ? {} : (first as object)), err }, err.message] as unknown as typeof args);
};

/** A request in a line of somebody else's: no headers, and no parameters, which may be anything. */
function shownRequest(request: { readonly method?: string; readonly url?: string }) {
  return { method: String(request.method), path: shownPath(request.url ?? '/') };
}

/** As much of a path as is worth a place in a log. */
export function shownPath(url: string): string {
  const { path } = targetOf(url);
  return path.length > 300 ? `${path.slice(0, 300)}…` : path;
}
