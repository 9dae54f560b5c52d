/** The entity that a class or a schema describes; unknown where it is named by a string. */
type EntityOf<Model> = Model extends { readonly '~entity': infer Entity }
  ? Entity
  : Model extends abstract new (
        ...args: never[]
      ) => infer Entity
    ? Entity
    : unknown;

/** What a property leads to: the items of a collection, what a reference points to. */
type TargetOf<Value> = Value extends null | undefined
  ? never
  : Value extends { readonly '~entity'?: infer Entity }
    ? Entity
    : Value extends { getItems(...args: never[]): readonly (infer Item)[] }
      ? Item
      : Value extends { unwrap(): infer Entity }
        ? Entity
        : Value extends readonly (infer Item)[]
          ? Item
          : Value;

type IsPath<Entity, Path> = unknown extends Entity
  ? true
  : Path extends `${infer First}.${infer Rest}`
    ? First extends keyof Entity
      ? IsPath<TargetOf<Entity[First]>, Rest>
      : false
    : Path extends keyof Entity
      ? true
      : false;

/** The same name where it leads to a property, else one that says so. */
type Checked<Entity, Path> = string extends Path ? Path : true extends IsPath<Entity, Path> ? Path : 'no property of the model';

type CheckedNames<Entity, Names> = Names extends readonly unknown[]
  ? { readonly [I in keyof Names]: Checked<Entity, Names[I]> }
  : Names extends { readonly fields: infer Fields }
    ? { readonly fields: CheckedNames<Entity, Fields> }
    : unknown;

type CheckedFilters<Entity, Filters> = {
  readonly [Path in keyof Filters]: Checked<Entity, Path> extends Path ? Filters[Path] : Checked<Entity, Path>;
};

type CheckedList<Entity, List> = (List extends { readonly filters: infer Filters }
  ? { readonly filters: CheckedFilters<Entity, Filters> }
  : unknown) &
  (List extends { readonly sort: infer Sort } ? { readonly sort: CheckedNames<Entity, Sort> } : unknown) &
  (List extends { readonly search: infer Search } ? { readonly search: CheckedNames<Entity, Search> } : unknown);

type CheckedActions<Entity, Api> = Api extends { readonly actions: infer Actions }
  ? { readonly actions: { readonly [Name in keyof Actions]: CheckedList<Entity, Actions[Name]> } }
  : unknown;

/** Declarations whose names of fields are those of their models, as far as types know them. */
export type CheckedApis<Apis> = {
  readonly [Key in keyof Apis]: Apis[Key] extends { readonly class: infer Model }
    ? CheckedList<EntityOf<Model>, Apis[Key]> & CheckedActions<EntityOf<Model>, Apis[Key]>
    : unknown;
};
