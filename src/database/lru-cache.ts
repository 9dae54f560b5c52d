interface Entry<Value> {
  readonly value: Value;
  wasUsed: boolean;
}

/**
 * A map of bounded size, which drops entries that were not used lately. A use is a mark on the entry and moves nothing, so that it costs
 * no more than a look into a map: an entry that was used since the last look is passed over once.
 */
export class LruCache<Value> {
  readonly #most: number;
  readonly #entries = new Map<string, Entry<Value>>();

  constructor(most: number) {
    this.#most = most;
  }

  get(key: string): Value | undefined;
  /** Makes the value if the key is unknown. */
  get(key: string, make: () => Value): Value;
  get(key: string, make?: () => Value): Value | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return make && this.set(key, make());
    entry.wasUsed = true;
    return entry.value;
  }

  set(key: string, value: Value): Value {
    if (!this.#entries.delete(key) && this.#entries.size >= this.#most) this.#dropOne();
    this.#entries.set(key, { value, wasUsed: false });
    return value;
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  get size(): number {
    return this.#entries.size;
  }

  #dropOne(): void {
    for (const [key, entry] of this.#entries) {
      this.#entries.delete(key);
      if (!entry.wasUsed) return;
      entry.wasUsed = false;
      this.#entries.set(key, entry);
    }
  }
}
