import type { Listed, Mistake } from '../mistake.ts';
import type { Anything, Definition, EntityOf, ModelName, OptionsOf, PropertiesOf } from './field-names.ts';

/** The property of the model that an action adds to and removes from: a to-many association, or one that the model has methods for. */
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

/** Whether the class of a model can add and remove; a schema does not tell, its class may come later. */
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

/** The names by which methods for a property are found: the same, and without its plural. */
type AccessorName<Name extends string> =
  | Name
  | (Name extends `${infer Stem}eople` ? `${Stem}erson` : never)
  | (Name extends `${infer Stem}hildren` ? `${Stem}hild` : never)
  | (Name extends `${infer Stem}ies` ? `${Stem}y` : never)
  | (Name extends `${infer Stem}ves` ? `${Stem}f` | `${Stem}fe` : never)
  | (Name extends `${infer Stem}es` ? Stem : never)
  | Example<Name>;

type Example<Name extends string> = Capitalize<Name extends `${infer Stem}s` ? Stem : Name>;
