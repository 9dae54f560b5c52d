import type { Platform, Type } from '@mikro-orm/core';
import type { Filtering } from '../declaration/filter-operators.ts';

/** What a column holds, as far as JSON is concerned. What is known of each kind stands in {@link columnKinds}. */
export type ValueKind =
  | { readonly kind: 'integer'; readonly min: number; readonly max: number }
  | { readonly kind: 'bigint'; readonly as: 'bigint' | 'number' | 'string' }
  | {
      readonly kind: 'decimal';
      readonly precision: number;
      readonly scale: number;
      readonly as: 'number' | 'string';
      /** How many significant digits come back as they were given. */
      readonly exact: number;
    }
  /** `float` has double precision, `real` single. */
  | Bare<'float' | 'real' | 'boolean' | 'uuid' | 'date' | 'time' | 'interval' | 'blob' | 'any'>
  /** `digits` of a second are kept. */
  | { readonly kind: 'datetime'; readonly digits: number }
  /** A `fixed` one is padded with blanks by the database, so blanks at its end mean nothing. */
  | { readonly kind: 'string'; readonly length: number | null; readonly fixed?: boolean }
  | { readonly kind: 'enum'; readonly items: readonly (string | number)[] }
  | { readonly kind: 'json' }
  | { readonly kind: 'array'; readonly item: ValueKind }
  | { readonly kind: 'custom'; readonly type: Type<unknown>; readonly platform: Platform };

type Bare<Name extends string> = Name extends string ? { readonly kind: Name } : never;

export type KindName = ValueKind['kind'];

export type KindOf<Name extends KindName> = Extract<ValueKind, { kind: Name }>;

interface KindTraits {
  /** What the column holds, in words for a message. */
  readonly words: string;
  readonly filtering: Filtering;
  /** How a value from outside is compared: `item` is one of the `items` of the kind. Null if it cannot be compared. */
  readonly comparison: string | null;
  /** Whether a path can name a row by it: every value has exactly one spelling. */
  readonly isAddressable: boolean;
  /** Whether a statement can write the value without the mapper. */
  readonly isPlain: boolean;
  /**
   * What MikroORM hydrates an entity from, if a row came as text: `item` is one of an enum, `column` depends on the type of the column.
   * `mapper`: no object can be made of it without MikroORM.
   */
  readonly hydratedFrom: 'text' | 'number' | 'boolean' | 'json' | 'bytes' | 'item' | 'list' | 'column' | 'mapper';
}

/** What most kinds have in common. */
const plain = { isAddressable: false, isPlain: true, hydratedFrom: 'text' } as const;
const ordered = { ...plain, filtering: 'ordered' } as const;
const addressable = { isAddressable: true } as const;
const opaque = {
  words: 'a value that cannot be compared',
  filtering: 'none',
  comparison: null,
  isAddressable: false,
  isPlain: false,
} as const;

const traits = {
  integer: { ...ordered, ...addressable, words: 'an integer', comparison: 'integer', hydratedFrom: 'number' },
  bigint: { ...ordered, ...addressable, words: 'an integer', comparison: 'bigint' },
  decimal: { ...ordered, words: 'a decimal number', comparison: 'decimal' },
  float: { ...ordered, words: 'a number', comparison: 'number', hydratedFrom: 'number' },
  real: { ...ordered, words: 'a number', comparison: 'number', hydratedFrom: 'number' },
  boolean: { ...plain, words: 'true or false', filtering: 'boolean', comparison: 'boolean', hydratedFrom: 'boolean' },
  uuid: { ...plain, ...addressable, words: 'a UUID', filtering: 'named', comparison: 'uuid' },
  date: { ...ordered, ...addressable, words: 'a date', comparison: 'date' },
  datetime: { ...ordered, words: 'a date and time', comparison: 'datetime' },
  time: { ...ordered, words: 'a time', comparison: 'time' },
  string: { ...plain, ...addressable, words: 'a text', filtering: 'textual', comparison: 'text' },
  enum: { ...plain, ...addressable, words: 'one of a few values', filtering: 'named', comparison: 'item', hydratedFrom: 'item' },
  interval: { ...opaque, hydratedFrom: 'text' },
  blob: { ...opaque, hydratedFrom: 'bytes' },
  json: { ...opaque, hydratedFrom: 'json' },
  array: { ...opaque, hydratedFrom: 'list' },
  any: { ...opaque, hydratedFrom: 'mapper' },
  custom: { ...opaque, hydratedFrom: 'column' },
} as const satisfies Record<KindName, KindTraits>;

/** How a database compares a column with a value from outside. Each dialect checks such values by comparison. */
export type Comparison = NonNullable<(typeof traits)[KindName]['comparison']>;

/** What is known of each kind of column, apart from its JSON: see `kindConversions` in serialization. */
export const columnKinds: Readonly<Record<KindName, KindTraits & { readonly comparison: Comparison | null }>> = traits;

/** A kind that a path can name. */
export type AddressableKind = {
  [Name in KindName]: (typeof traits)[Name]['isAddressable'] extends true ? KindOf<Name> : never;
}[KindName];

export function isAddressable(kind: ValueKind): kind is AddressableKind {
  return columnKinds[kind.kind].isAddressable;
}
