import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { CorsDeclaration, Declaration, HttpMethod } from '../declaration/types.ts';
import { addVary } from '../response/vary.ts';

/** Headers of responses that scripts of another origin may read, besides those that browsers always show. */
const exposedHeaders = [
  'Allow',
  'Content-Disposition',
  'Content-Location',
  'ETag',
  'Idempotency-Replayed',
  'Location',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'WWW-Authenticate',
];

/** The parts of an application that determine which methods and headers scripts of other origins may send. */
export interface Accepted {
  readonly declaration: Declaration;
  readonly records: readonly { readonly methods: readonly HttpMethod[] }[];
  /** Whether the application has authenticators of its own. */
  readonly hasAuthenticators: boolean;
}

interface HeaderTarget {
  setHeader(name: string, value: string): unknown;
}

/** Decides which origins may read responses, and what they may send. */
export class Cors {
  /** Null for every origin. */
  readonly #origins: ReadonlySet<string> | null;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #refused = { origin: false };
  readonly #allowed: object;
  readonly #preflight: object;

  constructor(declared: CorsDeclaration, accepted: Accepted) {
    const { credentials, exposeHeaders, maxAge, origins } = declared;
    const { requestIdHeader } = accepted.declaration.server;
    const exposed = [...exposedHeaders, ...(requestIdHeader === null ? [] : [requestIdHeader]), ...exposeHeaders];
    this.#origins = origins === '*' ? null : new Set(origins);
    this.#headers = {
      'access-control-expose-headers': exposed.join(', '),
      ...(credentials && { 'access-control-allow-credentials': 'true' }),
    };
    const allowed = { origin: origins === '*' ? '*' : true, credentials, exposedHeaders: exposed };
    this.#allowed = { ...allowed, preflight: false };
    const methods = methodsOf(accepted);
    this.#preflight = { ...allowed, methods, allowedHeaders: sentHeaders(methods, declared, accepted), maxAge };
  }

  /** Registers @fastify/cors, whose hook responds to preflight requests and sets the headers of all other responses. */
  async register(app: FastifyInstance): Promise<void> {
    const { default: plugin } = await import('@fastify/cors');
    const delegator = (request: FastifyRequest, done: (error: null, options: object) => void) =>
      done(null, this.#optionsFor(request.raw));
    await app.register(plugin, { delegator });
    // code of the application may have replaced the header
    app.addHook('onSend', (_request, reply, _payload, done) => {
      addVary(reply, 'Origin');
      done();
    });
  }

  /** Whether a browser asks, for a page of an allowed origin, if it may send a request. */
  isPreflight({ headers, method }: IncomingMessage): boolean {
    return method === 'OPTIONS' && Boolean(headers['access-control-request-method']) && this.#allows(headers.origin);
  }

  /** Sets the headers of a response that Fastify's hooks do not see. Without them, browsers hide the error from the page. */
  mark({ headers }: IncomingMessage, response: HeaderTarget): void {
    response.setHeader('vary', 'Origin');
    if (!this.#allows(headers.origin)) return;
    response.setHeader('access-control-allow-origin', this.#origins ? (headers.origin as string) : '*');
    for (const [name, value] of Object.entries(this.#headers)) response.setHeader(name, value);
  }

  #allows(origin: string | undefined): boolean {
    return origin !== undefined && (this.#origins?.has(origin) ?? true);
  }

  #optionsFor(request: IncomingMessage): object {
    if (!this.#allows(request.headers.origin)) return this.#refused;
    return this.isPreflight(request) ? this.#preflight : this.#allowed;
  }
}

function methodsOf({ records }: Accepted): readonly HttpMethod[] {
  // health checks and the OpenAPI document
  return [...new Set<HttpMethod>(['GET', 'HEAD', ...records.flatMap(({ methods }) => methods)])];
}

function sentHeaders(
  methods: readonly HttpMethod[],
  { allowHeaders }: CorsDeclaration,
  { declaration: { security, server }, hasAuthenticators }: Accepted,
): string[] {
  const writes = methods.some((method) => method !== 'GET' && method !== 'HEAD');
  const hasKeys = security.apiKeys.length > 0;
  return [
    ...(security.jwt || hasKeys || hasAuthenticators ? ['Authorization'] : []),
    ...(hasKeys ? ['X-Api-Key'] : []),
    'If-None-Match',
    ...(writes ? ['Content-Type', 'If-Match'] : []),
    ...(writes && server.idempotency ? ['Idempotency-Key'] : []),
    ...(server.requestIdHeader === null ? [] : [server.requestIdHeader]),
    ...allowHeaders,
  ];
}
