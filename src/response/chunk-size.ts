/** Milliseconds that the process is to work for one chunk, in several turns of the event loop. */
const workTime = 15;

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
  #start = performance.eventLoopUtilization();
  #rows: number;

  constructor(limits: ChunkLimits) {
    this.#limits = limits;
    this.#rows = limits.first;
  }

  /** Rows of the next chunk. */
  get rows(): number {
    return this.#rows;
  }

  /** A chunk is begun. */
  begin(): void {
    this.#start = performance.eventLoopUtilization();
  }

  /** A chunk was written. What others did meanwhile counts too: while there is much to do, each does little at a time. */
  end(rows: number, length: number): void {
    const { first, length: longest, most } = this.#limits;
    const { active } = performance.eventLoopUtilization(this.#start);
    const inTime = Math.max(Math.floor((rows * workTime) / Math.max(active, 0.1)), first);
    const inLength = Math.max(Math.floor((rows * longest) / Math.max(length, 1)), 1);
    this.#rows = Math.min(inTime, inLength, this.#rows * 4, most);
  }
}
