import { type EntityMetadata, raw } from '@mikro-orm/core';
import { compileGuard } from '../../src/access/guard.ts';
import type { ApiRequest } from '../../src/access/user.ts';
import { EntityExport } from '../../src/actions/export/entity-export.ts';
import { answerOf } from '../../src/actions/respond.ts';
import { hidingClasses } from '../../src/actions/start/check-lists.ts';
import { type Compilers, compileApi } from '../../src/actions/start/compile-api.ts';
import { planLink } from '../../src/actions/start/plan-links.ts';
import { planWrite } from '../../src/actions/start/plan-writes.ts';
import { type ApiRuntime, Framework, visibleQuery } from '../../src/actions/start/runtime.ts';
import { loadApplication } from '../../src/application.ts';
import { accessorsFor } from '../../src/change/accessors.ts';
import { addOrRemove, loadTouched } from '../../src/change/add-remove.ts';
import { conflictProblem } from '../../src/change/conflict.ts';
import { countLinks } from '../../src/change/link-versions.ts';
import { createCursors, createExecutor, createWriter } from '../../src/database/create-connections.ts';
import { prepareDatabase } from '../../src/database/prepare-database.ts';
import type { ActionDeclaration } from '../../src/declaration/types.ts';
import { Problem } from '../../src/errors.ts';
import { ApiController, type CodeOptions } from '../../src/index.ts';
import { activeGroups } from '../../src/model/groups.ts';
import type { Identifier } from '../../src/model/identifier.ts';
import { restrictedQuery } from '../../src/query/entities/restriction.ts';
import { textMatching } from '../../src/query/list/text-matching.ts';
import { CompiledRead } from '../../src/query/rows/compiled-read.ts';
import { rootFiltersOf } from '../../src/query/rows/root-filter.ts';
import { RowChanged } from '../../src/query/rows/row-version.ts';
import type { Window } from '../../src/query/rows/seek/seek-plan.ts';
import { Visibility } from '../../src/query/visibility/visibility.ts';
import { lineOf } from '../../src/serialization/formats.ts';
import type { LinkStore } from '../../src/store/link-store.ts';
import type { Admission, Found, Restriction } from '../../src/store/port.ts';
import { stateOf, withState } from '../../src/store/request-state.ts';
import { RowStore } from '../../src/store/row-store.ts';
import type { WriteStore } from '../../src/store/write-store.ts';
import type { DatabaseKind } from '../support/databases.ts';
import { Center, Item, Revised, rows, Tag } from './contract-models.ts';

type Any = any;

export const storeKinds = ['rows', 'entities'] as const;
export type StoreKind = (typeof storeKinds)[number];

/** What a form of restriction has to work with. */
interface Restricting {
  readonly query: Any;
  readonly em: Any;
}

interface Form {
  readonly restrict: ((given: Restricting) => unknown) | null;
  /** The items that it leaves, in the order of the list. */
  readonly leaves: readonly number[];
  /** The only database that takes it. */
  readonly only?: DatabaseKind;
}

const open = { open: true };
const visible = [4, 2, 1];

/** Every shape that `customizeQuery` can give a query. Lists are ordered by name, which is the other way round than by key. */
export const forms = {
  none: { restrict: null, leaves: [4, 3, 2, 1] },
  condition: { restrict: ({ query }) => void query.andWhere(open), leaves: visible },
  'raw condition': { restrict: ({ query }) => void query.andWhere('e.num < ?', [30]), leaves: [2, 1] },
  'list of values': { restrict: ({ query }) => void query.andWhere({ id: { $in: [1, 4] } }), leaves: [4, 1] },
  'to-one join': {
    restrict: ({ query }) => void query.leftJoin('e.center', 'c').andWhere({ 'c.name': 'north' }),
    leaves: [4, 1],
  },
  'to-many join': { restrict: ({ query }) => void query.leftJoin('e.tags', 't').andWhere({ 't.open': true }), leaves: visible },
  'to-many condition': { restrict: ({ query }) => void query.andWhere({ tags: open }), leaves: visible },
  group: {
    restrict: ({ query }) => void query.leftJoin('e.tags', 't').groupBy('e.id').having('count(t.id) > ?', [1]),
    leaves: [2, 1],
  },
  limit: { restrict: ({ query }) => void query.andWhere(open).limit(2), leaves: [4, 2] },
  distinct: { restrict: ({ query }) => void query.select('*', true).andWhere(open), leaves: visible },
  'another builder': { restrict: ({ em }) => em.createQueryBuilder(Item, 'e').where(open), leaves: visible },
  'another alias': { restrict: ({ em }) => em.createQueryBuilder(Item, 'mine').where(open), leaves: visible },
  clone: { restrict: ({ query }) => query.clone().andWhere(open), leaves: visible },
  'sub-select': {
    restrict: ({ query }) => void query.andWhere({ id: { $in: raw('select id from item where open = ?', [true]) } }),
    leaves: visible,
  },
  // the mapper writes unions in brackets, which SQLite does not take
  union: {
    restrict: ({ em }) => {
      const one = (id: number) => em.createQueryBuilder(Item, 'e').where({ id });
      return one(1).unionAll(one(4));
    },
    leaves: [4, 1],
    only: 'postgresql',
  },
  nothing: { restrict: ({ query }) => void query.andWhere({ id: -1 }), leaves: [] },
} satisfies Record<string, Form> as Record<string, Form>;

class CenterController extends ApiController<Any> {
  override customizeQuery(_action: string, _request: ApiRequest, query: Any) {
    query.andWhere(open);
  }
}

class TagController extends ApiController<Any> {
  override customizeQuery(_action: string, _request: ApiRequest, query: Any) {
    query.andWhere({ name: { $ne: 'secret' } });
  }
}

/** Only says that the controller restricts queries: the tests make the restrictions themselves. */
class ItemController extends ApiController<Any> {
  override customizeQuery() {
    return undefined;
  }
}

function optionsFor(url: string): CodeOptions {
  const _index = { methods: { GET: true, POST: true } };
  const _entity = { methods: { GET: true, PATCH: true, DELETE: true } };
  return {
    app_main: {
      apis: {
        item: {
          class: Item,
          base_path: '/item',
          controller: ItemController,
          sort: ['name'],
          default_sort: ['-name'],
          filters: { num: ['eq', 'lt'], 'center.name': ['eq'] },
          actions: {
            _index,
            _entity,
            tags: { association: { property: 'tags' }, methods: { POST: true, DELETE: true } },
          },
        },
        revised: { class: Revised, base_path: '/revised', actions: { _index, _entity } },
        center: { class: Center, base_path: '/center', controller: CenterController, actions: { _index, _entity } },
        tag: { class: Tag, base_path: '/tag', controller: TagController, actions: { _index, _entity } },
      },
      database: { url, schema: 'update' },
    } as Any,
    models: [Center, Tag, Item, Revised],
    controllers: [CenterController, TagController, ItemController],
  };
}

/** The parts of one API that are behind the port, of one kind, with what the tests need around them. */
export class Stores {
  readonly kind: StoreKind;
  readonly #application: Awaited<ReturnType<typeof loadApplication>>;
  readonly #compilers: Compilers;
  readonly #runtimes: ReadonlyMap<string, ApiRuntime>;
  readonly #reads = new Map<string, RowStore>();
  #isDirty = true;

  private constructor(
    kind: StoreKind,
    application: Awaited<ReturnType<typeof loadApplication>>,
    compilers: Compilers,
    runtimes: ReadonlyMap<string, ApiRuntime>,
  ) {
    this.kind = kind;
    this.#application = application;
    this.#compilers = compilers;
    this.#runtimes = runtimes;
  }

  static async open(kind: StoreKind, url: string): Promise<Stores> {
    const application = await loadApplication(optionsFor(url));
    const { declaration, mapper, records, voters } = application;
    await prepareDatabase(mapper, declaration.database, { seed: null });
    countLinks(mapper);
    const compilers: Compilers = {
      executor: createExecutor(mapper, {}, { bytes: Number.POSITIVE_INFINITY }),
      cursors: createCursors(mapper, {}),
      writer: createWriter(mapper, {}),
      filters: await rootFiltersOf(mapper, declaration.apis),
      listOptions: { isHiding: hidingClasses(declaration.apis, mapper), matching: await textMatching(mapper, declaration.apis) },
      observer: undefined,
      bodies: new Map(),
    };
    const visibility = new Visibility<ApiRequest>();
    const executor = kind === 'rows' ? compilers.executor : null;
    const framework = new Framework(mapper, declaration, {
      visibility,
      executor,
      denormalizers: new Map(),
      surroundings: { directory: '.', production: false },
      prefix: '',
    });
    const runtimes = new Map<string, ApiRuntime>();
    for (const api of declaration.apis) {
      const guardFor = (roles: readonly string[]) => compileGuard(roles, voters);
      const { runtime } = compileApi(api, records, framework, guardFor, compilers, application.create);
      visibility.add(runtime.rule());
      runtimes.set(api.name, runtime);
    }
    return new Stores(kind, application, compilers, runtimes);
  }

  async close(): Promise<void> {
    const { cursors, executor, writer } = this.#compilers;
    await Promise.all([cursors.close(), executor.close(), writer.close()]);
    await this.#application.mapper.close();
  }

  /** Runs SQL as somebody else. */
  execute(sql: string): Promise<Any> {
    if (!sql.startsWith('select')) this.#isDirty = true;
    return this.#application.mapper.em.fork().execute(sql);
  }

  /** Puts the rows into their first state, unless nothing was written since. */
  async restore(): Promise<void> {
    if (!this.#isDirty) return;
    await this.#application.mapper.em.fork().transactional(async (em) => {
      for (const sql of rows) await em.execute(sql);
    });
    this.#isDirty = false;
  }

  em(request: ApiRequest): Any {
    return stateOf(request, this.#application.mapper).em;
  }

  /** The restriction of a form, made for one request. */
  async restriction(request: ApiRequest, { restrict }: Form): Promise<Restriction> {
    if (!restrict) return null;
    const { em } = stateOf(request, this.#application.mapper);
    return restrictedQuery(
      () => em,
      this.#api('item').meta,
      (query) => restrict({ query, em }),
    );
  }

  /** Why a row cannot be written as it was checked: `changed`, or the status of the problem. */
  failure(error: unknown): 'changed' | number {
    if (error instanceof RowChanged) return 'changed';
    const found = error instanceof Problem ? error : conflictProblem(error, this.#application.mapper, defaultGroups);
    if (!found) throw error;
    return found.status;
  }

  find(request: ApiRequest, key: Identifier, restriction: Restriction, api = 'item'): Promise<Found | null> {
    return withState(stateOf(request, this.#application.mapper), () => this.#read(api).find(request, key, restriction));
  }

  async page(request: ApiRequest, restriction: Restriction, window: Window) {
    const runtime = this.#api('item');
    const list = runtime.listOf('_index', defaultGroups);
    const asked = list.read(request.query as never, []);
    const listed = { asked: await visibleQuery(runtime, request, asked), plan: list.planOf(asked), window };
    const page = await this.#read('item').page(request, restriction, listed);
    const json = await page.json();
    const results = json === null ? await this.shown(request, page.entities) : JSON.parse(`[${json}]`);
    return { count: page.counted.count, results };
  }

  async walk(request: ApiRequest, restriction: Restriction): Promise<Any[]> {
    const runtime = this.#api('item');
    const list = runtime.listOf('_index', defaultGroups);
    stateOf(request, this.#application.mapper).groups = defaultGroups;
    const asked = list.readWhole(request.query as never, []);
    const listed = { asked: await visibleQuery(runtime, request, asked), plan: list.planOf(asked) };
    const read = this.#read('item');
    const source =
      read instanceof RowStore
        ? await read.walk(request, restriction, listed, { columns: null })
        : await EntityExport.open(runtime, request, restriction, listed, lineOf(null, null));
    const lines: string[] = [];
    try {
      for (let text = await source.next(); text !== null; text = await source.next()) lines.push(text);
    } finally {
      await source.close();
    }
    return lines
      .join('')
      .trim()
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  }

  /** Reads the row that is to be written. */
  checked(request: ApiRequest, key: Identifier, restriction: Restriction, method: Method = 'PATCH', api = 'item') {
    const store = method === 'POST' ? this.#links('POST') : this.#writes(method, api);
    return store.find(request, key, restriction);
  }

  async create(request: ApiRequest, api = 'item'): Promise<Any> {
    const { framework, meta } = this.#api(api);
    const written = await this.#writes('POST', api).create(request, {
      make: async () => {
        const { entity } = await framework
          .deserializer(defaultGroups)
          .create([meta], request.body as never, this.#scope(request));
        return entity;
      },
      check: async () => undefined,
    });
    return this.shown(request, written, api);
  }

  async change(request: ApiRequest, admission: Admission, api = 'item'): Promise<Any> {
    const { framework } = this.#api(api);
    const written = await this.#writes('PATCH', api).change(request, admission, {
      apply: async (entity) => {
        await framework.deserializer(defaultGroups).update(entity, request.body as never, 'patch', this.#scope(request));
      },
      check: async () => undefined,
      mode: 'patch',
    });
    return written && this.shown(request, written, api);
  }

  async remove(request: ApiRequest, admission: Admission, api = 'item'): Promise<boolean> {
    return (await this.#writes('DELETE', api).remove(request, admission)) !== null;
  }

  async link(request: ApiRequest, admission: Admission, what: 'add' | 'remove'): Promise<Any> {
    const { framework, meta } = this.#api('item');
    const targets = [framework.mapper.getMetadata().get(Tag as never) as EntityMetadata];
    const accessors = accessorsFor(meta, 'tags', targets[0] as EntityMetadata);
    const linked = await this.#links(what === 'add' ? 'POST' : 'DELETE').change(request, admission, what, {
      resolve: async (entity) => {
        const { em } = this.#scope(request);
        const item = await framework.associations.item(meta, 'tags', targets, request.body, { em, request }, '');
        await loadTouched(em, entity, item, accessors);
        return item;
      },
      apply: (entity, item) => addOrRemove(entity, item, accessors, what),
    });
    return linked && this.shown(request, linked.result, 'tag');
  }

  /** What a caller is shown of rows or entities. */
  async shown(request: ApiRequest, value: unknown, api = 'item'): Promise<Any> {
    const { framework, grantsOf, meta } = this.#api(api);
    const { body } = await answerOf(framework, request, value, 'json', { model: meta, grants: grantsOf('_index', 'GET') });
    return JSON.parse(body as string);
  }

  #scope(request: ApiRequest) {
    return { em: stateOf(request, this.#application.mapper).em, request };
  }

  #api(name: string): ApiRuntime {
    return this.#runtimes.get(name) as ApiRuntime;
  }

  #read(name: string): RowStore | ApiRuntime['entities'] {
    const runtime = this.#api(name);
    const { api, entities, framework, listOf, meta } = runtime;
    if (this.kind === 'entities') return entities;
    const known = this.#reads.get(name);
    if (known) return known;
    const { cursors, executor, filters } = this.#compilers;
    const read = CompiledRead.compile(
      framework.mapper,
      meta,
      framework.serializer(defaultGroups).planFor(meta),
      api.defaultSort,
      executor,
      {
        seek: listOf('_index', defaultGroups).plan.seek,
        count: api.pagination.count,
        withSubject: true,
        withVersion: true,
        filter: filters.get(meta),
        isLimited: (embedded) => framework.visibility.limitsOf(embedded).length > 0,
        embed: framework.serializer(defaultGroups).embed,
      },
    );
    if (!(read instanceof CompiledRead)) throw new Error(`${name} is not read by statements: ${read.needsEntity}`);
    const visibilityOf = (request: ApiRequest) => framework.visibilityOf(request);
    const store = new RowStore(framework.mapper, meta, read, { sort: api.defaultSort, entities, visibilityOf, cursors });
    this.#reads.set(name, store);
    return store;
  }

  #writes(method: 'POST' | 'PATCH' | 'DELETE', name: string): WriteStore {
    this.#isDirty = true;
    const runtime = this.#api(name);
    if (this.kind === 'entities') return runtime.entityWrites;
    const { reason, store } = planWrite(
      runtime,
      method === 'POST' ? '_index' : '_entity',
      method,
      this.#compilers,
      defaultGroups,
    );
    if (reason && name !== 'revised') throw new Error(`${name} is not written by statements: ${reason}`);
    return store;
  }

  #links(method: 'POST' | 'DELETE'): LinkStore {
    this.#isDirty = true;
    const runtime = this.#api('item');
    if (this.kind === 'entities') return runtime.entityLinks;
    const action = runtime.api.actions.find(({ name }) => name === 'tags') as ActionDeclaration;
    const { reason, store } = planLink(runtime, action, method, this.#compilers, defaultGroups);
    if (reason) throw new Error(`tags are not linked by statements: ${reason}`);
    return store;
  }
}

type Method = 'POST' | 'PATCH' | 'DELETE';

const defaultGroups = activeGroups({
  read: [{ name: 'read', role: null, path: null }],
  write: [{ name: 'write', role: null, path: null }],
});

/** A request as far as stores look at it. */
export function requestOf(body: unknown = undefined, query: Record<string, string> = {}): ApiRequest {
  return { method: 'PATCH', url: '/', headers: {}, params: {}, query, body } as unknown as ApiRequest;
}
