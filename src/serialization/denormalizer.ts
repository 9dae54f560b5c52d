import type { ApiRequest } from '../access/user.ts';
import type { RequestEntityManager } from '../database/mapper.ts';
import type { Creatable } from '../declaration/names/create.ts';
import type { ModelClass } from '../model/hierarchy.ts';

/** The context of a denormalizer. */
export interface DenormalizationContext {
  readonly request: ApiRequest;
  readonly em: RequestEntityManager;
  /** Finds the row of a reference among the given classes (default: all allowed ones), if the caller can see it. */
  resolve(reference: unknown, types?: readonly ModelClass[]): Promise<object | null>;
}

/**
 * Turns the JSON value of an association with one of several types, or the body of an action, into an entity.
 *
 * @example
 * export class RequestorDenormalizer extends Denormalizer {
 *   static override properties = ['Course.requestor'];
 *   override denormalize(value, types, context) {
 *     return context.resolve(typeof value === 'string' ? parse(value) : value, types);
 *   }
 * }
 */
export abstract class Denormalizer {
  /** The associations it serves, each as `Model.property`. */
  static properties: readonly string[] = [];

  /** The custom actions whose body it reads, each as `api.action`: in `deserialize` and in `addRemove`. */
  static actions: readonly string[] = [];

  /**
   * Returns the entity for `value`, of one of the `types`, or null: the request then fails with 400. The types are in the order
   * in which the model, the declaration or the controller names them.
   */
  abstract denormalize(
    value: unknown,
    types: readonly ModelClass[],
    context: DenormalizationContext,
  ): object | null | Promise<object | null>;
}

/** The built-in denormalizer: selects one of the types by `type`, and finds the row by `id`. */
export class TypeDenormalizer extends Denormalizer {
  override denormalize(value: unknown, types: readonly ModelClass[], context: DenormalizationContext): Promise<object | null> {
    return context.resolve(value, types);
  }
}

export function isDenormalizerClass(value: unknown): value is Creatable<Denormalizer> & typeof Denormalizer {
  return typeof value === 'function' && value.prototype instanceof Denormalizer;
}
