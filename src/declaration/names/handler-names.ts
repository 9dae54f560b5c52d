import type { Listed, Mistake } from '../mistake.ts';

/** The methods of the base controller. Controllers of applications inherit them, but they are not handlers of their own. */
export type BaseMethod =
  | 'addRemove'
  | 'addRemoveApi'
  | 'checkAccess'
  | 'customizeQuery'
  | 'deserialize'
  | 'entityApi'
  | 'getEntity'
  | 'indexApi'
  | 'json'
  | 'afterCommit'
  | 'afterValidation'
  | 'beforeValidation'
  | 'beforeSerialize'
  | 'afterAccessCheck'
  | 'afterFetch'
  | 'paginate'
  | 'query'
  | 'signToken'
  | 'transactional'
  | 'validate';

export type MethodsOf<Controller> = {
  [Name in keyof Controller]: Controller[Name] extends (...args: never[]) => unknown ? Name : never;
}[keyof Controller];

/** The names of a controller's own methods, which can handle actions. */
type HandlersOf<Controller> = Exclude<MethodsOf<Controller>, BaseMethod>;

/** The controller of an API, if its class is given; unknown if it is given by its name. */
export type ControllerOf<Api> = Api extends { readonly controller: abstract new (...args: never[]) => infer Controller }
  ? Controller
  : Api extends { readonly controller: string }
    ? unknown
    : 'controller' extends keyof Api
      ? Api extends { readonly controller: null }
        ? null
        : unknown
      : null;

/** Checks the method that an action names. */
export type CheckedHandler<Controller, Action> = unknown extends Controller
  ? unknown
  : Action extends { readonly controller_action: infer Name extends string }
    ? Name extends MethodsOf<Controller>
      ? unknown
      : string extends Name
        ? unknown
        : { readonly controller_action: Mistake<NoMethod<Controller, Name>> }
    : unknown;

type NoMethod<Controller, Name extends string> = Controller extends null
  ? `'${Name}' needs a controller with this method; add 'controller'`
  : `the controller has no method '${Name}'; it has: ${Listed<HandlersOf<Controller>>}`;

/** Checks the handlers that are found by the names of their actions: `close` is handled by `closeApi`. */
export type CheckedController<Controller, Actions> = unknown extends Controller
  ? unknown
  : [MissingHandler<Controller, Actions>] extends [never]
    ? unknown
    : Controller extends null
      ? { readonly actions: Mistake<NoController<Listed<MissingHandler<Controller, Actions>>>> }
      : { readonly controller: Mistake<NoHandler<Controller, Listed<MissingHandler<Controller, Actions>>>> };

type MissingHandler<Controller, Actions> = {
  [Name in Exclude<keyof Actions, '_index' | '_entity'>]: Name extends string
    ? string extends Name
      ? never
      : [Extract<`${Name}Api` | HandlerOf<Name>, MethodsOf<Controller>>] extends [never]
        ? NeedsHandler<Actions[Name]> extends true
          ? HandlerOf<Name>
          : never
        : never
    : never;
}[Exclude<keyof Actions, '_index' | '_entity'>];

/** `do-it` is handled by `doItApi`. */
type HandlerOf<Name extends string> = `${WithoutDashes<Name>}Api`;

type WithoutDashes<Name extends string> = Name extends `${infer Head}-${infer Rest}`
  ? `${Head}${Capitalize<WithoutDashes<Rest>>}`
  : Name;

type NeedsHandler<Action> = [Action] extends [null]
  ? true
  : [Given<Action, 'association'> | Given<Action, 'controller_action'>] extends [null | undefined]
    ? true
    : false;

type Given<Action, Key> = Key extends keyof Action ? Action[Key] : null;

type NoController<Names extends string> =
  `actions are handled by ${Names}, which needs a controller; add 'controller', or declare an association`;

type NoHandler<
  Controller,
  Names extends string,
> = `actions are handled by ${Names}, which the controller does not have; it has: ${Listed<HandlersOf<Controller>>}`;
