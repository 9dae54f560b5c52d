/** A task that waits for a free connection or thread. */
interface Waiting {
  /** Such as the name of its statement; a task with an empty kind never lets later ones go first. */
  readonly kind: string;
}

/**
 * Takes the first waiting task whose kind is not running, or else the first one. So a count that many requests share does not
 * wait behind all of their pages.
 */
export function takeNext<Task extends Waiting>(waiting: Task[], running: Iterable<Waiting>): Task {
  if (waiting[0]?.kind === '') return waiting.shift() as Task;
  const busy = new Set(Array.from(running, ({ kind }) => kind));
  const other = waiting.findIndex(({ kind }) => !busy.has(kind));
  return waiting.splice(Math.max(other, 0), 1)[0] as Task;
}
