import { parse } from 'node:querystring';
import type { FastifyInstance, FastifyRequest, onRequestHookHandler } from 'fastify';
import type { Source } from '../declaration/source.ts';
import { type TargetLimits, targetProblem } from './target-limits.ts';

/** Keys of `app_main.server` that concern a whole server, which a plugin does not have. */
const serverKeys: ReadonlySet<string> = new Set([
  'compress',
  'cors',
  'host',
  'port',
  'header_limit',
  'header_timeout',
  'request_timeout',
  'handler_timeout',
  'keep_alive_timeout',
  'max_concurrent',
  'busy_concurrent',
  'shutdown_timeout',
  'trust_proxy',
  'health',
  'request_id',
  'log',
  'timing',
  'metrics',
]);

/** The warning about declared settings that have no effect on a server of the host; null if there are none. */
export function unusedSettings({ value }: Pick<Source, 'value'>): string | null {
  const { server } = (value.app_main ?? {}) as { readonly server?: unknown };
  const written = Object.entries((server ?? {}) as object).filter(([, setting]) => setting !== null && setting !== false);
  const unused = written.map(([key]) => key.replaceAll('-', '_')).filter((key) => serverKeys.has(key));
  if (unused.length === 0) return null;
  const names = unused.map((key) => `server.${key}`).join(', ');
  return `no effect on a server that Declarest did not create: ${names}; set this up on your Fastify server, or use createServer()`;
}

/** Limits the length of URLs and parameters; on its own server, Declarest checks them before the router does. */
export function limitTargets(limits: TargetLimits): onRequestHookHandler {
  return ({ raw }, _reply, done) => {
    const trouble = targetProblem(raw.url as string, limits);
    if (trouble) done(trouble);
    else done();
  };
}

/**
 * Gives requests the property `user`, which can be set, and `parameters`. The host may have decorated them otherwise: with a getter
 * alone, no caller could be authenticated, and code of the application would read another value.
 */
export function decorateRequests(app: FastifyInstance, parameters: (this: FastifyRequest) => unknown): void {
  if (!app.hasRequestDecorator('user')) app.decorateRequest('user', null);
  else {
    app.addHook('onRequest', (request, _reply, done) => {
      const { user } = request as { user?: unknown };
      // a decorator without a getter is a property of each request
      if (!Object.hasOwn(request, 'user'))
        Object.defineProperty(request, 'user', { value: user, writable: true, configurable: true, enumerable: true });
      done();
    });
  }
  if (!app.hasRequestDecorator('parameters')) app.decorateRequest('parameters', { getter: parameters });
  else {
    app.addHook('onRequest', (request, _reply, done) => {
      Object.defineProperty(request, 'parameters', { get: parameters, configurable: true, enumerable: true });
      done();
    });
  }
}

/** Reads the query if the host has a parser of its own: most of them make objects of names such as `name[in]`. */
export function readQueries(app: FastifyInstance): void {
  const { querystringParser } = (app.initialConfig.routerOptions ?? {}) as { querystringParser?: unknown };
  if (!querystringParser) return;
  app.addHook('onRequest', (request, _reply, done) => {
    const [, query = ''] = /^[^?#]*\?([^#]*)/.exec(request.url) ?? [];
    request.query = parse(query, '&', '=', { maxKeys: 0 });
    done();
  });
}
