import { expect, test } from 'vitest';
import { Random, seed } from '../support/random.ts';
import { type Kind, kinds, pairForms } from './pairs-app.ts';
import { type Deployment, firstState, inBatches, type RowRequest, SerialOrders, type State } from './pairs-support.ts';

const count = Number(process.env.ENGINE_CASES ?? 20);

interface RandomCase {
  readonly kind: Kind;
  readonly start: State;
  readonly requests: RowRequest[];
}

const tags = [1, 2, 3, 4];
const references = (random: Random) => random.some(tags).map((id) => ({ id }));

function randomState(random: Random): State {
  const marks = random.some([1, 2, 3]);
  return {
    ...firstState,
    owner: random.of(['anna', 'anna', 'anna', 'bert']),
    tenant: random.chance(0.95) ? 'north' : 'south',
    locked: random.chance(0.05),
    low: random.below(5),
    high: 5 + random.below(5),
    amount: random.below(4),
    markCount: marks.length,
    pause: random.of([0, 0, 2]),
    data: random.of([null, { z: 0 }, { a: 1, b: { c: 1 } }]),
    refs: random.some(tags),
    labels: random.some(tags),
    marks,
  };
}

const randomData = (random: Random) =>
  random.of<unknown>([
    { a: random.below(9) },
    { b: { c: random.below(9) } },
    { b: { d: 1 } },
    { a: null },
    { [`k${random.below(3)}`]: 1 },
    null,
  ]);

function randomFields(random: Random): Record<string, unknown> {
  const fields: Record<string, () => unknown> = {
    title: () => `title ${random.below(100)}`,
    owner: () => random.of(['anna', 'bert']),
    tenant: () => random.of(['north', 'south']),
    locked: () => random.chance(0.7),
    low: () => random.below(10),
    high: () => random.below(10),
    data: () => randomData(random),
    size: () => random.of<unknown>([{ width: random.below(9) }, { height: random.below(9) }, { unit: random.of(['mm', 'm']) }]),
    refs: () => references(random),
  };
  const names = Array.from({ length: 1 + random.below(3) }, () => random.of(Object.keys(fields)));
  return Object.fromEntries(names.map((name) => [name, fields[name]?.()]));
}

/** A change that decides what other requests may do. */
const randomGate = (random: Random) =>
  random.of<object>([{ locked: true }, { owner: 'bert' }, { tenant: 'south' }, { low: 9 }, { high: 1 }]);

function randomBody(random: Random): Record<string, unknown> {
  return {
    title: `put ${random.below(100)}`,
    owner: random.of(['anna', 'anna', 'bert']),
    tenant: random.of(['north', 'north', 'south']),
    locked: random.chance(0.2),
    low: random.below(6),
    high: 4 + random.below(6),
    data: randomData(random),
    size: { width: random.below(9), height: random.below(9), unit: 'cm' },
    refs: references(random),
  };
}

function randomRequest(random: Random, kind: Kind, pause: number): RowRequest {
  const [user, tenant] = random.of([
    ['anna', 'north'],
    ['anna', 'north'],
    ['anna', 'north'],
    ['anna', 'north'],
    ['admin', 'north'],
    ['admin', 'north'],
    ['bert', 'north'],
    ['anna', 'south'],
    ['admin', 'south'],
  ] as const);
  const item = { id: random.chance(0.05) ? 99 : random.of(tags) };
  const request = random.of<() => Pick<RowRequest, 'action' | 'json' | 'method'>>([
    () => ({ method: 'PATCH', json: randomGate(random) }),
    () => ({ method: 'PATCH', json: randomFields(random) }),
    () => ({ method: 'PATCH', json: randomFields(random) }),
    () => ({ method: 'PATCH', json: { refs: references(random) } }),
    () => ({ method: 'PUT', json: randomBody(random) }),
    () => ({ method: 'PUT', json: randomBody(random) }),
    () => ({ method: 'DELETE' }),
    () => ({ method: 'DELETE' }),
    () => ({ method: random.of(['POST', 'POST', 'DELETE']), action: 'labels', json: item }),
    () => ({ method: random.of(['POST', 'POST', 'DELETE']), action: 'marks', json: item }),
    () => ({ method: random.of(['POST', 'DELETE']), action: 'stick', json: item }),
    () => ({ method: 'POST', action: 'bump', json: {} }),
    () => ({ method: 'GET' }),
  ])();
  const ifMatch = kinds[kind].version && request.method !== 'GET' && random.chance(0.25);
  return { ...request, user, tenant, pause, form: random.of(pairForms), ...(ifMatch && { ifMatch }) };
}

/** A case is made from the seed and its number alone, so it can be made again. */
function randomCase(seed: number, index: number): RandomCase {
  const random = new Random((seed + index * 7919) | 0);
  const kind = random.of(Object.keys(kinds) as Kind[]);
  const pause = random.of([0, 3]);
  const requests = Array.from({ length: random.chance(0.2) ? 3 : 2 }, () => randomRequest(random, kind, pause));
  return { kind, start: randomState(random), requests };
}

/** Random requests to random rows. The place of a deployment among all of them decides which cases it gets. */
export function describeRandom(deployed: () => Deployment, place: number): void {
  let running: Promise<Record<'bodies' | 'effect', string[]>> | undefined;

  async function run() {
    const faults = { bodies: [] as string[], effect: [] as string[] };
    await inBatches(count, 4, async (number) => {
      const index = place * count + number;
      const { kind, requests, start } = randomCase(seed, index);
      const outcome = await deployed().run(kind, start, requests);
      const fault = await new SerialOrders(deployed(), kind, start, requests).faultOf(outcome);
      if (fault)
        faults[fault.of].push(`case ${index}: ${kind} ${JSON.stringify(start)} ${JSON.stringify(requests)}: ${fault.text}`);
    });
    return faults;
  }

  test.each([
    ['have the effect of a serial order', 'effect'],
    ['get the responses of a serial order', 'bodies'],
  ] as const)(
    'random concurrent requests %s',
    async (_, of) => {
      running ??= run();
      const faults = (await running)[of];
      expect({ seed, faults: faults.length, first: faults.slice(0, 3) }).toEqual({ seed, faults: 0, first: [] });
    },
    Math.max(300_000, count * 3000),
  );
}
