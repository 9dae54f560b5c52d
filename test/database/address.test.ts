import { defineEntity, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { ApiController } from '../../src/index.ts';
import { freshDatabase } from '../support/databases.ts';
import { startApplication } from '../support/testing.ts';

const Stone = defineEntity({ name: 'Stone', properties: { id: p.integer().primary().groups('read') } });

class StoneController extends ApiController {
  async settingsApi() {
    const read = (name: string) => this.em.execute(`select current_setting('${name}') as value`);
    return { name: (await read('application_name'))[0], path: (await read('search_path'))[0] };
  }
}

const optionsOf = (url: string) => ({
  app_main: {
    database: { url, schema: 'update' as const, connect_timeout: 5000 },
    apis: {
      stone: {
        class: Stone,
        controller: StoneController,
        base_path: '/stone',
        actions: { _index: null, settings: { 'single-collection': 'collection' as const, methods: { GET: true } } },
      },
    },
  },
  models: [Stone],
  controllers: [StoneController],
});

describe('the URL of a PostgreSQL database', () => {
  test('also applies to the connections of entities', async () => {
    const database = await freshDatabase('postgresql');
    const application = await startApplication(
      optionsOf(`${database.url}?application_name=stones&options=-c%20search_path%3Dpublic`) as never,
    );
    try {
      const { json } = await application.request('GET', '/stone/settings.json');
      expect(json).toEqual({ name: { value: 'stones' }, path: { value: 'public' } });
    } finally {
      await application.close();
      await database.drop();
    }
  });

  test('never falls back: sslmode=require rejects a server without encryption', async () => {
    const database = await freshDatabase('postgresql');
    try {
      await expect(startApplication(optionsOf(`${database.url}?sslmode=require`) as never)).rejects.toThrow(/SSL/);
    } finally {
      await database.drop();
    }
  });
});
