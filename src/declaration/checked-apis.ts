import type { Listed, Mistake } from './mistake.ts';
import type { CheckedAssociation } from './names/association-names.ts';
import type { CheckedList, ModelName, PropertiesOf } from './names/field-names.ts';
import type { CheckedController, CheckedHandler, ControllerOf } from './names/handler-names.ts';

/**
 * Declarations with known keys only, in which the names of fields, associations and methods exist in the models and controllers,
 * as far as types know them.
 */
export type CheckedApis<Apis, ApiKey extends string, ActionKey extends string> = {
  readonly [Name in keyof Apis]: Apis[Name] extends { readonly class: infer Model; readonly actions: infer Actions }
    ? CheckedKeys<Apis[Name], ApiKey> &
        CheckedList<PropertiesOf<Model>, Apis[Name], ModelName<Model>> &
        CheckedController<ControllerOf<Apis[Name]>, Actions> & {
          readonly actions: {
            readonly [Action in keyof Actions]: CheckedAction<Model, ControllerOf<Apis[Name]>, Actions[Action], ActionKey>;
          };
        }
    : unknown;
};

type CheckedAction<Model, Controller, Action, Key extends string> = Action extends null
  ? unknown
  : CheckedKeys<Action, Key> &
      CheckedList<PropertiesOf<Model>, Action, ModelName<Model>> &
      CheckedHandler<Controller, Action> &
      CheckedAssociation<Model, Action>;

/** Rejects unknown keys: TypeScript does so for literals of a fixed type, but not for those of a type parameter. */
type CheckedKeys<Written, Known extends string> = {
  readonly [Key in Exclude<keyof Written, Known>]: Mistake<`unknown key '${Key & string}'; keys: ${Listed<Known>}`>;
};
