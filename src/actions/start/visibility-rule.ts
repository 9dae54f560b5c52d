import { type GuardFor, rolesFor } from '../../access/guard.ts';
import type { ApiRequest } from '../../access/user.ts';
import { isPromiseLike } from '../../database/promise-like.ts';
import { Problem } from '../../errors.ts';
import type { Restrict } from '../../query/entities/restriction.ts';
import type { VisibilityRule } from '../../query/visibility/visibility.ts';
import { toProblem } from '../../response/problem-document.ts';
import { ParameterReader } from '../../serialization/parameter-reader.ts';
import { stateOf } from '../../store/request-state.ts';
import { checkedAs } from '../admission.ts';
import { withDefaults } from '../parameters.ts';
import { type ApiRuntime, userOf } from './runtime.ts';

/** The rule of an API for the visibility of its model's rows, for callers of any route. */
export function visibilityRuleOf(runtime: ApiRuntime, guardFor: GuardFor): VisibilityRule<ApiRequest> {
  const { parameters = [] } = runtime.api.actions.find(({ kind }) => kind === 'entity') ?? {};
  const entity = parameters.length > 0 ? new ParameterReader(parameters) : null;
  return {
    meta: runtime.meta,
    restrict: runtime.restricts ? (request) => entityRestriction(runtime, request, entity) : null,
    sort: runtime.api.defaultSort,
    ...admission(runtime, guardFor, entity),
  };
}

/** The restriction of an API's `_entity`, for requests of any route. */
function entityRestriction({ framework, hooks }: ApiRuntime, request: ApiRequest, entity: ParameterReader | null): Restrict {
  const state = stateOf(request, framework.mapper);
  const reject = (error: unknown): never => {
    throw rejectionIn(error) ?? error;
  };
  return (query) => {
    try {
      const result = state.runApplication(() => hooks.customizeQuery('_entity', withDefaults(request, entity), query));
      return isPromiseLike(result) ? Promise.resolve(result).catch(reject) : result;
    } catch (error) {
      return reject(error);
    }
  };
}

/** The problem if an error rejects the caller: a problem, or any error with a status of 400 to 499. Else null. */
function rejectionIn(error: unknown): Problem | null {
  if (error instanceof Problem) return error;
  const { statusCode } = (error ?? {}) as { statusCode?: unknown };
  return typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500 ? toProblem(error, 0) : null;
}

/** Whether a caller has the roles to see a row of an API: those to fetch it, else to change it, else to list it. */
function admission(
  { api, checks, framework, hooks }: ApiRuntime,
  guardFor: GuardFor,
  parameters: ParameterReader | null,
): Pick<VisibilityRule<ApiRequest>, 'admits' | 'readsSubject'> {
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
  const { action, method: as } = showing;
  const guard = guardFor(rolesFor(action, api.baseRole, as));
  const isList = action === index;
  const check = checks
    ? (request: ApiRequest, subject: unknown) =>
        checkedAs({ state: stateOf(request, framework.mapper), method: as }, () =>
          hooks.checkAccess(action.name, request, subject),
        )
    : (request: ApiRequest, subject: unknown) => guard.check(subject, userOf(request), request);
  return {
    readsSubject: (guard.readsSubject || checks) && !isList,
    async admits(request, subject) {
      try {
        await check(withDefaults(request, parameters), isList ? null : subject);
        return true;
      } catch (error) {
        if (rejectionIn(error)) return false;
        throw error;
      }
    },
  };
}
