import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser } from '../support/browser.ts';
import { type OpenExplorer, openExplorer, tokenOf } from '../support/explorer.ts';
import { workshop } from './workshop.ts';

describe('sign-in to the explorer', () => {
  let browser: Browser;
  let explorer: OpenExplorer;
  let page: Page;

  beforeAll(async () => {
    browser = await openBrowser();
    explorer = await openExplorer(browser, workshop('sqlite::memory:'));
    page = explorer.page;
  });
  afterAll(async () => {
    await explorer?.close();
    await browser?.close();
  });

  test('a 401 lets the user sign in without losing the form', async () => {
    await explorer.open('/maker/~new');
    await page.getByLabel('Name').fill('Kept');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('alert').getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Uma' }).click();
    expect(await page.getByLabel('Name').inputValue()).toBe('Kept');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'Kept' }).waitFor();
    expect(await page.evaluate('localStorage.length')).toBe(0);
    expect(explorer.complaints).toEqual([]);
  });

  test('a pasted token stays in memory, unless the user asks to remember it', async () => {
    const { Authorization: token = '' } = await tokenOf(explorer, 'Uma');
    const paste = async (isRemembered: boolean) => {
      await page.getByRole('button', { name: 'Sign in', exact: true }).first().click();
      const dialog = page.getByRole('dialog', { name: 'Sign in' });
      await dialog.getByLabel('Token').fill(token);
      if (isRemembered) await dialog.getByLabel('Remember in this browser').check();
      await dialog.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('table').waitFor();
    };
    await explorer.open('/maker');
    await paste(false);
    await page.reload();
    await page.getByRole('alert').waitFor();
    await paste(true);
    await page.reload();
    await page.getByRole('table').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('alert').waitFor();
    expect(await page.evaluate('localStorage.length + sessionStorage.length')).toBe(0);
  });

  test('does not cover the button for a new row by its message', async () => {
    await explorer.open('/maker');
    await page.getByRole('button', { name: 'Sign in', exact: true }).first().click();
    await page.getByRole('dialog').getByRole('button', { name: 'Uma' }).click();
    await page.getByRole('table').waitFor();
    const message = await page.getByRole('status').filter({ hasText: 'Signed in: Uma' }).boundingBox();
    const button = await page.getByRole('link', { name: 'New', exact: true }).boundingBox();
    expect(message?.y).toBeGreaterThan((button?.y ?? Infinity) + (button?.height ?? 0));
    await page.getByRole('button', { name: 'Sign out' }).click();
  });

  test('works by keyboard alone', async () => {
    await explorer.open('');
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.id')).toBe('content');
    await page.getByRole('button', { name: 'Sign in', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Sign in');
    await page.getByRole('link', { name: 'Tool' }).first().focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Tool');
  });
});
