import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, Page } from 'playwright-core';
import { expect } from 'vitest';
import { findMatch } from '../../src/route/match.ts';
import type { TestApplication } from '../support/testing.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export interface SentRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A page of the explorer that records what it sends and what it complains about. */
export interface WatchedPage {
  readonly page: Page;
  readonly requests: SentRequest[];
  /** Errors in the console, except those for rejected requests. */
  readonly complaints: string[];
  /** The number of bytes in the bodies of responses since the last call. */
  received(): number;
  /** Fails if the page sent anything but requests for its own files and to declared routes, or complained. */
  expectQuiet(): void;
}

/** What the explorer loads besides data. */
const own = /^\/(?:openapi\.json$|explorer(?:[/?]|$))/;

export async function openExplorer(
  browser: Browser,
  app: TestApplication,
  path = '/explorer',
  options: Parameters<Browser['newPage']>[0] = {},
): Promise<WatchedPage> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options });
  page.setDefaultTimeout(60_000);
  const requests: SentRequest[] = [];
  const complaints: string[] = [];
  let bytes = 0;
  page.on('request', (request) => {
    const { origin, pathname, search } = new URL(request.url());
    if (origin !== app.url && !request.url().startsWith('data:')) complaints.push(`request to ${request.url()}`);
    requests.push({ method: request.method(), path: pathname + search, headers: request.headers() });
  });
  page.on('response', (response) => {
    response.body().then(
      (body) => {
        bytes += body.length;
      },
      () => undefined,
    );
  });
  page.on('console', (message) => {
    const isRejection = message.text().startsWith('Failed to load resource: the server responded with a status of 4');
    if (['error', 'warning'].includes(message.type()) && !isRejection) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    dialog.dismiss().catch(() => undefined);
  });
  await page.goto(app.url + path);
  await page.locator('nav[aria-label="APIs"]').waitFor();
  const { records } = app.application;
  return {
    page,
    requests,
    complaints,
    received: () => {
      const received = bytes;
      bytes = 0;
      return received;
    },
    expectQuiet() {
      expect(complaints).toEqual([]);
      const strangers = requests.filter(({ method, path: sent }) => {
        if (sent.startsWith('data:') || (method === 'GET' && own.test(sent))) return false;
        return findMatch(records, method, sent.split('?', 1)[0] as string) === null;
      });
      expect(strangers).toEqual([]);
    },
  };
}

/** The violations that axe finds on the page. */
export async function axeFindings(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const { violations } = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(
    `axe.run(document, { resultTypes: ['violations'] })`,
  );
  return violations.map(({ id, nodes }) => `${id}: ${nodes.length} × ${nodes[0]?.html.slice(0, 200)}`);
}
