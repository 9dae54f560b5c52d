import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser } from '../support/browser.ts';
import { type OpenExplorer, openExplorer } from '../support/explorer.ts';

const directory = join(import.meta.dirname, '../../examples/courses');
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe finds: the rule, and the first element that breaks it. */
async function violationsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  return page.evaluate(`axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ': ' + nodes[0].html))`);
}

const looks = [
  { width: 1280, colorScheme: 'dark' },
  { width: 390, colorScheme: 'light' },
] as const;

describe('the explorer', () => {
  let browser: Browser;
  let explorer: OpenExplorer;

  beforeAll(async () => {
    browser = await openBrowser();
    const options = { directory, databaseUrl: 'sqlite::memory:', env: { NODE_ENV: 'development' } };
    explorer = await openExplorer(browser, options);
    await explorer.open('');
    await explorer.signIn('Ada (administrator)');
  });
  afterAll(async () => {
    await explorer?.close();
    await browser?.close();
  });

  test.each([
    ['the list of APIs', ''],
    ['a list', '/course?items_per_page=5&title[contains]=1'],
    ['an entity', '/course/1'],
    ['a form', '/person/1/~edit'],
    ['a problem', '/person/999999'],
  ])('has no axe violations and does not scroll sideways: %s', async (_, path) => {
    const { page } = explorer;
    await explorer.open(path);
    for (const { width, colorScheme } of looks) {
      await page.setViewportSize({ width, height: 844 });
      await page.emulateMedia({ colorScheme });
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.getByText('Loading…').waitFor({ state: 'hidden' });
      expect(await violationsOf(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0);
    }
  });

  test('has no axe violations in its dialogs', async () => {
    const { page } = explorer;
    await explorer.open('/person/1/~edit');
    await page.getByRole('button', { name: /^Center/ }).click();
    await page.getByRole('list', { name: 'Matching rows' }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Ada (administrator)' }).click();
    await page.getByRole('dialog', { name: 'Sign in' }).waitFor();
    expect(await violationsOf(page)).toEqual([]);
  });
});
