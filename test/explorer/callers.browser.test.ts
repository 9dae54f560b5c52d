import { defineEntity, p } from '@mikro-orm/core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openBrowser } from '../support/browser.ts';
import { declarations, type OpenExplorer, openExplorer } from '../support/explorer.ts';

const Letter = defineEntity({
  name: 'Letter',
  properties: {
    id: p.integer().primary().groups('read'),
    title: p.string().length(40).groups('read', 'write'),
    secret: p.string().nullable().groups('read', 'write'),
  },
});

const patched = { _index: { methods: { GET: true } }, _entity: { methods: { PATCH: true } } };
const application = declarations({
  models: [Letter],
  apis: {
    letter: {
      class: 'Letter',
      base_path: '/api/letter',
      base_role: 'ROLE_USER',
      search: ['title'],
      actions: { _index: { methods: { GET: true } }, _entity: { methods: { GET: true, PATCH: true } } },
    },
    // Uma may not read these
    sealed: {
      class: 'Letter',
      base_path: '/api/sealed',
      base_role: 'ROLE_ADMIN',
      actions: { _entity: { methods: { GET: true, PATCH: true } } },
    },
    unread: { class: 'Letter', base_path: '/api/unread', base_role: 'ROLE_USER', actions: patched },
    copy: {
      class: 'Letter',
      base_path: '/api/shelf/{shelf}/copy',
      actions: { _index: { methods: { GET: true, POST: true } }, _entity: { methods: { GET: true, PATCH: true } } },
    },
  },
});

describe('callers of the explorer', () => {
  let browser: Browser;
  let explorer: OpenExplorer;
  let page: Page;
  beforeAll(async () => {
    browser = await openBrowser();
    explorer = await openExplorer(browser, {
      ...application('sqlite::memory:'),
      seed: (em: { create(model: unknown, data: object): unknown }) => {
        for (const title of ['first', 'second', 'third']) em.create(Letter, { title, secret: `secret of ${title}` });
      },
    } as never);
    page = explorer.page;
  });
  afterAll(async () => {
    await explorer?.close();
    await browser?.close();
  });
  beforeEach(async () => {
    await explorer.open('');
    await page.evaluate('sessionStorage.clear(); localStorage.clear()');
  });

  const shown = async () => {
    const fields = await page.locator('main :is(input, textarea)').all();
    const values = await Promise.all(fields.map((field) => field.inputValue()));
    return `${await page.locator('main').textContent()} ${values.join(' ')}`;
  };
  const signInHere = async (name: string) => {
    await page
      .getByRole('button', { name: /^Sign in/ })
      .last()
      .click();
    const dialog = page.getByRole('dialog', { name: 'Sign in' });
    await dialog.getByRole('button', { name }).click();
    await dialog.waitFor({ state: 'hidden' });
  };

  test('a form does not show its row after sign-out', async () => {
    await explorer.open('/letter/1/~edit');
    await explorer.signIn('Ada');
    await page.getByLabel('Title').fill('typed by Ada');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('alert').waitFor();
    expect(await shown()).not.toMatch(/first|typed by Ada/);
    await explorer.signIn('Uma');
    await expect.poll(() => page.getByLabel('Title').inputValue()).toBe('first');
  });

  test('a form keeps what was typed if another caller signs in, but not the row that this caller may not see', async () => {
    await explorer.open('/sealed/1/~edit');
    await signInHere('Ada');
    await page.getByLabel('Title').fill('typed by Ada');
    await page.reload();
    await page.getByRole('alert').waitFor();
    expect(await shown()).not.toMatch(/secret of first/);
    await signInHere('Uma');
    await page.getByText('403').waitFor();
    expect(await shown()).not.toMatch(/secret of first|typed by Ada/);
    await signInHere('Ada');
    await expect.poll(() => page.getByLabel('Title').inputValue()).toBe('typed by Ada');
    expect(await page.getByLabel('Secret').inputValue()).toBe('secret of first');
  });

  test('a form of a row that both callers may see keeps what was typed', async () => {
    await explorer.open('/letter/2/~edit');
    await signInHere('Ada');
    await page.getByLabel('Title').fill('typed by Ada');
    await page.route('**/api/letter/2.json', (route) =>
      route.request().method() === 'PATCH'
        ? route.fulfill({ status: 403, contentType: 'application/problem+json', body: '{"title":"Forbidden"}' })
        : route.continue(),
    );
    await page.getByRole('button', { name: 'Save' }).click();
    await signInHere('Uma');
    await page.unroute('**/api/letter/2.json');
    await expect.poll(() => page.getByLabel('Title').inputValue()).toBe('typed by Ada');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'typed by Ada' }).waitFor();
  });

  test('a row that only the history has is not shown to another caller', async () => {
    await explorer.open('/unread');
    await signInHere('Ada');
    await page.locator('a.row-link').nth(2).click();
    await page.getByText('secret of third').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByText('does not offer to read').waitFor();
    expect(await shown()).not.toContain('secret of third');
    await page.reload();
    await page.getByText('does not offer to read').waitFor();
  });

  test.each(['two\nlines', 'tökén'])('a token that no header can have is rejected in the dialog: %j', async (token) => {
    await explorer.open('/letter');
    await page.getByRole('button', { name: 'Sign in', exact: true }).first().click();
    const dialog = page.getByRole('dialog', { name: 'Sign in' });
    await dialog.getByLabel('Token').fill(token);
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    expect(await dialog.getByRole('alert').textContent()).toContain('copy it again');
  });

  test('the search keeps letters that are typed while it is applied', async () => {
    await explorer.open('/letter');
    await signInHere('Uma');
    const search = page.getByRole('searchbox');
    await search.waitFor();
    // each letter arrives right after the search with the letters before it
    await page.evaluate(`new Promise((done) => {
      const field = document.querySelector('input[type=search]');
      const letters = [...'third'];
      const type = () => {
        field.value += letters.shift();
        field.dispatchEvent(new Event('input', { bubbles: true }));
        if (letters.length === 0) done();
      };
      const { replaceState } = history;
      history.replaceState = (...given) => {
        replaceState.apply(history, given);
        if (letters.length > 0) setTimeout(type);
      };
      type();
    })`);
    await expect.poll(() => new URL(page.url()).searchParams.get('q')).toBe('third');
    expect(await search.inputValue()).toBe('third');
  });

  test.each(['/copy/1', '/copy/1/~edit', '/copy/~new', '/copy?{shelf}=..', '/copy/1?{shelf}=..'])(
    '%s asks for the placeholder of the path before it sends anything',
    async (path) => {
      explorer.sent.length = 0;
      await explorer.open(path);
      await page.getByLabel('Shelf').waitFor();
      expect(explorer.sent.filter((each) => each.includes('/api/'))).toEqual([]);
      await page.getByLabel('Shelf').fill('7');
      await page.getByRole('button', { name: 'Show' }).click();
      await page.locator('table, dl.fields, form.entity-form').first().waitFor();
      expect(explorer.sent.filter((each) => each.includes('/api/')).every((each) => each.includes('/api/shelf/7/copy'))).toBe(
        true,
      );
    },
  );

  test('a response that breaks off, or has strange violations, leaves the form intact', async () => {
    await explorer.open('/copy/1/~edit?{shelf}=1');
    await page.getByLabel('Title').fill('typed');
    const answers = [
      `new Response(new ReadableStream({ start: (stream) => stream.error(new TypeError('broken')) }))`,
      `new Response('{"title":"Invalid","violations":[null,5,{"title":1}]}', { status: 422 })`,
    ];
    for (const answer of answers) {
      await page.evaluate(`{
        const { fetch } = window;
        window.fetch = async (target, options) => {
          if (options?.method !== 'PATCH') return fetch(target, options);
          window.fetch = fetch;
          return ${answer};
        };
      }`);
      await page.getByRole('button', { name: 'Save' }).click();
      await page
        .getByRole('alert')
        .getByText(/No response|Invalid/)
        .waitFor();
      expect(await page.getByLabel('Title').inputValue()).toBe('typed');
    }
    expect(explorer.complaints).toEqual([]);
  });

  test('a draft that does not fit the form any more can be discarded', async () => {
    await page.evaluate(
      `sessionStorage.setItem('declarest-explorer-draft:/explorer/copy/~new?{shelf}=1', '{"row":null,"draft":{"type":null}}')`,
    );
    await explorer.open('/copy/~new?{shelf}=1');
    await page.getByRole('button', { name: 'Discard it and try again' }).click();
    await page.getByLabel('Title').fill('fits');
    expect(explorer.complaints).toEqual([]);
  });
});
