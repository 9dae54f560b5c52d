import { describe, expect, test } from 'vitest';
import { partOf, seed } from '../support/random.ts';
import { type Kind, kinds, limits, pairForms } from './pairs-app.ts';
import {
  type Deployment,
  firstState,
  inBatches,
  type Outcome,
  type RowRequest,
  SerialOrders,
  type State,
} from './pairs-support.ts';

/** Requests that are sent at once, many times. */
interface Race {
  readonly title: string;
  readonly start?: Partial<State>;
  readonly requests: readonly RowRequest[];
  /** Statuses of the serial orders. They hold the oracle itself to what the contract says. */
  readonly serial: readonly (readonly number[])[];
  /** Says what else is wrong with an outcome, beside not being that of a serial order. */
  readonly fault?: (outcome: Outcome) => string | false | null | undefined;
  readonly of?: (kind: Kind) => boolean;
}

/** Of each race on each deployment; the models share them. */
const repetitions = Number(process.env.ENGINE_REPETITIONS ?? 4);

const anna = { user: 'anna', tenant: 'north' };
const admin = { user: 'admin', tenant: 'north' };
const patch = (json: object, by = anna): RowRequest => ({ method: 'PATCH', json, ...by });
const add = (action: 'labels' | 'marks' | 'stick', id: number, by = anna): RowRequest => ({
  method: 'POST',
  action,
  json: { id },
  ...by,
});
const remove = (action: 'labels' | 'marks' | 'stick', id: number): RowRequest => ({
  method: 'DELETE',
  action,
  json: { id },
  ...anna,
});
const removal: RowRequest = { method: 'DELETE', ...anna };
const bound = (request: RowRequest): RowRequest => ({ ...request, ifMatch: true });
const body = (title: string, n: number, refs: number[], more: object = {}) => ({
  title,
  owner: 'anna',
  tenant: 'north',
  low: n,
  high: n + 5,
  data: { [title]: n },
  size: { width: n, height: n, unit: title },
  refs: refs.map((id) => ({ id })),
  ...more,
});
const put = (json: object): RowRequest => ({ method: 'PUT', json, ...anna });

const isRuled = (kind: Kind) => kinds[kind].rules;
const isVersioned = (kind: Kind) => kinds[kind].version;

// biome-ignore format: one race a line
const races: Race[] = [
  { title: 'change of the owner and DELETE by the former owner', requests: [patch({ owner: 'bert' }), removal], serial: [[200, 403], [404, 204]] },
  { title: 'change of the owner and PUT by the former owner', requests: [patch({ owner: 'bert' }), put(body('late', 2, [1]))], serial: [[200, 403], [200, 200]], fault: ({ row, statuses }) => statuses[1] === 200 && statuses[0] === 200 && row?.owner !== 'bert' && 'the owner is the former one' },
  { title: 'lock and DELETE', requests: [patch({ locked: true }), removal], serial: [[200, 403], [404, 204]] },
  { title: 'lock and PUT that unlocks', requests: [patch({ locked: true }), put(body('late', 2, [1], { locked: false }))], serial: [[200, 403], [200, 200]], fault: ({ row, statuses }) => statuses[0] === 200 && !row?.locked && 'the lock is lost' },
  { title: 'lock and PATCH', requests: [patch({ locked: true }), patch({ title: 'late', data: { late: 1 } })], serial: [[200, 403], [200, 200]], fault: ({ row, statuses }) => statuses[0] === 200 && !row?.locked && 'the lock is lost' },
  { title: 'lock and add', requests: [patch({ locked: true }), add('labels', 2)], serial: [[200, 403], [200, 200]], fault: ({ row, statuses }) => statuses[1] === 403 && row?.labels.length !== 0 && 'the rejected add had an effect' },
  { title: 'lock and add through a method', requests: [patch({ locked: true }), add('marks', 2)], serial: [[200, 403], [200, 200]], fault: ({ row, statuses }) => statuses[1] === 403 && row?.marks.length !== 0 && 'the rejected add had an effect' },
  { title: 'lock and bump', requests: [patch({ locked: true }), { method: 'POST', action: 'bump', json: {}, ...anna }], serial: [[200, 403], [200, 200]] },
  { title: 'PATCH and move to another tenant', requests: [patch({ tenant: 'south', title: 'secret' }, admin), patch({ low: 2 }, admin)], serial: [[200, 404], [200, 200]], fault: ({ bodies }) => JSON.stringify(bodies[1])?.includes('secret') && 'the response shows a row of another tenant' },
  { title: 'GET and move to another tenant', requests: [patch({ tenant: 'south', title: 'secret' }, admin), { method: 'GET', ...anna }], serial: [[200, 404], [200, 200]], fault: ({ bodies }) => JSON.stringify(bodies[1])?.includes('secret') && 'the response shows a row of another tenant' },
  { title: 'DELETE and move to another tenant', requests: [patch({ tenant: 'south' }, admin), removal], serial: [[200, 404], [404, 204]] },
  { title: 'add and move to another tenant', requests: [patch({ tenant: 'south' }, admin), add('labels', 1)], serial: [[200, 404], [200, 200]] },
  { title: 'bump and move to another tenant', requests: [patch({ tenant: 'south', title: 'secret' }, admin), { method: 'POST', action: 'bump', json: {}, ...admin }], serial: [[200, 404], [200, 200]], fault: ({ bodies }) => JSON.stringify(bodies[1])?.includes('secret') && 'the response shows a row of another tenant' },
  { title: 'two PATCHes of different JSON keys', requests: [patch({ data: { a: 1 } }), patch({ data: { b: 2 } })], serial: [[200, 200], [200, 200]] },
  { title: 'two PATCHes of different JSON keys of a null', start: { data: null }, requests: [patch({ data: { a: 1 } }), patch({ data: { b: 2 } })], serial: [[200, 200], [200, 200]] },
  { title: 'PATCHes that set and remove a JSON key', requests: [patch({ data: { z: null } }), patch({ data: { a: { b: 1 } } }), patch({ data: { a: { c: 2 } } })], serial: [[200, 200, 200]] },
  { title: 'two PATCHes of different embedded fields', requests: [patch({ size: { width: 5 } }), patch({ size: { height: 7 } })], serial: [[200, 200], [200, 200]] },
  { title: 'two PUTs', start: { refs: [4] }, requests: [put(body('left', 2, [1, 2])), put(body('right', 3, [3]))], serial: [[200, 200], [200, 200]] },
  { title: 'PUT and PATCH', requests: [put(body('put', 2, [1])), patch({ title: 'patched', data: { patched: true } })], serial: [[200, 200], [200, 200]] },
  { title: 'two replacements of a list', start: { refs: [4] }, requests: [patch({ refs: [{ id: 1 }, { id: 2 }] }), patch({ refs: [{ id: 3 }] })], serial: [[200, 200], [200, 200]] },
  { title: 'two replacements of a list that share an item', requests: [patch({ refs: [{ id: 1 }, { id: 2 }] }), patch({ refs: [{ id: 2 }, { id: 3 }] })], serial: [[200, 200], [200, 200]] },
  { title: 'two PATCHes that break a rule together', requests: [patch({ low: 9 }), patch({ high: 3 })], serial: [[200, 422], [422, 200]], of: isRuled },
  { title: 'two adds of the same item', requests: [add('labels', 1), add('labels', 1)], serial: [[200, 200], [200, 200]] },
  { title: 'two adds of the same item through a method', requests: [add('marks', 1), add('marks', 1)], serial: [[200, 200], [200, 200]] },
  { title: 'two adds through a method', requests: [add('marks', 1), add('marks', 2)], serial: [[200, 200], [200, 200]] },
  { title: 'two adds of the same item through a handler', requests: [add('stick', 1), add('labels', 1)], serial: [[200, 200], [200, 200]] },
  { title: 'add and remove of the same item', start: { labels: [1] }, requests: [remove('labels', 1), add('labels', 1)], serial: [[200, 200], [200, 200]] },
  { title: 'add and remove through methods', start: { marks: [1], markCount: 1 }, requests: [remove('marks', 1), add('marks', 2)], serial: [[200, 200], [200, 200]] },
  { title: 'adds beyond a limit', start: { marks: [1, 2], markCount: 2 }, requests: [add('marks', 3), add('marks', 4), add('marks', 5)], serial: [[200, 422, 422], [422, 200, 422], [422, 422, 200]], fault: ({ row }) => row && row.marks.length > limits.marks && 'too many marks', of: isRuled },
  { title: 'add and DELETE', requests: [add('labels', 1), removal], serial: [[200, 204], [404, 204]] },
  { title: 'add through a method and DELETE', requests: [add('marks', 1), removal], serial: [[200, 204], [404, 204]] },
  { title: 'replacement of a list and DELETE', start: { refs: [1] }, requests: [patch({ refs: [{ id: 2 }] }), removal], serial: [[200, 204], [404, 204]] },
  { title: 'two DELETEs', start: { refs: [1], labels: [2] }, requests: [removal, removal], serial: [[204, 404], [404, 204]] },
  { title: 'two PATCHes with the same tag', requests: [bound(patch({ title: 'a' })), bound(patch({ low: 3 }))], serial: [[200, 412], [412, 200]], of: isVersioned },
  { title: 'two adds with the same tag', requests: [bound(add('labels', 1)), bound(add('labels', 2))], serial: [[200, 412], [412, 200]], of: isVersioned, fault: ({ statuses }) => !statuses.includes(200) && 'no add succeeded' },
  { title: 'two adds through a method with the same tag', requests: [bound(add('marks', 1)), bound(add('marks', 2))], serial: [[200, 412], [412, 200]], of: isVersioned, fault: ({ statuses }) => !statuses.includes(200) && 'no add succeeded' },
  { title: 'add with a tag and PATCH', requests: [bound(add('labels', 1)), patch({ title: 'b' })], serial: [[200, 200], [412, 200]], of: isVersioned },
  { title: 'DELETE with a tag and PATCH', requests: [bound(removal), patch({ title: 'b' })], serial: [[204, 404], [412, 200]], of: isVersioned },
  { title: 'bump with a tag and PATCH', requests: [bound({ method: 'POST', action: 'bump', json: {}, ...anna }), patch({ title: 'b' })], serial: [[200, 200], [412, 200]], of: isVersioned },
];

const changes = [
  ['PATCH', patch({ title: 'late' }), (row: State) => row.title === 'late'],
  ['add', add('labels', 2), (row: State) => row.labels.includes(2)],
  ['add through a method', add('marks', 2), (row: State) => row.marks.includes(2)],
  ['replacement of a list', patch({ refs: [{ id: 3 }] }), (row: State) => row.refs.includes(3)],
  ['bump', { method: 'POST', action: 'bump', json: {}, ...anna } as RowRequest, (row: State) => row.amount > 0],
] as const;

function repetitionsOf({ of = () => true }: Pick<Race, 'of'>): number {
  return Math.ceil(repetitions / (Object.keys(kinds) as Kind[]).filter(of).length);
}

/** How many deployments share the races. */
const deployments = 3;

/**
 * Requests whose races are known. Each race is tried with each model on one of the deployments. The seed decides on which;
 * `TEST_ALL=1` tries it on all.
 */
export function describeRaces(deployed: () => Deployment, place: number): void {
  /** Half of the repetitions with slow voters, a quarter of those with slow rules as well; restrictions take turns. */
  function variation(index: number, race: Pick<Race, 'requests' | 'start'>): { start: State; requests: RowRequest[] } {
    const pause = index % 2 ? 3 : 0;
    const form = pairForms[Math.floor(index / 2) % pairForms.length] as (typeof pairForms)[number];
    return {
      start: { ...firstState, ...race.start, pause: index % 4 === 1 ? 2 : 0 },
      requests: race.requests.map((request) => ({ ...request, pause, form })),
    };
  }

  describe.each(Object.keys(kinds) as Kind[])('concurrent requests to the model "%s"', (kind) => {
    const turn = place + Object.keys(kinds).indexOf(kind);
    const shared = <Case>(cases: readonly Case[]) => partOf(cases, deployments, turn);

    test.each(shared(races).filter(({ of }) => !of || of(kind)))('have the results of a serial order: $title', async (race) => {
      const { requests } = race;
      const orders = new SerialOrders(deployed(), kind, { ...firstState, ...race.start }, requests);
      const faults: string[] = [];
      await inBatches(repetitionsOf(race), 4, async (index) => {
        const { start, requests } = variation(index + turn + seed, race);
        const outcome = await deployed().run(kind, start, requests);
        const fault = (await orders.faultOf(outcome))?.text ?? race.fault?.(outcome);
        if (fault) faults.push(fault);
      });
      const places = requests.map((_, place) => place);
      // the order of the places, and its reverse
      const serial = [await orders.outcome(places), await orders.outcome(places.toReversed())].map((outcome) =>
        outcome.statuses.join(),
      );
      const expected = race.serial.map((statuses) => statuses.join());
      expect(serial.filter((statuses) => !expected.includes(statuses as string))).toEqual([]);
      expect({ faults: faults.length, first: faults.slice(0, 2) }).toEqual({ faults: 0, first: [] });
    });

    test('respect a limit in a handler that only flushes', async () => {
      const faults: string[] = [];
      await inBatches(repetitionsOf({}), 2, async (index) => {
        const bump: RowRequest = { method: 'POST', action: 'bump', json: {}, ...anna };
        const { requests, start } = variation(index, { requests: Array.from({ length: 5 }, () => bump) });
        const { row, statuses } = await deployed().run(kind, start, requests);
        const succeeded = statuses.filter((status) => status === 200).length;
        const others = statuses.filter((status) => status !== 200 && status !== 400 && status !== 409);
        const isRight = row?.amount === succeeded && succeeded >= 1 && succeeded <= limits.bumps && others.length === 0;
        if (!isRight) faults.push(`statuses ${statuses.join()}, amount ${row?.amount}`);
      });
      expect({ faults: faults.length, first: faults.slice(0, 2) }).toEqual({ faults: 0, first: [] });
    });

    test.each(shared(changes))('do not change a row after its lock was committed: %s', async (_, change, isChanged) => {
      const faults: string[] = [];
      await inBatches(repetitionsOf({}), 4, async (index) => {
        const { requests, start } = variation(index, { requests: [change, patch({ locked: true })] });
        const id = await deployed().insert(kind, start);
        // the change is under way for longer than the lock
        const changing = deployed().send(kind, id, { ...(requests[0] as RowRequest), pause: index % 2 ? 10 : 0 }, 0);
        const locking = deployed().send(kind, id, { ...(requests[1] as RowRequest), pause: 0 }, 1);
        const locked = await locking;
        const atLock = await deployed().read(kind, id);
        const changed = await changing;
        const final = await deployed().read(kind, id);
        if (locked.status !== 200 || !atLock?.locked) return;
        if (JSON.stringify(atLock) !== JSON.stringify(final)) faults.push(`the row changed after the lock (${changed.status})`);
        if (changed.status === 200 && !isChanged(final as State)) faults.push('a change was lost');
      });
      expect({ faults: faults.length, first: faults.slice(0, 2) }).toEqual({ faults: 0, first: [] });
    });
  });
}
