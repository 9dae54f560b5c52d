/** Additions after which the map is replaced, if it has few entries then. */
const minAdditions = 500;

/**
 * A map whose entries come and go all the time, such as the requests under way.
 *
 * V8 replaces the table of such a map again and again, and each table refers to the next one. Once the garbage collector has moved one
 * of them to the old generation, it keeps all later ones, with everything that was in them, until it collects the old generation:
 * on PostgreSQL, a tenth of the CPU. So the map is replaced before it can become old.
 */
export class ShortLivedMap<Key, Value> {
  #entries = new Map<Key, Value>();
  #additions = 0;

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key);
  }

  has(key: Key): boolean {
    return this.#entries.has(key);
  }

  set(key: Key, value: Value): void {
    this.#additions++;
    if (this.#additions >= minAdditions && this.#additions >= 2 * this.#entries.size) {
      this.#entries = new Map(this.#entries);
      this.#additions = 0;
    }
    this.#entries.set(key, value);
  }

  delete(key: Key): void {
    this.#entries.delete(key);
  }

  /** In the order of their addition. */
  keys(): Iterable<Key> {
    return this.#entries.keys();
  }

  [Symbol.iterator](): Iterator<[Key, Value]> {
    return this.#entries[Symbol.iterator]();
  }
}
