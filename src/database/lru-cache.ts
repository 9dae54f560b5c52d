/** Keeps what was made for the keys that were used last, and makes the rest again. */
export class LruCache<Value> {
  readonly #most: number;
  readonly #kept = new Map<string, Value>();

  constructor(most: number) {
    this.#most = most;
  }

  get(key: string, make: () => Value): Value {
    const known = this.#kept.get(key);
    if (known !== undefined || this.#kept.has(key)) {
      // the one that was used last goes last
      this.#kept.delete(key);
      this.#kept.set(key, known as Value);
      return known as Value;
    }
    const made = make();
    if (this.#kept.size >= this.#most) this.#kept.delete(this.#kept.keys().next().value as string);
    this.#kept.set(key, made);
    return made;
  }

  get size(): number {
    return this.#kept.size;
  }
}
