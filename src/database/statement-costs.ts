import type { Statement } from './executor.ts';
import { LruCache } from './lru-cache.ts';

/** Statements whose cost is remembered. */
const kept = 2000;

/** No statement is remembered as longer than this, in milliseconds, so that each can become a short one again. */
const most = 1000;

/** How much of a cost is still held against a statement after it was short once more. */
const memory = 0.9;

interface Cost {
  /** Which parameter says how many rows are passed over, or -1: the same statement is slow far from the start. */
  readonly offset: number;
  /** Milliseconds, apart for each order of magnitude of that parameter. */
  readonly peaks: (number | undefined)[];
}

/** How long each statement took lately: the longest time, which fades while it is shorter. */
export class StatementCosts {
  readonly #costs = new LruCache<Cost>(kept);

  /** Milliseconds, or undefined for what was not sent yet. */
  of(statement: Statement, parameters: readonly unknown[]): number | undefined {
    const cost = this.#costs.get(statement.name);
    return cost?.peaks[depthOf(cost, parameters)];
  }

  note(statement: Statement, parameters: readonly unknown[], milliseconds: number): void {
    const cost = this.#costs.get(statement.name, () => ({ offset: offsetIn(statement.text), peaks: [] }));
    const depth = depthOf(cost, parameters);
    const before = cost.peaks[depth] ?? 0;
    const now = Math.min(milliseconds, most);
    cost.peaks[depth] = now >= before ? now : before * memory + now * (1 - memory);
  }
}

function offsetIn(text: string): number {
  const position = /\boffset [$?](\d+)/.exec(text)?.[1];
  return position === undefined ? -1 : Number(position) - 1;
}

/** 0 up to 9,999 rows, 1 up to 99,999 and so on. */
function depthOf({ offset }: Cost, parameters: readonly unknown[]): number {
  if (offset < 0) return 0;
  const rows = Number(parameters[offset]);
  return rows >= 10_000 ? Math.floor(Math.log10(rows)) - 3 : 0;
}
