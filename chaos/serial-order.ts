/** The read or write of a value, as a client saw it. */
export interface Operation<Value> {
  readonly kind: 'read' | 'write';
  readonly value: Value;
  readonly start: number;
  readonly end: number;
  /** Whether the client got no response to a write, because the process died: then it took effect before its end, or never. */
  readonly isOpen?: boolean;
}

/**
 * Whether some serial order explains all responses and leads to the last value (Wing and Gong). In such an order, an operation that
 * ended before another began comes first. Values are primitive.
 */
export function hasSerialOrder<Value>(operations: readonly Operation<Value>[], first: Value, last: Value): boolean {
  const sorted = operations.toSorted((a, b) => a.start - b.start);
  const seen = new Set<string>();
  const left: { done: ReadonlySet<number>; from: number; value: Value }[] = [{ done: new Set(), from: 0, value: first }];
  for (let step = left.pop(); step; step = left.pop()) {
    const { value } = step;
    // all operations before `from` are done, and those in `done`
    const done = new Set(step.done);
    let { from } = step;
    while (done.delete(from)) from++;
    const key = `${from} ${[...done].sort((a, b) => a - b)} ${value}`;
    if (seen.has(key)) continue;
    seen.add(key);
    const next = nextOf(sorted, from, done);
    if (next.length === 0 && value === last) return true;
    const valuesAfter = ({ isOpen, kind, value: own }: Operation<Value>) =>
      kind === 'write' ? (isOpen ? [own, value] : [own]) : own === value ? [own] : [];
    // a read changes nothing, so a read that fits can always be next
    const read = next.find((index) => sorted[index]?.kind === 'read' && sorted[index]?.value === value);
    for (const index of read === undefined ? next : [read])
      for (const after of valuesAfter(sorted[index] as Operation<Value>))
        left.push({ done: new Set(done).add(index), from, value: after });
  }
  return false;
}

/** The operations that can be next. */
function nextOf<Value>(sorted: readonly Operation<Value>[], from: number, done: ReadonlySet<number>): number[] {
  const next: number[] = [];
  let end = Number.POSITIVE_INFINITY;
  for (let i = from; i < sorted.length; i++) {
    const operation = sorted[i] as Operation<Value>;
    // all further operations began after one of these had ended
    if (operation.start > end) break;
    if (done.has(i)) continue;
    next.push(i);
    end = Math.min(end, operation.end);
  }
  return next;
}
