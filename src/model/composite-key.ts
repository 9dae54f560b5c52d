/** The value of one key column. */
export type KeyValue = string | number | bigint;

/**
 * The key of a row with several key columns: their values, in the order of the model's primary keys. Its text is the one in
 * paths: each value percent-encoded, with commas between them. So different keys have different texts.
 */
export class CompositeKey extends Array<KeyValue> {
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }

  static override of<Item>(...items: Item[]): Item[] & CompositeKey {
    const key = new CompositeKey();
    key.push(...(items as unknown as KeyValue[]));
    return key as unknown as Item[] & CompositeKey;
  }

  override toString(): string {
    return keyText(this);
  }
}

/** The text of a key with these values in its columns. */
export function keyText(values: readonly unknown[]): string {
  return values.length === 1 ? String(values[0]) : values.map((value) => encodeURIComponent(String(value))).join(',');
}

/** The values of key columns as a key. */
export function keyFrom(values: readonly unknown[]): unknown {
  return values.length === 1 ? values[0] : CompositeKey.of(...(values as readonly KeyValue[]));
}

/** The values of a key, one for each column. */
export function valuesOf(key: unknown): readonly unknown[] {
  return Array.isArray(key) ? key : [key];
}

/** Keys of several columns as one JSON text, for a parameter. */
export function keyListText(keys: Iterable<unknown>): string {
  const parts = (key: unknown) =>
    valuesOf(key).map((value) => (isNumeric(value) ? String(value) : JSON.stringify(String(value))));
  return `[${[...keys].map((key) => `[${parts(key).join(',')}]`).join(',')}]`;
}

function isNumeric(value: unknown): boolean {
  return typeof value === 'number' || typeof value === 'bigint';
}

/** Splits the text of a key into its values, as texts; undefined if it is malformed. */
export function splitKey(text: string): readonly string[] | undefined {
  try {
    return text.split(',').map(decodeURIComponent);
  } catch {
    return undefined;
  }
}

/** Reads a key from its text, or from a list of values. Undefined unless there is exactly one valid value for each column. */
export function readParts(value: unknown, parsers: readonly ((value: unknown) => unknown)[]): CompositeKey | undefined {
  const given = typeof value === 'string' ? splitKey(value) : value;
  if (!Array.isArray(given) || given.length !== parsers.length) return undefined;
  const values = parsers.map((parse, i) => {
    const part: unknown = given[i];
    return parse(typeof part === 'number' || typeof part === 'bigint' ? String(part) : part);
  });
  return values.includes(undefined) ? undefined : CompositeKey.of(...(values as KeyValue[]));
}
