import type { IndexHints } from '@mikro-orm/core';
import type { Listed, MistakeOf } from '../mistake.ts';
import type { Period } from '../vocabulary.ts';

// MikroORM's types lose the JSON name of a property. These overloads keep it.
declare module '@mikro-orm/core' {
  interface PropertyChain<Value, Options> {
    serializedName<const Name extends string>(name: Name): PropertyChain<Value, Options & { serializedName: Name }>;
  }
  interface UniversalPropertyOptionsBuilder<Value, Options, IncludeKeys> {
    serializedName<const Name extends string>(
      name: Name,
    ): Pick<UniversalPropertyOptionsBuilder<Value, Options & { serializedName: Name }, IncludeKeys>, IncludeKeys>;
  }
}

/** The properties of a model whose type is unknown: any name is allowed. */
export interface Anything {
  readonly [name: string]: unknown;
}

/** The properties that an entity was defined with. */
type DefinedIn<Entity> = 0 extends 1 & Entity
  ? Anything
  : typeof IndexHints extends keyof Entity
    ? Entity extends { readonly [IndexHints]?: readonly [infer Properties] }
      ? Properties
      : Anything
    : Anything;

/**
 * The properties of a model, given as its class or its schema. They are unknown for a model that is given by its name, for a
 * class that was not made with `defineEntity`, and for a class with a discriminator, to which subclasses add properties.
 */
export type PropertiesOf<Model> = Model extends { readonly '~discriminatorColumn'?: infer Column }
  ? [Extract<Column, string>] extends [never]
    ? DefinedIn<EntityOf<Model>>
    : Anything
  : DefinedIn<EntityOf<Model>>;

export type EntityOf<Model> = Model extends { readonly '~entity': infer Entity }
  ? Entity
  : Model extends abstract new (
        ...args: never[]
      ) => infer Entity
    ? Entity
    : unknown;

/** The name of a model in messages. */
export type ModelName<Model> = Model extends { readonly '~entityName'?: infer Name extends string }
  ? Name
  : Model extends { readonly name: infer Name extends string }
    ? string extends Name
      ? 'the model'
      : Name
    : 'the model';

/** The definition of a property; properties that refer to models are defined by a function. */
export type Definition<Property> = Property extends (...args: never[]) => infer Made ? Made : Property;

/** The options of a property, from a builder or an object. */
export type OptionsOf<Defined> = Defined extends { readonly '~options': infer Options } ? Options : Defined;

/** The name that a property has in JSON. */
type JsonName<Name, Property> =
  OptionsOf<Definition<Property>> extends { readonly serializedName: infer Given extends string } ? Given : Name;

/** The properties of a model by their names in JSON. */
type Fields<Properties> = { readonly [Name in keyof Properties as JsonName<Name, Properties[Name]>]: Properties[Name] };

/** If an association can hold several models, a name is valid if one of them has it. */
type NamesIn<Known> = Known extends unknown ? keyof Known : never;

type In<Known, Name> = Known extends unknown ? (Name extends keyof Known ? Known[Name] : never) : never;

/** Whether a path consists of JSON names or of property names. */
type Naming = 'json' | 'property';

type Named<Properties, By extends Naming> = By extends 'json' ? Fields<Properties> : Properties;

/** The properties of the model in a property, by their names; none if it is a single value. */
type Behind<Defined, By extends Naming> = Defined extends {
  readonly '~options': infer Options;
  readonly '~type'?: { value: infer Value };
}
  ? Options extends { readonly kind: string }
    ? NamedIn<Value, By>
    : Record<never, never>
  : Anything;

type NamedIn<Value, By extends Naming> = Value extends unknown ? Named<DefinedIn<Value>, By> : never;

/** The error message for a path; never if the path is valid. */
type PathMistake<
  Known,
  Path extends string,
  By extends Naming,
  Where extends string,
> = Path extends `${infer First}.${infer Rest}`
  ? First extends NamesIn<Known>
    ? PathMistake<Behind<Definition<In<Known, First>>, By>, Rest, By, `'${First}' of ${Where}`>
    : NoField<Known, First, Where>
  : Path extends NamesIn<Known>
    ? never
    : NoField<Known, Path, Where>;

type NoField<Known, Name extends string, Where extends string> = [NamesIn<Known>] extends [never]
  ? `${Where} is a single value, and has no field '${Name}'`
  : `${Where} has no field '${Name}'; it has: ${Listed<NamesIn<Known>>}`;

type CheckedPath<Known, Path, By extends Naming, Where extends string> = Path extends string
  ? string extends Path
    ? unknown
    : MistakeOf<PathMistake<Known, Path, By, Where>>
  : unknown;

type CheckedPaths<Known, Paths, Where extends string> = Paths extends readonly unknown[]
  ? { readonly [I in keyof Paths]: CheckedPath<Known, Paths[I], 'json', Where> }
  : Paths extends { readonly fields: infer Inner }
    ? { readonly fields: CheckedPaths<Known, Inner, Where> }
    : unknown;

type CheckedOrder<Properties, Paths, Where extends string> = {
  readonly [I in keyof Paths]: CheckedPath<Properties, Paths[I] extends `-${infer Path}` ? Path : Paths[I], 'property', Where>;
};

/** A field to group by, which may be followed by a period: `bornAt:month`. */
type CheckedGroups<Known, Paths, Where extends string> = {
  readonly [I in keyof Paths]: CheckedPath<Known, Paths[I] extends `${infer Field}:${Period}` ? Field : Paths[I], 'json', Where>;
};

type CheckedAggregate<Known, Aggregate, Where extends string> = Aggregate extends object
  ? {
      readonly [Key in keyof Aggregate as Key & ('by' | 'of')]: Key extends 'by'
        ? CheckedGroups<Known, Aggregate[Key], Where>
        : { readonly [Path in keyof Aggregate[Key]]: CheckedPath<Known, Path, 'json', Where> };
    }
  : unknown;

type ListKey = 'filters' | 'sort' | 'search' | 'default_sort' | 'aggregate';

/** Checks the names of fields in the parameters of a list. */
export type CheckedList<Properties, List, Where extends string> = [keyof List & ListKey] extends [never]
  ? unknown
  : {
      readonly [Key in keyof List as Key & ListKey]: Key extends 'filters'
        ? { readonly [Path in keyof List[Key]]: CheckedPath<Fields<Properties>, Path, 'json', Where> }
        : Key extends 'default_sort'
          ? CheckedOrder<Properties, List[Key], Where>
          : Key extends 'aggregate'
            ? CheckedAggregate<Fields<Properties>, List[Key], Where>
            : CheckedPaths<Fields<Properties>, List[Key], Where>;
    };
