import { ApiController } from '../actions/api-controller.ts';
import type { ApiDeclaration, HttpMethod } from '../declaration/types.ts';
import type { RouteRecord } from '../route/record.ts';

/** What a method of a route does. */
export type ActionKind =
  | 'list'
  | 'create'
  | 'fetch'
  | 'patch'
  | 'replace'
  | 'delete'
  | 'add'
  | 'remove'
  | 'handler'
  | 'service'
  | 'unsupported';

const defaults: Readonly<Record<'indexApi' | 'entityApi' | 'addRemoveApi', Partial<Record<HttpMethod, ActionKind>>>> = {
  indexApi: { GET: 'list', HEAD: 'list', POST: 'create' },
  entityApi: { GET: 'fetch', HEAD: 'fetch', PATCH: 'patch', PUT: 'replace', DELETE: 'delete' },
  addRemoveApi: { POST: 'add', DELETE: 'remove' },
};

/** What a method of a route does, as far as the framework itself does it. */
export function actionOf({ action, api, handler }: RouteRecord, method: HttpMethod): ActionKind {
  if (!api || !action) return 'service';
  if (!isDefault(handler) || isOverridden(api, handler)) return 'handler';
  return defaults[handler][method] ?? 'unsupported';
}

function isDefault(handler: string): handler is keyof typeof defaults {
  return Object.hasOwn(defaults, handler);
}

/** Whether an API's controller has a method of its own in the place of one of the base controller. */
export function isOverridden(api: ApiDeclaration, method: keyof ApiController): boolean {
  return controllerOf(api).prototype[method] !== ApiController.prototype[method];
}

/** The class of an API's controller. */
export function controllerOf({ controller }: ApiDeclaration): { readonly name: string; readonly prototype: ApiController } {
  return (controller?.value ?? ApiController) as typeof ApiController;
}
