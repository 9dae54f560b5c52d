import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readPages, root, type Section, sections } from '../../site/pages.ts';
import { openBrowser } from '../support/browser.ts';
import { partOf, seed } from '../support/random.ts';
import { makeTemporary } from '../support/temporary.ts';

const require = createRequire(import.meta.url);
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const pages = readPages();
const urlOf = (path: string) => `/${path.replace(/(index)?\.md$/, (_, index) => (index ? '' : '.html'))}`;

/** The first and the longest page of a section. */
function samplesOf(section: Section): string[] {
  const found = pages.filter((page) => page.section === section);
  const longest = found.toSorted((a, b) => b.text.length - a.text.length)[0];
  return [...new Set([found[0], longest].flatMap((page) => (page ? [urlOf(page.path)] : [])))];
}

/** Seconds each, so a third of them are visited by default, the others with other sources. */
const visited = ['/', ...partOf((Object.keys(sections) as Section[]).flatMap(samplesOf), 3)];

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.md': 'text/markdown',
  '.png': 'image/png',
  '.txt': 'text/plain',
  '.woff2': 'font/woff2',
};

describe('the docs site', () => {
  const temporary = makeTemporary('docs-site');
  const site = temporary.directory;
  let server: Server;
  let browser: Browser;
  let context: BrowserContext;
  let url: string;
  let asked: string[];
  let complaints: string[];

  beforeAll(async () => {
    const vitepress = join(root, 'node_modules', 'vitepress', 'bin', 'vitepress.js');
    const { NODE_ENV: _, ...env } = process.env;
    const built = spawnSync(process.execPath, [vitepress, 'build', 'site', '--outDir', site], {
      cwd: root,
      encoding: 'utf8',
      env,
    });
    expect(built.status, built.stdout + built.stderr).toBe(0);
    server = createServer((request, response) => {
      const path = decodeURI(new URL(request.url ?? '/', 'http://site').pathname);
      const file = join(site, path.endsWith('/') ? `${path}index.html` : path);
      const isThere = existsSync(file);
      response.writeHead(isThere ? 200 : 404, {
        'content-type': `${types[extname(file)] ?? 'application/octet-stream'}; charset=utf-8`,
      });
      response.end(readFileSync(isThere ? file : join(site, '404.html')));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    browser = await openBrowser();
    context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] });
  }, 900_000);

  afterAll(async () => {
    await browser?.close();
    server?.close();
    temporary.remove();
  });

  async function open(path: string, colorScheme: 'light' | 'dark' = 'light'): Promise<Page> {
    asked = [];
    complaints = [];
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.setViewportSize({ width: 1280, height: 900 });
    page.on('request', (request) => asked.push(request.url()));
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(`${url}${path}`);
    await page.locator('h1').first().waitFor({ state: 'attached' });
    return page;
  }

  function expectQuiet(): void {
    expect(complaints).toEqual([]);
    expect(asked.filter((address) => !address.startsWith(`${url}/`) && !address.startsWith('data:'))).toEqual([]);
  }

  async function seriousFindings(page: Page): Promise<string[]> {
    await page.evaluate(axe);
    const { violations } = await page.evaluate<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }>(
      `axe.run(document, { resultTypes: ['violations'] })`,
    );
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.length} × ${nodes[0]?.html}`);
  }

  test.each(
    visited.map((path, index) => [path, (index + (seed >> 1)) % 2 === 0 ? ('light' as const) : ('dark' as const)] as const),
  )('%s is quiet, accessible (%s) and readable on a phone', async (path, colorScheme) => {
    const page = await open(path, colorScheme);
    expect(await page.title()).not.toMatch(/^404/);
    expect(await seriousFindings(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 844 });
    expect(await page.evaluate<number>('document.documentElement.scrollWidth - window.innerWidth')).toBeLessThanOrEqual(0);
    expectQuiet();
    await page.close();
  });

  test('finds a word by its search, switches to dark colours and copies the commands of a console block', async () => {
    const page = await open('/');
    await page.locator('.VPNavBarSearch button').first().click();
    await page.locator('.VPLocalSearchBox input').fill('idempotency');
    await page.locator('.VPLocalSearchBox .result').first().waitFor();
    await page.locator('.VPLocalSearchBox .result').first().click();
    await page.locator('.VPDoc h1').waitFor();
    expect(await page.locator('.vp-doc').textContent()).toMatch(/idempotency/i);

    const background = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor');
    const light = await background();
    await page.locator('.VPNavBarAppearance button').click();
    await page.locator('html.dark').waitFor();
    expect(await background()).not.toBe(light);

    await page.goto(`${url}/tutorial/tour.html`);
    const block = page.locator('.language-console', { hasText: 'declarest check' }).first();
    await block.hover();
    await block.locator('button.copy').click();
    await block.locator('button.copied').waitFor();
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(copied.split('\n').filter((line) => line !== '')).toEqual([
      'npx declarest check ../notes',
      'npx declarest serve ../notes',
    ]);
    expectQuiet();
    await page.close();
  });

  test('has links that lead to pages and headings', () => {
    const files = readdirSync(site, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.html'));
    const texts = new Map(files.map((name) => [`/${name.replaceAll('\\', '/')}`, readFileSync(join(site, name), 'utf8')]));
    expect(texts.size).toBe(pages.length + 1);
    const links = [...texts].flatMap(([file, text]) =>
      [...text.matchAll(/<a [^>]*?href="((?:\/|#)[^"]*)"/g)].map(([, href = '']) => ({
        file,
        href: href.replaceAll('&amp;', '&'),
      })),
    );
    const broken = links.filter(({ file, href }) => {
      const [path = '', anchor] = href.split('#');
      const target = path === '' ? file : path.endsWith('/') ? `${path}index.html` : path;
      const text = texts.get(/\.html$/.test(target) ? target : `${target}.html`);
      return text === undefined || (anchor && !text.includes(`id="${decodeURIComponent(anchor)}"`));
    });
    expect(links.length).toBeGreaterThan(100);
    expect([...new Set(broken.map(({ file, href }) => `${file}: ${href}`))]).toEqual([]);
  });

  test('lists every page for language models, with its Markdown', () => {
    const index = readFileSync(join(site, 'llms.txt'), 'utf8');
    const listed = [...index.matchAll(/^- \[.+\]\(\/(.+?)\): /gm)].map(([, path]) => path);
    expect(listed).toEqual(pages.slice(1).map(({ path }) => path));
    expect(listed.filter((path) => !existsSync(join(site, path as string)))).toEqual([]);
    const full = readFileSync(join(site, 'llms-full.txt'), 'utf8');
    expect(pages.filter(({ path }) => !full.includes(`<!-- /${path} -->`))).toEqual([]);
  });
});
