// @module-tag divided
import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { useApplication } from '../spec/fixtures/use-application.ts';
import { databases } from '../support/databases.ts';

type Any = any;

const actions = {
  _index: { methods: { GET: true, POST: true }, bulk: { PATCH: true } },
  _entity: { methods: { GET: true, PATCH: true, PUT: true } },
} as const;

describe.each(databases)('a reference to a row of the same class that a default filter hides, on %s', (kind) => {
  describe.each([true, false])('compiled: %s', (compiledReads) => {
    const Page: Any = defineEntity({
      name: 'Page',
      filters: { present: { name: 'present', cond: { withdrawn: false }, default: true } },
      properties: {
        id: p.integer().primary().groups('read'),
        title: p.string().groups('read', 'write'),
        withdrawn: p.boolean().default(false),
        parent: () => (p.manyToOne(Page) as Any).nullable().groups('read', 'write'),
      },
    } as Any);
    const running = useApplication(kind, {
      app_main: { apis: { page: { class: Page, base_path: '/page', actions } } },
      models: [Page],
      compiledReads,
      seed: async (em: Any) => {
        const parent = em.create(Page, { title: 'hidden', withdrawn: true });
        await em.flush();
        em.create(Page, { title: 'shown', parent });
        await em.flush();
      },
    } as Any);

    test.each([
      ['PATCH', { title: 'a' }],
      ['PATCH', { title: 'b', parent: null }],
      ['PUT', { title: 'c' }],
      ['PUT', { title: 'd', parent: null }],
    ])('is null in the response to %s %j, as in that to GET, and stays', async (method, json) => {
      const changed = await running.request(method, '/page/2.json', { json });
      expect([changed.status, changed.json]).toEqual([200, { id: 2, title: json.title, parent: null }]);
      const read = await running.request('GET', '/page/2.json');
      expect([read.json, read.headers.get('etag')]).toEqual([changed.json, changed.headers.get('etag')]);
      expect(await running.rows('select parent_id from page where id = 2')).toEqual([{ parent_id: 1 }]);
    });

    test('is null in the response to a list of changes', async () => {
      const changed = await running.request('PATCH', '/page.json', { json: [{ id: 2, title: 'e' }] });
      expect((changed.json as Any).results).toEqual([{ id: 2, title: 'e', parent: null }]);
    });
  });
});
