/** CPU time for writing one chunk, in milliseconds. Reading it takes about as long again, in another turn of the event loop. */
const chunkTime = 8;

interface ChunkLimits {
  /** Rows of the first chunk. No chunk becomes smaller than this because of its time. */
  readonly first: number;
  readonly most: number;
  /** Approximate maximum of characters in a chunk. */
  readonly length: number;
}

/** Decides how many rows an export reads at a time. The CPU time and length of the last chunk tell how many fit the limits. */
export class ChunkSize {
  readonly #limits: ChunkLimits;
  #start = cpuTime();
  #rows: number;

  constructor(limits: ChunkLimits) {
    this.#limits = limits;
    this.#rows = limits.first;
  }

  /** Rows of the next chunk. */
  get rows(): number {
    return this.#rows;
  }

  /** Called before a chunk is written. */
  begin(): void {
    this.#start = cpuTime();
  }

  /** Called after a chunk was written. */
  end(rows: number, length: number): void {
    const { first, length: maxLength, most } = this.#limits;
    const used = cpuTime() - this.#start;
    const inTime = Math.max(Math.floor((rows * chunkTime) / Math.max(used, 0.1)), first);
    const inLength = Math.max(Math.floor((rows * maxLength) / Math.max(length, 1)), 1);
    this.#rows = Math.min(inTime, inLength, this.#rows * 4, most);
  }
}

/** CPU time of this thread in milliseconds, without the time in which it waited for a CPU. */
function cpuTime(): number {
  // older versions of Node only report the time of all threads
  const { system, user } = process.threadCpuUsage?.() ?? process.cpuUsage();
  return (system + user) / 1000;
}
