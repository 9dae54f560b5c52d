import { AsyncLocalStorage } from 'node:async_hooks';
import { type EventSubscriber, FlushMode } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import type { Mapper, RequestEntityManager } from '../database/mapper.ts';
import type { FieldChoice } from '../model/field-choice.ts';

/** What belongs to one request and to no other. */
export class RequestState {
  readonly request: ApiRequest;
  readonly #mapper: Mapper;
  #em: RequestEntityManager | null = null;
  /** The entity that was fetched and checked before a handler ran. */
  admitted: { readonly action: string; readonly id: string; readonly entity: object } | null = null;

  /** What the request chose of the fields of a list; null: all of them. */
  choice: FieldChoice | null = null;

  /** Whether the caller was found to have no entity with the id of the request. */
  isMissing = false;

  /** Whether a transaction was committed on behalf of the request. */
  isCommitted = false;

  /** What waits for the commit of a transaction around the whole of the request; null where there is none such. */
  afterCommit: (() => unknown)[] | null = null;

  constructor(request: ApiRequest, mapper: Mapper) {
    this.request = request;
    this.#mapper = mapper;
  }

  /** Made when first used. It never writes by itself, only when it is flushed. */
  get em(): RequestEntityManager {
    this.#em ??= this.#mapper.em.fork({ flushMode: FlushMode.COMMIT }) as RequestEntityManager;
    return this.#em;
  }
}

/** Kept on the request itself: a map of all requests would cost more than what it holds. */
const stateKey = Symbol('state');
const current = new AsyncLocalStorage<RequestState>();

export function stateOf(request: ApiRequest, mapper: Mapper): RequestState {
  const holder = request as { [stateKey]?: RequestState };
  holder[stateKey] ??= new RequestState(request, mapper);
  return holder[stateKey];
}

/** Forgets what belonged to a request: it is done anew. */
export function renewState(request: ApiRequest): void {
  delete (request as { [stateKey]?: RequestState })[stateKey];
}

const committing: EventSubscriber = {
  afterTransactionCommit({ transaction }) {
    const state = current.getStore();
    // what ends within a larger transaction is not committed yet
    if (state && !(typeof transaction === 'object' && transaction !== null && 'savepointName' in transaction))
      state.isCommitted = true;
  },
};

/** Lets the state of each request know of every commit that is made on its behalf, with whatever entity manager. */
export function noteCommits(mapper: Mapper): void {
  mapper.em.getEventManager().registerSubscriber(committing);
}

/** Runs an application's code so that `this.em` in a controller, of which there is one for all requests, is the request's own. */
export function withState<Result>(state: RequestState, work: () => Result): Result {
  return current.run(state, work);
}

export function currentState(): RequestState {
  const state = current.getStore();
  if (!state)
    throw new Error('this.em belongs to a request, and there is none here; take an entity manager of your own for other work');
  return state;
}
