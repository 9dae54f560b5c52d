import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Context, Span, Tracer } from '@opentelemetry/api';
import type { FastifyRequest } from 'fastify';
import type { Declaration } from '../declaration/types.ts';
import { dialectName } from '../dialect/address.ts';
import type { Problem } from '../errors.ts';
import { loggableError } from '../response/loggable-error.ts';
import type { TrafficWatch } from '../traffic/gate.ts';
import { shownPath } from './logger.ts';
import { operationOf, withPlaceholders } from './query-text.ts';
import { currentTimings, type RequestTimings, timingsByRequest } from './request-timings.ts';
import { scrubber } from './scrubber.ts';
import { knownMethods, requestOf, routeOf, unknownRoute } from './seen-requests.ts';

/** The part of `@opentelemetry/api` that is used. An application that brings an SDK brings the API as well. */
type OpenTelemetry = Pick<typeof import('@opentelemetry/api'), 'trace' | 'context' | 'propagation' | 'ROOT_CONTEXT'>;

// the API's numbers
const spanKinds = { internal: 0, server: 1, client: 2 } as const;
const errorStatus = 2;

/** Loads the API from the application, or else from here: all copies share the registered SDK. */
export async function loadTracing(directory: string, declaration: Declaration): Promise<Tracing | null> {
  for (const from of [join(directory, 'package.json'), import.meta.url]) {
    try {
      const module: Partial<OpenTelemetry> & { readonly default?: OpenTelemetry } = await import(
        pathToFileURL(createRequire(from).resolve('@opentelemetry/api')).href
      );
      const api = module.ROOT_CONTEXT ? (module as OpenTelemetry) : module.default;
      return api ? new Tracing(api, dialectName(declaration.database.url), scrubber(declaration)) : null;
    } catch {
      // it may be found from the other place
    }
  }
  return null;
}

/** The span of a request, and the context for the spans of its parts. */
interface Traced {
  readonly span: Span;
  readonly context: Context;
  /** Whether it was started here, and not by an instrumentation of the HTTP server. */
  readonly isOwn: boolean;
}

/** Creates spans of requests and their parts, by the semantic conventions for HTTP and databases. */
export class Tracing implements TrafficWatch {
  readonly #api: OpenTelemetry;
  readonly #tracer: Tracer;
  readonly #database: string;
  readonly #scrub: (text: string) => string;
  readonly #traced = new WeakMap<RequestTimings, Traced>();

  constructor(api: OpenTelemetry, database: string, scrub: (text: string) => string) {
    this.#api = api;
    this.#tracer = api.trace.getTracer('declarest');
    this.#database = database;
    this.#scrub = scrub;
  }

  /** Runs the rest of a request in the context of its span. The first call starts the span. */
  within(request: FastifyRequest, timings: RequestTimings, go: () => void): void {
    let traced = this.#traced.get(timings);
    if (!traced) {
      traced = this.#begin(request);
      this.#traced.set(timings, traced);
    }
    this.#api.context.with(traced.context, go);
  }

  closed: TrafficWatch['closed'] = (response) => {
    const request = requestOf(response);
    const timings = request && timingsByRequest.get(request);
    const traced = timings && this.#traced.get(timings);
    if (!traced?.isOwn) return;
    const { span } = traced;
    const { statusCode, writableFinished } = response;
    if (!writableFinished) span.setAttribute('error.type', 'aborted');
    else {
      span.setAttribute('http.response.status_code', statusCode);
      if (statusCode >= 500) {
        span.setAttribute('error.type', String(statusCode));
        span.setStatus({ code: errorStatus });
      }
    }
    span.end();
  };

  /** Records server errors with their cause, without secrets, like in the log. */
  readonly problem = (found: Problem): void => {
    if (found.status < 500) return;
    const { message, stack, type } = loggableError(found.cause ?? found);
    this.#parent()?.span.recordException({ name: type, message: this.#scrub(message), stack: this.#scrub(stack) });
  };

  readonly access = (): ((error?: unknown) => void) => this.#part('access');

  readonly waits = (text: string): ((error?: unknown) => void) => {
    const operation = operationOf(text);
    return this.#part(operation, {
      'db.system.name': this.#database,
      'db.operation.name': operation,
      'db.query.text': withPlaceholders(text),
    });
  };

  /** Adds the span of serialization, which began when the last phase ended. */
  serialized(timings: RequestTimings): void {
    const traced = this.#traced.get(timings);
    if (!traced) return;
    const startTime = performance.timeOrigin + timings.lastEnd;
    this.#tracer.startSpan('serialize', { kind: spanKinds.internal, startTime }, traced.context).end();
  }

  #begin(request: FastifyRequest): Traced {
    const { context, propagation, ROOT_CONTEXT, trace } = this.#api;
    const route = routeOf(request);
    const method = knownMethods.has(request.method) ? request.method : '_OTHER';
    const name = route === unknownRoute ? method : `${method} ${route}`;
    const active = context.active();
    const outer = trace.getSpan(active);
    if (outer?.isRecording()) {
      outer.updateName(name);
      if (route !== unknownRoute) outer.setAttribute('http.route', route);
      return { span: outer, context: active, isOwn: false };
    }
    const caller = propagation.extract(ROOT_CONTEXT, request.headers);
    const attributes = {
      'http.request.method': method,
      'url.path': shownPath(request.url),
      'url.scheme': request.protocol,
      'network.protocol.version': request.raw.httpVersion,
      ...(route !== unknownRoute && { 'http.route': route }),
    };
    const span = this.#tracer.startSpan(name, { kind: spanKinds.server, attributes }, caller);
    return { span, context: trace.setSpan(caller, span), isOwn: true };
  }

  /** The active span of the application, or else that of the request. */
  #parent(): { readonly span: Span; readonly context: Context } | undefined {
    const active = this.#api.context.active();
    const span = this.#api.trace.getSpan(active);
    if (span) return { span, context: active };
    const timings = currentTimings.getStore();
    return timings && this.#traced.get(timings);
  }

  #part(name: string, attributes?: Readonly<Record<string, string>>): (error?: unknown) => void {
    const parent = this.#parent();
    // work for no request, such as at startup, has no parent
    if (!parent) return () => undefined;
    const kind = attributes ? spanKinds.client : spanKinds.internal;
    const span = this.#tracer.startSpan(name, { kind, ...(attributes && { attributes }) }, parent.context);
    return (error) => {
      if (error !== undefined) {
        const { code, type } = loggableError(error);
        span.setAttribute('error.type', typeof code === 'string' ? code : type);
        span.setStatus({ code: errorStatus });
      }
      span.end();
    };
  }
}
