import { describe, expect, test } from 'vitest';
import type { ActiveGroups } from '../../src/model/groups.ts';
import { running } from '../../src/model/running-code.ts';
import {
  currentState,
  groupsOf,
  noteCommits,
  RequestState,
  renewState,
  setItemGroups,
  stateOf,
  withState,
} from '../../src/store/request-state.ts';
import { inTransaction } from '../../src/store/transaction.ts';

type Any = any;

const requestOf = (): Any => ({ url: '/' });
const groups = (name: string): ActiveGroups => ({ read: [name], embedded: [], write: [] });

test('a request has one state in each attempt, which keeps the key of the row that the controller loaded', () => {
  const request = requestOf();
  const mapper: Any = {};
  const state = stateOf(request, mapper);
  expect([stateOf(request, mapper), state.request, state.locksFirst]).toEqual([state, request, false]);
  state.loadedKey = 7;
  state.isMissing = true;
  renewState(request, mapper, true);
  const next = stateOf(request, mapper);
  expect(next).not.toBe(state);
  expect([next.loadedKey, next.locksFirst, next.isMissing]).toEqual([7, true, false]);
  const other = requestOf();
  renewState(other, mapper, false);
  expect([stateOf(other, mapper).loadedKey, stateOf(other, mapper).locksFirst]).toEqual([undefined, false]);
});

test('a new state knows nothing about the request', () => {
  expect({ ...new RequestState(requestOf(), {} as Any) }).toMatchObject({
    runningAction: null,
    admitted: null,
    loaded: null,
    action: null,
    admission: null,
    groups: null,
    choice: null,
    isMissing: false,
    rereads: false,
    isAlone: false,
    isCommitted: false,
    afterCommit: null,
  });
});

test('the groups of a request are none before it is admitted, and an item of a list has its own', () => {
  const request = requestOf();
  const mapper: Any = {};
  expect(groupsOf(request, mapper)).toEqual({ read: [], embedded: [], write: [] });
  const all = groups('all');
  stateOf(request, mapper).groups = all;
  expect(groupsOf(request, mapper)).toBe(all);
  const item = Object.create(request);
  expect(groupsOf(item, mapper)).toBe(all);
  setItemGroups(item, groups('own'));
  expect([groupsOf(item, mapper).read, groupsOf(request, mapper).read]).toEqual([['own'], ['all']]);
});

test('the entity manager is made once, when it is first used', () => {
  const made: unknown[] = [];
  const em = {
    isInTransaction: () => true,
    getUnitOfWork: () => ({ getIdentityMap: () => ({ keys: () => [1, 2] }), getPersistStack: () => new Set([3]) }),
  };
  const mapper: Any = { em: { fork: (options: unknown) => made.push(options) && em } };
  const state = new RequestState(requestOf(), mapper);
  expect([state.managedEntities, state.isInTransaction, made]).toEqual([0, false, []]);
  expect([state.em, state.em]).toEqual([em, em]);
  expect(made).toEqual([{ flushMode: 'commit' }]);
  expect([state.managedEntities, state.isInTransaction]).toEqual([3, true]);
});

test('decisions about roles of groups are kept by row, until the row has changed', () => {
  const state = new RequestState(requestOf(), {} as Any);
  const [one, two] = [{}, {}];
  state.forgetGroupVotes(one);
  const places = [null, one, two];
  for (const [index, row] of places.entries()) state.groupVotesOn(row).set('ROLE', index === 1);
  expect(places.map((row) => state.groupVotesOn(row).get('ROLE'))).toEqual([false, true, false]);
  state.forgetGroupVotes(one);
  expect(places.map((row) => state.groupVotesOn(row).get('ROLE'))).toEqual([false, undefined, false]);
});

describe('the current state', () => {
  test('is that of the request whose code runs, also in code of the application', async () => {
    const [one, two] = [1, 2].map(() => new RequestState(requestOf(), {} as Any)) as [RequestState, RequestState];
    expect(() => currentState()).toThrow(
      'this.em is available only during a request; use an entity manager of your own for other work',
    );
    await withState(one, async () => {
      await Promise.resolve();
      expect([currentState(), running().isApplication]).toEqual([one, false]);
      two.runApplication(() => expect([currentState(), running().isApplication]).toEqual([two, true]));
      one.runApplication(() => two.run(() => expect([currentState(), running().isApplication]).toEqual([two, true])));
      expect(currentState()).toBe(one);
    });
  });

  test('records commits, but not those of savepoints', () => {
    let subscriber: Any;
    noteCommits({ em: { getEventManager: () => ({ registerSubscriber: (given: unknown) => (subscriber = given) }) } } as Any);
    for (const [transaction, isCommitted] of [
      [{ savepointName: 's' }, false],
      [{}, true],
      [null, true],
      [undefined, true],
      ['begin', true],
    ] as const) {
      const state = new RequestState(requestOf(), {} as Any);
      withState(state, () => subscriber.afterTransactionCommit({ transaction }));
      expect(state.isCommitted).toBe(isCommitted);
    }
    expect(() => subscriber.afterTransactionCommit({ transaction: {} })).not.toThrow();
  });
});

describe('a transaction', () => {
  /** An entity manager that records its calls. */
  function manager(outer?: string) {
    const told: unknown[] = [];
    const note =
      (name: string): Any =>
      async (...given: unknown[]) => {
        told.push([name, ...given]);
        if (name === 'rollback') throw new Error('no connection');
      };
    const em: Any = {
      getTransactionContext: () => outer,
      setTransactionContext: (given: unknown) => told.push(['context', given]),
      begin: note('begin'),
      commit: note('commit'),
      rollback: note('rollback'),
    };
    return { em, told };
  }

  test('is committed after the work, or rolled back with the error of the work', async () => {
    const { em, told } = manager();
    expect(await inTransaction(em, async () => told.push('work') && 'done')).toBe('done');
    expect(told).toEqual([['begin', {}], 'work', ['commit']]);
    told.length = 0;
    const error = new Error('broken');
    await expect(inTransaction(em, () => Promise.reject(error))).rejects.toBe(error);
    expect(told).toEqual([['begin', {}], ['rollback']]);
  });

  test('within another is a savepoint, and the other goes on', async () => {
    for (const work of [async () => 'done', () => Promise.reject(new Error('broken'))]) {
      const { em, told } = manager('outer');
      await inTransaction(em, work).catch(() => undefined);
      expect([told[0], told.at(-1)]).toEqual([
        ['begin', { ctx: 'outer' }],
        ['context', 'outer'],
      ]);
    }
  });
});
