import type { Creatable } from '../../declaration/names/create.ts';
import { type HookName, hookWith, overriddenHooks } from '../hooks.ts';
import { ApiController } from './api-controller.ts';

/** A controller's class, reduced to its methods. */
export interface ControllerClass {
  readonly prototype: ApiController;
}

export function classOf(controller: ApiController): ControllerClass {
  return controller.constructor as unknown as ControllerClass;
}

export function isOverridden({ prototype }: ControllerClass, method: keyof ApiController): boolean {
  return prototype[method] !== ApiController.prototype[method];
}

/** The default handlers, each with the methods of the controller that take part. */
const defaultHandlers: Readonly<Record<string, readonly (keyof ApiController)[]>> = {
  indexApi: ['indexApi'],
  entityApi: ['entityApi'],
  addRemoveApi: ['addRemoveApi', 'addRemove'],
};

/** Whether a default handler runs without overrides of the controller. `getEntity` does not count: it only loads the row. */
export function isDefaultHandler(type: ControllerClass, handler: string): boolean {
  return defaultHandlers[handler]?.every((method) => !isOverridden(type, method)) ?? false;
}

/** Whether an action is handled by a method that the base controller has. */
export function isBaseHandler(handler: string): boolean {
  return Object.hasOwn(defaultHandlers, handler);
}

/** Whether a controller restricts queries at all. */
export function restrictsQueries(type: ControllerClass): boolean {
  return isOverridden(type, 'customizeQuery');
}

/** Whether a controller has code that can end a default action with a response that only the application knows. */
export function hasHooks(type: ControllerClass): boolean {
  if (isOverridden(type, 'checkAccess') || isOverridden(type, 'getEntity')) return true;
  return hookWith(overriddenHooks(type.prototype, ApiController.prototype), 'replies') !== undefined;
}

/** Whether a value is a controller class of an application. */
export function isControllerClass(value: unknown): value is Creatable<ApiController> {
  return typeof value === 'function' && value.prototype instanceof ApiController;
}

/** The former names of hooks. */
const retiredNames = {
  onPostFetchEntity: 'afterFetch',
  onPostCheckAccess: 'afterAccessCheck',
  onAfterValidation: 'afterValidation',
  onAfterFlush: 'afterCommit',
  onBeforeSerialize: 'beforeSerialize',
} as const satisfies Readonly<Record<string, HookName>>;

/** Makes hooks with a former name callable by the new one. Returns the names that were found. */
export function adoptRetiredHooks(type: ControllerClass): readonly { readonly from: string; readonly to: HookName }[] {
  const methods = type.prototype as unknown as Record<string, unknown>;
  const found = Object.entries(retiredNames).filter(
    ([from, to]) => typeof methods[from] === 'function' && !isOverridden(type, to),
  );
  for (const [from, to] of found)
    Object.defineProperty(type.prototype, to, {
      configurable: true,
      writable: true,
      value(this: Record<string, (...args: unknown[]) => unknown>, ...args: unknown[]) {
        return this[from]?.(...args);
      },
    });
  return found.map(([from, to]) => ({ from, to }));
}
