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

/** The names of what a controller can handle an action with. */
type MethodsOf<Controller> = {
  [Name in keyof Controller]: Controller[Name] extends (...args: never[]) => unknown ? Name : never;
}[keyof Controller] &
  string;

/** The method that handles an action, where the controller is given itself: any other is refused by a list of those there are. */
type CheckedHandler<Controller, Action> = unknown extends Controller
  ? unknown
  : Action extends { readonly controller_action: infer Name extends string }
    ? Name extends keyof Controller
      ? unknown
      : { readonly controller_action: MethodsOf<Controller> }
    : unknown;

type ControllerOf<Api> = Api extends { readonly controller: abstract new (...args: never[]) => infer Controller }
  ? Controller
  : unknown;

type CheckedActions<Entity, Api> = Api extends { readonly actions: infer Actions }
  ? {
      readonly actions: {
        readonly [Name in keyof Actions]: CheckedList<Entity, Actions[Name]> & CheckedHandler<ControllerOf<Api>, Actions[Name]>;
      };
    }
  : unknown;

/** Declarations whose names of fields and methods are those of their models and controllers, as far as types know them. */
export type CheckedApis<Apis> = {
  readonly [Key in keyof Apis]: Apis[Key] extends { readonly class: infer Model }
    ? CheckedList<EntityOf<Model>, Apis[Key]> & CheckedActions<EntityOf<Model>, Apis[Key]>
    : unknown;
};

/** The roles that voters judge, where their types tell them: `static override roles = ['PERSON_SEE'] as const`. */
export type RolesOf<Voters extends readonly { readonly roles: readonly string[] }[]> = Voters extends readonly []
  ? string
  : Voters[number]['roles'][number] | `ROLE_${string}`;

/** Declarations that ask for these roles only. */
export type WithRoles<Apis, Role extends string> = string extends Role
  ? unknown
  : { readonly [Key in keyof Apis]: { readonly base_role?: Role | null; readonly actions: ActionsWithRoles<Role> } };

interface ActionsWithRoles<Role extends string> {
  readonly [action: string]: ActionWithRoles<Role> | null;
}

interface ActionWithRoles<Role extends string> {
  readonly roles?: { readonly [method: string]: Role | null };
  readonly [key: string]: unknown;
}
