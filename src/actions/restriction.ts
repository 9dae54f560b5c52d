import type { ApiRequest } from '../access/user.ts';
import { restrictedQuery } from '../query/entities/restriction.ts';
import type { Restriction } from '../store/port.ts';
import { stateOf } from '../store/request-state.ts';
import type { ApiRuntime } from './start/runtime.ts';

/** The restriction of an action for one request, as `customizeQuery` makes it. */
export function restrictionOf(api: ApiRuntime, action: string, request: ApiRequest): Restriction | Promise<Restriction> {
  return api.restricts ? customizedQuery(api, action, request) : null;
}

async function customizedQuery({ framework, hooks, meta, rule }: ApiRuntime, action: string, request: ApiRequest) {
  const state = stateOf(request, framework.mapper);
  const query = await restrictedQuery(
    () => state.em,
    meta,
    (given) => state.runApplication(() => hooks.customizeQuery(action, request, given)),
  );
  // it also decides which rows of the model are visible if others refer to them or embed them
  if (action === '_entity') framework.visibilityOf(request).know(rule(), query);
  return query;
}
