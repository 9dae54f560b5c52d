import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser } from '../support/browser.ts';
import { partOf } from '../support/random.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const directory = join(import.meta.dirname, '../../examples/courses');
const list = '#operations-person-listPersons';

/** Prints the token as the command on the page does. */
function tokenBy(command: string): string {
  const root = join(import.meta.dirname, '../..');
  const script = command.replace(/^npx declarest token \S+/, `node bin/declarest.js token ${directory}`);
  return execFileSync('sh', ['-c', script], { cwd: root, encoding: 'utf8' }).trim();
}

/** The accessible names of the fields of the viewer. */
const fieldNames = `[...document.querySelectorAll('#viewer :is(input, select, textarea)')].map(
  (field) => field.getAttribute('aria-label') ?? field.labels?.[0]?.textContent ?? '',
)`;

/** Names what has a contrast below 4.5, of buttons, methods and hints in plain colours. */
const weakContrasts = `(() => {
  const channels = (color) => (color.match(/[\\d.]+/g) ?? []).map(Number);
  const light = (color) => {
    const [r, g, b] = channels(color).slice(0, 3).map((value) => {
      const part = value / 255;
      return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if ((channels(color)[3] ?? 1) === 1) return color;
    }
    return 'rgb(255, 255, 255)';
  };
  const looked = '.opblock-summary-method, .btn, .hint, .hint code, .parameter__in, .parameter__type, .info small pre, details summary';
  return [...document.querySelectorAll(looked)].flatMap((element) => {
    const [a, b] = [light(getComputedStyle(element).color), light(behind(element))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    return contrast >= 4.5 ? [] : [element.className + ' ' + contrast.toFixed(1)];
  });
})()`;

describe('the pages of the example, in a browser', () => {
  let app: TestApplication;
  let browser: Browser;
  /** Whatever a page asked for, and whatever it complained of. */
  let asked: string[];
  let complaints: string[];

  beforeAll(async () => {
    // as `declarest serve` starts it: the sample users are declared for development
    app = await startApplication({ directory, databaseUrl: 'sqlite::memory:', env: { NODE_ENV: 'development' } });
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

  test('the start page shows the APIs with their paths and methods, and links to the docs page', async () => {
    const page = await open('/');
    expect(await page.title()).toBe('Courses');
    expect(await page.locator('h2').allTextContents()).toEqual([...apis(), 'app_status_routes']);
    const person = page.locator('section', { has: page.locator('h2', { hasText: /^person$/ }) }).locator('li');
    expect(await person.last().locator('code').textContent()).toBe('/api/person/{id}.json');
    expect(await person.last().locator('.method').allTextContents()).toEqual(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE']);
    await expect
      .poll(() => page.locator('li', { hasText: 'public' }).locator('code').allTextContents())
      .toEqual(['/api/center.json']);
    expect(await page.getByRole('link', { name: '/api/center.json' }).getAttribute('href')).toBe('/api/center.json');
    expect(await person.last().getByRole('link').count()).toBe(0);
    await page.getByRole('link', { name: 'Docs' }).click();
    await page.locator('.opblock-tag').first().waitFor();
    expect(new URL(page.url()).pathname).toBe('/docs');
    await page.getByRole('link', { name: '← Courses' }).click();
    await page.getByRole('link', { name: 'Health' }).waitFor();
    expectQuiet();
    await page.close();
  });

  test('the docs page shows the APIs, and a request with a token succeeds from it', async () => {
    const page = await open('/docs');
    await page.locator('.opblock-tag').first().waitFor();
    const tags = await page.locator('.opblock-tag').evaluateAll((found) => found.map((tag) => tag.getAttribute('data-tag')));
    expect(tags).toEqual([...apis(), 'app_status_routes']);
    // a lock stands where roles are asked for, and nowhere else
    const { paths } = (await app.request('GET', '/openapi.json')).json as { paths: Record<string, Record<string, object>> };
    // one operation for each write, whatever formats its response has
    const isRepeated = (path: string, method: string) => method === 'head' || (method !== 'get' && !path.endsWith('.json'));
    const shown = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, operation]) => (isRepeated(path, method) ? [] : [operation])),
    );
    const guarded = shown.filter((operation) => 'x-roles' in operation);
    expect(guarded.length).toBeLessThan(shown.length);
    expect(await page.locator('.opblock').count()).toBe(shown.length);
    expect(await page.locator('.opblock .authorization__btn').count()).toBe(guarded.length);
    const command = (await page.locator('.hint code').textContent()) ?? '';
    expect(command).toMatch(/^npx declarest token \S*courses --sub 1 --roles ROLE_USER --claim 'centers=\[1,2\]'$/);

    await page.locator('.scheme-container .authorize').click();
    await page.locator('.auth-container input').fill(tokenBy(command));
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

  test('the docs page sends requests as a sample user', async () => {
    const page = await open('/docs');
    await page.locator('.opblock-tag').first().waitFor();
    await page.getByLabel('Try as').selectOption('Rita (two centers)');
    await page.locator('.scheme-container .authorize.locked').waitFor();
    await page.locator(`${list} .opblock-summary-control`).click();
    await page.locator(`${list} .execute`).click();
    const status = page.locator(`${list} .live-responses-table .response .response-col_status`);
    await status.waitFor();
    expect(await status.textContent()).toMatch(/^\s*200/);
    await page.getByLabel('Try as').selectOption('anonymous');
    await page.locator('.scheme-container .authorize.unlocked').waitFor();
    expectQuiet();
    await page.close();
  });

  test('one operation fits one screen, with labelled fields and readable colours', async () => {
    const page = await open('/docs', { viewport: { width: 1280, height: 1080 } });
    for (const operation of [list, '#operations-person-createPerson']) {
      await page.locator(`${operation} .opblock-summary-control`).click();
      const others = page.locator(`${operation} .other-responses`);
      await others.waitFor();
      expect(await others.locator('summary').textContent()).toMatch(/^Other responses: .*400, 401, 403/);
      expect(await others.getAttribute('open')).toBe(null);
      expect((await page.locator(operation).boundingBox())?.height).toBeLessThan(1080);
    }
    const names = await page.evaluate<string[]>(fieldNames);
    expect(names.length).toBeGreaterThan(10);
    expect(names.filter((name) => name === '')).toEqual([]);
    const weak = await page.evaluate<string[]>(weakContrasts);
    expect(weak).toEqual([]);
    expect(await page.locator('.models').textContent()).not.toContain('Problem');
    expectQuiet();
    await page.close();
  });

  // Swagger UI takes seconds to open
  const windows = [
    ['light', 390],
    ['dark', 360],
    ['light', 1280],
    ['dark', 1280],
  ] as const;
  test.each([
    ...windows.map((window) => ['/', ...window] as const),
    ...partOf(windows, windows.length).map((window) => ['/docs', ...window] as const),
  ])('%s fits a window, %s and %i pixels wide', async (path, colorScheme, width) => {
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
