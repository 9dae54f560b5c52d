/** Texts that are shorter would be found in too many places, and are no secrets. */
const shortest = 6;

/** Puts a mark in place of secrets, wherever they turn up, and makes values plain enough for JSON. */
export class Redaction {
  readonly #secrets: readonly string[];

  constructor(secrets: readonly string[]) {
    this.#secrets = secrets.filter(({ length }) => length >= shortest);
  }

  text(text: string): string {
    return this.#secrets.reduce((kept, secret) => kept.replaceAll(secret, '***'), text);
  }

  value(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value);
    if (typeof value === 'bigint') return value.toString();
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
    if (ArrayBuffer.isView(value)) return `${value.byteLength} bytes`;
    if (Array.isArray(value)) return value.map((item) => this.value(item));
    if (typeof value === 'object' && value !== null) return this.text(JSON.stringify(value));
    return value ?? null;
  }
}
