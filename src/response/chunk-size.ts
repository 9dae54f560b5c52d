/** Milliseconds of processor time to write one chunk in. To read it takes about as long again, in another turn of the event loop. */
const workTime = 8;

interface ChunkLimits {
  /** Rows of the first chunk, and the fewest of any that takes too much time. */
  readonly first: number;
  readonly most: number;
  /** Characters of a chunk, about. */
  readonly length: number;
}

/** Decides how many rows an export reads at a time: as many as the last ones say can be written in a short time and a short text. */
export class ChunkSize {
  readonly #limits: ChunkLimits;
  #start = workDone();
  #rows: number;

  constructor(limits: ChunkLimits) {
    this.#limits = limits;
    this.#rows = limits.first;
  }

  /** Rows of the next chunk. */
  get rows(): number {
    return this.#rows;
  }

  /** A chunk is about to be written. */
  begin(): void {
    this.#start = workDone();
  }

  /** A chunk was written. */
  end(rows: number, length: number): void {
    const { first, length: longest, most } = this.#limits;
    const work = workDone() - this.#start;
    const inTime = Math.max(Math.floor((rows * workTime) / Math.max(work, 0.1)), first);
    const inLength = Math.max(Math.floor((rows * longest) / Math.max(length, 1)), 1);
    this.#rows = Math.min(inTime, inLength, this.#rows * 4, most);
  }
}

/** Milliseconds that this thread has used: not those in which it waited for a processor. */
function workDone(): number {
  // older versions of Node only know the time of all threads
  const { system, user } = process.threadCpuUsage?.() ?? process.cpuUsage();
  return (system + user) / 1000;
}
