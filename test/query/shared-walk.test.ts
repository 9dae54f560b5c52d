import { defineEntity, p } from '@mikro-orm/core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Box = defineEntity({ name: 'Box', properties: { id: p.integer().primary().groups('read') } });

const Thing = defineEntity({
  name: 'Thing',
  properties: {
    id: p.integer().primary().groups('read'),
    value: p.integer().groups('read'),
    gone: p.boolean(),
    box: () => p.manyToOne(Box).nullable().groups('read'),
  },
  filters: { present: { name: 'present', cond: { gone: false }, default: true } },
});

const shown = 4000;
let fresh: FreshDatabase;
let app: TestApplication;

beforeAll(async () => {
  fresh = await freshDatabase('postgresql');
  app = await startApplication({
    app_main: {
      apis: { thing: { class: Thing, base_path: '/thing', actions: { _index: null } } },
      database: { url: fresh.url, schema: 'update' },
    },
    models: [Thing, Box],
  });
  const em = app.application.mapper.em.fork();
  await em.execute('insert into box (id) select generate_series(1, 3)');
  // every third key is missing, and of the others every fifth row is hidden
  await em.execute(
    `insert into thing (id, value, gone, box_id) select n + n / 2, 0, n % 5 = 0, nullif(n % 4, 0) from generate_series(1, ${(shown * 5) / 4}) as n`,
  );
  await em.execute('analyze thing');
});
afterAll(async () => {
  await app?.close();
  await fresh?.drop();
});

async function page(size: number, number: number) {
  const { body, statusCode } = await app.app.inject(`/thing.json?items_per_page=${size}&page=${number}`);
  expect(statusCode).toBe(200);
  return body;
}

test('pages read together are the same as pages read separately', async () => {
  const asked = Array.from({ length: 300 }, (_, i) => {
    const size = [1, 7, 20, 50, 200][i % 5] as number;
    // one in ten is past the end, many are asked for twice
    const first = i % 10 === 9 ? shown + (i % 3) : 900 + ((i * 769) % 3200);
    return [size, 1 + Math.floor(first / size)] as const;
  });
  const alone: string[] = [];
  for (const [size, number] of asked) alone.push(await page(size, number));
  expect(alone.filter((text) => text.includes('"results":[]')).length).toBeGreaterThan(10);
  app.statements.length = 0;
  expect(await Promise.all(asked.map(([size, number]) => page(size, number)))).toEqual(alone);
  const walks = app.statements.filter((sql) => sql.startsWith('with recursive _hop'));
  expect(walks.length).toBeGreaterThan(0);
  expect(walks.length).toBeLessThan(20);
});

test('a shared read never returns data older than the request', async () => {
  const em = app.application.mapper.em.fork();
  let isOver = false;
  const load = async (start: number) => {
    for (let i = start; !isOver; i += 7) await page(20, 60 + (i % 130));
  };
  const readers = Array.from({ length: 12 }, (_, i) => load(i * 11));
  app.statements.length = 0;
  try {
    for (let value = 1; value <= 25; value++) {
      const number = 60 + ((value * 37) % 130);
      await em.execute('update thing set value = ?', [value]);
      const { results } = JSON.parse(await page(20, number));
      expect([value, new Set(results.map((thing: { value: number }) => thing.value))]).toEqual([value, new Set([value])]);
    }
  } finally {
    isOver = true;
    await Promise.all(readers);
  }
  expect(app.statements.filter((sql) => sql.startsWith('with recursive _hop')).length).toBeGreaterThan(5);
});

test('requests that share a failed read all fail, and later requests succeed', async () => {
  const em = app.application.mapper.em.fork();
  await em.execute('alter table thing rename column value to other');
  const failed = await Promise.all(
    [70, 80, 90, 100].map((number) => app.app.inject(`/thing.json?page=${number}&items_per_page=20`)),
  );
  expect(new Set(failed.map(({ statusCode }) => statusCode))).toEqual(new Set([503]));
  await em.execute('alter table thing rename column other to value');
  const found = await Promise.all([70, 80, 90, 100].map((number) => page(20, number)));
  for (const text of found) expect(JSON.parse(text).results).toHaveLength(20);
});
