import type { EntityMetadata, EntityProperty, Platform } from '@mikro-orm/core';
import { dialectOn } from '../dialect/dialect.ts';
import { int64, isDate, isStorableText } from '../dialect/storable.ts';
import { type AddressableKind, isAddressable } from '../dialect/value-kind.ts';
import { type ValueKind, valueKindOf } from './value-kind.ts';

/** The key of a row, in the form that MikroORM accepts. */
export type Identifier = string | number | bigint;

/** Reads an id from a path or a body. `undefined` means that no row can have it. */
export type IdentifierParser = (value: unknown) => Identifier | undefined;

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** The primary key of a model. Its APIs need exactly one. */
export function keyOf(meta: EntityMetadata): EntityProperty {
  return meta.getPrimaryProp();
}

/** Makes the parser for a model's ids, by the type of their column. In a path, all ids are text; in JSON, they can be numbers. */
export function identifierParser(meta: EntityMetadata, platform: Platform, where: 'path' | 'json'): IdentifierParser {
  const kind = keyKind(meta, platform);
  return parserFor(
    kind.kind === 'integer' && dialectOn(platform).values.wideIntegers
      ? { ...kind, min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER }
      : kind,
    where,
  );
}

/** The kind of a model's key. A key that is an association has the kind of the key to which it refers. */
export function keyKind(meta: EntityMetadata, platform: Platform): ValueKind {
  let key = keyOf(meta);
  while (key.targetMeta) key = keyOf(key.targetMeta);
  return valueKindOf(key, platform);
}

/** The kind of a model's key, if it cannot be used in a path: a time or a decimal has many spellings. Null if it can. */
export function unaddressableKey(meta: EntityMetadata, platform: Platform): string | null {
  const kind = keyKind(meta, platform);
  return isAddressable(kind) ? null : kind.kind;
}

function parserFor(kind: ValueKind, where: 'path' | 'json'): IdentifierParser {
  return isAddressable(kind) ? addressParser(kind, where) : textParser(null);
}

function addressParser(kind: AddressableKind, where: 'path' | 'json'): IdentifierParser {
  switch (kind.kind) {
    case 'integer':
      return (value) => {
        const number = typeof value === 'string' && where === 'path' ? canonicalNumber(value) : value;
        return typeof number === 'number' && Number.isInteger(number) && number >= kind.min && number <= kind.max
          ? number
          : undefined;
      };
    case 'bigint':
      return (value) => {
        const big = canonicalBigint(value);
        if (big === undefined || big < int64.min || big > int64.max) return undefined;
        if (kind.as === 'bigint') return big;
        return kind.as === 'string' ? big.toString() : Number(big);
      };
    case 'uuid':
      return (value) => (typeof value === 'string' && uuid.test(value) ? value.toLowerCase() : undefined);
    case 'enum':
      return (value) => kind.items.find((item) => item === value || (where === 'path' && String(item) === value));
    case 'date':
      return (value) => (typeof value === 'string' && isDate(value) ? value : undefined);
    case 'string':
      return textParser(kind.length);
  }
}

function textParser(length: number | null): IdentifierParser {
  const longest = length ?? Number.POSITIVE_INFINITY;
  return (value) => (typeof value === 'string' && isStorable(value) && codePoints(value) <= longest ? value : undefined);
}

/** Rejects `007` and `1e3`, because each row has one URL. */
function canonicalNumber(text: string): number | undefined {
  return /^(?:0|-?[1-9]\d{0,15})$/.test(text) ? Number(text) : undefined;
}

function canonicalBigint(value: unknown): bigint | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : undefined;
  return typeof value === 'string' && /^(?:0|-?[1-9]\d{0,18})$/.test(value) ? BigInt(value) : undefined;
}

/** Like {@link isStorableText}, but false for the empty text. */
function isStorable(text: string): boolean {
  return text !== '' && isStorableText(text);
}

/** The length of a text as databases count it. */
export function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}
