import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ApiController, type ApiRequest } from '../../src/index.ts';
import { type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';
import { stores } from './application.ts';

type Any = any;

/** A page and the page above it. Lists show all pages, single ones must be public; a handler shows drafts. */
const Page: Any = defineEntity({
  name: 'Page',
  properties: {
    id: p.integer().primary().groups('read'),
    title: p.string().groups('read', 'write'),
    isPublic: p.boolean().default(true),
    above: () => (p.manyToOne(Page) as Any).nullable().groups('read'),
  },
});

const calls: string[] = [];

class PageController extends ApiController<Any> {
  override customizeQuery(action: string, _request: ApiRequest, query: Any) {
    calls.push(action);
    if (action === '_entity') query.andWhere({ isPublic: true });
    if (action === 'draft') query.andWhere({ isPublic: false });
  }
  draftApi(id: number, request: ApiRequest) {
    return this.getEntity('draft', id, request);
  }
}

describe.each(stores)('customizeQuery restrictions per action, through $store', ({ compiledReads }) => {
  let database: FreshDatabase;
  let app: TestApplication;

  beforeAll(async () => {
    database = await freshDatabase('sqlite');
    app = await startApplication({
      app_main: {
        apis: {
          page: {
            class: Page,
            base_path: '/page',
            controller: PageController,
            actions: {
              _index: null,
              _entity: { methods: { GET: true, PATCH: true } },
              draft: { methods: { GET: true } },
            },
          },
        },
      },
      models: [Page],
      controllers: [PageController],
      databaseUrl: database.url,
      compiledReads,
      seed: (em: Any) => {
        const hidden = em.create(Page, { id: 1, title: 'hidden', isPublic: false });
        const shown = em.create(Page, { id: 2, title: 'shown', above: hidden });
        em.create(Page, { id: 3, title: 'last', above: shown });
        em.create(Page, { id: 4, title: 'draft', isPublic: false, above: shown });
      },
    } as Any);
  });

  afterAll(async () => {
    await app?.close();
    await database?.drop();
  });

  beforeEach(() => {
    calls.length = 0;
  });

  const get = async (path: string) => ((await app.request('GET', path)) as Any).json;

  test('are computed once, even if the row embeds a row of the same class', async () => {
    expect((await get('/page/3.json')).above.id).toBe(2);
    expect(calls).toEqual(['_entity']);
    calls.length = 0;
    await app.request('PATCH', '/page/3.json', { json: { title: 'last' } });
    expect(calls).toEqual(['_entity']);
  });

  test('of _entity decide which embedded rows are visible in lists and handler responses', async () => {
    const { results } = await get('/page.json');
    expect(results.map(({ id, above }: Any) => [id, above?.id ?? null])).toEqual([
      [1, null],
      [2, null],
      [3, 2],
      [4, 2],
    ]);
    expect([...calls].sort()).toEqual(['_entity', '_index']);
    calls.length = 0;
    expect((await get('/page/4/draft.json')).above.id).toBe(2);
    expect([...calls].sort()).toEqual(['_entity', 'draft']);
  });
});
