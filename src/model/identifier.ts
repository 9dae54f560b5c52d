import { type EntityMetadata, type EntityProperty, helper, type Platform, Utils } from '@mikro-orm/core';
import { dialectOn } from '../dialect/dialect.ts';
import { int64, isDate, isStorableText } from '../dialect/storable.ts';
import { type AddressableKind, isAddressable } from '../dialect/value-kind.ts';
import { CompositeKey, type KeyValue, readParts } from './composite-key.ts';
import { type ValueKind, valueKindOf } from './value-kind.ts';

/** The key of a row, in the form that MikroORM accepts. */
export type Identifier = KeyValue | CompositeKey;

/** Reads an id from a path or a body. `undefined` means that no row can have it. */
export type IdentifierParser = (value: unknown) => Identifier | undefined;

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The primary key of a model with a single key column. */
export function keyOf(meta: EntityMetadata): EntityProperty {
  if (isComposite(meta)) throw new Error(`${meta.className} has a key of several columns`);
  return meta.getPrimaryProp();
}

/** One column of a model's key. */
export interface KeyPart {
  /** The primary key property that has the column; it may be an association. */
  readonly property: EntityProperty;
  /** The property that declares the value: the same one, or a key property of the associated model. */
  readonly leaf: EntityProperty;
  /** The properties that lead to the value, such as `course.id`. */
  readonly path: string;
  /** Without quotes. */
  readonly column: string;
  /** Its type without length or precision. */
  readonly type: string;
}

const knownParts = new WeakMap<EntityMetadata, readonly KeyPart[]>();

/** The columns of a model's key, in the order of its primary keys. */
export function keyParts(meta: EntityMetadata): readonly KeyPart[] {
  let parts = knownParts.get(meta);
  if (!parts) {
    parts = Object.freeze((meta.getPrimaryProps() as EntityProperty[]).flatMap(partsOf));
    knownParts.set(meta, parts);
  }
  return parts;
}

function partsOf(property: EntityProperty): KeyPart[] {
  const { columnTypes, fieldNames, name, referencedColumnNames, targetMeta } = property;
  if (!targetMeta) {
    const column = fieldNames[0] as string;
    return [{ property, leaf: property, path: name as string, column, type: bareType(columnTypes?.[0]) }];
  }
  return keyParts(targetMeta).map((part, i) => {
    const found = referencedColumnNames?.indexOf(part.column) ?? -1;
    const at = found >= 0 ? found : i;
    const type = bareType(columnTypes?.[at] ?? part.type);
    return { property, leaf: part.leaf, path: `${String(name)}.${part.path}`, column: fieldNames[at] as string, type };
  });
}

/** The type of a column for casts: one with a length or precision would cut off a value. */
export function bareType(type: string | undefined): string {
  const bare = String(type ?? 'text').replace(/\s*\([^)]*\)/, '');
  return /^(var)?char|^character varying/i.test(bare) ? 'text' : bare;
}

/** Whether the key of a model has several columns. */
export function isComposite(meta: EntityMetadata): boolean {
  return keyParts(meta).length > 1;
}

/** The key of an entity. `converted`: as the database takes it. */
export function entityKey(entity: object, converted = false): Identifier {
  const wrapped = helper(entity);
  const key: unknown = wrapped.getPrimaryKey(converted);
  // MikroORM has an object with the parts, or a list of them
  if (typeof key !== 'object' || key === null || key instanceof Date) return key as Identifier;
  return CompositeKey.of(...flatParts(Utils.getCompositeKeyValue(key as never, wrapped.__meta) as unknown[]));
}

/** The key of an object of a model that MikroORM may not manage. */
export function instanceKey(meta: EntityMetadata, instance: object): unknown {
  const partOf = ({ name }: EntityProperty) => (instance as Record<string, unknown>)[name as string];
  return isComposite(meta)
    ? CompositeKey.of(...flatParts((meta.getPrimaryProps() as EntityProperty[]).map(partOf)))
    : partOf(keyOf(meta));
}

function flatParts(parts: readonly unknown[]): KeyValue[] {
  return parts.flatMap((part): KeyValue[] => {
    if (Array.isArray(part)) return flatParts(part);
    if (part instanceof Date) return [part.toISOString().slice(0, 10)];
    if (typeof part === 'object' && part !== null) return flatParts([entityKey(part)]);
    return [part as KeyValue];
  });
}

/** Makes the parser for a model's ids, by the type of their column. In a path, all ids are text; in JSON, they can be numbers. */
export function identifierParser(meta: EntityMetadata, platform: Platform, where: 'path' | 'json'): IdentifierParser {
  if (!isComposite(meta)) return partParser(keyParts(meta)[0] as KeyPart, platform, where);
  const parts = keyParts(meta).map((part) => partParser(part, platform, 'path'));
  const own = namedKeyParts(meta, platform);
  return (value) => {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    return isObject ? readObject(value, own) : readParts(value, parts);
  };
}

/** The key in a reference to a row with a composite key: its `id` alone, or everything but its type. */
export function compositeIn(reference: object, typeKeys: ReadonlySet<string>): unknown {
  const own = Object.entries(reference).filter(([name]) => !typeKeys.has(name));
  const [first, ...others] = own;
  return first?.[0] === 'id' && others.length === 0 ? first[1] : Object.fromEntries(own);
}

/** A primary key property of a composite key, by its name in JSON. */
export interface NamedKeyPart {
  readonly name: string;
  /** Reads it from JSON; of an association, the key of the associated row, or a reference to that row. */
  readonly parse: IdentifierParser;
  /** The position of its first column in the key, and the number of its columns. */
  readonly at: number;
  readonly length: number;
}

/** The primary key properties of a composite key; none if the key has a single column. */
export function namedKeyParts(meta: EntityMetadata, platform: Platform): NamedKeyPart[] {
  if (!isComposite(meta)) return [];
  let at = 0;
  return (meta.getPrimaryProps() as EntityProperty[]).map((property) => {
    const parts = partsOf(property);
    const parse = property.targetMeta
      ? referenceParser(property.targetMeta, platform)
      : partParser(parts[0] as KeyPart, platform, 'json');
    at += parts.length;
    return { name: property.serializedName ?? (property.name as string), parse, at: at - parts.length, length: parts.length };
  });
}

/** A key as an object with the JSON names of its parts, and no more. */
function readObject(value: object, parts: readonly NamedKeyPart[]): CompositeKey | undefined {
  if (Object.keys(value).length !== parts.length) return undefined;
  const values: KeyValue[] = [];
  for (const { name, parse } of parts) {
    const read = Object.hasOwn(value, name) ? parse((value as Record<string, unknown>)[name]) : undefined;
    if (read === undefined) return undefined;
    values.push(...(read instanceof CompositeKey ? read : [read]));
  }
  return CompositeKey.of(...values);
}

/** Reads a part that is an association: the key of the associated row, or a reference to that row. */
function referenceParser(target: EntityMetadata, platform: Platform): IdentifierParser {
  const parse = identifierParser(target, platform, 'json');
  const names = ['id', ...(isComposite(target) ? [] : [target.getPrimaryProp().serializedName ?? target.getPrimaryProp().name])];
  return (value) => {
    if (typeof value !== 'object' || value === null) return parse(value);
    const [name, ...others] = Object.keys(value);
    const isReference = name !== undefined && others.length === 0 && names.includes(name as never);
    return isReference ? parse((value as Record<string, unknown>)[name]) : isComposite(target) ? parse(value) : undefined;
  };
}

function partParser({ leaf }: KeyPart, platform: Platform, where: 'path' | 'json'): IdentifierParser {
  const kind = valueKindOf(leaf, platform);
  return parserFor(
    kind.kind === 'integer' && dialectOn(platform).values.wideIntegers
      ? { ...kind, min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER }
      : kind,
    where,
  );
}

/** The kind of a model's single key. A key that is an association has the kind of the key to which it refers. */
export function keyKind(meta: EntityMetadata, platform: Platform): ValueKind {
  return valueKindOf((keyParts(meta)[0] as KeyPart).leaf, platform);
}

/** Whether a column of a model's key can hold integers beyond 2^53. */
export function hasWideKey(meta: EntityMetadata, platform: Platform): boolean {
  return keyParts(meta).some(({ leaf }) => valueKindOf(leaf, platform).kind === 'bigint');
}

/** The kind of a model's key, if it cannot be used in a path: a time or a decimal has many spellings. Null if it can. */
export function unaddressableKey(meta: EntityMetadata, platform: Platform): string | null {
  const kinds = keyParts(meta).map(({ leaf }) => valueKindOf(leaf, platform));
  return kinds.find((kind) => !isAddressable(kind))?.kind ?? null;
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
