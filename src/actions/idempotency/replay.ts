import type { EntityMetadata } from '@mikro-orm/core';
import type { ApiRequest } from '../../access/user.ts';
import { type Problem, problem } from '../../errors.ts';
import { groupsKey } from '../../model/groups.ts';
import { isKindOf, modelName } from '../../model/hierarchy.ts';
import { type Identifier, identifierParser } from '../../model/identifier.ts';
import { hasKey } from '../../model/key-condition.ts';
import { restrictedQuery } from '../../query/entities/restriction.ts';
import { isSameVersion, RowChanged, readVersion } from '../../query/rows/row-version.ts';
import { EntityVisibility } from '../../query/visibility/entity-visibility.ts';
import { JsonReply } from '../../response/json-reply.ts';
import type { Admission, Restriction } from '../../store/port.ts';
import { groupsOf, stateOf } from '../../store/request-state.ts';
import type { RenderedResponse, ShownRow, ShownRows } from '../respond.ts';
import type { ApiRuntime } from '../start/runtime.ts';

/** A response as it is stored. */
export interface StoredResponse extends Partial<Omit<ShownRows, 'groups'>> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Null: the response had no body. Absent: the body was not stored. */
  readonly body?: string | null;
  /** Whether the body is one row, as the action shows it, and nothing else. */
  readonly isRow?: boolean;
  /** The groups of the body, if they depend on roles: a caller with other groups does not get it. */
  readonly groups?: string;
}

/** The repeated request to which a stored response is returned. */
export interface Replaying {
  readonly api: ApiRuntime;
  readonly request: ApiRequest;
  /** The row of the request, to which access was granted just now; null if it has none. */
  readonly admission: Admission | null;
  /** Renders a row as the action does; null if the action is code of the application, which must not run again. */
  readonly rerender: ((given: JsonReply) => Promise<RenderedResponse>) | null;
}

const header = 'idempotency-replayed';

/**
 * The response to a request that was carried out before. Throws 404 if the caller does not see a returned row any more. If only
 * embedded rows are hidden now, or other groups apply to the caller, the row is rendered again.
 */
export async function replay(
  stored: StoredResponse,
  { admission, api, request, rerender }: Replaying,
): Promise<RenderedResponse> {
  const { body, embedded = [], headers, isRow = false, returned = [], status } = stored;
  const rows = new ReplayedRows(api, request, admission);
  const canRebuild = isRow && rerender !== null;
  if (body === undefined && !canRebuild) throw notStored();
  await rows.check(returned);
  const isGranted = stored.groups === undefined || stored.groups === groupsKey(groupsOf(request, api.framework.mapper));
  if (body !== undefined && isGranted && !(await rows.hidesAny(embedded)))
    return { status, body, headers: { ...headers, [header]: 'true' } };
  if (!canRebuild) throw notStored();
  const { 'content-length': _, 'content-location': __, 'content-type': ___, etag: ____, ...rest } = headers;
  const rebuilt = await rerender(new JsonReply(await rows.entityOf(returned[0] as ShownRow), { status, headers: rest }));
  return { ...rebuilt, headers: { ...rebuilt.headers, [header]: 'rebuilt' } };
}

function notStored(): Problem {
  return problem('idempotency_answer_too_large', {}, { headers: { [header]: 'true' } });
}

/** The rows of a stored response, as the caller sees them now. */
class ReplayedRows {
  readonly #api: ApiRuntime;
  readonly #request: ApiRequest;
  readonly #admission: Admission | null;
  readonly #found = new Map<string, object>();
  #restriction: Promise<Restriction> | null = null;

  constructor(api: ApiRuntime, request: ApiRequest, admission: Admission | null) {
    this.#api = api;
    this.#request = request;
    this.#admission = admission;
  }

  get #em() {
    return stateOf(this.#request, this.#api.framework.mapper).em;
  }

  /** Throws 404 if a row is gone, or if the caller does not see it. */
  async check(rows: readonly ShownRow[]): Promise<void> {
    for (const row of rows) if (!this.#isAdmitted(row)) this.#found.set(row.join(), await this.#visible(row));
  }

  /** Whether one of some embedded rows is gone, or hidden from the caller. */
  async hidesAny(rows: readonly ShownRow[]): Promise<boolean> {
    if (rows.length === 0) return false;
    const { framework } = this.#api;
    const visibility = new EntityVisibility(framework.mapper, this.#em, framework.visibilityOf(this.#request));
    for (const [className, some] of Map.groupBy(rows, ([name]) => name)) {
      const meta = this.#metaOf(className);
      const keys = some.map(([, key]) => meta && this.#keyOf(meta, key));
      if (!meta || keys.includes(undefined) || (await visibility.hiddenAmong([meta], keys)).length > 0) return true;
    }
    return false;
  }

  /** The entity of a row that was checked. */
  async entityOf(row: ShownRow): Promise<object> {
    const known = this.#found.get(row.join());
    if (known) return known;
    const { entities, framework, meta } = this.#api;
    const { found, key, restriction } = this.#admission as Admission;
    const entity = (await entities.find(this.#request, key, restriction))?.entity;
    if (!entity) throw gone(meta);
    // access was granted to the row as it was then
    const version = found?.version && (await readVersion(framework.mapper, this.#em, meta, key));
    if (found?.version && !(version && isSameVersion(found.version, version))) throw new RowChanged();
    return entity;
  }

  /** Whether access to the row was checked already, because the request is about it. */
  #isAdmitted([className, key]: ShownRow): boolean {
    const meta = this.#metaOf(className);
    return this.#admission !== null && meta?.root === this.#api.meta.root && String(this.#admission.key) === key;
  }

  async #visible([className, text]: ShownRow): Promise<object> {
    const api = this.#api;
    const meta = this.#metaOf(className);
    const key = meta && this.#keyOf(meta, text);
    if (!meta || key === undefined) throw gone(meta ?? api.meta);
    return isKindOf(meta, api.meta) ? this.#own(meta, key) : this.#other(meta, key);
  }

  /** A row of the API itself: as it would be fetched, through `customizeQuery` and the voters that read a row. */
  async #own(meta: EntityMetadata, key: Identifier): Promise<object> {
    this.#restriction ??= this.#restrictionOf();
    const found = await this.#api.entities.find(this.#request, key, await this.#restriction);
    if (!found) throw gone(meta);
    const rule = this.#api.rule();
    if (rule.readsSubject && !(await rule.admits(this.#request, found.entity))) throw gone(meta);
    return found.entity;
  }

  /** A row of another class: as it would be embedded. */
  async #other(meta: EntityMetadata, key: Identifier): Promise<object> {
    const { framework } = this.#api;
    const entity = (await this.#em.findOne(meta.class, hasKey(meta, key))) as object | null;
    const visibility = new EntityVisibility(framework.mapper, this.#em, framework.visibilityOf(this.#request));
    if (!entity || (await visibility.hiddenAmong([meta], [entity])).length > 0) throw gone(meta);
    return entity;
  }

  async #restrictionOf(): Promise<Restriction> {
    const { framework, meta } = this.#api;
    const rule = this.#api.rule();
    if (!rule.restrict) return null;
    if (this.#admission?.action === '_entity') return this.#admission.restriction;
    const query = await restrictedQuery(() => this.#em, meta, rule.restrict(this.#request));
    framework.visibilityOf(this.#request).know(rule, query);
    return query;
  }

  /** Undefined if the application has no such class any more. */
  #metaOf(className: string): EntityMetadata | undefined {
    return this.#api.framework.mapper.getMetadata().getByClassName(className, false) as EntityMetadata | undefined;
  }

  #keyOf(meta: EntityMetadata, text: string): Identifier | undefined {
    return identifierParser(meta, this.#api.framework.mapper.driver.getPlatform(), 'path')(text);
  }
}

/** A hidden row gets the same response as a removed one. */
function gone(meta: EntityMetadata): Problem {
  return problem('entity_not_found', { model: modelName(meta) }, { headers: { [header]: 'true' } });
}
