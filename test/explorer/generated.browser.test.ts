// @module-tag divided
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser } from '../support/browser.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { partOf, seed } from '../support/random.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';
import { applicationOf, type GeneratedApi, generateApis, pageSize, rowsOfEach } from './generated-application.ts';
import { axeFindings, openExplorer, type WatchedPage } from './watched-page.ts';

const apis = generateApis(seed, 50);
/** A few seconds each, so only some of them are edited by default, others with other sources. `TEST_ALL=1` edits all. */
const edited = partOf(apis, 10).filter(isListed);
const described = edited.map((api) => {
  const methods = (set: ReadonlySet<string> | null) => [...(set ?? ['nothing'])].join(' ');
  return [api.name, methods(api.list), methods(api.entity), api] as const;
});

/** Whether there is anything to see or do on the page of a row. */
function hasRowView({ entity }: GeneratedApi): boolean {
  return (['GET', 'PUT', 'PATCH', 'DELETE'] as const).some((method) => entity?.has(method));
}

/** Whether the explorer lists the API: one with nothing but HEAD has no page. */
function isListed(api: GeneratedApi): boolean {
  return Boolean(api.list?.has('GET') || api.list?.has('POST')) || hasRowView(api);
}

describe.each(databases)(`an application of 50 APIs with random methods (TEST_SEED=${seed}) on %s`, (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  let browser: Browser;
  let watched: WatchedPage;
  let page: Page;
  beforeAll(async () => {
    database = await freshDatabase(kind);
    app = await startApplication(applicationOf(apis, database.url));
    browser = await openBrowser();
    watched = await openExplorer(browser, app);
    page = watched.page;
  });
  afterAll(async () => {
    await browser?.close();
    await app?.close();
    await database?.drop();
  });

  const heading = (text: string | RegExp) => page.getByRole('heading', { level: 1, name: text }).waitFor();
  const openApi = async ({ name }: GeneratedApi) => {
    await page.locator(`nav[aria-label="APIs"] a[href="/explorer/${name}"]`).click();
    await heading(new RegExp(`^${name}$`, 'i'));
  };
  const rows = () => page.locator('tbody tr');
  const shows = (text: string) => page.locator('main').getByText(text, { exact: false }).first().waitFor();
  const isOffered = (name: string) => page.locator('.view-head').getByText(name, { exact: true }).isVisible();

  /** Opens the row with this number by clicking: in the list, on its last page, or by its id. */
  async function openRow(api: GeneratedApi, row: number): Promise<void> {
    await openApi(api);
    if (api.list?.has('GET')) {
      await rows().first().waitFor();
      for (let left = Math.floor((row - 1) / pageSize); left > 0; left--) {
        const before = await rows().first().textContent();
        await page.getByRole('button', { name: 'Next ›' }).click();
        await expect.poll(() => rows().first().textContent(), { timeout: 30_000 }).not.toBe(before);
      }
      await rows()
        .nth((row - 1) % pageSize)
        .locator('.row-link')
        .click();
    } else {
      await page.getByLabel('Id', { exact: true }).fill(String(row));
      await page.getByRole('button', { name: 'Open', exact: true }).click();
    }
    await page.locator('nav.crumbs').waitFor();
  }

  /** Fills the required fields that are empty. */
  async function fillForm(api: GeneratedApi, name: string): Promise<void> {
    await page.locator('#field-name').fill(name);
    if (api.fields.includes('amount')) await page.locator('#field-amount').fill('7');
    if (api.fields.includes('kind')) await page.locator('#field-kind').selectOption({ label: 'large' });
    if (api.fields.includes('note')) await page.locator('#field-note').fill('a note');
    if (api.fields.includes('day')) await page.locator('#field-day').fill('2026-02-28');
    if (api.parent === null || !(await page.locator('#field-parent').getByText('Choose…').isVisible())) return;
    await page.locator('#field-parent').click();
    const dialog = page.locator('dialog[open]');
    if (apis[api.parent]?.list?.has('GET')) await dialog.locator('.candidates button').first().click();
    else {
      await dialog.locator('input').fill('1');
      await dialog.getByRole('button', { name: 'Choose' }).click();
    }
    await dialog.waitFor({ state: 'detached' });
  }

  test.each(described)('%s with %s on its list and %s on its rows works by clicking', async (name, _list, _entity, api) => {
    const may = (method: 'GET' | 'PUT' | 'PATCH' | 'DELETE') => api.entity?.has(method) ?? false;
    await openApi(api);
    expect(await isOffered('New')).toBe(api.list?.has('POST') ?? false);
    if (api.list?.has('GET')) {
      await rows().first().waitFor();
      expect(await rows().count()).toBe(pageSize);
      await shows(`1–${pageSize} of`);
      await page.getByRole('button', { name: 'Next ›' }).click();
      await shows(`${pageSize + 1}–${2 * pageSize} of`);
      await page.getByRole('button', { name: 'Name', exact: true }).click();
      await expect.poll(() => new URL(page.url()).search).toBe('?sort=name');
      await shows(`1–${pageSize} of`);
    } else if (hasRowView(api)) await shows('does not offer a list');
    const canOpen = hasRowView(api) && (api.list?.has('GET') || may('GET'));

    if (canOpen) {
      await openRow(api, rowsOfEach - 1);
      await shows(`${name} ${rowsOfEach - 1}`);
      expect(await isOffered('Delete')).toBe(may('DELETE'));
      expect(await isOffered('Edit')).toBe(may('PUT') || may('PATCH'));
    }
    if (canOpen && (may('PUT') || may('PATCH'))) {
      await page.locator('.view-head').getByText('Edit', { exact: true }).click();
      await page.locator('#field-name').waitFor();
      await fillForm(api, `${name} edited`);
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.locator('form.entity-form').waitFor({ state: 'detached' });
      const sent = watched.requests.findLast(({ method }) => method === 'PUT' || method === 'PATCH');
      expect(sent?.path).toBe(`/api/${name}/${rowsOfEach - 1}.json`);
      if (api.hasVersion && may('GET')) expect(sent?.headers).toHaveProperty('if-match');
      if (may('GET')) await shows(`${name} edited`);
    }
    if (api.list?.has('POST')) {
      await openApi(api);
      await page.locator('.view-head').getByText('New', { exact: true }).click();
      await page.locator('#field-name').waitFor();
      await fillForm(api, `${name} created`);
      const before = watched.requests.length;
      await page.getByRole('button', { name: 'Create', exact: true }).dblclick();
      await page.locator('form.entity-form').waitFor({ state: 'detached' });
      const posts = watched.requests.slice(before).filter(({ method }) => method === 'POST');
      expect(new Set(posts.map(({ headers }) => headers['idempotency-key'])).size).toBe(1);
    }
    if (canOpen && may('DELETE')) {
      await openRow(api, rowsOfEach);
      await page.locator('.view-head').getByText('Delete', { exact: true }).click();
      await page.locator('dialog[open]').getByRole('button', { name: 'Delete', exact: true }).click();
      await page.locator('dialog[open]').waitFor({ state: 'detached' });
      await heading(new RegExp(`^${name}$`, 'i'));
      const sent = watched.requests.findLast(({ method }) => method === 'DELETE');
      expect(sent?.path).toBe(`/api/${name}/${rowsOfEach}.json`);
    }
    const em = app.application.mapper.em.fork();
    const stored = (await em.find(name.replace('t', 'T') as never, {})) as { id: number; name: string }[];
    const changed = stored.filter((row) => !/\d$/.test(row.name)).map((row) => row.name.replace(`${name} `, ''));
    const isEdited = canOpen && (may('PUT') || may('PATCH'));
    expect(changed.sort()).toEqual([...(api.list?.has('POST') ? ['created'] : []), ...(isEdited ? ['edited'] : [])]);
    expect(stored.some(({ id }) => id === rowsOfEach)).toBe(!(canOpen && may('DELETE')));
    watched.expectQuiet();
  });

  test('every API opens and shows its list, if it has one', async () => {
    for (const api of apis) {
      if (!isListed(api)) {
        expect(await page.locator(`nav[aria-label="APIs"] a[href="/explorer/${api.name}"]`).count()).toBe(0);
        continue;
      }
      await openApi(api);
      if (api.list?.has('GET')) await rows().first().waitFor();
      else if (hasRowView(api)) await shows('does not offer a list');
      expect(await isOffered('New')).toBe(api.list?.has('POST') ?? false);
    }
    watched.expectQuiet();
  });

  test('every kind of view passes axe, in light and dark', async () => {
    const full = apis.find(
      ({ entity, list }) =>
        list?.has('GET') && list.has('POST') && entity?.has('GET') && entity.has('DELETE') && entity.has('PATCH'),
    );
    if (!full) return;
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await page.goto(`${app.url}/explorer`);
      await page.locator('nav[aria-label="APIs"]').waitFor();
      expect(await axeFindings(page)).toEqual([]);
      await openApi(full);
      await rows().first().waitFor();
      expect(await axeFindings(page)).toEqual([]);
      await openRow(full, 1);
      await page.locator('dl.fields').waitFor();
      expect(await axeFindings(page)).toEqual([]);
      await page.locator('.view-head').getByText('Delete', { exact: true }).click();
      await page.locator('dialog[open]').waitFor();
      expect(await axeFindings(page)).toEqual([]);
      await page.keyboard.press('Escape');
      await page.locator('.view-head').getByText('Edit', { exact: true }).click();
      await page.locator('#field-name').waitFor();
      expect(await axeFindings(page)).toEqual([]);
    }
    watched.expectQuiet();
  });
});
