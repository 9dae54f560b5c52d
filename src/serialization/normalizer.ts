import type { Creatable, Create } from '../declaration/names/create.ts';
import type { Catalog } from '../declaration/types.ts';
import type { Normalization } from '../model/normalization.ts';

/**
 * Replaces the JSON of properties or models in responses. It gets the JSON that the response would have otherwise: only fields in
 * the active groups, and only rows that the caller can see.
 *
 * @example
 * export class PriceNormalizer extends Normalizer {
 *   static override properties = ['Course.price'];
 *   static override schema = { type: 'string' };
 *   override normalize(value: unknown) {
 *     return `${value} €`;
 *   }
 * }
 */
export abstract class Normalizer {
  /** The properties it serves, each as `Model.property`. */
  static properties: readonly string[] = [];

  /** The models it serves, by name, wherever a response has their rows or objects. */
  static models: readonly string[] = [];

  /** The JSON Schema of its results; empty: anything. */
  static schema: Readonly<Record<string, unknown>> = {};

  /** Returns the JSON for the response; not a promise. */
  abstract normalize(value: unknown): unknown;
}

type NormalizerClass = Creatable<Normalizer> & typeof Normalizer;

export function isNormalizerClass(value: unknown): value is NormalizerClass {
  return typeof value === 'function' && value.prototype instanceof Normalizer;
}

/** The normalizations of an application, by property or model. Normalizers are created on first use. */
export function normalizationsOf(exported: Catalog['normalizers'], create: Create): ReadonlyMap<string, Normalization> {
  const found = new Map<string, Normalization>();
  for (const { value } of exported) {
    if (!isNormalizerClass(value)) continue;
    let made: Normalizer | null = null;
    const normalization: Normalization = {
      by: value.name,
      schema: value.schema,
      normalize: (json) => {
        made ??= create(value);
        const given = made.normalize(json);
        if (typeof (given as { then?: unknown } | null)?.then !== 'function') return given ?? null;
        throw new TypeError(`${value.name}.normalize must return a value, not a promise`);
      },
    };
    for (const served of [...value.properties, ...value.models]) found.set(served, normalization);
  }
  return found;
}

/** A value that is normalized only when the final response is written: drafts of a response call no normalizer. */
export class Normalized {
  readonly #normalization: Normalization;
  readonly #json: unknown;

  constructor(normalization: Normalization, json: unknown) {
    this.#normalization = normalization;
    this.#json = json;
  }

  toJSON(): unknown {
    // inner values are normalized first
    return this.#normalization.normalize(JSON.parse(JSON.stringify(this.#json ?? null)));
  }
}
