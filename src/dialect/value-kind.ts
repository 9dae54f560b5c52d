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

/** How a database compares a column with a value from outside. Each dialect checks such values by comparison. */
export type Comparison =
  | 'integer'
  | 'bigint'
  | 'decimal'
  | 'number'
  | 'boolean'
  | 'text'
  | 'uuid'
  /** One of the `items` of the kind. */
  | 'item'
  | 'date'
  | 'time'
  | 'datetime';

interface KindTraits {
  /** What the column holds, in words for a message. */
  readonly words: string;
  readonly filtering: Filtering;
  /** Null if the column cannot be compared with a value from outside. */
  readonly comparison: Comparison | null;
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

const incomparable = { words: 'a value that cannot be compared', filtering: 'none', comparison: null } as const;
const unaddressable = { isAddressable: false, isPlain: false } as const;

const traits = {
  integer: {
    words: 'an integer',
    filtering: 'ordered',
    comparison: 'integer',
    isAddressable: true,
    isPlain: true,
    hydratedFrom: 'number',
  },
  bigint: {
    words: 'an integer',
    filtering: 'ordered',
    comparison: 'bigint',
    isAddressable: true,
    isPlain: true,
    hydratedFrom: 'text',
  },
  decimal: {
    words: 'a decimal number',
    filtering: 'ordered',
    comparison: 'decimal',
    isAddressable: false,
    isPlain: true,
    hydratedFrom: 'text',
  },
  float: {
    words: 'a number',
    filtering: 'ordered',
    comparison: 'number',
    isAddressable: false,
    isPlain: true,
    hydratedFrom: 'number',
  },
  real: {
    words: 'a number',
    filtering: 'ordered',
    comparison: 'number',
    isAddressable: false,
    isPlain: true,
    hydratedFrom: 'number',
  },
  boolean: {
    words: 'true or false',
    filtering: 'boolean',
    comparison: 'boolean',
    isAddressable: false,
    isPlain: true,
    hydratedFrom: 'boolean',
  },
  uuid: { words: 'a UUID', filtering: 'named', comparison: 'uuid', isAddressable: true, isPlain: true, hydratedFrom: 'text' },
  date: { words: 'a date', filtering: 'ordered', comparison: 'date', isAddressable: true, isPlain: true, hydratedFrom: 'text' },
  datetime: {
    words: 'a date and time',
    filtering: 'ordered',
    comparison: 'datetime',
    isAddressable: false,
    isPlain: true,
    hydratedFrom: 'text',
  },
  time: { words: 'a time', filtering: 'ordered', comparison: 'time', isAddressable: false, isPlain: true, hydratedFrom: 'text' },
  string: { words: 'a text', filtering: 'textual', comparison: 'text', isAddressable: true, isPlain: true, hydratedFrom: 'text' },
  enum: {
    words: 'one of a few values',
    filtering: 'named',
    comparison: 'item',
    isAddressable: true,
    isPlain: true,
    hydratedFrom: 'item',
  },
  interval: { ...incomparable, ...unaddressable, hydratedFrom: 'text' },
  blob: { ...incomparable, ...unaddressable, hydratedFrom: 'bytes' },
  json: { ...incomparable, ...unaddressable, hydratedFrom: 'json' },
  array: { ...incomparable, ...unaddressable, hydratedFrom: 'list' },
  any: { ...incomparable, ...unaddressable, hydratedFrom: 'mapper' },
  custom: { ...incomparable, ...unaddressable, hydratedFrom: 'column' },
} as const satisfies Record<KindName, KindTraits>;

/** What is known of each kind of column, apart from its JSON: see `kindConversions` in serialization. */
export const columnKinds: Readonly<Record<KindName, KindTraits>> = traits;

/** A kind that a path can name. */
export type AddressableKind = {
  [Name in KindName]: (typeof traits)[Name]['isAddressable'] extends true ? KindOf<Name> : never;
}[KindName];

export function isAddressable(kind: ValueKind): kind is AddressableKind {
  return columnKinds[kind.kind].isAddressable;
}
