import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods, onRequestHookHandler, RouteOptions } from 'fastify';
import type { HttpMethod } from '../declaration/types.ts';
import { type Problem, problem } from '../errors.ts';
import { classifyMiss, findMatch, type Match } from './match.ts';
import { orderRecords } from './order.ts';
import { type PathPattern, parsePath, shapeOf } from './pattern.ts';
import type { RouteRecord } from './record.ts';
import { type PathRules, withoutQuery } from './request-path.ts';
import { maxValueLength, requirementSource } from './requirement.ts';

/** Handles the requests of one record, method and format. */
export interface RouteHandler {
  (request: FastifyRequest, reply: FastifyReply): unknown;
  /** Rejects a request before its body is read, by throwing. The handler checks the requests that pass. */
  readonly beforeBody?: (request: FastifyRequest) => void;
}

/** Makes the handler of one record, method and format; called once for each, when the routes are mounted. */
export type HandlerFor = (record: RouteRecord, method: HttpMethod, format: string) => RouteHandler;

export interface MountOptions {
  /**
   * Whether the host has no other routes. Then a hook classifies every request without a route, and no fallback routes around
   * each API are needed.
   */
  readonly alone?: boolean;
  /** Fastify's route options, the same for every route: `bodyLimit`, `config`, hooks. */
  readonly route?: Omit<RouteOptions, 'method' | 'url' | 'path' | 'handler' | 'exposeHeadRoute' | 'schema'>;
  /** The hook of a record before a body is read; null: none. */
  readonly admit?: (record: RouteRecord) => onRequestHookHandler | null;
}

/**
 * Registers the records on Fastify with exactly the enabled methods, and routes for errors: 405 with `Allow`, 404 with the known
 * formats, 404.
 */
export function mountRoutes(
  app: FastifyInstance,
  records: readonly RouteRecord[],
  handlerFor: HandlerFor,
  options: MountOptions = {},
): void {
  const frozen = Object.freeze([...records]);
  const { admit, alone = false, route } = options;
  const taken = new Set<string>();
  const handlers = new Map<string, RouteHandler>();
  for (const record of orderRecords(frozen)) {
    const { pattern } = parsePath(record.path);
    const admission = [route?.onRequest ?? [], admit?.(record) ?? []].flat();
    for (const format of pattern.formatted ? record.formats : [record.formats[0] ?? '']) {
      const suffix = pattern.formatted ? `.${format}` : '';
      const url = routerUrl(pattern, suffix, record.requirements);
      // several methods often share one handler, and so one route
      const byHandler = Map.groupBy(record.methods, (method) => handlerFor(record, method, format));
      for (const [handler, methods] of byHandler) {
        for (const method of methods) {
          handlers.set(`${method} ${format} ${record.name}`, handler);
          taken.add(`${method} ${shapeOf(pattern, suffix)}`);
        }
        const before = handler.beforeBody ? [...admission, hookOf(handler.beforeBody)] : admission;
        const hooks = before.length > 0 ? { onRequest: before } : {};
        // telemetry names the route as it was declared
        const config = { ...route?.config, pattern: joinUrl(app.prefix, record.path) };
        // not a list of one method: the host's messages name a single method as text
        const method = methods.length === 1 ? (methods[0] as HttpMethod) : methods;
        const mounted = { ...route, ...hooks, config, method, url, handler, exposeHeadRoute: false };
        register(record, () => app.route(mounted));
      }
    }
  }
  if (alone) explainMisses(app, frozen);
  else {
    const handlerOf = ({ record, format }: Match, method: string) => handlers.get(`${method} ${format} ${record.name}`);
    mountFallbacks(app, frozen, options, taken, handlerOf as (match: Match, method: string) => RouteHandler);
  }
}

function hookOf(beforeBody: (request: FastifyRequest) => void): onRequestHookHandler {
  return (request, _reply, done) => {
    try {
      beforeBody(request);
    } catch (error) {
      done(error as Error);
      return;
    }
    done();
  };
}

/**
 * A route's path in the syntax of Fastify's router. The router tries the expression before it checks the length, so the lookahead
 * keeps the expression from running on a long value.
 */
function routerUrl(pattern: PathPattern, suffix: string, requirements: Readonly<Record<string, string>>): string {
  const { segments } = pattern;
  const parts = segments.map((segment, index) => {
    const ending = index === segments.length - 1 ? suffix : '';
    if ('text' in segment) return `/${segment.text}${ending}`.replaceAll(':', '::');
    const requirement = Object.hasOwn(requirements, segment.placeholder) ? requirements[segment.placeholder] : undefined;
    const length = `(?=[^]{1,${maxValueLength}}${ending.replace(/[^\w]/g, '\\$&')}$)`;
    return `/:${segment.placeholder}(${length}${requirementSource(requirement)})${ending}`;
  });
  return parts.join('');
}

function register(record: RouteRecord, route: () => void): void {
  try {
    route();
  } catch (error) {
    if (!(error instanceof Error) || !/^The regex '.*' is not safe!$/s.test(error.message)) throw error;
    throw new Error(
      `Fastify's router rejects a requirement of the route ${record.name} (${JSON.stringify(record.requirements)}) as possibly unsafe. ` +
        'Declarest has checked it, and it is safe: create the Fastify instance with { routerOptions: { allowUnsafeRegex: true } }.',
      { cause: error },
    );
  }
}

/** Makes the host respond with the reason why no record matches a request. */
function explainMisses(app: FastifyInstance, records: readonly RouteRecord[]): void {
  const rules: PathRules = app.initialConfig.routerOptions ?? {};
  const missOf = (request: FastifyRequest) => missProblem(records, request, request.url, rules);
  // In a hook: without a route, a body must be neither read nor rejected.
  app.addHook('onRequest', (request, _, done) => (request.is404 ? done(missOf(request)) : done()));
  app.setNotFoundHandler((request) => {
    throw missOf(request);
  });
}

function mountFallbacks(
  app: FastifyInstance,
  records: readonly RouteRecord[],
  options: MountOptions,
  taken: Set<string>,
  handlerOf: (match: Match, method: string) => RouteHandler,
): void {
  const rules: PathRules = app.initialConfig.routerOptions ?? {};
  const found = new WeakMap<FastifyRequest, Match>();
  const prefixLength = app.prefix.split('/').filter((segment) => segment !== '').length;

  // In a hook: without a route, a body must be neither read nor rejected.
  const classify = async (request: FastifyRequest, reply: FastifyReply) => {
    const path = withoutPrefix(request.url, prefixLength, rules);
    const match = findMatch(records, request.method, path, rules);
    if (match === null) throw missProblem(records, request, path, rules);
    // The router prefers this fallback to a route with a placeholder in place of a static segment of the base path.
    const { '*': _, ...outer } = request.params as Record<string, string>;
    request.params = Object.assign(Object.create(null), outer, match.params);
    found.set(request, match);
    await options.admit?.(match.record)?.call(app, request, reply, () => undefined);
  };
  const handler = (request: FastifyRequest, reply: FastifyReply) =>
    handlerOf(found.get(request) as Match, request.method)(request, reply);

  const { onRequest = [] } = options.route ?? {};
  for (const { shape, url } of fallbacks(records)) {
    const free = (app.supportedMethods as HTTPMethods[]).filter(
      (method) => !taken.has(`${method} ${shape}`) && !app.hasRoute({ method, url: joinUrl(app.prefix, url) }),
    );
    for (const method of free) taken.add(`${method} ${shape}`);
    if (free.length === 0) continue;
    const hooks = { onRequest: [onRequest, classify].flat() };
    // not a route of the API: `hide` keeps it out of a document that @fastify/swagger makes
    app.route({
      ...options.route,
      ...hooks,
      method: free,
      url,
      handler,
      schema: { hide: true } as object,
      exposeHeadRoute: false,
    });
  }
}

/** The fallback routes, which classify requests without a route: around the base of each API, and at each other route. */
function* fallbacks(records: readonly RouteRecord[]): Generator<{ readonly shape: string; readonly url: string }> {
  const bases = new Set(records.flatMap(({ api }) => api?.basePath ?? []));
  for (const base of bases) {
    const { pattern } = parsePath(base);
    // Not simply `/api/person*`: that would also match `/api/personnel`, which may belong to the host.
    const dynamic = pattern.segments.some((segment, index) => index === pattern.segments.length - 1 && 'placeholder' in segment);
    for (const suffix of dynamic ? ['', '/*'] : ['', '.*', '/*']) {
      yield { shape: shapeOf(pattern, suffix), url: `${routerUrl(pattern, '', {})}${suffix}` };
    }
  }
  for (const { path, formats, api } of records) {
    if (api !== null) continue;
    const { pattern } = parsePath(path);
    for (const suffix of pattern.formatted ? formats.map((format) => `.${format}`) : ['']) {
      yield { shape: shapeOf(pattern, suffix), url: routerUrl(pattern, suffix, {}) };
    }
  }
}

/** The error for a request that no record matches. */
function missProblem(records: readonly RouteRecord[], { method, url }: FastifyRequest, path: string, rules: PathRules): Problem {
  const miss = classifyMiss(records, method, path, rules);
  if (miss.kind === 'method') {
    const allowed = miss.allowed.join(', ');
    return problem('method_not_allowed', { method, allowed }, { headers: { Allow: allowed } });
  }
  if (miss.kind === 'format') {
    const given = miss.format === '' ? 'no format' : `an unknown format "${shorten(miss.format)}"`;
    return problem('unknown_format', { given, allowed: miss.known.map((format) => `.${format}`).join(', ') });
  }
  return problem('not_found', { path: shorten(withoutQuery(url)) });
}

function shorten(text: string): string {
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}

function joinUrl(prefix: string, url: string): string {
  return prefix.endsWith('/') ? `${prefix}${url.slice(1)}` : `${prefix}${url}`;
}

/** Removes as many segments as the prefix has. A prefix can have its own parameters, so its text is not compared. */
function withoutPrefix(target: string, segments: number, rules: PathRules): string {
  let path = target.replace(/^https?:\/\/[^/?#]+/i, '');
  if (rules.ignoreDuplicateSlashes) path = path.replace(/^[^?#]*/, (text) => text.replace(/\/{2,}/g, '/'));
  let at = 0;
  for (let i = 0; i < segments && at !== -1; i++) at = path.indexOf('/', at + 1);
  return at === -1 ? '' : path.slice(at);
}
