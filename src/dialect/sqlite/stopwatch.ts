/** How many times longer than the processor works on a read it may take by the clock. */
const patience = 4;

/** Milliseconds that the processor worked for this thread. Node 22 knows no such thing and has the clock instead. */
const worked: () => number =
  typeof process.threadCpuUsage === 'function'
    ? () => {
        const { user, system } = process.threadCpuUsage();
        return (user + system) / 1000;
      }
    : () => performance.now();

/**
 * Measures what a read costs. By the clock alone, a read would seem long when only the machine is busy, would be sent to a thread, and the
 * threads would keep the machine busy. So it is the time of the processor; but waiting for a disk counts too, if it is long.
 */
export class Stopwatch {
  readonly #start = performance.now();
  readonly #worked = worked();

  /** Milliseconds by the clock. */
  elapsed(): number {
    return performance.now() - this.#start;
  }

  /** Milliseconds that the read cost. */
  cost(): number {
    return Math.max(worked() - this.#worked, this.elapsed() / patience);
  }
}
