import { ApiController } from '../actions/controller/api-controller.ts';
import { isOverridden as isOverriddenBy } from '../actions/controller/controller-class.ts';
import type { ApiDeclaration, HttpMethod } from '../declaration/types.ts';
import type { RouteRecord } from '../route/record.ts';

/** The data that each action reads and writes. `handler` and `service` are application code; `unsupported` returns 400. */
export const actionKinds = {
  list: { reads: 'model', writes: null },
  aggregate: { reads: 'aggregates', writes: null },
  create: { reads: 'model', writes: 'model' },
  fetch: { reads: 'model', writes: null },
  patch: { reads: 'model', writes: 'model' },
  replace: { reads: 'model', writes: 'model' },
  delete: { reads: null, writes: null },
  add: { reads: 'item', writes: 'item' },
  remove: { reads: 'item', writes: 'item' },
  handler: { reads: 'own code', writes: 'own code' },
  service: { reads: 'own code', writes: 'own code' },
  unsupported: { reads: null, writes: null },
} as const satisfies Readonly<
  Record<string, Readonly<Record<'reads' | 'writes', 'model' | 'aggregates' | 'item' | 'own code' | null>>>
>;

export type ActionKind = keyof typeof actionKinds;

const defaults: Readonly<Record<'indexApi' | 'entityApi' | 'addRemoveApi', Partial<Record<HttpMethod, ActionKind>>>> = {
  indexApi: { GET: 'list', HEAD: 'list', POST: 'create' },
  entityApi: { GET: 'fetch', HEAD: 'fetch', PATCH: 'patch', PUT: 'replace', DELETE: 'delete' },
  addRemoveApi: { POST: 'add', DELETE: 'remove' },
};

/** The action of a method; `handler` or `service` if application code performs it. */
export function actionOf({ action, api, handler }: RouteRecord, method: HttpMethod): ActionKind {
  if (!api || !action) return 'service';
  if (action.kind === 'aggregate') return method === 'GET' || method === 'HEAD' ? 'aggregate' : 'unsupported';
  if (!isDefault(handler) || isOverridden(api, handler)) return 'handler';
  // a list of rows
  if (action.bulk?.methods.some((each) => each === method) && method !== 'POST') return method === 'PATCH' ? 'patch' : 'delete';
  return defaults[handler][method] ?? 'unsupported';
}

function isDefault(handler: string): handler is keyof typeof defaults {
  return Object.hasOwn(defaults, handler);
}

/** Whether the controller of an API overrides a method of the base controller. */
export function isOverridden(api: ApiDeclaration, method: keyof ApiController): boolean {
  return isOverriddenBy(controllerOf(api), method);
}

export function controllerOf({ controller }: ApiDeclaration): { readonly name: string; readonly prototype: ApiController } {
  return (controller?.value ?? ApiController) as typeof ApiController;
}
