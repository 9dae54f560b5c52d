import { type EventSubscriber, FlushMode } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import type { Mapper, RequestEntityManager } from '../database/mapper.ts';
import type { FieldChoice } from '../model/field-choice.ts';
import { type ActiveGroups, noGroups } from '../model/groups.ts';
import type { Identifier } from '../model/identifier.ts';
import { Running, running, runWith } from '../model/running-code.ts';
import type { RequestVisibility } from '../query/visibility/visibility.ts';
import type { Admission, Restriction } from './port.ts';

/** Whether roles of groups are granted, by role. */
type GroupVotes = Map<string, boolean | Promise<boolean>>;

/** The state of one attempt at a request. */
export class RequestState {
  readonly request: ApiRequest;
  readonly #mapper: Mapper;
  readonly #running = new Running(this);
  #em: RequestEntityManager | null = null;
  /** The action that runs; null if a default action only reads. */
  runningAction: string | null = null;

  /** The entity that was fetched and checked before a handler ran. */
  admitted: { readonly action: string; readonly id: string; readonly entity: object } | null = null;

  /** The row that `getEntity` of the base controller found last: a controller that loads rows itself may have called it. */
  loaded: Pick<Admission, 'found' | 'restriction'> | null = null;

  /** The key of the row that the controller loaded itself, in this attempt or the one before. It may differ from the path. */
  loadedKey: Identifier | undefined;

  /** The custom action of the request; null for other actions. */
  action: string | null = null;

  /** The row of the request, with the version that shows whether it was changed since. */
  admission: Admission | null = null;

  /** The restrictions that a handler requested, by action. */
  restrictions: Map<string, Promise<Restriction>> | null = null;

  /** Which of the rows that others refer to or embed are visible to the caller. */
  visibility: RequestVisibility<ApiRequest> | null = null;

  /** The groups that apply to the caller; null until the request is admitted. */
  groups: ActiveGroups | null = null;

  /** The decisions about roles of groups without a row, by role. */
  #groupVotes: GroupVotes | null = null;

  /** The same with a row. */
  #rowGroupVotes: WeakMap<object, GroupVotes> | null = null;

  /** The fields of a list that the request chose; null: all of them. */
  choice: FieldChoice | null = null;

  /** Whether a lookup found no entity with the id of the request for the caller. */
  isMissing = false;

  /** Whether the handler rereads the row after it is locked. */
  rereads = false;

  /** The nested associations whose role was checked already, by their place in the declaration. */
  checkedNested: Set<unknown> | null = null;

  /** Whether a list is written while no other list for the same table is, because it was in a deadlock with one. */
  isAlone = false;

  /** Whether a transaction was committed on behalf of the request. */
  isCommitted = false;

  /** Whether the row is locked before access to it is checked, because it was changed too often in between. */
  readonly locksFirst: boolean;

  /** Hooks that wait for the commit of a transaction around the whole request; null if there is none. */
  afterCommit: (() => unknown)[] | null = null;

  constructor(request: ApiRequest, mapper: Mapper, locksFirst = false) {
    this.request = request;
    this.#mapper = mapper;
    this.locksFirst = locksFirst;
  }

  /** Made when first used. It writes only when it is flushed. */
  get em(): RequestEntityManager {
    this.#em ??= this.#mapper.em.fork({ flushMode: FlushMode.COMMIT }) as RequestEntityManager;
    return this.#em;
  }

  /** The decisions about roles of groups with a row, or without one. */
  groupVotesOn(row: object | null): GroupVotes {
    if (!row) {
      this.#groupVotes ??= new Map();
      return this.#groupVotes;
    }
    this.#rowGroupVotes ??= new WeakMap();
    const votes = this.#rowGroupVotes.get(row) ?? new Map();
    this.#rowGroupVotes.set(row, votes);
    return votes;
  }

  /** Lets voters decide again about a row that another request has changed. */
  forgetGroupVotes(row: object): void {
    this.#rowGroupVotes?.delete(row);
  }

  /** Runs work on behalf of this attempt. It is code of the application if the code that runs now is. */
  run<Result>(work: () => Result): Result {
    return runWith(this.#running.as(running().isApplication), work);
  }

  /** Runs code of the application on behalf of this attempt. */
  runApplication<Result>(work: () => Result): Result {
    return runWith(this.#running.as(true), work);
  }

  /** The number of entities that MikroORM knows for the request. */
  get managedEntities(): number {
    const uow = this.#em?.getUnitOfWork();
    return uow ? uow.getIdentityMap().keys().length + uow.getPersistStack().size : 0;
  }

  /** Whether the request is in a transaction of its entity manager, so that other connections do not see what it has written. */
  get isInTransaction(): boolean {
    return this.#em?.isInTransaction() ?? false;
  }
}

/** Stored on the request itself: a map of all requests would cost more than the states in it. */
const stateKey = Symbol('state');

export function stateOf(request: ApiRequest, mapper: Mapper): RequestState {
  const holder = request as { [stateKey]?: RequestState };
  holder[stateKey] ??= new RequestState(request, mapper);
  return holder[stateKey];
}

/** The groups of one item of a list, on the request of the item. */
const itemGroupsKey = Symbol('groups');

/** The groups that apply to the caller of a request: none before it is admitted. */
export function groupsOf(request: ApiRequest, mapper: Mapper): ActiveGroups {
  return (request as { [itemGroupsKey]?: ActiveGroups })[itemGroupsKey] ?? stateOf(request, mapper).groups ?? noGroups;
}

/** Sets the groups of one item of a list, whose row has groups of its own. */
export function setItemGroups(item: ApiRequest, groups: ActiveGroups): void {
  (item as { [itemGroupsKey]?: ActiveGroups })[itemGroupsKey] = groups;
}

/** Begins the state of another attempt at a request. */
export function renewState(request: ApiRequest, mapper: Mapper, locksFirst: boolean): void {
  const holder = request as { [stateKey]?: RequestState };
  const state = new RequestState(request, mapper, locksFirst);
  state.loadedKey = holder[stateKey]?.loadedKey;
  holder[stateKey] = state;
}

const committing: EventSubscriber = {
  afterTransactionCommit({ transaction }) {
    const { owner } = running();
    // a savepoint within a larger transaction is not committed yet
    if (
      owner instanceof RequestState &&
      !(typeof transaction === 'object' && transaction !== null && 'savepointName' in transaction)
    )
      owner.isCommitted = true;
  },
};

/** Records every commit on behalf of a request in its state, whichever entity manager commits. */
export function noteCommits(mapper: Mapper): void {
  mapper.em.getEventManager().registerSubscriber(committing);
}

/** Runs application code so that `this.em` is the request's own, although all requests share one controller. */
export function withState<Result>(state: RequestState, work: () => Result): Result {
  return state.run(work);
}

export function currentState(): RequestState {
  const { owner } = running();
  if (!(owner instanceof RequestState))
    throw new Error('this.em is available only during a request; use an entity manager of your own for other work');
  return owner;
}
