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

describe.each(databases)('forms of the explorer on %s', (kind) => {
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

  test('a row that references a table of 1,000,000 rows opens with few bytes, and its reference is picked page by page', async () => {
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

  test('a rejected request leaves the form as it was, also after signing in and after a reload', async () => {
    const watched = await signedIn('/explorer/person/~new');
    const { page } = watched;
    const name = page.locator('#field-name');
    await name.fill('first');
    await page.locator('#field-city').click();
    await page.locator('.candidates button').nth(2).click();
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    // the name is taken: 409
    await page.locator('.problem').waitFor();
    expect(await name.inputValue()).toBe('first');
    expect(await page.locator('#field-city').textContent()).toContain('City 3');

    await name.fill('x'.repeat(21));
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.locator('#field-name-fault').waitFor();
    expect(await name.inputValue()).toBe('x'.repeat(21));

    await name.fill('third');
    // the token was in memory only
    await page.reload();
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.locator('.problem').getByText('401').waitFor();
    expect(await name.inputValue()).toBe('third');
    expect(await page.locator('#field-city').textContent()).toContain('City 3');
    await page.locator('.top-bar').getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('button', { name: 'Ada' }).click();
    await page.locator('dialog[open]').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.locator('dl.fields').getByText('third').waitFor();
    watched.expectQuiet();
    await page.close();
  });

  test('a concurrent change shows both versions, and the choice is saved', async () => {
    const watched = await signedIn('/explorer/person/2');
    const { page } = watched;
    await page.locator('.view-head').getByText('Edit', { exact: true }).click();
    await page.locator('#field-name').fill('mine');
    const theirs = await app.request('PATCH', '/api/person/2.json', {
      as: { id: 1, roles: ['ROLE_A'] },
      json: { name: 'theirs' },
    });
    expect(theirs.status).toBe(200);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    const conflict = page.locator('.conflict');
    await conflict.getByText('theirs').first().waitFor();
    expect(await conflict.textContent()).toContain('mine');
    expect(await page.locator('#field-name').inputValue()).toBe('mine');
    expect(watched.requests.findLast(({ method }) => method === 'PATCH')?.headers).toHaveProperty('if-match');
    await conflict.getByLabel('Yours').check();
    await conflict.getByRole('button', { name: 'Save with these choices' }).click();
    await page.locator('dl.fields').getByText('mine').waitFor();
    watched.expectQuiet();
    await page.close();
  });
});
