import type { DescribedDeclaration, Exported, Path } from './types.ts';

/** What a value of the declaration may look like. Checker, reference and JSON Schema all read these. */
export type Shape =
  | TextShape
  | IntegerShape
  | BooleanShape
  | ClassShape
  | AnyShape
  | DescribedShape
  | ListShape
  | MapShape
  | ObjectShape
  | EitherShape;

/** A shape that knows the type of the values the checker makes from it. */
export type Schema<T> = Shape & { readonly made?: () => T };

export interface TextShape {
  readonly kind: 'text';
  readonly nullable: boolean;
  /** What is expected, as it reads after "must be": `a string`. */
  readonly expected: string;
  readonly values?: readonly string[];
  readonly pattern?: RegExp;
  /** Never shown in an error. */
  readonly secret: boolean;
  /** Says more exactly what is wrong with a string that the pattern refuses. */
  readonly explain?: (value: string) => string | null;
}

export interface IntegerShape {
  readonly kind: 'integer';
  readonly nullable: false;
  readonly min: number;
  readonly max: number;
}

export interface BooleanShape {
  readonly kind: 'boolean';
  readonly nullable: boolean;
}

/** A class of the application: its name, or in code the class itself. */
export interface ClassShape {
  readonly kind: 'class';
  readonly nullable: boolean;
  readonly of: 'models' | 'controllers' | 'authenticators';
}

/** Any mapping, taken as it is. */
export interface AnyShape {
  readonly kind: 'any';
  readonly nullable: false;
}

/** What a body or a result is like: a model, `{ list: Person }` and the like, a JSON Schema, or in code a Standard Schema. */
export interface DescribedShape {
  readonly kind: 'described';
  readonly nullable: boolean;
  /** What may be around a model. */
  readonly around: readonly ('reference' | 'list' | 'collection')[];
}

export interface ListShape {
  readonly kind: 'list';
  readonly nullable: false;
  readonly of: Shape;
  readonly min: number;
  readonly max: number;
  /** Whether the checker keeps the path of each item. */
  readonly entries: boolean;
  readonly unique: boolean;
}

/** A mapping whose keys the user chooses. */
export interface MapShape {
  readonly kind: 'map';
  readonly nullable: false;
  readonly of: Shape;
  readonly min: number;
  readonly example: MapExample;
  readonly names: RegExp | null;
  /** Further keys are refused with the nearest of these. */
  readonly namesExpected: string;
  readonly nearNames: readonly string[];
}

/** The entry that the reference shows: as part of the configuration where `active`, else as a comment. */
export interface MapExample {
  readonly name: string;
  /** As written; without it the keys of the entry are shown. */
  readonly value?: string;
  readonly note: string;
  readonly active?: boolean;
}

/** A mapping whose keys are given. */
export interface ObjectShape {
  readonly kind: 'object';
  readonly nullable: boolean;
  readonly name: string;
  readonly keys: Readonly<Record<string, Key<unknown>>>;
}

/** One of several shapes, told apart by whether a string, a list or a mapping was written. */
export interface EitherShape {
  readonly kind: 'either';
  readonly nullable: boolean;
  readonly options: readonly Shape[];
  readonly secret: boolean;
}

/** A declared key. `default` is as it would be written; without one, an absent key is read as undefined. */
export interface Key<T> {
  readonly shape: Schema<unknown>;
  readonly doc: string;
  readonly required: boolean;
  readonly default?: unknown;
  /** The default in words, where it depends on something else. */
  readonly defaultNote?: string;
  /** What the reference shows, where that is not the default. */
  readonly shown?: unknown;
  readonly made?: () => T;
}

/** An entry of a mapping with chosen keys, or of a list, and where it was written. */
export interface Entry<T> {
  readonly key: string | number;
  readonly path: Path;
  readonly value: T;
}

type Made<Keys> = { readonly [K in keyof Keys]: Keys[K] extends Key<infer T> ? T : never };

/** A string; with `values` one of these, with `pattern` a matching one. */
export function text<const V extends string = string>(
  options: {
    expected?: string;
    values?: readonly V[];
    pattern?: RegExp;
    secret?: boolean;
    explain?: (value: string) => string | null;
  } = {},
): Schema<V> {
  const expected = options.expected ?? (options.values ? `one of: ${options.values.join(', ')}` : 'a string');
  return { kind: 'text', nullable: false, secret: false, ...options, expected };
}

/** The same shape, or null. */
export function nullable<T>(shape: Schema<T>): Schema<T | null> {
  return { ...shape, nullable: true } as Schema<T | null>;
}

export function integer(min: number, max: number): Schema<number> {
  return { kind: 'integer', nullable: false, min, max };
}

export function boolean(): Schema<boolean> {
  return { kind: 'boolean', nullable: false };
}

export function classOf(of: ClassShape['of']): Schema<Exported> {
  return { kind: 'class', nullable: false, of };
}

export function anything(): Schema<Readonly<Record<string, unknown>>> {
  return { kind: 'any', nullable: false };
}

export function described(...around: DescribedShape['around']): Schema<DescribedDeclaration> {
  return { kind: 'described', nullable: false, around };
}

export function list<T>(of: Schema<T>, { min = 0, max = Number.POSITIVE_INFINITY, unique = true } = {}): Schema<readonly T[]> {
  return { kind: 'list', nullable: false, of, min, max, unique, entries: false };
}

/** A list whose items keep their path. */
export function entries<T>(of: Schema<T>): Schema<readonly Entry<T>[]> {
  return { kind: 'list', nullable: false, of, min: 0, max: Number.POSITIVE_INFINITY, unique: false, entries: true };
}

export function map<T>(
  of: Schema<T>,
  options: { min?: number; example: MapExample; names?: RegExp; namesExpected?: string; nearNames?: readonly string[] },
): MapShape & { readonly made?: () => readonly Entry<T>[] } {
  return { kind: 'map', nullable: false, of, min: 0, names: null, namesExpected: '', nearNames: [], ...options };
}

export function object<const Keys extends Readonly<Record<string, Key<unknown>>>>(
  name: string,
  keys: Keys,
): ObjectShape & { readonly keys: Keys; readonly made?: () => Made<Keys> } {
  return { kind: 'object', nullable: false, name, keys };
}

export function either<A, B>(a: Schema<A>, b: Schema<B>, { secret = false } = {}): Schema<A | B> {
  return { kind: 'either', nullable: false, options: [a, b], secret };
}

/** A key without which the declaration is refused; undefined where it was missing or wrong (and has been reported). */
export function required<T>(shape: Schema<T>, shown: unknown, doc: string): Key<T | undefined> {
  return { shape, doc, required: true, shown };
}

/** A key with a default. */
export function optional<T>(shape: Schema<T>, value: unknown, doc: string): Key<T> {
  return { shape, doc, required: false, default: value };
}

/** A key whose default depends on something else: undefined where it was not written. */
export function dependent<T>(shape: Schema<T>, shown: unknown, defaultNote: string, doc: string): Key<T | undefined> {
  return { shape, doc, required: false, shown, defaultNote };
}

/** The spelling of a declared key: dashes and underscores are the same. Unknown keys stay as they are. */
export function canonicalKey(shape: ObjectShape, key: string): string {
  if (Object.hasOwn(shape.keys, key)) return key;
  const folded = key.replaceAll('-', '_');
  return Object.keys(shape.keys).find((known) => known.replaceAll('-', '_') === folded) ?? key;
}

/** The option that a written value of this kind belongs to. */
export function optionFor(shape: Shape, written: 'mapping' | 'list' | 'scalar'): Shape | null {
  if (shape.kind === 'either') return shape.options.find((option) => optionFor(option, written) !== null) ?? null;
  const kind =
    shape.kind === 'list'
      ? 'list'
      : shape.kind === 'object' || shape.kind === 'map' || shape.kind === 'any'
        ? 'mapping'
        : 'scalar';
  return kind === written ? shape : null;
}

/** Whether values of this shape are mappings or lists, so that an empty value (`database:`) means an empty one. */
export function isContainer(shape: Shape): boolean {
  return optionFor(shape, 'scalar') === null;
}
