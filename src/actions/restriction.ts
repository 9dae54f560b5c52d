import type { ApiRequest } from '../access/user.ts';
import { restrictedQuery } from '../query/restriction.ts';
import type { Restriction } from '../store/port.ts';
import { stateOf, withState } from '../store/request-state.ts';
import type { ApiRuntime } from './runtime.ts';

/** The restriction of an action for one request: `customizeQuery` is called here and nowhere else. */
export function restrictionOf(api: ApiRuntime, action: string, request: ApiRequest): Restriction | Promise<Restriction> {
  if (!api.restricts) return null;
  const state = stateOf(request, api.framework.mapper);
  return withState(state, () => restrictedQuery(state.em, api.meta, (query) => api.hooks.customizeQuery(action, request, query)));
}
