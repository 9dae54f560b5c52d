// @module-tag divided
import { defineEntity, type EntityManager, p } from '@mikro-orm/core';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser } from '../support/browser.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';
import { openExplorer } from './watched-page.ts';

const manyRows = 1_000_000;

const City = defineEntity({
  name: 'City',
  properties: { id: p.integer().primary().groups('read'), name: p.string().groups('read') },
});
const Person = defineEntity({
  name: 'Person',
  properties: {
    id: p.integer().primary().groups('read'),
    name: p.string().length(20).unique().groups('read', 'write'),
    city: () => p.manyToOne(City).groups('read', 'write'),
    version: p.integer().version(),
  },
});

describe.each(databases)('the explorer with a table of 1,000,000 rows on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  let browser: Browser;
  beforeAll(async () => {
    database = await freshDatabase(kind);
    const numbers =
      kind === 'sqlite'
        ? `with recursive s(n) as (select 1 union all select n + 1 from s where n < ${manyRows}) select n, 'City ' || n from s`
        : `select n, 'City ' || n from generate_series(1, ${manyRows}) as n`;
    app = await startApplication({
      app_main: {
        database: { url: database.url, schema: 'update' },
        security: {
          jwt: { secret: 'a secret that is long enough for tokens' },
          sample_users: { Ada: { id: 1, roles: ['ROLE_A'] } },
        },
        apis: {
          city: {
            class: City,
            base_path: '/api/city',
            pagination: { count: { capped: 1000 } },
            filters: { name: ['starts'] },
            actions: { _index: { methods: { GET: true } }, _entity: null },
          },
          person: {
            class: Person,
            base_path: '/api/person',
            base_role: 'ROLE_A',
            actions: { _index: { methods: { GET: true, POST: true } }, _entity: { methods: { GET: true, PATCH: true } } },
          },
        },
      },
      models: [City, Person],
      seed: async (em: EntityManager) => {
        await (em as never as { execute(sql: string): Promise<unknown> }).execute(`insert into city (id, name) ${numbers}`);
        for (const name of ['first', 'second']) em.create(Person, { name, city: em.getReference(City, 999_999) });
      },
      env: { ...process.env, NODE_ENV: 'development' },
    } as never);
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await app?.close();
    await database?.drop();
  });

  async function signedIn(path: string) {
    const watched = await openExplorer(browser, app, path);
    const { page } = watched;
    await page.locator('.top-bar').getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Ada' }).click();
    await page.locator('dialog[open]').waitFor({ state: 'detached' });
    return watched;
  }

  test('opens a row that references it with few bytes, and picks the reference page by page', async () => {
    const watched = await signedIn('/explorer');
    const { page } = watched;
    await page.locator('nav[aria-label="APIs"] a[href="/explorer/person"]').click();
    await page.locator('tbody tr').first().waitFor();
    watched.received();
    const before = watched.requests.length;
    await page.locator('.row-link').first().click();
    await page.locator('dl.fields').getByText('City 999999').waitFor();
    await page.locator('.view-head').getByText('Edit', { exact: true }).click();
    await page.locator('#field-city').waitFor();
    await page.locator('#field-city').click();
    const candidates = page.locator('.candidates li');
    await candidates.first().waitFor();
    const shown = await candidates.count();
    expect(shown).toBeLessThanOrEqual(20);
    await page.locator('dialog[open]').getByRole('button', { name: 'Next ›' }).click();
    await candidates.getByText(`City ${shown + 1}`, { exact: true }).waitFor();
    await page.locator('dialog[open] input[type=search]').fill('City 123456');
    await expect.poll(() => candidates.first().textContent(), { timeout: 60_000 }).toContain('City 123456');
    await candidates.first().locator('button').click();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.locator('dl.fields').getByText('City 123456').waitFor();
    expect(watched.requests.length - before).toBeLessThanOrEqual(12);
    expect(watched.received()).toBeLessThan(50_000);
    watched.expectQuiet();
    await page.close();
  });
});
