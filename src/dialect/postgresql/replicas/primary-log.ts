import type { PostgresDatabase } from '../pooling.ts';
import { type Position, positionIn, primaryPosition } from './position.ts';
import { Probe } from './probe.ts';

/** Reads the position of the primary for all reads that begin in the same turn of the event loop. */
export class PrimaryLog {
  readonly #probe: Probe;
  #next: Promise<Position> | null = null;

  constructor(database: PostgresDatabase) {
    this.#probe = new Probe(database);
  }

  /** A position with every change that was committed before the call. */
  position(): Promise<Position> {
    this.#next ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#next = null;
        resolve(this.#read());
      });
    });
    return this.#next;
  }

  async #read(): Promise<Position> {
    const position = positionIn(await this.#probe.rows(primaryPosition));
    if (!position) throw new Error('the primary has no position in its log');
    return position;
  }

  close(): Promise<void> {
    return this.#probe.close();
  }
}
