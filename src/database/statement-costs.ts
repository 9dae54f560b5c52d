import type { Statement } from './executor.ts';
import { LruCache } from './lru-cache.ts';

/** The maximum number of statements whose cost is stored. */
const maxStatements = 2000;

/** Milliseconds. Stored costs are capped here, so that every slow statement can count as a short one again. */
const maxCost = 1000;

/** The share of a stored cost that remains after a shorter execution. */
const decay = 0.9;

interface Cost {
  /** The index of the offset parameter, or -1. The same statement is slow if it skips many rows. */
  readonly offset: number;
  /** Milliseconds, for each order of magnitude of the offset. */
  readonly peaks: (number | undefined)[];
}

/** The recent duration of each statement: its longest one, which decays with each shorter execution. */
export class StatementCosts {
  readonly #costs = new LruCache<Cost>(maxStatements);

  /** Milliseconds; undefined if the statement was not sent yet. */
  of(statement: Statement, parameters: readonly unknown[]): number | undefined {
    const cost = this.#costs.get(statement.name);
    return cost?.peaks[depthOf(cost, parameters)];
  }

  note(statement: Statement, parameters: readonly unknown[], milliseconds: number): void {
    const cost = this.#costs.get(statement.name, () => ({ offset: offsetIn(statement.text), peaks: [] }));
    const depth = depthOf(cost, parameters);
    const before = cost.peaks[depth] ?? 0;
    const now = Math.min(milliseconds, maxCost);
    cost.peaks[depth] = now >= before ? now : before * decay + now * (1 - decay);
  }
}

/** The index of the offset among the parameters of a statement, or -1. */
export function offsetIn(text: string): number {
  const position = /\boffset [$?](\d+)/.exec(text)?.[1];
  return position === undefined ? -1 : Number(position) - 1;
}

/** 0 up to 9,999 rows, 1 up to 99,999 and so on. */
function depthOf({ offset }: Cost, parameters: readonly unknown[]): number {
  if (offset < 0) return 0;
  const rows = Number(parameters[offset]);
  return rows >= 10_000 ? Math.floor(Math.log10(rows)) - 3 : 0;
}
