import type { Seek } from './seek-plan.ts';

/** A window of a result set. */
export interface Window {
  readonly offset: number;
  readonly limit: number;
  /** Where it begins or ends, in place of the offset. */
  readonly seek?: Seek;
}
