// @module-tag divided
import { defineEntity, type EntityManager, p } from '@mikro-orm/core';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser } from '../support/browser.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { declarations, type OpenExplorer, openExplorer } from '../support/explorer.ts';
import { axeFindings } from './watched-page.ts';

const Order = defineEntity({
  name: 'Order',
  properties: {
    id: p.integer().primary().groups('read'),
    kind: p.enum(['gift', 'stock']).nullable().groups('read'),
    amount: p.integer().groups('read'),
    grade: p.string().length(10).groups('read:grade'),
  },
});

const application = declarations({
  models: [Order],
  apis: {
    order: {
      class: 'Order',
      base_path: '/api/order',
      base_role: 'ROLE_USER',
      groups: { read: ['read', 'read:grade'] },
      filters: { kind: ['eq', 'exists'], amount: ['gte'] },
      actions: { _index: { formats: ['json', 'csv'], aggregate: { by: ['kind', 'grade'], of: { amount: ['sum'] } } } },
    },
  },
});

describe.each(databases)('counts in the explorer on %s', (kind) => {
  let database: FreshDatabase;
  let browser: Browser;
  let explorer: OpenExplorer;
  beforeAll(async () => {
    database = await freshDatabase(kind);
    browser = await openBrowser();
    const options = application(database.url) as unknown as { readonly app_main: object };
    explorer = await openExplorer(browser, {
      ...options,
      app_main: { ...options.app_main, groups: { 'read:grade': { role: 'ROLE_ADMIN' } } },
      seed: (em: EntityManager) => {
        for (let amount = 1; amount <= 7; amount++)
          em.create(Order, { kind: amount > 4 ? null : amount > 3 ? 'gift' : 'stock', amount, grade: 'a' } as never);
      },
    } as never);
    await explorer.open('');
    await explorer.signIn('Uma');
  });
  afterAll(async () => {
    await explorer?.close();
    await browser?.close();
    await database?.drop();
  });

  const cells = async () => {
    const texts = await explorer.page.locator('tbody tr').allInnerTexts();
    return texts.map((text) => text.replace(/\s+/g, ' ').replace(' rows, open the list', '').trim());
  };

  test('appear for the filters of the list, and lead back to the rows of each value', async () => {
    const { page } = explorer;
    await explorer.open('/order?amount[gte]=2');
    await page.getByRole('link', { name: 'Counts' }).click();
    await expect.poll(cells).toEqual(['– no value 3', 'stock 2', 'gift 1']);
    expect(new URL(page.url()).search).toBe('?amount[gte]=2&by=kind&sort=-count');
    await page.locator('summary', { hasText: 'Values' }).click();
    await page.getByLabel('Amount (sum)').check();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Amount (sum)' }).click();
    await expect.poll(async () => (await cells())[0]).toBe('– no value 3 18');
    expect(await axeFindings(page)).toEqual([]);
    await page.locator('tbody tr').first().getByRole('link').click();
    await page.getByText('1–3 of 3').waitFor();
    expect(new URL(page.url()).search).toBe('?amount[gte]=2&kind[exists]=false');
  });

  test('are offered by fields that the caller may read', async () => {
    const { page } = explorer;
    const options = async (name: string) => {
      await explorer.open('');
      await page.getByRole('button', { name: 'Sign out' }).click();
      await explorer.signIn(name);
      await explorer.open('/order/~counts?by=kind');
      await page.locator('tbody tr').first().waitFor();
      await page.locator('summary', { hasText: 'Count by' }).click();
      return page.locator('.popover[open] label');
    };
    await (await options('Ada')).filter({ hasText: 'Grade' }).waitFor();
    expect(await (await options('Uma')).allInnerTexts()).toEqual(['Kind']);
    expect(explorer.complaints).toEqual([]);
  });
});
