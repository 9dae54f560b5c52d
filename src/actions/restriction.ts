import type { ApiRequest } from '../access/user.ts';
import { restrictedQuery } from '../query/entities/restriction.ts';
import type { Restriction } from '../store/port.ts';
import { stateOf, withState } from '../store/request-state.ts';
import type { ApiRuntime } from './start/runtime.ts';

/** The restriction of an action for one request, as `customizeQuery` makes it. */
export function restrictionOf(api: ApiRuntime, action: string, request: ApiRequest): Restriction | Promise<Restriction> {
  if (!api.restricts) return null;
  const { framework, hooks, meta, rule } = api;
  const state = stateOf(request, framework.mapper);
  return withState(state, async () => {
    const query = await restrictedQuery(
      () => state.em,
      meta,
      (given) => hooks.customizeQuery(action, request, given),
    );
    // it also decides which rows of the model are visible if others refer to them or embed them
    if (action === '_entity') framework.visibilityOf(request).know(rule(), query);
    return query;
  });
}
