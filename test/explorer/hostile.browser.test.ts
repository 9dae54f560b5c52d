import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser } from '../support/browser.ts';
import { type OpenExplorer, openExplorer, tokenOf } from '../support/explorer.ts';
import { workshop } from './workshop.ts';

const markup = '<img src=x onerror="window.hit=1"><b>bold</b>';
const script = '</script><script>window.hit=1</script>';
const link = 'javascript:window.hit=1';
const bidirectional = 'invoice\u202Efdp.exe';
const formula = '=HYPERLINK("http://127.0.0.1:9/")';
const large = 'long '.repeat(200_000);

describe('hostile data in the explorer', () => {
  let browser: Browser;
  let explorer: OpenExplorer;
  let page: Page;
  const ids = new Map<string, number>();

  beforeAll(async () => {
    browser = await openBrowser();
    explorer = await openExplorer(browser, workshop('sqlite::memory:'));
    page = explorer.page;
    const headers = await tokenOf(explorer, 'Ada');
    for (const [index, notes] of [markup, script, link, bidirectional, formula, large].entries()) {
      const short = notes.slice(0, 50);
      const body = JSON.stringify({
        title: index === 5 ? 'large' : `${index} ${notes}`.slice(0, 40),
        notes,
        data: { [short]: short },
      });
      const response = await fetch(`${explorer.app.url}/api/tool.json`, { method: 'POST', headers, body });
      ids.set(notes, ((await response.json()) as { id: number }).id);
    }
    await explorer.open('');
    await explorer.signIn('Uma');
  });
  afterAll(async () => {
    await explorer?.close();
    await browser?.close();
  });

  /** Opens the row, its form and the list, and finds nothing that ran or was loaded. */
  async function expectText(text: string): Promise<void> {
    await explorer.open(`/tool/${ids.get(text)}`);
    const notes = page.locator('dl.fields > div', { hasText: 'Notes' }).locator('dd');
    expect(await notes.textContent()).toBe(text);
    expect(await notes.locator('a, img, b, script').count()).toBe(0);
    await explorer.open(`/tool/${ids.get(text)}/~edit`);
    expect(await page.getByLabel('Notes').inputValue()).toBe(text);
    await explorer.open('/tool');
    await page.getByRole('table').waitFor();
    expect(await page.locator('td', { hasText: text }).count()).toBeGreaterThan(0);
    expect(await page.evaluate('window.hit')).toBeUndefined();
    expect(explorer.sent.filter((request) => !/^\w+ (\/(api|explorer|openapi)|data:,$)/.test(request))).toEqual([]);
    expect(explorer.complaints).toEqual([]);
  }

  test('markup is shown as text', () => expectText(markup));
  test('a script is shown as text', () => expectText(script));
  test('an address that would run a script is not a link', () => expectText(link));
  test('a formula is shown as text', () => expectText(formula));

  test('bidirectional text cannot reorder what stands around it', async () => {
    await expectText(bidirectional);
    const cells = page.locator('td', { hasText: bidirectional });
    expect(await cells.locator('bdi').count()).toBeGreaterThanOrEqual(2);
  });

  test('a text of 1 MB is cut in lists, and shown in parts on its page', async () => {
    await explorer.open('/tool');
    const cell = page.getByRole('row', { name: /large/ }).getByRole('cell').nth(2);
    expect((await cell.textContent())?.length).toBeLessThan(200);
    await explorer.open(`/tool/${ids.get(large)}`);
    const notes = page.locator('dl.fields > div', { hasText: 'Notes' }).locator('dd');
    await page.getByRole('button', { name: 'Show all 1,000,000 characters' }).waitFor();
    expect((await notes.textContent())?.length).toBeLessThan(1100);
    await page.getByRole('button', { name: 'Show all 1,000,000 characters' }).click();
    await page.getByRole('button', { name: 'Show less' }).waitFor();
    expect(await notes.locator('bdi').textContent()).toBe(large);
  });
});
