// @module-tag divided
import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest, Authenticator, type User, Voter } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { Random, seed } from '../support/random.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

type Any = any;

const requests = Number(process.env.FC_RUNS ?? 1) * 50;

/** The request that runs, as an application knows it without Declarest. */
const context = new AsyncLocalStorage<string>();
const faults: string[] = [];
/** Calls of application code, by request. */
const calls = new Map<string, string[]>();
/** The entity manager of each request. */
const managers = new Map<string, object>();
/** Work that outlives its request. */
const background = new Set<Promise<unknown>>();
let app: TestApplication;
let random: Random;
let inner = 0;

const idOf = (request: ApiRequest) => String(request.headers['x-id'] ?? '');

/** Waits in one of the ways in which applications wait, or not at all. */
async function pause(em: Any): Promise<void> {
  const ways = [
    () => undefined,
    () => Promise.resolve(),
    () => setImmediate(),
    () => sleep(random.below(3)),
    () => new Promise<void>((resolve) => process.nextTick(resolve)),
    () => em?.fork().find(Tag, {}),
    () => em && Promise.all([em.fork().count(Tag), em.fork().find(Tag, { id: 1 }), sleep(1)]),
  ];
  await random.of(ways)();
}

/** Records a call of application code, and checks for which request it runs. */
async function probe(where: string, request: ApiRequest | null, controller: ApiController<Any> | null): Promise<void> {
  const id = context.getStore() ?? '';
  calls.set(id, [...(calls.get(id) ?? []), where]);
  const check = (when: string) => {
    const note = (text: string) => faults.push(`${id} ${where} ${when}: ${text}`);
    if (context.getStore() !== id) note(`the application's own context is ${context.getStore()}`);
    if (request && idOf(request) !== id) note(`gets the request ${idOf(request)}`);
    if (request && (request.user as Any)?.id !== `user ${id}`) note(`gets the user ${JSON.stringify(request.user)}`);
    if (!controller) return;
    const { em } = controller;
    if (!managers.has(id)) managers.set(id, em);
    if (managers.get(id) !== em) note('gets another entity manager');
  };
  check('at first');
  await pause(controller?.em);
  check('after a pause');
  // sends requests of its own, some of which it does not wait for; one that writes could wait for the transaction around it
  if (inner > 0 && random.chance(0.15)) {
    inner--;
    const sent = send(`${id}.${inner}`, random.of(['list', 'get', 'mine']), random.of(paths), 1);
    if (random.chance(0.5)) await sent;
    else background.add(sent);
    check('after a request of its own');
  }
  if (controller && random.chance(0.2)) {
    const { em } = controller;
    background.add(
      sleep(random.below(20)).then(() =>
        em
          .fork()
          .find(Tag, {})
          .then(() => check('in the background')),
      ),
    );
  }
}

const Tag: Any = defineEntity({
  name: 'Tag',
  properties: { id: p.integer().primary().groups('read'), owner: p.string().default('all') },
});
const NoteSchema: Any = defineEntity({
  name: 'Note',
  properties: {
    id: p.integer().primary().groups('read'),
    title: p.string().groups('read', 'write'),
    owner: p.string().groups('read', 'write'),
    tag: () => p.manyToOne(Tag).nullable().groups('read', 'write'),
    tags: () => p.manyToMany(Tag).groups('read', 'write'),
    reader: p.string().persist(false).groups('read'),
  },
} as never);
class Note extends NoteSchema.class {
  get reader() {
    return context.getStore() ?? '';
  }
  async validate() {
    await probe('model.validate', null, null);
    return [];
  }
}
NoteSchema.setClass(Note);

class HeaderAuthenticator extends Authenticator {
  override async authenticate(request: Any): Promise<User | null> {
    await pause(null);
    const id = request.headers['x-id'];
    return id ? { id: `user ${id}`, roles: [] } : null;
  }
}

class CallerVoter extends Voter<Any> {
  static override roles = ['CALLER'];
  override async vote(_role: string, subject: Any, user: User | null, request: Any) {
    await probe('vote', request, null);
    if (user?.id !== `user ${context.getStore()}`) faults.push(`${context.getStore()}: the voter gets ${user?.id}`);
    return !subject?.owner || subject.owner === 'all' || subject.owner === user?.id ? ('grant' as const) : ('deny' as const);
  }
}

class RestrictedController extends ApiController<Any> {
  override async customizeQuery(_action: string, request: ApiRequest, query: Any) {
    await probe('customizeQuery', request, this);
    query.andWhere({ owner: { $in: ['all', `user ${idOf(request)}`] } });
  }
}

class HookedController extends RestrictedController {
  override async afterFetch(_action: string, request: ApiRequest) {
    await probe('afterFetch', request, this);
  }
  override async afterAccessCheck(_action: string, request: ApiRequest) {
    await probe('afterAccessCheck', request, this);
  }
  override async beforeValidation(_action: string, request: ApiRequest) {
    await probe('beforeValidation', request, this);
  }
  override async afterValidation(_action: string, request: ApiRequest) {
    await probe('afterValidation', request, this);
  }
  override async afterCommit(_action: string, request: ApiRequest) {
    await probe('afterCommit', request, this);
  }
  override async beforeSerialize(_action: string, request: ApiRequest) {
    await probe('beforeSerialize', request, this);
  }
  async markApi(id: number, request: ApiRequest) {
    await probe('handler', request, this);
    const [note] = await Promise.all([this.getEntity('mark', id, request), this.em.count(Tag)]);
    (note as Any).title += '!';
    await probe('handler', request, this);
    await this.em.flush();
    return note;
  }
  async mineApi(request: ApiRequest) {
    await probe('handler', request, this);
    const query = await this.query('mine', request);
    return { count: await query.getCount() };
  }
}

const actions = {
  _index: { methods: { GET: true, POST: true } },
  _entity: { methods: { GET: true, PATCH: true, DELETE: true } },
  tags: { methods: { POST: true, DELETE: true }, association: { property: 'tags', types: [Tag] } },
} as const;
const custom = {
  mark: { methods: { POST: true } },
  mine: { methods: { GET: true }, 'single-collection': 'collection' },
} as const;
const kinds = ['list', 'get', 'create', 'change', 'remove', 'link', 'mark', 'mine', 'throw'] as const;
const paths = ['plain', 'restricted', 'hooked'] as const;

/** What a request of a kind calls if no other runs at the same time. */
const expectedCalls = new Map<string, string>();

async function send(
  id: string,
  kind: (typeof kinds)[number] = random.of(kinds),
  path: (typeof paths)[number] = random.of(paths),
  note = 0,
): Promise<void> {
  const owner = `user ${id}`;
  const own = kind === 'mark' || kind === 'mine' ? 'hooked' : path;
  const inject = (method: string, url: string, payload?: object) =>
    context.run(
      id,
      async () =>
        // it is sent when it is awaited
        await app.app.inject({ method: method as Any, url, headers: { 'x-id': id }, ...(payload && { payload }) }),
    );
  const em = app.application.mapper.em.fork() as Any;
  const row =
    note === 0 && em.create(Note, { title: id, owner: kind === 'throw' ? 'somebody else' : owner, tag: 1, tags: [1, 2] });
  await context.run(`${id} seed`, () => em.flush());
  const url = `/${own}/${row ? row.id : note}`;
  const requestOf = {
    list: ['GET', `/${own}.json?items_per_page=3&sort=-id`],
    get: ['GET', `${url}.json`],
    create: ['POST', `/${own}.json`, { title: 'a', owner, tag: { id: 1 } }],
    change: ['PATCH', `${url}.json`, { title: 'b', tag: { id: 2 } }],
    remove: ['DELETE', `${url}.json`],
    link: ['POST', `${url}/tags.json`, { id: 3 }],
    mark: ['POST', `${url}/mark.json`, {}],
    mine: ['GET', '/hooked/mine.json'],
    throw: ['PATCH', `${url}.json`, { title: 'c' }],
  }[kind] as [string, string, object?];
  const { statusCode, body } = await inject(...requestOf);
  const statuses = { create: 201, remove: 204, throw: own === 'plain' ? 403 : 404 } as Record<string, number>;
  // a list also has notes of others, which the voter denies only for single ones
  if (statusCode !== (statuses[kind] ?? 200)) faults.push(`${id} ${kind} ${url}: ${statusCode} ${body}`);
  for (const reader of body.matchAll(/"reader":"([^"]*)"/g))
    if (reader[1] !== id) faults.push(`${id} ${kind}: serialized for ${reader[1]}`);
  if (own !== 'plain' && kind === 'list')
    for (const [, name] of body.matchAll(/"owner":"([^"]*)"/g))
      if (name !== owner && name !== 'all') faults.push(`${id}: sees a note of ${name}`);
  const made = (calls.get(id) ?? []).join();
  const expected = expectedCalls.get(`${own} ${kind}`);
  if (expected === undefined) expectedCalls.set(`${own} ${kind}`, made);
  else if (made !== expected) faults.push(`${id} ${own} ${kind}: calls ${made} instead of ${expected}`);
}

describe.each(databases.flatMap((kind) => [true, false].map((compiledReads) => ({ kind, compiledReads }))))(
  'application code on $kind, compiled: $compiledReads',
  ({ compiledReads, kind }) => {
    let database: FreshDatabase;
    beforeAll(async () => {
      database = await freshDatabase(kind);
      const api = (name: string, controller?: typeof RestrictedController) => ({
        class: Note,
        base_path: `/${name}`,
        base_role: 'CALLER',
        sort: ['id'],
        ...(controller && { controller }),
        actions: controller === HookedController ? { ...actions, ...custom } : actions,
      });
      app = await startApplication({
        models: [Tag, Note],
        controllers: [RestrictedController, HookedController],
        voters: [CallerVoter],
        authenticators: [HeaderAuthenticator],
        compiledReads,
        app_main: {
          database: { url: database.url, schema: 'update' },
          security: { authenticator: HeaderAuthenticator },
          apis: {
            plain: api('plain'),
            restricted: api('restricted', RestrictedController),
            hooked: api('hooked', HookedController),
            tag: { class: Tag, base_path: '/tag', controller: RestrictedController, actions: { _entity: null } },
          },
        },
        seed: async (em: Any) => {
          for (const id of [1, 2, 3]) em.create(Tag, { id });
          em.create(Note, { title: 'first', owner: 'all', tag: 1, tags: [1, 2] });
          await em.flush();
        },
      } as Any);
    });
    afterAll(async () => {
      await app?.close();
      await database?.drop();
    });

    test('runs for its own request, once for each step, whatever it awaits and whichever requests it sends', {
      timeout: 600_000,
    }, async () => {
      random = new Random(seed);
      for (const each of [expectedCalls, managers, calls]) each.clear();
      faults.length = 0;
      inner = 0;
      for (const each of kinds) for (const path of paths) await send(`first ${each} ${path}`, each, path);
      expect(faults.slice(0, 9)).toEqual([]);
      inner = requests / 3;
      for (let i = 0; i < requests; i += 25) await Promise.all(Array.from({ length: 25 }, (_, j) => send(`${i + j}`)));
      while (background.size > 0) {
        const waiting = [...background];
        background.clear();
        await Promise.all(waiting);
      }
      expect({ seed, faults: faults.slice(0, 5), count: faults.length }).toEqual({ seed, faults: [], count: 0 });
      expect(calls.size).toBeGreaterThan(requests);
    });
  },
);
