import type { Statement } from './executor.ts';

/** Something that waits for a place to run. */
interface Waiting {
  readonly statement: Statement;
}

/**
 * Takes the next of those that wait, in the order in which they came, but before that one of a kind that does not run anywhere:
 * a count that many requests share is not behind all of their pages.
 */
export function takeNext<Task extends Waiting>(waiting: Task[], running: readonly (Waiting | null)[]): Task {
  const busy = new Set(running.map((task) => task?.statement.name));
  const other = waiting.findIndex(({ statement }) => !busy.has(statement.name));
  return waiting.splice(Math.max(other, 0), 1)[0] as Task;
}
