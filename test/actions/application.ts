import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { type HookName, hookNames } from '../../src/actions/hooks.ts';
import { ApiController, type ApiRequest, Authenticator, type User, type Vote, Voter } from '../../src/index.ts';
import { type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

type Any = any;

/** What the application was asked to do during a request, and what it does for the next one. */
export const app = {
  calls: [] as string[],
  /** Runs when the voter is asked about an item. */
  onVote: null as null | ((subject: Any) => unknown),
  /** What the hook of this name returns: a reply, or violations. */
  reply: null as null | HookName,
  /** What the handlers of the application do. */
  handle: null as null | ((controller: Any, id: Any, request: ApiRequest) => unknown),
  reset(): void {
    Object.assign(this, { calls: [], onVote: null, reply: null, handle: null });
  },
};

export const Tag: Any = defineEntity({
  name: 'Tag',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read') },
});

const properties = {
  id: p.integer().primary().groups('read'),
  name: p.string().length(10).groups('read', 'write'),
  code: p.string().unique().groups('read', 'write'),
  num: p.integer().default(0).groups('read', 'write'),
  open: p.boolean().default(true),
  tags: () => p.manyToMany(Tag),
};

export const Item: Any = defineEntity({ name: 'Item', properties } as Any);

/** Has a version that callers do not see. */
export const Revised: Any = defineEntity({
  name: 'Revised',
  properties: { ...properties, revision: p.integer().version() },
} as Any);

/** The user `anna,ROLE_EDITOR` has that id and those roles. */
class HeaderAuthenticator extends Authenticator {
  override authenticate(request: Any): User | null {
    const [id, ...roles] = String(request.headers['x-user'] ?? '').split(',');
    return id ? { id, roles } : null;
  }
}

class ItemVoter extends Voter<Any> {
  static override roles = ['JUDGED'];
  override async vote(_role: string, subject: Any, user: User | null, request: Any): Promise<Vote> {
    app.calls.push(`vote ${subject === null ? null : subject.name} ${user?.id ?? null}`);
    await app.onVote?.(subject);
    return request.headers['x-deny'] ? 'deny' : 'grant';
  }
}

function told(value: Any): string {
  if (value === null || typeof value !== 'object') return String(value);
  if (Array.isArray(value)) return `[${value.map(({ id }) => id)}]`;
  if ('results' in value) return `page [${value.results.map(({ id }: Any) => id)}]`;
  if ('id' in value) return `${value.constructor.name} ${value.id}`;
  return value.constructor.name;
}

/** A controller that has one hook and no other. */
function controllerWith(hook: HookName): Any {
  class HookedController extends ApiController<Any> {
    work(id: unknown, request: ApiRequest) {
      app.calls.push(`handler ${id}`);
      return app.handle?.(this, id, request) ?? { done: true };
    }
    workApi(id: unknown, request: ApiRequest) {
      return this.work(id, request);
    }
    allApi(request: ApiRequest) {
      return this.work(null, request);
    }
  }
  const given = (controller: Any) =>
    app.reply === hook ? controller.json({ by: hook }, { status: 202, headers: { 'x-by': hook } }) : undefined;
  Object.defineProperty(HookedController.prototype, hook, {
    value: async function (this: Any, ...args: Any[]) {
      if (hook === 'validate') {
        app.calls.push(`validate ${told(args[0])}`);
        const violations = app.reply === hook ? [{ propertyPath: 'num', title: 'is wrong' }] : [];
        return [...(await ApiController.prototype.validate.call(this, args[0])), ...violations];
      }
      const [action, , value] = args;
      const shown = hook === 'customizeQuery' ? value.mainAlias.meta.className : told(value);
      app.calls.push(`${hook} ${action} ${shown}`);
      if (hook === 'customizeQuery') value.andWhere({ open: true });
      return given(this);
    },
  });
  return HookedController;
}

class RestrictedController extends ApiController<Any> {
  override customizeQuery(action: string, _request: ApiRequest, query: Any) {
    app.calls.push(`customizeQuery ${action}`);
    query.andWhere({ open: true });
  }
  async workApi(id: unknown, request: ApiRequest) {
    app.calls.push(`handler ${id}`);
    return (await app.handle?.(this, id, request)) ?? { done: true };
  }
}

/** Leaves the first two rows in the order of the list, which is not that of their keys. */
class LimitedController extends ApiController<Any> {
  override customizeQuery(_action: string, _request: ApiRequest, query: Any) {
    query.limit(2);
  }
  allApi(request: ApiRequest) {
    return this.paginate('all', request, this.em.createQueryBuilder(Item, 'i'));
  }
}

class PlainController extends ApiController<Any> {
  async workApi(id: unknown, request: ApiRequest) {
    app.calls.push(`handler ${id}`);
    return (await app.handle?.(this, id, request)) ?? { done: true };
  }
  async allApi(request: ApiRequest) {
    app.calls.push('handler');
    return (await app.handle?.(this, null, request)) ?? { done: true };
  }
}

const writing = { POST: true, DELETE: true };

function actionsWith(roles: Record<string, string> = {}): object {
  const own = (...methods: string[]) =>
    Object.fromEntries(methods.flatMap((method) => (roles[method] ? [[method, roles[method]]] : [])));
  return {
    _index: {
      methods: { GET: true, HEAD: true, POST: true },
      formats: ['json', 'xml', 'csv', 'ndjson'],
      roles: own('POST'),
    },
    _entity: {
      methods: { GET: true, HEAD: true, PATCH: true, PUT: true, DELETE: true },
      formats: ['json', 'xml', 'csv'],
      roles: own('PATCH', 'PUT', 'DELETE'),
    },
    tags: { association: { property: 'tags' }, methods: writing, roles: own('POST', 'DELETE') },
  };
}

const handlers = {
  work: { methods: { GET: true, POST: true } },
  all: { 'single-collection': 'collection', methods: { GET: true, POST: true } },
};

/** The APIs of hooks: one for each, with no other hook than that. */
export const pathOf = (hook: HookName) => `/with-${hook.toLowerCase()}`;

function optionsFor(url: string, names: readonly string[] | undefined): Any {
  const hooked = hookNames.map((hook) => [hook, controllerWith(hook)] as const);
  const changing = Object.fromEntries(['POST', 'PATCH', 'PUT', 'DELETE'].map((method) => [method, 'ROLE_EDITOR']));
  const list = { filters: { num: ['eq', 'lt'] }, sort: ['name', 'num'] };
  const all = {
    ...Object.fromEntries(
      hooked.map(([hook, controller]) => [
        `with_${hook.toLowerCase()}`,
        { class: Item, base_path: pathOf(hook), controller, actions: { ...actionsWith(), ...handlers } },
      ]),
    ),
    plain: { class: Item, base_path: '/plain', controller: PlainController, ...list, actions: { ...actionsWith(), ...handlers } },
    restricted: {
      class: Item,
      base_path: '/restricted',
      controller: RestrictedController,
      ...list,
      actions: { ...actionsWith(), work: handlers.work },
    },
    limited: {
      class: Item,
      base_path: '/limited',
      controller: LimitedController,
      default_sort: ['-name'],
      sort: ['name'],
      actions: { ...actionsWith(), all: handlers.all },
    },
    editors: { class: Item, base_path: '/editors', controller: RestrictedController, actions: actionsWith(changing) },
    judged: {
      class: Item,
      base_path: '/judged',
      base_role: 'JUDGED',
      controller: PlainController,
      actions: { ...actionsWith(), ...handlers },
    },
    revised: { class: Revised, base_path: '/revised', controller: PlainController, actions: { ...actionsWith(), ...handlers } },
    strict: { class: Revised, base_path: '/strict', require_if_match: true, actions: actionsWith() },
    strict_plain: { class: Item, base_path: '/strict-plain', require_if_match: true, actions: actionsWith() },
    revised_judged: { class: Revised, base_path: '/revised-judged', base_role: 'JUDGED', actions: actionsWith() },
  };
  const chosen = Object.entries(all).filter(([name]) => names?.includes(name) ?? true);
  const controllers = new Set(chosen.flatMap(([, api]) => ('controller' in api ? [api.controller] : [])));
  return {
    app_main: {
      apis: Object.fromEntries(chosen),
      formats: ['json', 'xml', 'csv', 'ndjson'],
      server: { base_url: 'https://api.example' },
      security: { role_hierarchy: { ROLE_ADMIN: ['ROLE_EDITOR'] } },
    },
    models: [Tag, Item, Revised],
    controllers: [...controllers],
    voters: [ItemVoter],
    authenticators: [HeaderAuthenticator],
    databaseUrl: url,
  };
}

export interface Running extends TestApplication {
  /** Runs SQL as somebody else. */
  execute(sql: string): Promise<Any>;
  /** Puts the rows into their first state and forgets every call. */
  restore(): Promise<void>;
  rows(table?: string): Promise<Any>;
  send(method: string, path: string, json?: unknown, headers?: Record<string, string>): Promise<Any>;
}

/** New rows have the id 4. */
const rows = ['item', 'revised'].flatMap((table) => {
  const [column, value] = table === 'revised' ? [', revision', ', 1'] : ['', ''];
  return [
    `delete from ${table}_tags`,
    `delete from ${table}`,
    `delete from sqlite_sequence where name = '${table}'`,
    `insert into ${table} (id, name, code, num, open${column}) values
      (1, 'one', 'A', 1, true${value}), (2, 'two', 'B', 2, true${value}), (3, 'three', 'C', 3, false${value})`,
    `insert into ${table}_tags (${table}_id, tag_id) values (1, 1)`,
  ];
});

/** The stores that an application can read and write through: statements if that is possible, or entities always. */
export const stores = [
  { store: 'rows', compiledReads: true },
  { store: 'entities', compiledReads: false },
] as const;

/** What is tested does not depend on the database; `test/store/contract.test.ts` runs on all of them. */
async function start(
  compiledReads: boolean,
  names: readonly string[] | undefined,
): Promise<{ running: Running; stop(): Promise<void> }> {
  const database: FreshDatabase = await freshDatabase('sqlite');
  const started = await startApplication({ ...optionsFor(database.url, names), compiledReads });
  const execute = (sql: string): Promise<Any> => started.application.mapper.em.fork().execute(sql);
  await execute("insert into tag (id, name) values (1, 'red'), (2, 'blue')");
  const running: Running = {
    ...started,
    execute,
    async restore() {
      await started.application.mapper.em.fork().transactional(async (em) => {
        for (const sql of rows) await em.execute(sql);
      });
      app.reset();
      started.statements.length = 0;
    },
    rows: (table = 'item') => execute(`select id, name, code, num from ${table} order by id`),
    send: (method, path, json, headers = {}) =>
      started.request(method, path, { headers, ...(json !== undefined && { json }) }) as Promise<Any>,
  };
  const stop = async () => {
    await started.close();
    await database.drop();
  };
  return { running, stop };
}

/**
 * The application, started for the tests of a file, with its rows in their first state before each. With `names`, it has only
 * these APIs, and starts sooner.
 */
export function useRunning(compiledReads: boolean, names?: readonly string[]): Running {
  const application = {} as Running;
  let stop: (() => Promise<void>) | undefined;
  beforeAll(async () => {
    const started = await start(compiledReads, names);
    Object.assign(application, started.running);
    stop = started.stop;
  });
  afterAll(() => stop?.());
  beforeEach(() => application.restore());
  return application;
}
