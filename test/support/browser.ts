import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const usual = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  'C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe',
];

/** Throws without a browser: if the tests were skipped, the pages would be untested. */
function executable(): string {
  const found = process.env.DECLAREST_TEST_CHROMIUM ?? usual.find(existsSync);
  if (found !== undefined) return found;
  throw new Error(
    'there is no Chromium, in which the pages are tested: install it (on Debian: apt-get install chromium), or name one by DECLAREST_TEST_CHROMIUM',
  );
}

/** A browser that reaches this machine only. */
export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: executable(),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
    ],
  });
}

let running: Promise<Browser> | undefined;

/**
 * The browser of this process. Starting one takes a second of processor time. To close it closes its pages and forgets what they
 * stored; the browser itself ends with the process.
 */
export async function openBrowser(): Promise<Browser> {
  running ??= launchBrowser();
  const browser = await running;
  return new Proxy(browser, { get: (target, key) => (key === 'close' ? () => closePages(target) : memberOf(target, key)) });
}

async function closePages(browser: Browser): Promise<void> {
  await Promise.all(browser.contexts().map((context) => context.close()));
}

/** Methods get the browser itself as `this`. */
function memberOf(browser: Browser, key: string | symbol): unknown {
  const member: unknown = Reflect.get(browser, key, browser);
  return typeof member === 'function' ? member.bind(browser) : member;
}
