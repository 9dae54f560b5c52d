import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { ApiController, type ApiRequest } from '../../src/index.ts';
import { databases, freshDatabase } from '../support/databases.ts';
import { test } from '../support/halves.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Tag = defineEntity({ name: 'Tag', properties: { id: p.integer().primary().groups('read'), open: p.boolean() } });
const Box = defineEntity({
  name: 'Box',
  properties: {
    id: p.integer().primary().groups('read'),
    main: () => p.manyToOne(Tag).nullable().groups('read', 'write'),
    tags: () => p.manyToMany(Tag).groups('read'),
  },
});

class TagController extends ApiController {
  override customizeQuery(_action: string, _request: ApiRequest, query: any) {
    query.andWhere({ open: true });
  }
}

describe.each(databases.flatMap((database) => [true, false].map((compiled) => ({ database, compiled }))))(
  'errors of a write on $database (compiled: $compiled)',
  ({ database, compiled }) => {
    let app: TestApplication;
    let drop: () => Promise<void>;

    beforeAll(async () => {
      const fresh = await freshDatabase(database);
      drop = fresh.drop;
      const methods = { POST: true, DELETE: true };
      app = await startApplication({
        app_main: {
          database: { url: fresh.url, schema: 'update' },
          apis: {
            tag: { class: Tag, base_path: '/tag', controller: TagController, actions: { _entity: null } },
            box: {
              class: Box,
              base_path: '/box',
              actions: {
                _entity: { methods: { GET: true, PATCH: true } },
                tags: { association: { property: 'tags' }, methods },
              },
            },
          },
        },
        models: [Box, Tag],
        controllers: [TagController],
        seed: (em: any) => {
          em.create(Tag, { open: true });
          em.create(Tag, { open: false });
          em.create(Box, {});
        },
        compiledReads: compiled,
      } as any);
    });
    afterAll(async () => {
      await app.close();
      await drop();
    });

    test.each([
      ['PATCH', '/box/1.json', { main: { id: 1 } }, 200],
      ['PATCH', '/box/1.json', { main: { id: 2 } }, 400],
      ['PATCH', '/box/1.json', { main: { id: 99 } }, 400],
      ['PATCH', '/box/9.json', { main: { id: 2 } }, 404],
      ['PATCH', '/box/9.json', { main: { id: 99 } }, 404],
      ['PATCH', '/box/9.json', { main: { id: 1 } }, 404],
      ['POST', '/box/1/tags.json', { id: 1 }, 200],
      ['POST', '/box/1/tags.json', { id: 2 }, 400],
      ['POST', '/box/9/tags.json', { id: 2 }, 404],
      ['DELETE', '/box/9/tags.json', { id: 99 }, 404],
    ])('%s %s %o returns %i: a missing row takes precedence over an invalid reference', async (method, path, json, status) => {
      expect((await app.request(method, path, { json })).status).toBe(status);
    });
  },
);
