import { type EntityMetadata, helper } from '@mikro-orm/core';
import { QueryBuilder } from '@mikro-orm/sql';
import { RoleVoter } from '../../access/role-voter.ts';
import type { ApiRequest, User } from '../../access/user.ts';
import { loadsOf, type Vote } from '../../access/voter.ts';
import { type ApiController, constructController } from '../../actions/controller/api-controller.ts';
import type { ApiRuntime } from '../../actions/start/runtime.ts';
import type { Application } from '../../application.ts';
import type { Creatable } from '../../declaration/names/create.ts';
import type { ActionDeclaration, ApiDeclaration, HttpMethod, SecurityDeclaration } from '../../declaration/types.ts';
import { problem } from '../../errors.ts';
import { metaOf } from '../../model/hierarchy.ts';
import { entityKey, type Identifier, identifierParser } from '../../model/identifier.ts';
import { hasOneOf } from '../../model/key-condition.ts';
import { withLoadedData } from '../../model/unloaded.ts';
import { keyOrder } from '../../query/entities/keys.ts';
import type { AnyQueryBuilder } from '../../query/entities/restriction.ts';
import { toProblem } from '../../response/problem-document.ts';
import type { RouteRecord } from '../../route/record.ts';
import { EntityStore } from '../../store/entity-store.ts';
import { PathLoader } from '../../store/load-paths.ts';
import { RequestState, stateOf, withState } from '../../store/request-state.ts';
import { actionOf, controllerOf, isOverridden } from '../route-action.ts';
import { type Grants, groupRolesOf, isOfList } from './suite-groups.ts';

/** The expected result of a request for one row, or without a row if the path names none. */
export interface Judgement {
  readonly key: Identifier | null;
  /** The caller cannot see the row, is rejected by code of the controller, lacks a role, or has all of them. */
  readonly verdict: 'hidden' | 'rejected' | 'refused' | 'granted';
  readonly missing: readonly string[];
  /** The error of `customizeQuery`, `getEntity` or `checkAccess`. With the verdict `granted`, the response may have its status. */
  readonly rejection: Rejection | null;
  /** Whether each role was granted; only roles with voters of the application. */
  readonly own: ReadonlyMap<string, boolean>;
  /** The roles of groups that the caller has. */
  readonly grants: Grants;
}

/** A method of a controller that throws an error for a caller. */
export interface Rejection {
  readonly status: number;
  /** `PersonController.customizeQuery` */
  readonly by: string;
}

type Decision = Omit<Judgement, 'key' | 'grants'>;

const mostRows = 20;

/** The ids that replace the keys of rows in paths, by the name of the API. */
export type RowIds = Readonly<Record<string, (row: never) => string | number>>;

/**
 * Predicts the result of a request from the declaration, the voters and `customizeQuery` alone, without the code that decides in
 * the application.
 */
export function judgeOf({ create, declaration, mapper, voters }: Application, ids: RowIds = {}) {
  const paths = new PathLoader(null);
  const named = new Map<string, string | number>();

  /** The keys of the first rows that a route's path can name; null if the path names none. */
  async function rowsOf(record: RouteRecord): Promise<readonly Identifier[] | null> {
    if (!record.api || !record.single) return null;
    const meta = metaOf(mapper, record.api.class.value);
    const orderBy = keyOrder(meta) as never;
    const rows = await mapper.em.fork().find(meta.class, {} as never, { limit: mostRows, orderBy });
    const { name } = record.api;
    for (const row of rows as object[]) {
      const id = ids[name]?.(row as never);
      if (id !== undefined) named.set(`${name} ${keyText(row)}`, id);
    }
    return rows.map((row) => entityKey(row as object));
  }

  /** The id of a row in the path of a route. */
  function idOf({ api }: RouteRecord, key: Identifier): Identifier {
    return named.get(`${api?.name} ${key}`) ?? key;
  }

  /** Predicts the result of a request for each of the rows, or without a row. */
  async function judge(
    record: RouteRecord,
    roles: readonly string[],
    keys: readonly Identifier[] | null,
    user: User | null,
    request: ApiRequest,
  ): Promise<readonly Judgement[]> {
    const decided = async (subject: object | null) =>
      checkedBy(record, subject, await decide(subject, roles, user, request), request);
    const inside = await grantedOf(record, null, user, request);
    const grants = { own: inside, inside };
    if (!record.api) return [{ key: null, grants, ...(await decided(null)) }];
    const meta = metaOf(mapper, record.api.class.value);
    const state = new RequestState(request, mapper);
    const { query, rejection } = await restricted(record, meta, state, request);
    if (keys === null) {
      const decision = await decided(null);
      if (!rejection || decision.verdict !== 'granted') return [{ key: null, grants, ...decision }];
      // a hook or a handler may reject the caller for the same reason as customizeQuery, which only lists always call
      const isRejected = isOfList({ action: actionOf(record, request.method as HttpMethod) });
      return [{ key: null, grants, ...decision, rejection, verdict: isRejected ? 'rejected' : 'granted' }];
    }
    const among = () => ({ $and: [hasOneOf(meta, mapper.driver.getPlatform(), keys)] }) as never;
    const rows = new Map(((await state.em.find(meta.class, among())) as object[]).map((row) => [keyText(row), row]));
    if (query && isPlain(query)) query.andWhere(among());
    const visible = query ? new Set(((await query.getResultList()) as object[]).map(keyText)) : rows;
    const judgements: Judgement[] = [];
    for (const key of keys) {
      const thrown = rejection ?? (await loadRejection(record, idOf(record, key), request));
      const row = rows.get(String(key));
      const isHidden = !row || !visible.has(String(key)) || thrown?.status === 404;
      const judged: Decision = row ? await decided(row) : { verdict: 'hidden', missing: [], rejection: null, own: new Map() };
      judgements.push({
        key,
        grants: row ? { own: await grantedOf(record, row, user, request), inside } : grants,
        ...judged,
        ...(thrown && { verdict: 'rejected', rejection: thrown }),
        ...(isHidden && !rejection && { verdict: 'hidden' }),
      });
    }
    return judgements;
  }

  /** The number of rows that a list has for a request. */
  async function count(record: RouteRecord, request: ApiRequest): Promise<number> {
    const meta = metaOf(mapper, record.api?.class.value);
    const state = new RequestState(request, mapper);
    const { query } = await restricted(record, meta, state, request);
    if (query === null) return state.em.count(meta.class);
    const keys = ((await query.getResultList()) as object[]).map((row) => entityKey(row));
    // the mapper applies the default filters of models
    return state.em.fork().count(meta.class, { $and: [hasOneOf(meta, mapper.driver.getPlatform(), keys)] } as never);
  }

  async function decide(
    subject: object | null,
    roles: readonly string[],
    user: User | null,
    request: ApiRequest,
  ): Promise<Decision> {
    const own = new Map<string, boolean>();
    const missing: string[] = [];
    for (const role of roles) {
      const judges = voters.votersFor(role);
      const votes: Vote[] = [];
      if (subject) await paths.load(subject, judges.flatMap(loadsOf), () => helper(subject).__em as never);
      for (const voter of judges) votes.push(await withLoadedData(() => voter.vote(role, subject, user, request)));
      const decision = decides(declaration.security.strategy, votes);
      if (judges.some((voter) => !(voter instanceof RoleVoter))) own.set(role, decision);
      if (!decision) missing.push(role);
    }
    return { verdict: missing.length === 0 ? 'granted' : 'refused', missing, rejection: null, own };
  }

  /** The roles of the route's groups that the caller has. */
  async function grantedOf(record: RouteRecord, subject: object | null, user: User | null, request: ApiRequest) {
    const granted = new Set<string>();
    for (const role of groupRolesOf(record)) {
      if ((await decide(subject, [role], user, request)).verdict === 'granted') granted.add(role);
    }
    return granted;
  }

  /** Applies the controller's own `checkAccess` to a decision. */
  async function checkedBy(
    { action, api }: RouteRecord,
    subject: object | null,
    decision: Decision,
    request: ApiRequest,
  ): Promise<Decision> {
    if (!api || !isOverridden(api, 'checkAccess')) return decision;
    const check = async () => {
      if (decision.verdict !== 'granted') throw problem(request.user ? 'access_denied' : 'authentication_required');
    };
    const rejection = await rejectionBy(api, 'checkAccess', request, check, (controller, given) =>
      controller.checkAccess(calledName(action), given, subject),
    );
    if (!rejection) return { ...decision, verdict: 'granted', missing: [] };
    return { ...decision, verdict: 'rejected', rejection };
  }

  /** The error of the controller's own `getEntity`; a row that it does not return is missing. */
  async function loadRejection({ action, api }: RouteRecord, id: Identifier, request: ApiRequest): Promise<Rejection | null> {
    if (!api || !isOverridden(api, 'getEntity')) return null;
    const check = async () => undefined;
    return rejectionBy(api, 'getEntity', request, check, async (controller, given) => {
      if (!(await controller.getEntity(action?.name ?? '', id, given))) throw problem('entity_not_found', { model: '' });
    });
  }

  /** The error of a call of a controller, or null. Its rows are not restricted, and the request is not changed. */
  async function rejectionBy(
    api: ApiDeclaration,
    method: keyof ApiController,
    given: ApiRequest,
    check: () => Promise<void>,
    call: (controller: ApiController, request: ApiRequest) => Promise<unknown>,
  ): Promise<Rejection | null> {
    const meta = metaOf(mapper, api.class.value);
    const runtime = {
      framework: { mapper },
      api,
      meta,
      parseId: identifierParser(meta, mapper.driver.getPlatform(), 'path'),
      restricts: false,
      entities: new EntityStore(mapper, meta, api.defaultSort),
      declaredGuardOf: () => ({ check }),
    };
    const controller = constructController(controllerOf(api) as never, runtime as unknown as ApiRuntime, create);
    const request = Object.create(given) as ApiRequest;
    try {
      await withState(stateOf(request, mapper), () => call(controller, request));
      return null;
    } catch (error) {
      return rejectionIn(error, api, method);
    }
  }

  /** The query of the list as `customizeQuery` leaves it, or its error; neither if the controller restricts nothing. */
  async function restricted(
    { action, api }: RouteRecord,
    meta: EntityMetadata,
    state: RequestState,
    request: ApiRequest,
  ): Promise<{ readonly query: AnyQueryBuilder | null; readonly rejection: Rejection | null }> {
    if (!api || !isOverridden(api, 'customizeQuery')) return { query: null, rejection: null };
    const controller = constructController(controllerOf(api) as Creatable<ApiController>, {} as ApiRuntime, create);
    const query = state.em.createQueryBuilder(meta.class, 'e') as AnyQueryBuilder;
    try {
      const returned = await withState(state, () => controller.customizeQuery(calledName(action), request, query as never));
      return { query: returned instanceof QueryBuilder ? (returned as AnyQueryBuilder) : query, rejection: null };
    } catch (error) {
      return { query: null, rejection: rejectionIn(error, api, 'customizeQuery') };
    }
  }

  return { rowsOf, idOf, judge, count };
}

/** The action that code of the application is called with. Aggregates are those of the list. */
function calledName(action: ActionDeclaration | null): string {
  return action?.kind === 'aggregate' ? '_index' : (action?.name ?? '');
}

/** The status that the caller gets for an error. An error of the server is a fault of the application, and thrown again. */
function rejectionIn(error: unknown, api: ApiDeclaration, method: keyof ApiController): Rejection {
  const { status } = toProblem(error, 0);
  if (status >= 500) throw error;
  return { status, by: `${controllerOf(api).name}.${method}` };
}

function keyText(row: object): string {
  return String(entityKey(row));
}

function isPlain({ state }: AnyQueryBuilder): boolean {
  return state.limit === undefined && state.offset === undefined && !state.unionQuery && !state.finalized;
}

/** Combines votes as docs/reference/access.md describes. */
export function decides(strategy: SecurityDeclaration['strategy'], votes: readonly Vote[]): boolean {
  const grants = votes.filter((vote) => vote === 'grant').length;
  const denies = votes.filter((vote) => vote === 'deny').length;
  switch (strategy) {
    case 'affirmative':
      return grants > 0;
    case 'consensus':
      return grants > denies;
    case 'unanimous':
      return grants > 0 && denies === 0;
    case 'priority':
      return votes.find((vote) => vote !== 'abstain') === 'grant';
  }
}
