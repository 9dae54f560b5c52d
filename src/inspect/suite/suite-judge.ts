import { type EntityMetadata, helper } from '@mikro-orm/core';
import { QueryBuilder } from '@mikro-orm/sql';
import { RoleVoter } from '../../access/role-voter.ts';
import type { ApiRequest, User } from '../../access/user.ts';
import type { Vote } from '../../access/voter.ts';
import { ApiController, constructController } from '../../actions/api-controller.ts';
import type { ApiRuntime } from '../../actions/start/runtime.ts';
import type { Application } from '../../application.ts';
import type { SecurityDeclaration } from '../../declaration/types.ts';
import { metaOf } from '../../model/hierarchy.ts';
import { type Identifier, keyOf } from '../../model/identifier.ts';
import type { AnyQueryBuilder } from '../../query/entities/restriction.ts';
import type { RouteRecord } from '../../route/record.ts';
import { RequestState, withState } from '../../store/request-state.ts';

/** What is to come of a request: the row is not there for the caller, a role is not granted, or all of them are. */
export type Verdict = 'hidden' | 'refused' | 'granted';

/** What a judge found out about one row, or about none where the path names none. */
export interface Judgement {
  readonly key: Identifier | null;
  readonly verdict: Verdict;
  readonly missing: readonly string[];
  /** By role, whether it was granted, for the roles that voters of the application's own judge. */
  readonly own: ReadonlyMap<string, boolean>;
}

const mostRows = 20;

/**
 * Says what has to come of a request from the declaration, the voters and `customizeQuery` alone: it goes none of the ways by
 * which the application itself decides.
 */
export class Judge {
  readonly #application: Application;

  constructor(application: Application) {
    this.#application = application;
  }

  /** The first rows of the model that a route's path can name, or null where it names none. */
  async rowsOf(record: RouteRecord): Promise<readonly Identifier[] | null> {
    if (!record.api || !record.single) return null;
    const meta = metaOf(this.#application.mapper, record.api.class.value);
    const rows = await this.#application.mapper.em
      .fork()
      .find(meta.class, {} as never, { limit: mostRows, orderBy: { [keyOf(meta).name]: 'asc' } as never });
    return rows.map((row) => helper(row as object).getPrimaryKey() as Identifier);
  }

  /** Judges a request for each of some rows, or for none. */
  async judge(
    record: RouteRecord,
    roles: readonly string[],
    keys: readonly Identifier[] | null,
    user: User | null,
    request: ApiRequest,
  ): Promise<readonly Judgement[]> {
    if (keys === null || !record.api) return [await this.#judgeSubject(null, null, roles, user, request)];
    const meta = metaOf(this.#application.mapper, record.api.class.value);
    const state = new RequestState(request, this.#application.mapper);
    const { name } = keyOf(meta);
    const rows = (await state.em.find(meta.class, { [name]: { $in: keys } } as never)) as object[];
    const visible = await this.#visible(record, meta, keys, state, request);
    const judgements: Judgement[] = [];
    for (const key of keys) {
      const row = rows.find((candidate) => keyText(candidate) === String(key));
      if (!row) judgements.push({ key, verdict: 'hidden', missing: [], own: new Map() });
      else {
        const judged = await this.#judgeSubject(key, row, roles, user, request);
        judgements.push(visible === null || visible.has(String(key)) ? judged : { ...judged, verdict: 'hidden' });
      }
    }
    return judgements;
  }

  /** How many rows a list has for a request. */
  async count(record: RouteRecord, request: ApiRequest): Promise<number> {
    const { mapper } = this.#application;
    const meta = metaOf(mapper, record.api?.class.value);
    const state = new RequestState(request, mapper);
    const query = await this.#restricted(record, meta, state, request);
    if (query === null) return state.em.count(meta.class);
    const keys = ((await query.getResultList()) as object[]).map((row) => helper(row).getPrimaryKey());
    // filters that the models switch on by default are the mapper's affair
    return state.em.fork().count(meta.class, { [keyOf(meta).name]: { $in: keys } } as never);
  }

  async #judgeSubject(
    key: Identifier | null,
    subject: object | null,
    roles: readonly string[],
    user: User | null,
    request: ApiRequest,
  ): Promise<Judgement> {
    const own = new Map<string, boolean>();
    const missing: string[] = [];
    for (const role of roles) {
      const voters = this.#application.voters.votersFor(role);
      const votes: Vote[] = [];
      for (const voter of voters) votes.push(await voter.vote(role, subject, user, request));
      const decision = decides(this.#application.declaration.security.strategy, votes);
      if (voters.some((voter) => !(voter instanceof RoleVoter))) own.set(role, decision);
      if (!decision) missing.push(role);
    }
    return { key, verdict: missing.length === 0 ? 'granted' : 'refused', missing, own };
  }

  /** Those of the keys whose rows the controller lets the request see; null where it restricts nothing. */
  async #visible(
    record: RouteRecord,
    meta: EntityMetadata,
    keys: readonly Identifier[],
    state: RequestState,
    request: ApiRequest,
  ): Promise<ReadonlySet<string> | null> {
    const query = await this.#restricted(record, meta, state, request);
    if (query === null) return null;
    if (isPlain(query)) query.andWhere({ [keyOf(meta).name]: { $in: keys } } as never);
    const rows = (await query.getResultList()) as object[];
    return new Set(rows.map(keyText));
  }

  async #restricted(
    { action, api }: RouteRecord,
    meta: EntityMetadata,
    state: RequestState,
    request: ApiRequest,
  ): Promise<AnyQueryBuilder | null> {
    const type = (api?.controller?.value ?? ApiController) as new () => ApiController;
    if (type.prototype.customizeQuery === ApiController.prototype.customizeQuery) return null;
    const controller = constructController(type, {} as ApiRuntime);
    const query = state.em.createQueryBuilder(meta.class, 'e') as AnyQueryBuilder;
    const returned = await withState(state, () => controller.customizeQuery(action?.name ?? '', request, query as never));
    return returned instanceof QueryBuilder ? (returned as AnyQueryBuilder) : query;
  }
}

function keyText(row: object): string {
  return String(helper(row).getPrimaryKey());
}

function isPlain({ state }: AnyQueryBuilder): boolean {
  return state.limit === undefined && state.offset === undefined && !state.unionQuery && !state.finalized;
}

/** What votes come to, as docs/access.md has it. */
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
