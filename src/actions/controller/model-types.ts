import type { SelectQueryBuilder } from '@mikro-orm/sql';

/** A model: its class, or what `defineEntity` returned. */
export type Model<T extends object = object> =
  | (abstract new (
      ...args: never[]
    ) => T)
  | { readonly '~entity'?: T; readonly meta: unknown };

/** The query that `customizeQuery` narrows: MikroORM's query builder on the model, whose alias is `e`. */
export type ModelQuery<T extends object> = SelectQueryBuilder<T, 'e'>;
