import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import { ShortLivedMap } from '../database/short-lived-map.ts';
import type { ServerDeclaration } from '../declaration/types.ts';
import { type Problem, problem } from '../errors.ts';
import { isExemptFromTimeout } from '../response/export-stream.ts';
import { type ProblemFormatOf, retryLater } from '../response/problem-document.ts';
import type { Cors } from './cors.ts';
import { FairShares } from './fair-shares.ts';
import { createLoadMonitor, type LoadMonitor } from './load-monitor.ts';
import { framingProblem } from './protocol.ts';
import type { RequestIds } from './request-id.ts';
import { type TargetLimits, targetProblem } from './target-limits.ts';
import { writeProblem } from './write-problem.ts';

/** Milliseconds between two checks of the load. */
const checkInterval = 100;

/** Milliseconds per turn of the event loop for starting requests, while busy. */
const startBudget = 10;

/** Milliseconds for which a count of incomplete bodies is reused. */
const countAge = 10;

/** Checks without a request after which the timer stops until the next request. */
const maxIdleChecks = 20;

/** Milliseconds between two log lines about rejected requests. */
const logInterval = 1000;

const overloaded = problem('overloaded', {}, { headers: retryLater });

type GateLimits = TargetLimits & Pick<ServerDeclaration, 'maxConcurrent' | 'busyConcurrent' | 'handlerTimeout'>;

/** The limit by which a request was rejected. */
type ShedReason = 'max_concurrent' | 'busy_concurrent';

/** Watches the requests of a server. */
export interface TrafficWatch {
  /** The response to an admitted request was sent, or its connection was closed. The request arrived at `since`. */
  closed(response: ServerResponse, since: number): void;
  /** The gate rejected a request; `reason` is the limit, if the server is overloaded. */
  refused?(request: IncomingMessage, found: Problem, reason: ShedReason | null): void;
  /** An admitted request timed out. */
  givenUp?(found: Problem): void;
}

export interface GateOptions {
  /** Whether requests for a path are admitted under any load. */
  readonly isExempt: (path: string) => boolean;
  /** Statements that wait for the database, or to be sent to it. */
  readonly statementsUnderWay: () => number;
  /** The address of the client, if there are proxies. Called before any other step. */
  readonly clientOf?: ((request: IncomingMessage) => string | null) | undefined;
  /** Called when the server begins to shut down. */
  readonly onDrain?: (() => void) | undefined;
  readonly onShed: (count: number, inFlight: number) => void;
  /** Present if pages of other origins may read responses. */
  readonly cors?: Cors | undefined;
  /** Null if responses have no request id. */
  readonly ids: RequestIds | null;
  /** Default: problems are JSON. */
  readonly formatOf?: ProblemFormatOf | undefined;
  readonly watch?: TrafficWatch | undefined;
}

/**
 * The first step of every request. It admits as many requests at once as can be served, times out slow ones, and closes
 * connections while the server shuts down.
 */
export class Gate {
  readonly #limits: GateLimits;
  readonly #options: GateOptions;
  readonly #load: LoadMonitor;
  /** Admitted requests whose response was not sent yet, oldest first, with their time of arrival. */
  readonly #inFlight = new ShortLivedMap<ServerResponse, number>();
  readonly #shares: FairShares;
  readonly #onClose: (this: ServerResponse) => void;
  /** The most requests at once under the current load. */
  #capacity: number;
  /** Requests in flight whose body was incomplete at the last count. */
  #arriving = 0;
  #countedAt = Number.NEGATIVE_INFINITY;
  #isBusy = false;
  /** When this turn of the event loop stops starting requests, while busy. */
  #turnEnd = 0;
  #isTurnAhead = false;
  readonly #onTurn = () => {
    this.#isTurnAhead = false;
    this.#turnEnd = performance.now() + startBudget;
  };
  #now = performance.now();
  #timer: NodeJS.Timeout | null = null;
  #idleChecks = 0;
  #isDraining = false;
  #shed = 0;
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(limits: GateLimits, options: GateOptions) {
    this.#limits = limits;
    this.#options = options;
    this.#capacity = limits.maxConcurrent;
    this.#load = createLoadMonitor(options.statementsUnderWay);
    this.#shares = new FairShares(this.#inFlight, options.clientOf);
    this.#onClose = onClose(this.#inFlight, this.#shares, options.watch);
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** Whether the process or the database is overloaded. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** False once the server shuts down. */
  get isOpen(): boolean {
    return !this.#isDraining;
  }

  /** Puts the gate before the request listeners of a server. */
  guard(server: Server): void {
    const listeners = server.listeners('request') as RequestListener[];
    server.removeAllListeners('request');
    const serve: RequestListener = (request, response) => {
      for (const listener of listeners) listener(request, response);
    };
    server.on('request', (request, response) => {
      this.#options.clientOf?.(request);
      const isFree = !(this.#isBusy || this.#isFull()) || this.#isExempt(request);
      if (!this.#admits(request, response, isFree)) return;
      if (this.#isBusy && !isFree) this.#enqueue(request, response, serve);
      else serve(request, response);
    });
  }

  /** Closes every connection after its next response. */
  drain(): void {
    this.#isDraining = true;
    this.#options.onDrain?.();
    for (const response of this.#inFlight.keys()) if (!response.headersSent) response.setHeader('Connection', 'close');
  }

  close(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** A rejected preflight request would hide from the page that the server is overloaded. */
  #isExempt(request: IncomingMessage): boolean {
    return this.#options.isExempt(request.url as string) || this.#options.cors?.isPreflight(request) === true;
  }

  #admits(request: IncomingMessage, response: ServerResponse, isFree: boolean): boolean {
    if (this.#isDraining) response.setHeader('Connection', 'close');
    if (!isFree && this.#isFull() && !this.#hasShare(response)) {
      this.#shed++;
      this.#refuse(overloaded, request, response, this.#isBusy ? 'busy_concurrent' : 'max_concurrent');
      return false;
    }
    const trouble = framingProblem(request) ?? targetProblem(request.url as string, this.#limits);
    if (trouble !== null) {
      this.#refuse(trouble, request, response, null);
      return false;
    }
    if (this.#timer === null) this.#start();
    this.#inFlight.set(response, this.#options.watch ? performance.now() : this.#now);
    response.on('close', this.#onClose);
    return true;
  }

  #refuse(found: Problem, request: IncomingMessage, response: ServerResponse, reason: ShedReason | null): void {
    this.#answer(found, request, response);
    this.#options.watch?.refused?.(request, found, reason);
  }

  #answer(found: Problem, request: IncomingMessage, response: ServerResponse): void {
    this.#options.cors?.mark(request, response);
    writeProblem(found, request, response, this.#options.ids, this.#options.formatOf);
  }

  #isFull(): boolean {
    return this.#inFlight.size >= this.#capacity && this.#places() >= this.#capacity;
  }

  /** A full server goes on admitting callers with less than their share, up to twice as many requests. */
  #hasShare(response: ServerResponse): boolean {
    return this.#places() < 2 * this.#capacity && this.#shares.take(response, this.#capacity);
  }

  /** Occupied places. Up to `maxConcurrent` requests with an incomplete body do not count. */
  #places(): number {
    const now = performance.now();
    if (now - this.#countedAt >= countAge) this.#countArriving(now);
    return this.#inFlight.size - Math.min(this.#arriving, this.#limits.maxConcurrent);
  }

  #countArriving(now: number): void {
    this.#countedAt = now;
    this.#arriving = 0;
    for (const { req } of this.#inFlight.keys()) if (!req.complete) this.#arriving++;
  }

  /**
   * If all requests were started as they come, one turn of the event loop would serve all of them, and new ones would wait
   * unread, neither served nor rejected. So while busy, the gate reads first and starts a few requests at a time, in order.
   * They wait in the queue of `setImmediate`, which keeps their asynchronous context.
   */
  #enqueue(request: IncomingMessage, response: ServerResponse, serve: RequestListener): void {
    const begin = () => {
      // the client is gone, or the request timed out
      if (!this.#inFlight.has(response) || response.headersSent) return;
      if (performance.now() < this.#turnEnd) serve(request, response);
      else this.#afterOthers(begin);
    };
    this.#afterOthers(begin);
  }

  #afterOthers(begin: () => void): void {
    if (!this.#isTurnAhead) setImmediate(this.#onTurn);
    this.#isTurnAhead = true;
    setImmediate(begin);
  }

  #start(): void {
    this.#now = performance.now();
    this.#idleChecks = 0;
    this.#load.begin();
    this.#timer = setInterval(() => this.#check(), checkInterval).unref();
  }

  #check(): void {
    this.#now = performance.now();
    const { busyConcurrent, handlerTimeout, maxConcurrent } = this.#limits;
    this.#isBusy = this.#load.isOverloaded();
    this.#capacity = this.#isBusy ? Math.min(busyConcurrent, maxConcurrent) : maxConcurrent;
    if (handlerTimeout > 0) this.#timeOut(handlerTimeout);
    if (this.#shed > 0 && this.#now - this.#loggedAt >= logInterval) {
      this.#options.onShed(this.#shed, this.#inFlight.size);
      this.#shed = 0;
      this.#loggedAt = this.#now;
    }
    this.#idleChecks = this.#inFlight.size === 0 && this.#shed === 0 ? this.#idleChecks + 1 : 0;
    if (this.#idleChecks >= maxIdleChecks) this.close();
  }

  /** Responds to requests that timed out. A response that the client does not read is cut off after twice the limit. */
  #timeOut(limit: number): void {
    for (const [response, since] of this.#inFlight) {
      const age = this.#now - since;
      // all following requests arrived later
      if (age < limit) break;
      if (!response.headersSent) {
        const late = problem('handler_timeout', { limit }, { headers: retryLater });
        this.#answer(late, response.req, response);
        this.#options.watch?.givenUp?.(late);
      } else if (age >= 2 * limit && !isExemptFromTimeout(response)) response.destroy();
    }
  }
}

/** Removes a response that has ended. Only a watch needs exact times. */
function onClose(
  inFlight: ShortLivedMap<ServerResponse, number>,
  shares: FairShares,
  watch: TrafficWatch | undefined,
): (this: ServerResponse) => void {
  if (!watch)
    return function closed() {
      inFlight.delete(this);
      shares.ended(this);
    };
  return function closed() {
    const since = inFlight.get(this) as number;
    inFlight.delete(this);
    shares.ended(this);
    watch.closed(this, since);
  };
}

const gates = new WeakMap<object, Gate>();

export function keepGate(app: object, gate: Gate): void {
  gates.set(app, gate);
}

/** The gate of a server, if it has one. */
export function gateOf(app: object): Gate | undefined {
  return gates.get(app);
}
