/** How many times the CPU time of a read its elapsed time may be. */
const maxElapsedFactor = 4;

/** Milliseconds of CPU time of this thread. Node 22 cannot measure it, so there it is the elapsed time. */
const cpuTime: () => number =
  typeof process.threadCpuUsage === 'function'
    ? () => {
        const { user, system } = process.threadCpuUsage();
        return (user + system) / 1000;
      }
    : () => performance.now();

/**
 * Measures the cost of a read. By elapsed time, reads on a busy machine would seem long and would be sent to threads, which would
 * keep the machine busy. So the cost is CPU time; but a long wait for a disk counts too.
 */
export class Stopwatch {
  readonly #start = performance.now();
  readonly #startCpuTime = cpuTime();

  /** Elapsed milliseconds. */
  elapsed(): number {
    return performance.now() - this.#start;
  }

  /** Milliseconds that the read cost. */
  cost(): number {
    return Math.max(cpuTime() - this.#startCpuTime, this.elapsed() / maxElapsedFactor);
  }
}
