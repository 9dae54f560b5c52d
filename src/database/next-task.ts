/** Something that waits for a place to run. */
interface Waiting {
  /** Such as the name of its statement; empty: it has none, and is taken in its turn. */
  readonly kind: string;
}

/**
 * Takes the next of those that wait, in the order in which they came, but before that one of a kind that does not run anywhere:
 * a count that many requests share is not behind all of their pages.
 */
export function takeNext<Task extends Waiting>(waiting: Task[], running: Iterable<Waiting>): Task {
  if (waiting[0]?.kind === '') return waiting.shift() as Task;
  const busy = new Set(Array.from(running, ({ kind }) => kind));
  const other = waiting.findIndex(({ kind }) => !busy.has(kind));
  return waiting.splice(Math.max(other, 0), 1)[0] as Task;
}
