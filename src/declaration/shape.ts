import { classWords } from './names/class-names.ts';
import type { DescribedDeclaration, Exported, GivenClass, GivenDescription, ParameterLiteral, Path } from './vocabulary.ts';

/** The properties of each kind of shape. */
interface Traits {
  text: {
    readonly values?: readonly string[];
    readonly pattern?: RegExp;
    /** Never shown in an error. */
    readonly secret?: boolean;
    /** Explains why a string does not match the pattern. */
    readonly explain?: (value: string) => string | null;
  };
  integer: { readonly min: number; readonly max: number };
  boolean: unknown;
  /** A number, or with `any` also a string or a boolean, and with `several` also a list of them. */
  literal: { readonly any: boolean; readonly several: boolean };
  /** A class of the application: its name, or in code the class itself. */
  class: { readonly of: 'models' | 'controllers' | 'authenticators' };
  /** Any mapping, taken as it is. Never shown in an error. */
  any: { readonly secret: true };
  /** Describes a body or a result: a model, `{ list: Person }` and the like, a JSON Schema, or in code a Standard Schema. */
  described: {
    /** The keys that may wrap a model. */
    readonly around: readonly ('reference' | 'list' | 'collection')[];
  };
  list: {
    readonly of: Shape;
    readonly min: 0 | 1;
    readonly max: number;
    /** Whether the checker keeps the path of each item. */
    readonly entries: boolean;
    readonly unique: boolean;
  };
  /** A mapping whose keys the user chooses. */
  map: {
    readonly of: Shape;
    readonly min: 0 | 1;
    readonly example: MapExample;
    readonly names: RegExp | null;
    readonly namesExpected: string;
  };
  /** A mapping with fixed keys. */
  object: { readonly name: string; readonly keys: Readonly<Record<string, Key>> };
  /** One of several shapes, chosen by whether a string, a list or a mapping was written. */
  either: { readonly options: readonly Shape[]; readonly secret: boolean };
}

export interface Common<Kind> {
  readonly kind: Kind;
  readonly nullable: boolean;
  /** The expected value, as messages name it after "must be": `a string`. */
  readonly expected: string;
}

export type ShapeOf<Kind extends keyof Traits> = Common<Kind> & Traits[Kind];

/** The form of a value in the declaration. The checker, reference, JSON Schema and types are all based on it. */
export type Shape = { [Kind in keyof Traits]: ShapeOf<Kind> }[keyof Traits];

export type ObjectShape = ShapeOf<'object'>;
export type MapShape = ShapeOf<'map'>;

/** The types of a shape: of the values that the checker makes from it, and of those that may be given in code. */
export interface Typed<Made, Given> {
  readonly made?: () => Made;
  readonly given?: () => Given;
}

export type Schema<Made, Given = Made> = Shape & Typed<Made, Given>;

export type MadeBy<Typed> = Typed extends { readonly made?: () => infer Made } ? Made : never;
export type GivenTo<Typed> = Typed extends { readonly given?: () => infer Given } ? Given : never;

/** The entry that the reference shows: as part of the configuration if `active`, else as a comment. */
export interface MapExample {
  readonly name: string;
  /** As written; without it the keys of the entry are shown. */
  readonly value?: string;
  readonly note: string;
  readonly active?: boolean;
}

/** A declared key. `default` is as it would be written; without one, an absent key is read as undefined. */
export interface Key<Made = unknown, Given = unknown, Required extends boolean = boolean> extends Typed<Made, Given> {
  readonly shape: Shape;
  readonly doc: string;
  readonly required: Required;
  readonly default?: unknown;
  /** The default in words, if it depends on something else. */
  readonly defaultNote?: string;
  /** The value in the reference, if it is not the default. */
  readonly shown?: unknown;
}

type Keys = Readonly<Record<string, Key>>;
type MadeOf<K> = { readonly [Name in keyof K]: MadeBy<K[Name]> };
type RequiredIn<K> = { [Name in keyof K]: K[Name] extends { readonly required: true } ? Name : never }[keyof K];
type GivenOf<K> = Flat<
  { readonly [Name in RequiredIn<K>]: GivenTo<K[Name]> } & {
    readonly [Name in Exclude<keyof K, RequiredIn<K>>]?: GivenTo<K[Name]>;
  }
>;
/** One object type in place of an intersection, which compilers would compare with every declaration part by part. */
type Flat<T> = { [Name in keyof T]: T[Name] };

/** An entry of a mapping with chosen keys, or of a list, with its path. */
export interface Entry<T> {
  readonly key: string | number;
  readonly path: Path;
  readonly value: T;
}

/** A string; with `values` one of these, with `pattern` a matching one. */
export function text<const V extends string = string>(
  options: Partial<ShapeOf<'text'>> & { readonly values?: readonly V[] } = {},
): Schema<V> {
  const expected = options.expected ?? (options.values ? `one of: ${options.values.join(', ')}` : 'a string');
  return { kind: 'text', nullable: false, ...options, expected };
}

export function nullable<Made, Given>(shape: Schema<Made, Given>): Schema<Made | null, Given | null> {
  return { ...shape, nullable: true } as Schema<Made | null, Given | null>;
}

export function integer(min: number, max: number): Schema<number> {
  return { kind: 'integer', nullable: false, expected: `an integer from ${min} to ${max}`, min, max };
}

export function boolean(): Schema<boolean> {
  return { kind: 'boolean', nullable: false, expected: 'true or false' };
}

export function number(): Schema<number> {
  return { kind: 'literal', nullable: false, expected: 'a number', any: false, several: false };
}

/** A single value: a string, a number, true or false. */
export function literal(): Schema<ParameterLiteral> {
  return { kind: 'literal', nullable: false, expected: 'a string, a number, true or false', any: true, several: false };
}

/** One value or a list of values. */
export function literals(): Schema<ParameterLiteral | readonly ParameterLiteral[]> {
  return { ...(literal() as ShapeOf<'literal'>), expected: 'a string, a number, true, false, or a list of these', several: true };
}

export function classOf<const Kind extends Traits['class']['of']>(of: Kind): Schema<Exported, GivenClass<Kind>> {
  return { kind: 'class', nullable: false, expected: `the name of a ${classWords[of]}`, of };
}

export function anything(): Schema<Readonly<Record<string, unknown>>, object> {
  return { kind: 'any', nullable: false, expected: 'a mapping', secret: true };
}

export function described(...around: Traits['described']['around']): Schema<DescribedDeclaration, GivenDescription> {
  const models = around.map((name) => `{ ${name}: <model> }`).join(', ');
  return { kind: 'described', nullable: false, expected: `the name of a model class, ${models} or a JSON Schema`, around };
}

export function list<Made, Given>(
  of: Schema<Made, Given>,
  { min = 0, max = Number.POSITIVE_INFINITY, unique = true }: Partial<Traits['list']> = {},
): Schema<readonly Made[], readonly Given[]> {
  const expected = max === 0 ? 'an empty list' : 'a list';
  return { kind: 'list', nullable: false, expected, of, min, max, unique, entries: false };
}

/** A list whose items keep their path. */
export function entries<Made>(of: Schema<Made, unknown>): Schema<readonly Entry<Made>[]> {
  return { ...(list(of, { unique: false }) as ShapeOf<'list'>), entries: true };
}

export function map<Made, Given>(
  of: Schema<Made, Given>,
  options: Partial<Traits['map']> & { readonly example: MapExample },
): MapShape & Typed<readonly Entry<Made>[], Readonly<Record<string, Given>>> {
  const common = { kind: 'map', nullable: false, expected: 'a mapping' } as const;
  return { ...common, min: 0, names: null, namesExpected: '', ...options, of };
}

export function object<const K extends Keys>(name: string, keys: K): ObjectShape & Typed<MadeOf<K>, GivenOf<K>> {
  return { kind: 'object', nullable: false, expected: 'a mapping', name, keys };
}

export function either<A, B, GivenA, GivenB>(
  a: Schema<A, GivenA>,
  b: Schema<B, GivenB>,
  { secret = false } = {},
): Schema<A | B, GivenA | GivenB> {
  return { kind: 'either', nullable: false, expected: `${a.expected} or ${b.expected}`, options: [a, b], secret };
}

/** A required key; undefined if it is missing or wrong, which is reported. */
export function required<Made, Given>(
  shape: Schema<Made, Given>,
  shown: unknown,
  doc: string,
): Key<Made | undefined, Given, true> {
  return { shape, doc, required: true, shown };
}

export function optional<Made, Given>(shape: Schema<Made, Given>, value: unknown, doc: string): Key<Made, Given, false> {
  return { shape, doc, required: false, default: value };
}

/** A key that may also be null. */
export function orNull<Made, Given>(
  shape: Schema<Made, Given>,
  value: unknown,
  doc: string,
): Key<Made | null, Given | null, false> {
  return optional(nullable(shape), value, doc);
}

/** A key whose default depends on something else: undefined if it was not written. */
export function dependent<Made, Given>(
  shape: Schema<Made, Given>,
  shown: unknown,
  defaultNote: string,
  doc: string,
): Key<Made | undefined, Given, false> {
  return { shape, doc, required: false, shown, defaultNote };
}

/** The same keys in a narrower scope; their defaults are the values of the wider scope. */
export function inherited<const K extends Keys>(keys: K, defaultNote: string) {
  const made = Object.entries(keys).map(([name, { shape, default: shown, doc }]) => [
    name,
    dependent(shape, shown, defaultNote, doc),
  ]);
  return Object.fromEntries(made) as { readonly [Name in keyof K]: Key<MadeBy<K[Name]> | undefined, GivenTo<K[Name]>, false> };
}

/** The spelling of a declared key: dashes and underscores are the same. Unknown keys stay as they are. */
export function canonicalKey(shape: ObjectShape, key: string): string {
  if (Object.hasOwn(shape.keys, key)) return key;
  const folded = key.replaceAll('-', '_');
  return Object.keys(shape.keys).find((known) => known.replaceAll('-', '_') === folded) ?? key;
}

const writtenAs: Readonly<Record<Exclude<Shape['kind'], 'either'>, 'mapping' | 'list' | 'scalar'>> = {
  text: 'scalar',
  integer: 'scalar',
  boolean: 'scalar',
  literal: 'scalar',
  class: 'scalar',
  described: 'scalar',
  any: 'mapping',
  map: 'mapping',
  object: 'mapping',
  list: 'list',
};

/** The option that a written value of this kind belongs to. */
export function optionFor(shape: Shape, written: 'mapping' | 'list' | 'scalar'): Shape | null {
  if (shape.kind === 'either') return shape.options.find((option) => optionFor(option, written) !== null) ?? null;
  return writtenAs[shape.kind] === written ? shape : null;
}

/** Whether values of this shape are mappings or lists, so that an empty value (`database:`) means an empty one. */
export function isContainer(shape: Shape): boolean {
  return optionFor(shape, 'scalar') === null;
}
