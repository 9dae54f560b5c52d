/** The median, minimum and maximum of some figures. */
export interface Spread {
  readonly median: number;
  readonly low: number;
  readonly high: number;
}

export function spreadOf(figures: readonly number[]): Spread {
  const sorted = [...figures].sort((a, b) => a - b);
  return { median: quantile(sorted, 0.5), low: sorted[0] ?? Number.NaN, high: sorted.at(-1) ?? Number.NaN };
}

/** Takes sorted figures; interpolates between neighbours. */
export function quantile(sorted: readonly number[], share: number): number {
  const position = (sorted.length - 1) * share;
  const below = sorted[Math.floor(position)] ?? Number.NaN;
  const above = sorted[Math.ceil(position)] ?? Number.NaN;
  return below + (above - below) * (position - Math.floor(position));
}

/** The ratio of two contestants in each round in which both took part. */
export function pairedRatios(ours: ReadonlyMap<number, number>, theirs: ReadonlyMap<number, number>): number[] {
  return [...ours].flatMap(([round, figure]) => {
    const other = theirs.get(round);
    return other === undefined || other === 0 ? [] : [figure / other];
  });
}

/** A generator of the same numbers on every run: integers from 0 below the given bound. */
export function seededRandom(seed: number): (bound: number) => number {
  let state = seed;
  return (bound) => {
    // Mulberry32
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296) * bound);
  };
}
