import type { FastifyRequest } from 'fastify';
import { describe, expect, test } from 'vitest';
import { poll, strategies } from '../../src/access/decision.ts';
import { type Vote, Voter } from '../../src/access/voter.ts';
import type { RouteAccess } from '../../src/inspect/compare/matrix.ts';
import { leaksOf, outside, shapeOfPaths, shapeOfRoute } from '../../src/inspect/suite/suite-fields.ts';
import { decides } from '../../src/inspect/suite/suite-judge.ts';

/** Says always the same. */
class Saying extends Voter {
  readonly #answer: Vote;

  constructor(answer: Vote) {
    super();
    this.#answer = answer;
  }

  vote(): Vote {
    return this.#answer;
  }
}

describe('the reference decision of a suite', () => {
  const question = { role: 'SEE', subject: null, user: null, request: {} as FastifyRequest };
  const votes: readonly Vote[] = ['grant', 'deny', 'abstain'];
  const lists = [0, 1, 2, 3, 4].reduce<Vote[][]>(
    (known) => [...known, ...known.flatMap((list) => votes.map((vote) => [...list, vote]))],
    [[]],
  );

  test.each(strategies)('equals the decision under the strategy %s', (strategy) => {
    for (const list of lists) {
      const voters = list.map((vote) => new Saying(vote));
      expect([list, decides(strategy, list)]).toEqual([list, poll(strategy, voters, question)]);
    }
  });
});

describe('a shape', () => {
  const shape = shapeOfPaths(['id', 'center.name', 'people[].address.city', 'free']);

  test('contains the values at its paths, in lists too', () => {
    const value = { id: 1, center: { name: 'N' }, people: [{ address: null }, { address: { city: 'C' } }], free: { any: [{}] } };
    expect(outside(value, shape)).toEqual([]);
    expect(outside([value, null, 7], shape)).toEqual([]);
  });

  test('lists each path outside of it', () => {
    const value = { pin: 1, center: { name: 'N', budget: 7 }, people: [{ address: { city: 'C', alarm: 'loud' }, id: 1 }] };
    expect(outside(value, shape)).toEqual(['pin', 'center.budget', 'people.address.alarm', 'people.id']);
  });

  const route = (fields: readonly { path: string; kind: string }[], more: object = {}) =>
    ({ action: 'fetch', read: { fields, decidedBy: null }, ...more }) as unknown as RouteAccess;

  test('of a route is closed below an object without visible fields, and open below a value', () => {
    const closed = shapeOfRoute(
      route([
        { path: 'owner', kind: 'object' },
        { path: 'details', kind: 'value' },
      ]),
    );
    expect(outside({ owner: { id: 1 }, details: { id: 1 } }, closed)).toEqual(['owner.id']);
    const open = shapeOfRoute(
      route([
        { path: 'owner', kind: 'object' },
        { path: 'owner.id', kind: 'value' },
      ]),
    );
    expect(outside({ owner: { id: 1, name: 'A' } }, open)).toEqual(['owner.name']);
  });

  test('of a list is the shape of its items, plus the keys of every list', () => {
    const list = route([{ path: 'id', kind: 'value' }], { action: 'list' });
    const body = {
      count: 1,
      count_is: 'capped',
      results: [{ id: 1, pin: 2 }],
      pagination: { more: false, sql: 'select' },
      rows: 3,
    };
    expect(leaksOf(list, body, shapeOfRoute(list), [], new Map())).toEqual(['pagination.sql', 'pin', 'rows']);
  });
});
