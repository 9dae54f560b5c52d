import type { Browser, BrowserContext, Page } from 'playwright-core';
import type { ApplicationOptions } from '../../src/index.ts';
import { startApplication, type TestApplication } from './testing.ts';

/** An application in code, with two sample users: Uma may use everything, and Ada may delete as well. */
export function declarations({ apis, models }: { apis: object; models: readonly unknown[] }) {
  return (databaseUrl: string): ApplicationOptions =>
    ({
      app_main: {
        database: { url: databaseUrl, schema: 'update' },
        security: {
          jwt: { secret: 'a secret that is long enough for tests' },
          sample_users: {
            Uma: { id: 1, roles: ['ROLE_USER'] },
            Ada: { id: 2, roles: ['ROLE_USER', 'ROLE_ADMIN'] },
          },
        },
        apis,
      },
      models,
      env: { ...process.env, NODE_ENV: 'development' },
    }) as unknown as ApplicationOptions;
}

/** An application with a browser page that records what it sends and what it complains of. */
export async function openExplorer(browser: Browser, options: ApplicationOptions, settings: object = {}) {
  const app: TestApplication = await startApplication(options);
  const context: BrowserContext = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    locale: 'en-GB',
    ...settings,
  });
  const page: Page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const sent: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => sent.push(`${request.method()} ${request.url().replace(app.url, '')}`));
  page.on('console', (message) => {
    // the browser itself reports each response with an error status
    const isStatus = message.text().startsWith('Failed to load resource');
    if (['error', 'warning'].includes(message.type()) && !isStatus) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  return {
    app,
    page,
    sent,
    complaints,
    open: (path: string) => page.goto(`${app.url}/explorer${path}`),
    /** Picks a sample user, remembered so that other addresses can be opened. */
    async signIn(name: string) {
      await page.getByRole('button', { name: 'Sign in', exact: true }).first().click();
      const dialog = page.getByRole('dialog', { name: 'Sign in' });
      await dialog.getByLabel('Remember in this browser').check();
      await dialog.getByRole('button', { name }).click();
      await dialog.waitFor({ state: 'hidden' });
    },
    async close() {
      await context.close();
      await app.close();
    },
  };
}

export type OpenExplorer = Awaited<ReturnType<typeof openExplorer>>;

/** A token of a sample user, for requests beside the page. */
export async function tokenOf({ app }: OpenExplorer, name: string): Promise<Record<string, string>> {
  const response = await fetch(`${app.url}/explorer/~token/${name}`);
  return { Authorization: `Bearer ${await response.text()}`, 'Content-Type': 'application/json' };
}
