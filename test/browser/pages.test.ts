import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser } from '../support/browser.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const directory = join(import.meta.dirname, '../../examples/courses');
const list = '#operations-person-app_api_single_person__index_get';

describe('the pages of the example, in a browser', () => {
  let app: TestApplication;
  let browser: Browser;
  /** Whatever a page asked for, and whatever it complained of. */
  let asked: string[];
  let complaints: string[];

  beforeAll(async () => {
    app = await startApplication({ directory, databaseUrl: 'sqlite::memory:' });
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await app?.close();
  });

  async function open(path: string, options: Parameters<Browser['newPage']>[0] = {}): Promise<Page> {
    asked = [];
    complaints = [];
    const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options });
    page.setDefaultTimeout(60_000);
    page.on('request', (request) => asked.push(request.url()));
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(`${app.url}${path}`);
    return page;
  }

  function expectQuiet(): void {
    expect(complaints).toEqual([]);
    expect(asked.filter((url) => !url.startsWith(`${app.url}/`) && !url.startsWith('data:'))).toEqual([]);
  }

  const apis = () => app.application.declaration.apis.map(({ name }) => name);

  test('the greeting shows the APIs with their paths and methods, and leads to the docs page', async () => {
    const page = await open('/');
    expect(await page.title()).toBe('Courses');
    expect(await page.locator('h2').allTextContents()).toEqual([...apis(), 'app_status_routes']);
    const person = page.locator('section', { has: page.locator('h2', { hasText: /^person$/ }) }).locator('li');
    expect(await person.last().locator('code').textContent()).toBe('/api/person/{id}.json');
    expect(await person.last().locator('.method').allTextContents()).toEqual(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE']);
    await page.getByRole('link', { name: 'Docs' }).click();
    await page.locator('.opblock-tag').first().waitFor();
    expect(new URL(page.url()).pathname).toBe('/docs');
    await page.getByRole('link', { name: '← Courses' }).click();
    await page.getByRole('link', { name: 'Health' }).waitFor();
    expectQuiet();
    await page.close();
  });

  test('the docs page shows the APIs, and a request with a token succeeds there', async () => {
    const page = await open('/docs');
    await page.locator('.opblock-tag').first().waitFor();
    const tags = await page.locator('.opblock-tag').evaluateAll((found) => found.map((tag) => tag.getAttribute('data-tag')));
    expect(tags).toEqual([...apis(), 'app_status_routes']);
    // a lock stands where roles are asked for, and nowhere else
    const { paths } = (await app.request('GET', '/openapi.json')).json as { paths: Record<string, Record<string, object>> };
    const shown = Object.values(paths).flatMap(({ head: _, ...methods }) => Object.values(methods));
    const guarded = shown.filter((operation) => 'x-roles' in operation);
    expect(guarded.length).toBeLessThan(shown.length);
    expect(await page.locator('.opblock').count()).toBe(shown.length);
    expect(await page.locator('.opblock .authorization__btn').count()).toBe(guarded.length);
    expect(await page.locator('.hint').textContent()).toMatch(/npx declarest token \S*courses --sub 1 --roles ROLE_USER/);

    await page.locator('.scheme-container .authorize').click();
    await page.locator('.auth-container input').fill(await app.tokenFor({ id: 1, roles: ['ROLE_USER'], centers: [1, 2] }));
    await page.locator('.auth-btn-wrapper .authorize').click();
    await page.locator('.auth-btn-wrapper .btn-done').click();
    await page.locator(`${list} .opblock-summary-control`).click();
    await page.locator(`${list} .execute`).click();
    const answered = page.locator(`${list} .live-responses-table .response`);
    await answered.waitFor();
    expect((await answered.locator('.response-col_status').textContent())?.trim()).toMatch(/^200/);
    expect(await answered.locator('.microlight, pre').first().textContent()).toContain('"results"');
    expect(asked.some((url) => url.startsWith(`${app.url}/api/person.json?`))).toBe(true);

    // outside production the token survives a reload
    await page.reload();
    await page.locator('.scheme-container .authorize.locked').waitFor();
    expectQuiet();
    await page.close();
  });

  test.each([
    ['/', 'light', 360],
    ['/', 'dark', 1280],
    ['/docs', 'dark', 360],
    ['/docs', 'light', 1280],
  ] as const)('%s fits a window, %s and %i wide', async (path, colorScheme, width) => {
    const page = await open(path, { colorScheme, viewport: { width, height: 800 } });
    await page.locator('section, .opblock-tag').first().waitFor();
    const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth');
    const background = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    expect(overflow).toBeLessThanOrEqual(0);
    const [red = 0] = (background.match(/\d+/g) ?? []).map(Number);
    expect(red > 128 ? 'light' : 'dark').toBe(colorScheme);
    expectQuiet();
    await page.close();
  });
});
