import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { defineEntity, p } from '@mikro-orm/core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser } from '../support/browser.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const Note = defineEntity({
  name: 'Note',
  properties: {
    id: p.integer().primary().groups('read'),
    title: p.string().groups('read', 'write'),
    version: p.integer().version(),
  },
});

/** A server with one empty page. */
async function emptyPage(): Promise<{ server: Server; origin: string }> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end('<!doctype html><title>page</title>');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { title: string; code: string };
}

/** Sends a request by a script of the page. Returns the name of the error if the browser hides the response. */
function fetchIn(page: Page, url: string, init: object): Promise<Answered | string> {
  return page.evaluate(
    async ([target, options]) => {
      try {
        const response = await fetch(target as string, options as RequestInit);
        return {
          status: response.status,
          headers: Object.fromEntries(response.headers),
          body: (await response.json()) as Answered['body'],
        };
      } catch (error) {
        return (error as Error).name;
      }
    },
    [url, init] as const,
  );
}

describe('a page of another origin, in a browser', () => {
  let app: TestApplication;
  let browser: Browser;
  let allowed: Awaited<ReturnType<typeof emptyPage>>;
  let other: Awaited<ReturnType<typeof emptyPage>>;
  let authorization: string;

  beforeAll(async () => {
    [allowed, other, browser] = await Promise.all([emptyPage(), emptyPage(), openBrowser()]);
    app = await startApplication({
      app_main: {
        database: { url: 'sqlite::memory:' },
        server: { cors: { origins: [allowed.origin] } },
        apis: {
          note: {
            class: Note,
            base_path: '/api/note',
            base_role: 'ROLE_USER',
            actions: { _entity: { methods: { GET: true, PATCH: true } } },
          },
        },
      },
      models: [Note],
      seed: (em) => void em.create(Note, { title: 'first' }),
    });
    authorization = `Bearer ${await app.tokenFor({ id: 1, roles: ['ROLE_USER'] })}`;
  });
  afterAll(async () => {
    await browser?.close();
    await app?.close();
    for (const each of [allowed, other]) each?.server.close();
  });

  async function pageOf(origin: string): Promise<Page> {
    const page = await browser.newPage();
    await page.goto(origin);
    return page;
  }

  test('reads with a token, and changes a row with the ETag that it read', async () => {
    const page = await pageOf(allowed.origin);
    const url = `${app.url}/api/note/1.json`;
    const read = (await fetchIn(page, url, { headers: { authorization } })) as Answered;
    expect(read).toMatchObject({ status: 200, body: { title: 'first' } });
    expect(read.headers).toHaveProperty('x-request-id');
    const tag = read.headers.etag as string;
    expect(tag).toMatch(/^"/);

    const body = JSON.stringify({ title: 'second' });
    const headers = { authorization, 'content-type': 'application/json', 'if-match': tag, 'idempotency-key': 'one' };
    expect(await fetchIn(page, url, { method: 'PATCH', headers, body })).toMatchObject({
      status: 200,
      body: { title: 'second' },
    });
    const again = await fetchIn(page, url, { method: 'PATCH', headers: { ...headers, 'idempotency-key': 'two' }, body });
    expect(again).toMatchObject({ status: 412, body: { code: 'precondition_failed' } });
    expect(await fetchIn(page, url, {})).toMatchObject({ status: 401 });
    await page.close();
  });

  test('sees nothing if its origin is not allowed', async () => {
    const page = await pageOf(other.origin);
    const url = `${app.url}/api/note/1.json`;
    expect(await fetchIn(page, url, {})).toBe('TypeError');
    expect(await fetchIn(page, url, { headers: { authorization } })).toBe('TypeError');
    const headers = { authorization, 'content-type': 'application/json' };
    expect(await fetchIn(page, url, { method: 'PATCH', headers, body: '{"title":"third"}' })).toBe('TypeError');
    const { title } = (await (await fetch(url, { headers: { authorization } })).json()) as { title: string };
    expect(title).not.toBe('third');
    await page.close();
  });
});
