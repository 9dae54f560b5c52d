import type { ApiRequest } from '../../access/user.ts';
import { checkItem, isObject } from '../../change/body-reader.ts';
import type { Executor } from '../../database/executor.ts';
import type { BulkMethod } from '../../declaration/types.ts';
import { problem } from '../../errors.ts';
import { isTurnLong, mapInTurns, nextTurn } from '../../event-loop.ts';
import type { ActiveGroups } from '../../model/groups.ts';
import { metaOfEntity } from '../../model/hierarchy.ts';
import type { Identifier } from '../../model/identifier.ts';
import { JsonReply } from '../../response/json-reply.ts';
import { isExport } from '../../serialization/formats.ts';
import { BulkEntities } from '../../store/bulk-entities.ts';
import { ItemErrors, ofItem } from '../../store/item-errors.ts';
import type { Found } from '../../store/port.ts';
import { groupsOf, setItemGroups, stateOf } from '../../store/request-state.ts';
import { RowInserts } from '../../store/row-inserts.ts';
import { FoundRows } from '../../store/row-store.ts';
import { notPlain } from '../../store/row-writes.ts';
import type { WriteStore } from '../../store/write-store.ts';
import { admitFound, missing } from '../admission.ts';
import { runAfterCommit, untilCommit } from '../after-commit.ts';
import { makeEntity, validated } from '../create.ts';
import { runHook } from '../hooks.ts';
import { refuseUndeclared } from '../parameters.ts';
import { checkPrecondition, refusePrecondition, requirePrecondition } from '../precondition.ts';
import { responseLoader } from '../response-size.ts';
import { restrictionOf } from '../restriction.ts';
import type { ApiRuntime } from '../start/runtime.ts';
import { BulkReply } from './bulk-reply.ts';
import { itemKeyReader, keyNamesOf } from './item-key.ts';
import { itemRequest } from './item-request.ts';

/** An item of a list that names an existing row. */
interface RowItem {
  readonly request: ApiRequest;
  readonly key: Identifier;
}

/** `_index` with a list as its body: each item is handled like a request of its own, and all of them in one transaction. */
export class BulkActions {
  readonly #api: ApiRuntime;
  readonly #maxItems: number;
  readonly #entities: BulkEntities;
  readonly #inserts = new WeakMap<object, RowInserts>();

  constructor(api: ApiRuntime, maxItems: number, executor: Executor | null) {
    const { api: declared, framework, meta } = api;
    this.#api = api;
    this.#maxItems = maxItems;
    this.#entities = new BulkEntities(framework.mapper, meta, declared.defaultSort, executor, responseLoader(framework));
  }

  async run(method: BulkMethod, request: ApiRequest, store: WriteStore, format: string): Promise<JsonReply> {
    refuseUndeclared(request);
    const items = this.#itemsOf(request);
    switch (method) {
      case 'POST':
        return this.#create(request, items, store, format);
      case 'PATCH':
        return this.#change(request, await this.#rowsOf(request, items), format);
      case 'DELETE':
        return this.#remove(request, await this.#rowsOf(request, items));
    }
  }

  /** The items of the body; throws if it is not a list of objects, or too long. */
  #itemsOf({ body }: ApiRequest): readonly Record<string, unknown>[] {
    if (!Array.isArray(body))
      throw problem('invalid_list', { reason: body === undefined ? 'it is missing' : 'it is not a list' });
    if (body.length > this.#maxItems) throw problem('too_many_items', { place: 'the list', limit: this.#maxItems });
    const other = body.findIndex((item) => !isObject(item));
    if (other >= 0) throw ofItem(problem('invalid_list', { reason: 'an item is not an object' }), other);
    return body;
  }

  /** The rows that items name; throws if one is missing its id, or named twice. */
  async #rowsOf(request: ApiRequest, items: readonly Record<string, unknown>[]): Promise<readonly RowItem[]> {
    const { 'if-match': match, 'if-none-match': noneMatch, ...headers } = request.headers;
    if (match !== undefined || noneMatch !== undefined)
      throw problem('bad_request', {
        reason: 'a list has no ETag: send "_if_match" in its items, not If-Match or If-None-Match',
      });
    const { framework, meta } = this.#api;
    const { all } = this.#api.grantsOf('_index', request.method as BulkMethod);
    const plan = framework.deserializer(all).planFor(meta);
    const readKey = itemKeyReader(plan);
    const seen = new Set<string>();
    return mapInTurns(items, (item, index) => {
      const refuse = (reason: string) => ofItem(problem('invalid_list', { reason }), index);
      const read = readKey(item);
      if (!read) throw refuse(`an item has no ${keyNamesOf(plan)}`);
      const { _if_match: tag, ...body } = item;
      if (tag !== undefined && typeof tag !== 'string') throw refuse('"_if_match" of an item must be an ETag, as a string');
      const { key } = read;
      if (key === undefined) throw ofItem(missing(this.#api, request), index);
      if (seen.has(String(key))) throw ofItem(problem('duplicate_item'), index);
      seen.add(String(key));
      const own = tag === undefined ? headers : { ...headers, 'if-match': tag };
      const params = { ...(request.params as object), id: String(key) };
      return { key, request: itemRequest(request, { body, params, headers: own }) };
    });
  }

  async #create(
    request: ApiRequest,
    bodies: readonly Record<string, unknown>[],
    store: WriteStore,
    format: string,
  ): Promise<JsonReply> {
    const api = this.#api;
    refusePrecondition(api, request);
    if (bodies.length === 0) return reply([], 201, format);
    const state = stateOf(request, api.framework.mapper);
    const items = await mapInTurns(bodies, (body) => itemRequest(request, { body }));
    const errors = new ItemErrors();
    const rows = store.rowsFor(request);
    const inserted = rows
      ? await this.#insertsOf(rows).create(request, await mapInTurns(items, (item) => this.#newItem(item)), errors)
      : notPlain;
    if (inserted !== notPlain) return reply(inserted, 201, format);
    const created = await untilCommit(state, async () => {
      const made = await this.#entities.create(request, async () => {
        const entities: object[] = [];
        const { em } = state;
        await api.framework.deserializer(groupsOf(request, api.framework.mapper)).load(api.meta, bodies, {
          em,
          request,
          nested: api.nested,
        });
        await errors.each(items, async (item, index) => {
          entities[index] = await makeEntity(api, item);
        });
        errors.throwIfAny();
        return entities;
      });
      await this.#afterCommit('_index', items, made);
      return made;
    });
    await this.#beforeSerialize('_index', items, created, (entity) => new JsonReply(entity, { status: 201 }));
    return reply(created, 201, format);
  }

  async #change(request: ApiRequest, items: readonly RowItem[], format: string): Promise<JsonReply> {
    const api = this.#api;
    const { framework } = api;
    const state = stateOf(request, framework.mapper);
    const restriction = await restrictionOf(api, '_entity', request);
    const keys = items.map(({ key }) => key);
    const changed = await untilCommit(state, async () => {
      const groupsAt = (index: number | null) =>
        groupsOf(index === null ? request : (items[index] as RowItem).request, framework.mapper);
      const entities = await this.#entities.change(request, keys, restriction, groupsAt, async (found) => {
        const errors = new ItemErrors();
        const rows = await this.#admitted(items, found, errors);
        if (items.length > 1) {
          const bodies = items.map((item) => item.request.body);
          const edited = rows.map(({ entity }) => entity);
          await framework.deserializer(groupsAt(0)).load(api.meta, bodies, { em: state.em, request }, edited);
        }
        await errors.each(items, async ({ request: item }, index) => {
          const { entity } = rows[index] as Found;
          const scope = { em: state.em, request: item };
          const body = item.body as Record<string, unknown>;
          const groups = groupsOf(item, framework.mapper);
          const { violations } = await framework.deserializer(groups).update(entity, body, 'patch', scope);
          await validated(api, '_entity', item, entity, violations);
        });
        errors.throwIfAny();
        return rows.map(({ entity }) => entity);
      });
      await this.#afterCommit(
        '_entity',
        items.map((item) => item.request),
        entities,
      );
      return entities;
    });
    await this.#beforeSerialize(
      '_entity',
      items.map((item) => item.request),
      changed,
      (entity) => entity,
    );
    const groups = items.map(({ request: item }, index) => [changed[index] as object, groupsOf(item, framework.mapper)] as const);
    return reply(changed, 200, format, new Map(groups));
  }

  async #remove(request: ApiRequest, items: readonly RowItem[]): Promise<JsonReply> {
    const api = this.#api;
    const state = stateOf(request, api.framework.mapper);
    const restriction = await restrictionOf(api, '_entity', request);
    const keys = items.map(({ key }) => key);
    await untilCommit(state, async () => {
      const removed = await this.#entities.remove(request, keys, restriction, async (found) => {
        const errors = new ItemErrors();
        const rows = await this.#admitted(items, found, errors);
        await errors.each(items, ({ request: item }, index) => this.#checkItem(item, (rows[index] as Found).entity));
        return rows.map(({ entity }) => entity);
      });
      await this.#afterCommit(
        '_entity',
        items.map((item) => item.request),
        removed,
      );
    });
    return new BulkReply(undefined, 204);
  }

  /** The rows of all items, after access to each was granted, its groups were decided, and its precondition was checked. */
  async #admitted(items: readonly RowItem[], found: ReadonlyMap<string, Found>, errors: ItemErrors): Promise<readonly Found[]> {
    const api = this.#api;
    const { framework } = api;
    const [first] = items;
    if (!first) return [];
    const method = first.request.method as BulkMethod;
    const guard = api.itemGuardOf(method);
    const grants = api.grantsOf('_index', method);
    const { em } = stateOf(first.request, framework.mapper);
    await framework.paths.loadAll(
      [...found.values()].map(({ entity }) => entity),
      [...guard.loads, ...grants.loads],
      em,
    );
    const rows: Found[] = [];
    await errors.each(items, async ({ key, request }) => {
      const row = found.get(String(key));
      if (!row) throw missing(api, request);
      await admitFound(api, '_entity', request, row, guard);
      setItemGroups(request, await grants.ofEntity(request, row.entity));
      requirePrecondition(api, request);
      checkPrecondition(api, request, row);
      rows.push(row);
    });
    return rows;
  }

  #checkItem(item: ApiRequest, entity: object): void {
    const { mapper } = this.#api.framework;
    const plan = this.#api.framework.deserializer(groupsOf(item, mapper)).planFor(metaOfEntity(mapper, entity));
    checkItem(plan, item.body as Record<string, unknown>, entity);
  }

  #newItem(request: ApiRequest) {
    return { request, check: (entity: object) => validated(this.#api, '_index', request, entity) };
  }

  #insertsOf(rows: NonNullable<ReturnType<WriteStore['rowsFor']>>): RowInserts {
    const known = this.#inserts.get(rows) ?? new RowInserts(rows);
    this.#inserts.set(rows, known);
    return known;
  }

  async #afterCommit(action: string, items: readonly ApiRequest[], entities: readonly object[]): Promise<void> {
    const { framework, hooks, overrides } = this.#api;
    if (!overrides.has('afterCommit')) return;
    for (const [index, item] of items.entries()) {
      const state = stateOf(item, framework.mapper);
      await runAfterCommit(state, () => hooks.afterCommit(action, item, entities[index] as object));
    }
  }

  async #beforeSerialize(
    action: string,
    items: readonly ApiRequest[],
    entities: readonly object[],
    shown: (entity: object) => unknown,
  ): Promise<void> {
    const { hooks, overrides } = this.#api;
    if (!overrides.has('beforeSerialize')) return;
    for (const [index, item] of items.entries()) {
      await runHook(hooks.beforeSerialize(action, item, shown(entities[index] as object)));
      if (isTurnLong()) await nextTurn();
    }
  }
}

/** Formats with lines have a line for each row. */
function reply(
  results: readonly object[] | FoundRows,
  status: number,
  format: string,
  groupsOfRows?: ReadonlyMap<object, ActiveGroups>,
): BulkReply {
  const isList = results instanceof FoundRows || isExport(format);
  return new BulkReply(isList ? results : { count: results.length, results }, status, groupsOfRows);
}
