import { defineEntity, p, raw } from '@mikro-orm/core';
import { Client } from 'pg';
import { ApiController, type ApiRequest } from '../../../src/index.ts';
import type { TestApplication } from '../../support/testing.ts';

const Box = defineEntity({
  name: 'Box',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    items: () => p.manyToMany(Item).groups('read', 'write'),
  },
});
const Item = defineEntity({
  name: 'Item',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().groups('read', 'write'),
    packed: p.datetime().nullable().groups('read', 'write'),
    label: p.blob().nullable(),
  },
});

/** Its rows are read through the mapper, in transactions of its own. */
class HookedController extends ApiController {
  override async afterFetch(): Promise<void> {
    await this.em.execute('select count(*) from item where id > ?', [0]);
  }
}

class SlowController extends ApiController {
  override customizeQuery(_action: string, { headers }: ApiRequest, query: any): void {
    query.where(raw('id > 1 or pg_sleep(?) is not null', [Number(headers['x-seconds'])]));
  }
}

class SlowHookedController extends SlowController {
  override afterFetch(): void {}
}

const lists = {
  actions: { _index: { methods: { GET: true, POST: true } }, _entity: { methods: { GET: true, PATCH: true } } },
} as const;

/** An application whose reads and writes take every way to PostgreSQL. */
export function options(url: string, settings: object = {}) {
  return {
    app_main: {
      formats: ['json', 'ndjson', 'csv'],
      database: { url, schema: 'update', connect_timeout: 60_000, ...settings },
      apis: {
        box: {
          class: Box,
          base_path: '/box',
          actions: { ...lists.actions, item: { association: { property: 'items' } } },
          filters: { name: ['eq', 'contains'] },
        },
        item: { class: Item, base_path: '/item', ...lists },
        hooked: { class: Item, base_path: '/hooked', controller: HookedController, ...lists },
        slow: { class: Item, base_path: '/slow', controller: SlowController, actions: { _index: null } },
        slow_hooked: { class: Item, base_path: '/slow-hooked', controller: SlowHookedController, actions: { _index: null } },
      },
    },
    models: [Box, Item],
    controllers: [HookedController, SlowController, SlowHookedController],
    seed: (em: any) => {
      for (let i = 1; i <= 300; i++) em.create(Item, { name: `item ${i}`, packed: new Date(0) });
      em.create(Box, { name: 'first box' });
    },
  } as const;
}

/** Ten requests of different kinds, a number of times, to the applications in turn. */
export function requests(apps: readonly TestApplication[], times: number): Promise<{ status: number }>[] {
  return Array.from({ length: times }, (_, i) => {
    const app = apps[i % apps.length] as TestApplication;
    const key = { headers: { 'idempotency-key': `key-${Math.random()}` } };
    return [
      app.request('GET', '/item.json?page=2'),
      app.request('GET', '/item/7.json'),
      app.request('GET', '/hooked.json'),
      app.request('GET', '/item.csv'),
      app.request('GET', '/box.json?name[contains]=box'),
      app.request('POST', '/box.json', { json: { name: 'box', items: [{ id: 1 }, { id: 2 }] } }),
      app.request('POST', '/box/1/item.json', { json: { id: 100 + i } }),
      app.request('POST', '/item.json', { json: { name: 'new' }, ...key }),
      app.request('POST', '/hooked.json', { json: { name: 'new' } }),
      app.request('PATCH', `/item/${i + 10}.json`, { json: { name: `changed ${i}` } }),
    ];
  }).flat();
}

/** How many responses have each status; of errors, with the text. */
export async function statusesOf(
  responses: readonly Promise<{ status: number; text?: string }>[],
): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const { status, text } of await Promise.all(responses)) {
    const key = status < 400 ? status : `${status} ${text}`;
    found[key] = (found[key] ?? 0) + 1;
  }
  return found;
}

export async function connected(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  return client;
}
