import { rolesFor } from '../access/guard.ts';
import type { ApiRequest } from '../access/user.ts';
import type { ApiDeclaration } from '../declaration/types.ts';
import { Problem } from '../errors.ts';
import type { Door } from '../query/doors.ts';
import type { Restrict } from '../query/restriction.ts';
import type { GuardFor } from './compile-api.ts';
import { stateOf, withState } from './request-state.ts';
import { type ApiRuntime, restrictionOf, userOf } from './runtime.ts';

/** The way to the rows of an API's model, for a caller of any route. */
export function doorOf(runtime: ApiRuntime, guardFor: GuardFor): Door<ApiRequest> {
  return {
    meta: runtime.meta,
    restrict: runtime.restricts ? (request) => doorRestriction(runtime, request) : null,
    sort: runtime.api.defaultSort,
    ...admission(runtime.api, guardFor),
  };
}

/** The restriction of an API's `_entity`, on whatever route the request came. */
function doorRestriction(runtime: ApiRuntime, request: ApiRequest): Restrict {
  const restrict = restrictionOf(runtime, '_entity', request);
  return (query) => withState(stateOf(request, runtime.framework.mapper), () => restrict?.(query));
}

/** Whether a caller has the roles to be shown a row of an API: by fetching it, else by changing it, else in the list. */
function admission(api: ApiDeclaration, guardFor: GuardFor): Pick<Door<ApiRequest>, 'admits' | 'readsSubject'> {
  const entity = api.actions.find(({ kind }) => kind === 'entity');
  const index = api.actions.find(({ kind }) => kind === 'index');
  const method = (['GET', 'PATCH', 'PUT'] as const).find((candidate) => entity?.methods.includes(candidate));
  const showing =
    entity && method
      ? { action: entity, method }
      : index?.methods.includes('GET')
        ? { action: index, method: 'GET' as const }
        : null;
  if (!showing) return { readsSubject: false, admits: async () => false };
  const guard = guardFor(rolesFor(showing.action, api.baseRole, showing.method));
  const isList = showing.action === index;
  return {
    readsSubject: guard.readsSubject && !isList,
    async admits(request, subject) {
      try {
        await guard.check(isList ? null : subject, userOf(request), request);
        return true;
      } catch (error) {
        if (error instanceof Problem) return false;
        throw error;
      }
    },
  };
}
