import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { ServerDeclaration } from '../declaration/types.ts';
import { type Problem, problem } from '../errors.ts';
import { hasOwnPace } from '../response/export-stream.ts';
import { retryLater } from '../response/problem-document.ts';
import { LoadMonitor } from './load-monitor.ts';
import { answerProblem } from './raw-answer.ts';
import type { RequestIds } from './request-id.ts';
import { type TargetLimits, targetTrouble } from './target-limits.ts';

/** Milliseconds between two looks at what is going on. */
const beat = 100;

/** Milliseconds in one turn of the event loop for which requests are begun while busy; then it is seen what else there is. */
const slice = 10;

/** Milliseconds for which a count of bodies on their way is good enough. */
const countAge = 10;

/** Looks without a request, after which nobody looks any more until the next comes. */
const patience = 20;

/** Milliseconds between two lines of the log about requests that were turned away. */
const quiet = 1000;

const overloaded = problem('overloaded', {}, { headers: retryLater });

export type GateLimits = TargetLimits & Pick<ServerDeclaration, 'maxConcurrent' | 'busyConcurrent' | 'handlerTimeout'>;

/** The limit that turned a request away. */
export type ShedReason = 'max_concurrent' | 'busy_concurrent';

/** Is told what becomes of requests. */
export interface TrafficWatch {
  /** One that was let in has its whole answer, or its connection is gone; it came at `since`. */
  closed(response: ServerResponse, since: number): void;
  /** One was answered here and seen by nobody else; `reason` is the limit that turned it away, where there is too much to do. */
  refused(request: IncomingMessage, found: Problem, reason: ShedReason | null): void;
  /** One that was let in took too long, and was answered here. */
  givenUp(found: Problem): void;
}

export interface GateOptions {
  /** Whether a path is answered whatever else is going on. */
  readonly isExempt: (path: string) => boolean;
  /** Statements that were sent to the database, or wait to be, and are not answered. */
  readonly statementsUnderWay: () => number;
  readonly onShed: (count: number, inFlight: number) => void;
  /** What requests are called; null where answers do not tell. */
  readonly ids: RequestIds | null;
  readonly watch?: TrafficWatch | undefined;
}

/**
 * Stands before everything else that a request passes. It lets in as many at once as can be served, gives up those that take too
 * long, and lets connections end while the server does.
 */
export class Gate {
  readonly #limits: GateLimits;
  readonly #options: GateOptions;
  readonly #strain: LoadMonitor;
  /** Requests that have no whole answer yet, in the order they came, with the time. */
  readonly #inFlight = new Map<ServerResponse, number>();
  readonly #onClose: (this: ServerResponse) => void;
  /** As many may be worked on now. */
  #room: number;
  /** Requests in flight whose body was still on its way when they were last counted: they are waited for, not worked on. */
  #arriving = 0;
  #countedAt = Number.NEGATIVE_INFINITY;
  #isBusy = false;
  /** Until when requests are begun in this turn of the event loop, while busy. */
  #turnEnd = 0;
  #isTurnAhead = false;
  readonly #onTurn = () => {
    this.#isTurnAhead = false;
    this.#turnEnd = performance.now() + slice;
  };
  #now = performance.now();
  #timer: NodeJS.Timeout | null = null;
  #idleBeats = 0;
  #isDraining = false;
  #shed = 0;
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(limits: GateLimits, options: GateOptions) {
    this.#limits = limits;
    this.#options = options;
    this.#room = limits.maxConcurrent;
    this.#strain = new LoadMonitor(options.statementsUnderWay);
    this.#onClose = onClose(this.#inFlight, options.watch);
  }

  get inFlight(): number {
    return this.#inFlight.size;
  }

  /** Whether the process or the database has more to do than it can. */
  get isBusy(): boolean {
    return this.#isBusy;
  }

  /** Whether requests are answered, and go on being so. */
  get isOpen(): boolean {
    return !this.#isDraining;
  }

  /** Every request of a server passes here first. */
  guard(server: Server): void {
    const listeners = server.listeners('request') as RequestListener[];
    server.removeAllListeners('request');
    const serve: RequestListener = (request, response) => {
      for (const listener of listeners) listener(request, response);
    };
    server.on('request', (request, response) => {
      const isFree = !(this.#isBusy || this.#isFull()) || this.#options.isExempt(request.url as string);
      if (!this.#admits(request, response, isFree)) return;
      if (this.#isBusy && !isFree) this.#enqueue(request, response, serve);
      else serve(request, response);
    });
  }

  /** Lets every connection end with the answer that comes next on it. */
  drain(): void {
    this.#isDraining = true;
    for (const response of this.#inFlight.keys()) if (!response.headersSent) response.setHeader('Connection', 'close');
  }

  close(): void {
    if (this.#timer) clearInterval(this.#timer);
    this.#timer = null;
  }

  #admits(request: IncomingMessage, response: ServerResponse, isFree: boolean): boolean {
    if (this.#isDraining) response.setHeader('Connection', 'close');
    if (!isFree && this.#isFull()) {
      this.#shed++;
      this.#refuse(overloaded, request, response, this.#isBusy ? 'busy_concurrent' : 'max_concurrent');
      return false;
    }
    const trouble = targetTrouble(request.url as string, this.#limits);
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
    answerProblem(found, request, response, this.#options.ids);
    this.#options.watch?.refused(request, found, reason);
  }

  /** Who sends a body slowly takes nobody's place, as long as there are no more of them than could be served. */
  #isFull(): boolean {
    if (this.#inFlight.size < this.#room) return false;
    const now = performance.now();
    if (now - this.#countedAt >= countAge) this.#countArriving(now);
    return this.#inFlight.size - Math.min(this.#arriving, this.#limits.maxConcurrent) >= this.#room;
  }

  #countArriving(now: number): void {
    this.#countedAt = now;
    this.#arriving = 0;
    for (const { req } of this.#inFlight.keys()) if (!req.complete) this.#arriving++;
  }

  /**
   * Requests that are answered as soon as they are begun would make a turn of the event loop as long as there are of them, and
   * what comes meanwhile waits unread, neither served nor turned away. So while busy they are read first, and begun a few at a
   * time, in the order they came: the line they wait in is that of Node, which keeps what belongs to each of them.
   */
  #enqueue(request: IncomingMessage, response: ServerResponse, serve: RequestListener): void {
    const begin = () => {
      // nobody waits any more, or it was given up
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
    this.#idleBeats = 0;
    this.#strain.begin();
    this.#timer = setInterval(() => this.#look(), beat).unref();
  }

  #look(): void {
    this.#now = performance.now();
    const { busyConcurrent, handlerTimeout, maxConcurrent } = this.#limits;
    this.#isBusy = this.#strain.look();
    this.#room = this.#isBusy ? Math.min(busyConcurrent, maxConcurrent) : maxConcurrent;
    if (handlerTimeout > 0) this.#giveUp(handlerTimeout);
    if (this.#shed > 0 && this.#now - this.#toldAt >= quiet) {
      this.#options.onShed(this.#shed, this.#inFlight.size);
      this.#shed = 0;
      this.#toldAt = this.#now;
    }
    this.#idleBeats = this.#inFlight.size === 0 && this.#shed === 0 ? this.#idleBeats + 1 : 0;
    if (this.#idleBeats >= patience) this.close();
  }

  /** Answers what has taken too long; an answer that nobody has taken for as long again goes with its connection. */
  #giveUp(limit: number): void {
    for (const [response, since] of this.#inFlight) {
      const age = this.#now - since;
      // the others came later
      if (age < limit) break;
      if (!response.headersSent) {
        const late = problem('handler_timeout', { limit }, { headers: retryLater });
        answerProblem(late, response.req, response, this.#options.ids);
        this.#options.watch?.givenUp(late);
      } else if (age >= 2 * limit && !hasOwnPace(response)) response.destroy();
    }
  }
}

/** What forgets an answer that is over; exact times are taken only for those who want to know. */
function onClose(inFlight: Map<ServerResponse, number>, watch: TrafficWatch | undefined): (this: ServerResponse) => void {
  if (!watch)
    return function closed() {
      inFlight.delete(this);
    };
  return function closed() {
    const since = inFlight.get(this) as number;
    inFlight.delete(this);
    watch.closed(this, since);
  };
}

const gates = new WeakMap<object, Gate>();

/** Remembers the gate of a server that was made for an application. */
export function keepGate(app: object, gate: Gate): void {
  gates.set(app, gate);
}

/** The gate of a server, if it has one. */
export function gateOf(app: object): Gate | undefined {
  return gates.get(app);
}
