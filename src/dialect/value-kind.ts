import type { Platform, Type } from '@mikro-orm/core';

/** What a column holds, as far as JSON is concerned. */
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
  | { readonly kind: 'float' | 'real' | 'boolean' | 'uuid' | 'date' | 'time' | 'interval' | 'blob' | 'any' }
  /** `digits` of a second are kept. */
  | { readonly kind: 'datetime'; readonly digits: number }
  /** A `fixed` one is padded with blanks by the database, so blanks at its end mean nothing. */
  | { readonly kind: 'string'; readonly length: number | null; readonly fixed?: boolean }
  | { readonly kind: 'enum'; readonly items: readonly (string | number)[] }
  | { readonly kind: 'json' }
  | { readonly kind: 'array'; readonly item: ValueKind }
  | { readonly kind: 'custom'; readonly type: Type<unknown>; readonly platform: Platform };
