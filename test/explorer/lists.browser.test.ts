import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser } from '../support/browser.ts';
import { type OpenExplorer, openExplorer } from '../support/explorer.ts';

const directory = join(import.meta.dirname, '../../examples/courses');
const addressOf = (page: Page) => decodeURIComponent(new URL(page.url()).search);

describe('the explorer of the example', () => {
  let browser: Browser;
  let explorer: OpenExplorer;
  let page: Page;

  beforeAll(async () => {
    browser = await openBrowser();
    explorer = await openExplorer(browser, { directory, databaseUrl: 'sqlite::memory:', env: { NODE_ENV: 'development' } });
    page = explorer.page;
    await explorer.open('');
    await explorer.signIn('Ada (administrator)');
  });
  afterAll(async () => {
    await explorer?.close();
    await browser?.close();
  });

  test('keeps search, filters, order and columns in the address', async () => {
    await page.getByRole('navigation', { name: 'APIs' }).getByRole('link', { name: 'Person', exact: true }).click();
    await page.getByRole('searchbox', { name: 'Search' }).fill('ada');
    await expect.poll(() => addressOf(page)).toBe('?q=ada');
    await page.getByLabel('Add a filter').selectOption({ label: 'Last name starts with' });
    await page.getByLabel('Last name starts with', { exact: true }).fill('d');
    await page.keyboard.press('Enter');
    await expect.poll(() => addressOf(page)).toBe('?q=ada&lastName[starts]=d');
    await page.getByRole('button', { name: 'Birthdate' }).click();
    await page.getByRole('button', { name: 'Birthdate' }).click();
    await expect.poll(() => addressOf(page)).toBe('?q=ada&lastName[starts]=d&sort=-birthdate');
    await page.locator('summary', { hasText: 'Columns' }).click();
    await page.getByRole('checkbox', { name: 'Email' }).uncheck();
    await expect.poll(() => addressOf(page)).toContain('&fields=id,type,firstName,lastName,fullName,birthdate,address,center');
    const before = await page.getByRole('table').textContent();
    expect(before).toContain('Dubois');
    expect(before).not.toContain('Email');
    await page.reload();
    await expect.poll(() => page.getByRole('table').textContent()).toBe(before);
  });

  test('follows the page links of the server, back and forth', async () => {
    await explorer.open('/person?items_per_page=10');
    const range = () => page.getByRole('navigation', { name: 'Pages' }).getByRole('status').textContent();
    await page.getByRole('button', { name: 'Next ›' }).click();
    await expect.poll(range).toMatch(/^11–20 of/);
    expect(addressOf(page)).toMatch(/page=2&after=/);
    await page.getByRole('button', { name: '‹ Previous' }).click();
    await expect.poll(range).toMatch(/^1–10 of/);
    await page.goBack();
    await expect.poll(range).toMatch(/^11–20 of/);
  });

  test('exports the list with its filters', async () => {
    await explorer.open('/person?lastName[starts]=ha&items_per_page=10&fields=id,lastName');
    await page.getByRole('table').waitFor();
    const downloading = page.waitForEvent('download');
    await page.getByRole('link', { name: 'CSV' }).click();
    const lines = readFileSync(await (await downloading).path(), 'utf8')
      .trim()
      .split(/\r?\n/);
    expect(lines[0]).toBe('id,lastName');
    expect(lines.slice(1).every((line) => /,Ha/.test(line))).toBe(true);
    expect(lines.length).toBeGreaterThan(11);
  });

  test('links associations, also those of several models', async () => {
    await explorer.open('/course/1');
    const requestor = page.locator('dl.fields > div', { hasText: 'Requestor' }).getByRole('link');
    const name = (await requestor.textContent()) ?? '';
    await requestor.click();
    await page.getByRole('heading', { name, exact: true, level: 1 }).waitFor();
    expect(page.url()).toMatch(/\/explorer\/(person|third_party)\/\d+$/);
  });

  test('runs custom actions, and shows their results', async () => {
    await explorer.open('/course/2');
    await page.getByRole('link', { name: 'Close', exact: true }).click();
    await page.getByRole('button', { name: 'Close', exact: true }).click();
    await page.getByRole('heading', { name: 'Result' }).waitFor();
    expect(await page.locator('dl.fields > div', { hasText: 'Closed' }).locator('time').count()).toBe(1);
    await explorer.open('/course');
    await page.getByRole('link', { name: 'Mine' }).click();
    await page
      .getByText(/Nothing matches here|Result/)
      .first()
      .waitFor();
  });

  test('creates a row of a chosen type', async () => {
    await explorer.open('/document/~new');
    await page.getByLabel('Type').selectOption('letter');
    await page.getByLabel('Title').fill('Invitation');
    await page.getByLabel('Recipient').fill('City');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'Invitation', exact: true }).waitFor();
  });

  test('compares before it saves a model without versions', async () => {
    await explorer.open('/course/3/~edit');
    await page.getByLabel('Title').fill('Mine');
    const token = await (await fetch(`${explorer.app.url}/explorer/~token/${encodeURIComponent('Ada (administrator)')}`)).text();
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    await fetch(`${explorer.app.url}/api/course/3.json`, { method: 'PATCH', headers, body: '{"title":"Theirs"}' });
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('heading', { name: /Somebody else changed/ }).waitFor();
    expect(await page.getByLabel('Title').inputValue()).toBe('Mine');
  });

  test('shows each request as code', async () => {
    await explorer.open('/person/1');
    await page.getByText('GET /api/person/1.json').click();
    const code = page.getByRole('region', { name: 'Code of the request' });
    expect(await code.textContent()).toBe(
      `curl -g '${explorer.app.url}/api/person/1.json' \\\n  -H "Authorization: Bearer $TOKEN"`,
    );
    await page.getByRole('button', { name: 'Typed client' }).click();
    expect(await code.textContent()).toContain('await client.person.get(1);');
  });

  test('reports no errors in the console', () => {
    expect(explorer.complaints).toEqual([]);
  });
});
