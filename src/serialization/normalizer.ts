import type { Creatable, Create } from '../declaration/names/create.ts';
import type { Catalog } from '../declaration/types.ts';
import type { Normalization } from '../model/normalization.ts';

/**
 * Decides what goes out for properties or models. It is given what would go out otherwise, as JSON has it: only fields in the active
 * groups, and only rows that the caller sees.
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

  /** The models it serves, by name, wherever their rows or objects go out. */
  static models: readonly string[] = [];

  /** What it makes, as a JSON Schema; empty: anything. */
  static schema: Readonly<Record<string, unknown>> = {};

  /** Makes what goes out, at once. */
  abstract normalize(value: unknown): unknown;
}

type NormalizerClass = Creatable<Normalizer> & typeof Normalizer;

export function isNormalizerClass(value: unknown): value is NormalizerClass {
  return typeof value === 'function' && value.prototype instanceof Normalizer;
}

/** The normalizations of an application by what they serve. Normalizers are made when they are first needed. */
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

/** What goes out for a value, made when it is written at last: drafts of a response call no normalizer. */
export class Normalized {
  readonly #normalization: Normalization;
  readonly #json: unknown;

  constructor(normalization: Normalization, json: unknown) {
    this.#normalization = normalization;
    this.#json = json;
  }

  toJSON(): unknown {
    // what is inside comes first
    return this.#normalization.normalize(JSON.parse(JSON.stringify(this.#json ?? null)));
  }
}
