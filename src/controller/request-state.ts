import { AsyncLocalStorage } from 'node:async_hooks';
import { FlushMode } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import type { Mapper, RequestEntityManager } from '../database/mapper.ts';
import type { FieldChoice } from '../model/field-choice.ts';

/** What belongs to one request and to no other. */
export class RequestState {
  readonly #mapper: Mapper;
  #em: RequestEntityManager | null = null;
  /** The entity that was fetched and checked before a handler ran. */
  admitted: { readonly action: string; readonly id: string; readonly entity: object } | null = null;

  /** What the request chose of the fields of a list; null: all of them. */
  choice: FieldChoice | null = null;

  constructor(mapper: Mapper) {
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
  holder[stateKey] ??= new RequestState(mapper);
  return holder[stateKey];
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
