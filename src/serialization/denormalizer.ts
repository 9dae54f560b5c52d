import type { ApiRequest } from '../access/user.ts';
import type { RequestEntityManager } from '../database/mapper.ts';
import type { Creatable } from '../declaration/names/create.ts';
import type { ModelClass } from '../model/hierarchy.ts';

/** What a denormalizer has at hand. */
export interface DenormalizationContext {
  readonly request: ApiRequest;
  readonly em: RequestEntityManager;
  /** Finds the row of a reference among the given classes (default: all allowed ones), as far as the caller may see it. */
  resolve(reference: unknown, types?: readonly ModelClass[]): Promise<object | null>;
}

/**
 * Turns the JSON value of an association that may hold one of several types into an entity, or the body of an action.
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
   * Gives the entity that `value` stands for, one of `types`, or null where there is none: the request then fails with 400. The types are
   * in the order in which the model, the declaration or the controller names them.
   */
  abstract denormalize(
    value: unknown,
    types: readonly ModelClass[],
    context: DenormalizationContext,
  ): object | null | Promise<object | null>;
}

/** The ready one: picks among any list of types by `type` and finds the row by `id`. */
export class TypeDenormalizer extends Denormalizer {
  override denormalize(value: unknown, types: readonly ModelClass[], context: DenormalizationContext): Promise<object | null> {
    return context.resolve(value, types);
  }
}

export function isDenormalizerClass(value: unknown): value is Creatable<Denormalizer> & typeof Denormalizer {
  return typeof value === 'function' && value.prototype instanceof Denormalizer;
}
