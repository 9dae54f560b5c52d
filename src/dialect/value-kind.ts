import type { Platform, Type } from '@mikro-orm/core';
import type { Filtering } from '../declaration/filter-operators.ts';

/** The kind of value in a column, as far as JSON is concerned. {@link columnKinds} has the traits of each kind. */
export type ValueKind =
  | { readonly kind: 'integer'; readonly min: number; readonly max: number }
  | { readonly kind: 'bigint'; readonly as: 'bigint' | 'number' | 'string' }
  | {
      readonly kind: 'decimal';
      readonly precision: number;
      readonly scale: number;
      readonly as: 'number' | 'string';
      /** The number of significant digits that the database returns unchanged. */
      readonly exact: number;
    }
  /** `float` has double precision, `real` single. */
  | Bare<'float' | 'real' | 'boolean' | 'uuid' | 'date' | 'time' | 'interval' | 'blob' | 'any'>
  /** `digits`: the fractional digits of a second that are stored. */
  | { readonly kind: 'datetime'; readonly digits: number }
  /** The database pads a `fixed` string with blanks, so trailing blanks are not significant. */
  | { readonly kind: 'string'; readonly length: number | null; readonly fixed?: boolean }
  | { readonly kind: 'enum'; readonly items: readonly (string | number)[] }
  | { readonly kind: 'json' }
  | { readonly kind: 'array'; readonly item: ValueKind }
  | { readonly kind: 'custom'; readonly type: Type<unknown>; readonly platform: Platform };

type Bare<Name extends string> = Name extends string ? { readonly kind: Name } : never;

export type KindName = ValueKind['kind'];

export type KindOf<Name extends KindName> = Extract<ValueKind, { kind: Name }>;

interface KindTraits {
  /** The kind of value, in words for a message. */
  readonly words: string;
  readonly filtering: Filtering;
  /** How a value from a client is compared: `item` is one of the `items` of the kind. Null if it cannot be compared. */
  readonly comparison: string | null;
  /** Whether a URL path can identify a row by it: every value has exactly one spelling. */
  readonly isAddressable: boolean;
  /** Whether a statement can write the value without the mapper. */
  readonly isPlain: boolean;
  /**
   * The value from which MikroORM hydrates an entity, if the row was read as text. `item`: one of an enum. `column`: depends on
   * the type of the column. `mapper`: only MikroORM can make an object of it.
   */
  readonly hydratedFrom: 'text' | 'number' | 'boolean' | 'json' | 'bytes' | 'item' | 'list' | 'column' | 'mapper';
}

/** Traits that most kinds share. */
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

/** How a database compares a column with a value from a client. Each dialect has one check per comparison for such values. */
export type Comparison = NonNullable<(typeof traits)[KindName]['comparison']>;

/** The traits of each kind of column. For its JSON format, see `kindConversions` in serialization. */
export const columnKinds: Readonly<Record<KindName, KindTraits & { readonly comparison: Comparison | null }>> = traits;

/** A kind of key that a URL path can contain. */
export type AddressableKind = {
  [Name in KindName]: (typeof traits)[Name]['isAddressable'] extends true ? KindOf<Name> : never;
}[KindName];

export function isAddressable(kind: ValueKind): kind is AddressableKind {
  return columnKinds[kind.kind].isAddressable;
}
