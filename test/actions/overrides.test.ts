// @module-tag divided
import { AsyncLocalStorage } from 'node:async_hooks';
import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest, problem, Voter } from '../../src/index.ts';
import { openApiDocument } from '../../src/openapi/document.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

type Any = any;

const Tag = defineEntity({
  name: 'Tag',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read') },
});
const Crate = defineEntity({
  name: 'Crate',
  properties: {
    id: p.integer().primary().groups('read'),
    slug: p.string().groups('read', 'write'),
    note: p.string().default('').groups('read', 'write'),
    isLocked: p.boolean().default(false).groups('read'),
    tags: () => p.manyToMany(Tag).groups('read'),
  },
});
const Shelf = defineEntity({
  name: 'Shelf',
  properties: { id: p.integer().primary().groups('read'), crate: () => p.manyToOne(Crate).groups('read') },
});

const calls: string[] = [];
/** What the controllers do with a check or a load. */
let rule: 'pass' | 'refuse' | 'locked' | 'fork' | 'foreign' = 'pass';
/** Runs once a row was loaded, as somebody else. */
let meanwhile: (() => Promise<unknown>) | null = null;
const asSomebodyElse = AsyncLocalStorage.snapshot();

const handlers = (Base: typeof ApiController<Any>) =>
  class extends Base {
    async openApi(id: unknown, request: ApiRequest) {
      calls.push('openApi');
      const crate = await super.getEntity('open', id, request);
      if (request.method === 'POST') crate.slug = `open ${crate.slug}`;
      await this.em.flush();
      return crate;
    }
    allApi() {
      calls.push('allApi');
      return { done: true };
    }
  };

class CheckedController extends handlers(ApiController) {
  override async checkAccess(action: string, request: ApiRequest, subject: Any): Promise<void> {
    calls.push(`checkAccess ${action} ${subject?.slug ?? null}`);
    await super.checkAccess(action, request, subject);
    if (rule === 'refuse' || (rule === 'locked' && subject?.isLocked)) throw problem('access_denied');
  }
}

class OpenedController extends ApiController<Any> {
  /** Grants whatever the roles say. */
  override async checkAccess(): Promise<void> {
    calls.push('checkAccess');
  }
}

class SlugController extends handlers(ApiController) {
  override async getEntity(action: string, id: unknown, request: ApiRequest): Promise<Any> {
    calls.push(`getEntity ${action} ${id}`);
    if (rule === 'refuse') return super.getEntity(action, 99, request);
    const crate: Any = await this.em.findOne(Crate as Any, { slug: String(id) } as Any);
    const found = await super.getEntity(action, crate?.id ?? 99, request);
    if (meanwhile) await asSomebodyElse(meanwhile);
    return found;
  }
  override customizeQuery() {
    calls.push('customizeQuery');
  }
  async ownApi(id: unknown, request: ApiRequest) {
    return this.getEntity('own', id, request);
  }
}

class OwnController extends handlers(ApiController) {
  override async getEntity(action: string, id: unknown): Promise<Any> {
    calls.push(`getEntity ${action} ${id}`);
    if (rule === 'refuse') return null;
    if (rule === 'foreign') return this.em.findOne(Tag as Any, 1 as Any);
    const em = rule === 'fork' ? this.em.fork() : this.em;
    const found = await em.findOne(Crate as Any, { slug: String(id) } as Any);
    if (meanwhile) await asSomebodyElse(meanwhile);
    return found;
  }
}

/** Hides all rows, so that an API that hides none decides which of them are embedded. */
class HidingController extends ApiController<Any> {
  override customizeQuery(_action: string, _request: ApiRequest, query: Any) {
    query.andWhere({ id: 0 });
  }
}

class NoVoter extends Voter {
  static override roles = ['NOBODY'];
  vote() {
    calls.push('vote');
    return 'deny' as const;
  }
}

const actions = {
  _index: { methods: { GET: true, HEAD: true, POST: true }, formats: ['json', 'ndjson'] },
  _entity: { methods: { GET: true, HEAD: true, PATCH: true, PUT: true, DELETE: true } },
  tags: { association: { property: 'tags' }, methods: { POST: true, DELETE: true } },
};
const custom = {
  open: { methods: { GET: true, POST: true } },
  all: { 'single-collection': 'collection', methods: { GET: true, POST: true } },
};

function optionsFor(url: string, compiledReads: boolean): Any {
  const requirements = { id: '[a-z0-9-]+' };
  const named = Object.fromEntries(
    Object.entries({ ...actions, ...custom }).map(([name, action]) => [
      name,
      name === '_index' || name === 'all' ? action : { ...action, requirements },
    ]),
  );
  return {
    app_main: {
      apis: {
        checked: { class: Crate, base_path: '/checked', controller: CheckedController, actions: { ...actions, ...custom } },
        opened: { class: Crate, base_path: '/opened', base_role: 'NOBODY', controller: OpenedController, actions },
        slug: {
          class: Crate,
          base_path: '/slug',
          controller: SlugController,
          actions: { ...named, own: { methods: { GET: true, POST: true }, requirements } },
        },
        own: { class: Crate, base_path: '/own', controller: OwnController, actions: named },
        shelf: { class: Shelf, base_path: '/shelf', actions: { _index: null, _entity: null } },
      },
      database: { url, schema: 'update' },
    },
    models: [Tag, Crate, Shelf],
    controllers: [CheckedController, HidingController, OpenedController, SlugController, OwnController],
    voters: [NoVoter],
    compiledReads,
  };
}

/** A request to every action of an API, for the row that `id` names. */
const requestsFor = (id: string) =>
  [
    ['GET', '.json', undefined, 200],
    ['HEAD', '.json', undefined, 200],
    ['GET', '.ndjson', undefined, 200],
    ['POST', '.json', { slug: 'new' }, 201],
    ['GET', `/${id}.json`, undefined, 200],
    ['HEAD', `/${id}.json`, undefined, 200],
    ['PATCH', `/${id}.json`, { slug: 'one' }, 200],
    ['PUT', `/${id}.json`, { slug: 'one' }, 200],
    ['POST', `/${id}/tags.json`, { id: 2 }, 200],
    ['DELETE', `/${id}/tags.json`, { id: 2 }, 200],
    ['GET', `/${id}/open.json`, undefined, 200],
    ['POST', `/${id}/open.json`, undefined, 200],
    ['GET', '/all.json', undefined, 200],
    ['POST', '/all.json', undefined, 200],
    ['DELETE', `/${id}.json`, undefined, 204],
  ] as const;

describe.each(databases.flatMap((database) => [true, false].map((compiled) => [database, compiled] as const)))(
  'on %s (compiled: %s), an override of',
  (database, compiledReads) => {
    let fresh: FreshDatabase;
    let app: TestApplication;

    beforeAll(async () => {
      fresh = await freshDatabase(database);
      app = await startApplication(optionsFor(fresh.url, compiledReads));
    });
    afterAll(async () => {
      await app?.close();
      await fresh?.drop();
    });
    beforeEach(async () => {
      rule = 'pass';
      meanwhile = null;
      const em: Any = (app as Any).application.mapper.em.fork();
      for (const model of [Shelf, Crate, Tag]) await em.nativeDelete(model, {});
      for (const id of [1, 2]) em.create(Tag, { id, name: `tag ${id}` });
      if (database === 'postgresql') await em.execute("select setval('crate_id_seq', 100)");
      em.create(Crate, { id: 1, slug: 'one', tags: [1] });
      em.create(Crate, { id: 2, slug: 'two', isLocked: true });
      em.create(Crate, { id: 3, slug: 'three' });
      for (const id of [2, 3]) em.create(Shelf, { id, crate: id });
      await em.flush();
      calls.length = 0;
    });

    const rows = async () => {
      const em: Any = (app as Any).application.mapper.em.fork();
      const crates = await em.find(Crate, {}, { populate: ['tags'], orderBy: { id: 'asc' } });
      return crates.map(({ id, slug, tags }: Any) => [id, slug, tags.getIdentifiers()]);
    };
    const send = (base: string, [method, path, json]: readonly [string, string, unknown, number]) =>
      app.request(method, base + path, json === undefined ? {} : { json });

    test.each(requestsFor('1'))('checkAccess is called once by %s %s, and its decision applies', async (...asked) => {
      const passed = await send('/checked', asked);
      expect(passed.status, passed.text).toBe(asked[3]);
      expect(calls.filter((call) => call.startsWith('checkAccess'))).toHaveLength(1);
      rule = 'refuse';
      calls.length = 0;
      const before = await rows();
      // DELETE above may have removed the row
      if (asked[0] === 'DELETE' && asked[3] === 204) return;
      const refused = await send('/checked', asked);
      expect(refused.status).toBe(403);
      expect(calls.filter((call) => call.startsWith('checkAccess'))).toHaveLength(1);
      expect(calls.filter((call) => call.endsWith('Api'))).toEqual([]);
      expect(await rows()).toEqual(before);
    });

    test('checkAccess gets the row in every action on a single row', async () => {
      rule = 'locked';
      for (const [method, path, json] of requestsFor('2').filter(([, path]) => path.startsWith('/2'))) {
        expect([method, path, (await app.request(method, `/checked${path}`, json ? { json } : {})).status]).toEqual([
          method,
          path,
          403,
        ]);
      }
      expect(await rows()).toEqual([
        [1, 'one', [1]],
        [2, 'two', []],
        [3, 'three', []],
      ]);
      expect((await app.request('GET', '/checked/1.json')).status).toBe(200);
    });

    test.each(requestsFor('1').filter(([, path]) => !/open|all/.test(path)))(
      'checkAccess can grant access that the roles deny: %s %s',
      async (...asked) => {
        expect((await send('/opened', asked)).status).toBe(asked[3]);
        expect(calls).toEqual(['checkAccess']);
      },
    );

    describe.each(['slug', 'own'])('getEntity (%s)', (api) => {
      test.each(requestsFor('one').filter(([, path]) => path.startsWith('/one')))(
        'loads the row of %s %s once, and can hide it',
        async (...asked) => {
          const action = asked[1].includes('tags') ? 'tags' : asked[1].includes('open') ? 'open' : '_entity';
          const found = await send(`/${api}`, asked);
          expect(found.status, found.text).toBe(asked[3]);
          expect(calls.filter((call) => call.startsWith('getEntity'))).toEqual([`getEntity ${action} one`]);
          const missing = await send(`/${api}`, [asked[0], asked[1].replace('one', 'none'), asked[2], 404]);
          expect(missing.status).toBe(404);
          rule = 'refuse';
          const before = await rows();
          expect((await send(`/${api}`, asked)).status).toBe(404);
          expect(await rows()).toEqual(before);
        },
      );

      test('is called again when a change is retried', async () => {
        const sent = [...'abcdefghij'].map((note) => app.request('PATCH', `/${api}/one.json`, { json: { note } }));
        expect((await Promise.all(sent)).map(({ status }) => status)).toEqual(sent.map(() => 200));
        const added = [1, 2, 3].map(() => app.request('POST', `/${api}/one/tags.json`, { json: { id: 2 } }));
        expect((await Promise.all(added)).map(({ status }) => status)).toEqual([200, 200, 200]);
      });

      test('omits Location from the response of POST', async () => {
        const { headers, status } = await app.request('POST', `/${api}.json`, { json: { slug: 'new' } });
        expect([status, headers.get('location')]).toEqual([201, null]);
        const document: Any = openApiDocument((app as Any).application, { title: 'x', version: '1' });
        expect(document.paths[`/${api}.json`].post.responses[201].headers).not.toHaveProperty('Location');
      });

      test.each([
        ['PATCH', '/one.json', { isLocked: false }, 200],
        ['POST', '/one/tags.json', { id: 2 }, 200],
        ['DELETE', '/one.json', undefined, 204],
      ] as const)('is called again if the row changes during the request: %s %s', async (...asked) => {
        meanwhile = async () => {
          meanwhile = null;
          await (app as Any).application.mapper.em.fork().nativeUpdate(Crate, { id: 1 }, { isLocked: true });
        };
        const json = asked[0] === 'PATCH' ? {} : asked[2];
        expect((await send(`/${api}`, [asked[0], asked[1], json, asked[3]])).status).toBe(asked[3]);
        expect(calls.filter((call) => call.startsWith('getEntity'))).toHaveLength(2);
      });

      test('can hide the stored response of a request with an idempotency key', async () => {
        const asked = { headers: { 'idempotency-key': `"${api}"` }, json: { slug: 'one' } };
        expect((await app.request('PATCH', `/${api}/one.json`, asked)).status).toBe(200);
        expect((await app.request('PATCH', `/${api}/one.json`, asked)).status).toBe(200);
        rule = 'refuse';
        expect((await app.request('PATCH', `/${api}/one.json`, asked)).status).toBe(404);
      });
    });

    test.each(['GET', 'POST'])('getEntity calls customizeQuery once if a handler calls getEntity too: %s', async (method) => {
      expect((await app.request(method, '/slug/one/own.json')).json.id).toBe(1);
      expect(calls.filter((call) => call === 'customizeQuery')).toHaveLength(1);
    });

    test.each([
      ['loads with another entity manager', 'fork', ['GET', 'HEAD']],
      ['returns an entity of another model', 'foreign', []],
    ] as const)('getEntity that %s makes requests return 500', async (_, given, passing) => {
      rule = given;
      const before = await rows();
      for (const [method, path, json] of requestsFor('one').filter(([, path]) => path.startsWith('/one')))
        expect([method, (await app.request(method, `/own${path}`, json ? { json } : {})).status]).toEqual([
          method,
          passing.some((name) => name === method) ? 200 : 500,
        ]);
      expect(await rows()).toEqual(before);
    });
  },
);

describe.each(databases.flatMap((database) => [true, false].map((compiled) => [database, compiled] as const)))(
  'on %s (compiled: %s), embedded rows',
  (database, compiledReads) => {
    test('are shown if checkAccess passes in an API that does not hide them', async () => {
      const fresh = await freshDatabase(database);
      const { app_main, ...options } = optionsFor(fresh.url, compiledReads);
      const { checked } = app_main.apis;
      const only = { _entity: { methods: { GET: true } } };
      const shelf = {
        class: Shelf,
        base_path: '/shelf',
        actions: { _index: { methods: { GET: true, POST: true } }, _entity: { methods: { GET: true, DELETE: true } } },
      };
      const app = await startApplication({
        ...options,
        app_main: {
          ...app_main,
          apis: {
            checked: { ...checked, actions: only },
            hiding: { ...checked, base_path: '/hiding', controller: HidingController, actions: only },
            shelf,
          },
        },
        seed: async (em: Any) => {
          em.create(Crate, { id: 2, slug: 'two', isLocked: true });
          em.create(Crate, { id: 3, slug: 'three' });
          for (const id of [2, 3]) em.create(Shelf, { id, crate: id });
        },
      });
      try {
        rule = 'locked';
        calls.length = 0;
        const slugs = async (path: string) => {
          const { json } = await app.request('GET', path);
          return (json.results ?? [json]).map(({ crate }: Any) => crate?.slug ?? null);
        };
        expect(await slugs('/shelf.json')).toEqual([null, 'three']);
        expect(calls.sort()).toEqual(['checkAccess _entity three', 'checkAccess _entity two']);
        expect(await slugs('/shelf/2.json')).toEqual([null]);
        rule = 'pass';
        expect(await slugs('/shelf/2.json')).toEqual(['two']);
      } finally {
        await app.close();
        await fresh.drop();
      }
    });
  },
);

describe('at start', () => {
  const startWith = async (controller: Any, apiActions: Any) => {
    const fresh = await freshDatabase('sqlite');
    try {
      const app = await startApplication({
        app_main: {
          apis: { crate: { class: Crate, base_path: '/crate', controller, actions: apiActions } },
          database: { url: fresh.url, schema: 'update' },
        },
        models: [Tag, Crate, Shelf],
        controllers: [controller],
      } as Any);
      await app.close();
      return null;
    } catch (error) {
      return String((error as Error).message);
    } finally {
      await fresh.drop();
    }
  };

  class ReadingController extends ApiController<Any> {
    override deserialize(): Promise<never> {
      throw new Error('never called');
    }
  }

  test('an override of deserialize is rejected if default actions write, because they do not call it', async () => {
    expect(await startWith(ReadingController, actions)).toMatch(
      /ReadingController overrides deserialize, which the default actions "_index" POST, "_entity" PUT, "_entity" PATCH, "tags" POST do not call/,
    );
    expect(await startWith(ReadingController, { _index: null })).toBeNull();
  });

  test('a hook with its former name is called, with a warning', async () => {
    class OldController extends ApiController<Any> {
      onAfterFlush(action: string) {
        calls.push(`onAfterFlush ${action}`);
      }
    }
    const fresh = await freshDatabase('sqlite');
    const app = await startApplication({
      app_main: {
        apis: { crate: { class: Crate, base_path: '/crate', controller: OldController, actions } },
        database: { url: fresh.url, schema: 'update' },
      },
      models: [Tag, Crate, Shelf],
      controllers: [OldController],
    } as Any);
    try {
      calls.length = 0;
      expect((await app.request('POST', '/crate.json', { json: { slug: 'new' } })).status).toBe(201);
      expect(calls).toEqual(['onAfterFlush _index']);
      expect(app.application.warnings.map(({ text }) => text).join()).toContain(
        'OldController.onAfterFlush was renamed in Declarest: rename it to afterCommit',
      );
    } finally {
      await app.close();
      await fresh.drop();
    }
  });

  test('a controller method declared as a field is rejected, because it would never be called', async () => {
    class FieldController extends ApiController<Any> {
      override customizeQuery = () => undefined;
    }
    expect(await startWith(FieldController, { _index: null })).toMatch(/FieldController\.customizeQuery is a field/);
  });
});
