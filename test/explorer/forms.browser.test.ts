// @module-tag divided
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openBrowser } from '../support/browser.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { type OpenExplorer, openExplorer, tokenOf } from '../support/explorer.ts';
import { workshop } from './workshop.ts';

describe.each(databases)('forms of the explorer on %s', (kind) => {
  let browser: Browser;
  let database: FreshDatabase;
  let explorer: OpenExplorer;
  let headers: Record<string, string>;
  const api = async (method: string, path: string, body?: object, more: Record<string, string> = {}): Promise<any> => {
    const response = await fetch(explorer.app.url + path, {
      method,
      headers: { ...headers, ...more },
      ...(body && { body: JSON.stringify(body) }),
    });
    return response.status === 204 ? null : response.json();
  };

  beforeAll(async () => {
    browser = await openBrowser();
    database = await freshDatabase(kind);
    explorer = await openExplorer(browser, workshop(database.url));
    headers = await tokenOf(explorer, 'Ada');
    for (let number = 1; number <= 25; number++) await api('POST', '/api/maker.json', { name: `Maker ${number}` });
    await explorer.open('');
    await explorer.signIn('Uma');
  });
  beforeEach(() => {
    explorer.sent.length = 0;
  });
  afterAll(async () => {
    await explorer?.close();
    await browser?.close();
    await database?.drop();
  });

  test('a double click creates one row, with a field of each kind', async () => {
    const { page } = explorer;
    await explorer.open('/tool/~new');
    await page.getByLabel('Title').fill('Saw <b>&');
    await page.getByLabel('Notes').fill('sharp');
    await page.getByLabel('Price').fill('12.50');
    await page.getByLabel('Kind').selectOption('power');
    await page.getByLabel('Bought').fill('2026-02-03');
    await page.getByLabel('Seen').fill('2026-02-03T04:05:06');
    await page.getByLabel('Spare').check();
    await page.getByRole('button', { name: 'Add place' }).click();
    await page.getByLabel('Room').fill('Cellar');
    await page.getByLabel('Data').fill('{"a": [1]}');
    await page.getByRole('button', { name: /^Maker/ }).click();
    await page.getByRole('searchbox', { name: 'Search' }).fill('Maker 24');
    await page.getByRole('button', { name: /Maker 24/ }).click();
    await page.getByRole('button', { name: 'Create' }).dblclick();
    await page.getByRole('heading', { name: 'Saw <b>&' }).waitFor();
    const { count, results } = await api('GET', '/api/tool.json');
    expect(count).toBe(1);
    expect(results[0]).toMatchObject({ title: 'Saw <b>&', notes: 'sharp', price: '12.50', kind: 'power', spare: true });
    expect(results[0]).toMatchObject({ bought: '2026-02-03', place: { room: 'Cellar', shelf: null }, data: { a: [1] } });
    expect(results[0].maker.name).toBe('Maker 24');
    expect(new Date(results[0].seen).getTime()).toBe(await page.evaluate('new Date("2026-02-03T04:05:06").getTime()'));
    expect(explorer.sent.filter((request) => request.startsWith('POST'))).toHaveLength(1);
  });

  test('a picker loads rows page by page, and only when it is opened', async () => {
    const { page, sent } = explorer;
    const { id } = await api('POST', '/api/tool.json', { title: 'Plane' });
    await explorer.open(`/tool/${id}/~edit`);
    await page.getByLabel('Title').waitFor();
    expect(sent.filter((request) => request.includes('/api/maker'))).toEqual([]);
    await page.getByRole('button', { name: /^Maker/ }).click();
    const rows = page.getByRole('list', { name: 'Matching rows' }).getByRole('button');
    await rows.first().waitFor();
    expect(await rows.count()).toBe(10);
    await page.getByRole('button', { name: 'Next ›' }).click();
    await page.getByRole('button', { name: /Maker 11/ }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('link', { name: 'Maker 11' }).waitFor();
    expect(
      sent.filter((request) => request.startsWith('GET /api/maker.json')).every((url) => url.includes('items_per_page=10')),
    ).toBe(true);
  });

  test('violations appear next to their fields, and the form stays intact', async () => {
    const { page } = explorer;
    await api('POST', '/api/tool.json', { title: 'Axe <b>&' });
    await explorer.open('/tool/~new');
    const long = 'x'.repeat(41);
    await page.getByLabel('Title').fill(long);
    await page.getByLabel('Price').fill('a lot');
    await page.getByRole('button', { name: 'Create' }).click();
    const title = page.getByLabel('Title');
    await expect.poll(() => title.getAttribute('aria-invalid')).toBe('true');
    expect(await page.locator('#field-title-fault').textContent()).toMatch(/40/);
    expect(await page.locator('#field-price-fault').textContent()).not.toBe('');
    expect([await title.inputValue(), await page.getByLabel('Price').inputValue()]).toEqual([long, 'a lot']);
    await title.fill('Axe <b>&');
    await page.getByLabel('Price').fill('');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('alert').getByText('409').waitFor();
    expect(await title.inputValue()).toBe('Axe <b>&');
  });

  test('a reload keeps what was typed', async () => {
    const { page } = explorer;
    await explorer.open('/maker/~new');
    await page.getByLabel('Name').fill('Half a na');
    await page.reload();
    await page.getByText('What you typed before is still here.').waitFor();
    expect(await page.getByLabel('Name').inputValue()).toBe('Half a na');
    await page.getByRole('button', { name: 'Discard it' }).click();
    await expect.poll(() => page.getByLabel('Name').inputValue()).toBe('');
  });

  test('a lost response does not create a second row', async () => {
    const { page } = explorer;
    await explorer.open('/maker/~new');
    await page.getByLabel('Name').fill('Only once');
    await page.route(
      '**/api/maker.json',
      async (route) => {
        await route.fetch();
        await route.abort();
      },
      { times: 1 },
    );
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByText('The server did not respond.').waitFor();
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'Only once', exact: true }).waitFor();
    expect((await api('GET', '/api/maker.json?q=once')).count).toBe(1);
  });
});
