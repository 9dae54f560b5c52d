interface Entry<Value> {
  readonly value: Value;
  wasUsed: boolean;
}

/**
 * A map of bounded size that drops entries that were not used recently. A use only marks the entry and moves nothing, so that it
 * costs no more than a map lookup. When an entry has to be dropped, a marked one loses its mark and is skipped once.
 */
export class LruCache<Value> {
  readonly #maxSize: number;
  readonly #entries = new Map<string, Entry<Value>>();

  constructor(maxSize: number) {
    this.#maxSize = maxSize;
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
    if (!this.#entries.delete(key) && this.#entries.size >= this.#maxSize) this.#dropOne();
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
