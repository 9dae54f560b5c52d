// @module-tag divided
import { randomUUID } from 'node:crypto';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser } from '../support/browser.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { type OpenExplorer, openExplorer, tokenOf } from '../support/explorer.ts';
import { workshop } from './workshop.ts';

describe.each(databases)('changes in the explorer on %s', (kind) => {
  let browser: Browser;
  let database: FreshDatabase;
  let explorer: OpenExplorer;
  let headers: Record<string, string>;
  let tool: number;
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
    for (let number = 1; number <= 12; number++) await api('POST', '/api/maker.json', { name: `Maker ${number}` });
    tool = (await api('POST', '/api/tool.json', { title: 'Saw' })).id;
    await explorer.open('');
    await explorer.signIn('Uma');
  });
  afterAll(async () => {
    await explorer?.close();
    await browser?.close();
    await database?.drop();
  });

  test('two versions appear side by side on 412, and the user chooses', async () => {
    const { page } = explorer;
    const unique = randomUUID().slice(0, 8);
    const created = await api('POST', '/api/tool.json', { title: `Plane ${unique}`, notes: 'old', price: '1.00' });
    await explorer.open(`/tool/${created.id}/~edit`);
    await page.getByLabel('Notes').fill('mine');
    await page.getByLabel('Title').fill(`My plane ${unique}`);
    await api('PATCH', `/api/tool/${created.id}.json`, { notes: 'theirs', price: '2.00', title: `Their plane ${unique}` });
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    const conflict = page.getByRole('region', { name: /Somebody else changed/ });
    await conflict.waitFor();
    expect(await conflict.getByRole('group', { name: 'Notes' }).textContent()).toMatch(/theirs.*mine/);
    expect(await conflict.textContent()).toContain('Also changed there, and kept: Price');
    await conflict.getByRole('group', { name: 'Notes' }).getByLabel(/Yours/).check();
    await page.getByRole('button', { name: 'Save with these choices' }).click();
    await page.getByRole('heading', { name: `Their plane ${unique}`, exact: true }).waitFor();
    const stored = await api('GET', `/api/tool/${created.id}.json`);
    expect(stored).toMatchObject({ notes: 'mine', title: `Their plane ${unique}`, price: '2.00' });
  });

  test('items are added to an association and removed from it', async () => {
    const { page } = explorer;
    await explorer.open(`/tool/${tool}`);
    await page.getByRole('button', { name: 'Add… to users' }).click();
    await page.getByRole('searchbox', { name: 'Search' }).fill('Maker 7');
    await page.getByRole('button', { name: /Maker 7/ }).click();
    await page.getByRole('button', { name: 'Remove Maker 7 from users' }).click();
    await page.getByRole('button', { name: 'Remove Maker 7 from users' }).waitFor({ state: 'hidden' });
    expect((await api('GET', `/api/tool/${tool}.json`)).users).toEqual([]);
  });

  test('a refusal explains itself, and is not offered again', async () => {
    const { page } = explorer;
    await explorer.open(`/tool/${tool}`);
    await page.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
    await dialog.getByText('The application denies this request').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    expect(await page.getByRole('button', { name: 'Delete' }).count()).toBe(0);
    expect(explorer.complaints).toEqual([]);
  });
});
