import type { Context, Span, Tracer } from '@opentelemetry/api';
import type { FastifyRequest } from 'fastify';
import { httpMethods } from '../declaration/types.ts';
import type { Problem } from '../errors.ts';
import { loggableError } from '../response/loggable-error.ts';
import type { TrafficWatch } from '../traffic/gate.ts';
import { currentJourney, type Journey } from './journey.ts';
import { shownPath } from './logger.ts';
import { errorStatus, type OpenTelemetry, spanKinds } from './opentelemetry.ts';
import { operationOf, withPlaceholders } from './query-text.ts';
import { requestOf, routeOf, unknownRoute } from './seen-requests.ts';

const knownMethods: ReadonlySet<string> = new Set([...httpMethods, 'OPTIONS']);

/** The span of a request, and where the spans of its parts belong. */
interface Traced {
  readonly span: Span;
  readonly context: Context;
  /** Whether it was begun here, and not by an instrumentation of the HTTP server. */
  readonly isOwn: boolean;
}

/** Makes spans of requests and their parts, by the semantic conventions for HTTP and databases. */
export class Tracing implements TrafficWatch {
  readonly #api: OpenTelemetry;
  readonly #tracer: Tracer;
  readonly #database: string;
  readonly #traced = new WeakMap<object, Traced>();

  constructor(api: OpenTelemetry, database: string) {
    this.#api = api;
    this.#tracer = api.trace.getTracer('declarest');
    this.#database = database;
  }

  /** Runs the rest of a request in the context of its span, which is made when it is first come by. */
  within(request: FastifyRequest, journey: Journey, go: () => void): void {
    let traced = this.#traced.get(journey);
    if (!traced) {
      traced = this.#begin(request);
      this.#traced.set(journey, traced);
      this.#traced.set(request, traced);
    }
    this.#api.context.with(traced.context, go);
  }

  closed: TrafficWatch['closed'] = (response) => {
    const request = requestOf(response);
    const traced = request && this.#traced.get(request);
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

  refused(): void {}

  givenUp(): void {}

  /** What is our own fault is told with its cause, as far as it may be logged. */
  readonly problem = (found: Problem): void => {
    if (found.status < 500) return;
    const { message, stack, type } = loggableError(found.cause ?? found);
    this.#parent()?.span.recordException({ name: type, message, stack });
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

  /** The making of the answer, which began when the last of what it is made of was there. */
  serialized(journey: Journey): void {
    const traced = this.#traced.get(journey);
    if (!traced) return;
    const startTime = performance.timeOrigin + journey.lastEnd;
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

  /** A span of an application's own that is under way, or else that of the request. */
  #parent(): { readonly span: Span; readonly context: Context } | undefined {
    const active = this.#api.context.active();
    const span = this.#api.trace.getSpan(active);
    if (span) return { span, context: active };
    const journey = currentJourney();
    return journey && this.#traced.get(journey);
  }

  #part(name: string, attributes?: Readonly<Record<string, string>>): (error?: unknown) => void {
    const parent = this.#parent();
    // what is done for no request, such as at the start, is nobody's part
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
