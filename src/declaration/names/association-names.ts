import type { Listed, Mistake } from '../mistake.ts';
import type { Anything, Definition, EntityOf, ModelName, OptionsOf, PropertiesOf } from './field-names.ts';

/** Checks the property of an association action: it must be a to-many association, or the model must have methods for it. */
export type CheckedAssociation<Model, Action> = Action extends {
  readonly association: { readonly property: infer Name extends string };
}
  ? Name extends ToMany<PropertiesOf<Model>>
    ? unknown
    : HasAccessors<Model, Name> extends true
      ? unknown
      : { readonly association: { readonly property: Mistake<NoAssociation<Model, Name>> } }
  : unknown;

type NoAssociation<
  Model,
  Name extends string,
> = `${ModelName<Model>} has no to-many association '${Name}', and no methods add${Example<Name>} and remove${Example<Name>}; its to-many associations: ${Listed<ToMany<PropertiesOf<Model>>>}`;

type ToMany<Properties> = Anything extends Properties
  ? string
  : {
      [Name in keyof Properties]: OptionsOf<Definition<Properties[Name]>> extends { readonly kind: '1:m' | 'm:n' } ? Name : never;
    }[keyof Properties] &
      string;

/** Whether the class of a model has methods to add and remove. True for a schema, because its class may be set later. */
type HasAccessors<Model, Name extends string> = Model extends abstract new (
  ...args: never[]
) => object
  ? [
      HasMethod<EntityOf<Model>, `add${AccessorName<Capitalize<Name>>}`>,
      HasMethod<EntityOf<Model>, `remove${AccessorName<Capitalize<Name>>}`>,
    ] extends [true, true]
    ? true
    : false
  : true;

type HasMethod<Entity, Names> = [Extract<keyof Entity, Names>] extends [never] ? false : true;

/** The names of a property in the names of its methods: its own, and its singular forms. */
type AccessorName<Name extends string> =
  | Name
  | (Name extends `${infer Stem}eople` ? `${Stem}erson` : never)
  | (Name extends `${infer Stem}hildren` ? `${Stem}hild` : never)
  | (Name extends `${infer Stem}ies` ? `${Stem}y` : never)
  | (Name extends `${infer Stem}ves` ? `${Stem}f` | `${Stem}fe` : never)
  | (Name extends `${infer Stem}es` ? Stem : never)
  | Example<Name>;

type Example<Name extends string> = Capitalize<Name extends `${infer Stem}s` ? Stem : Name>;
