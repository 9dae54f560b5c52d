import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Console, environment, matchesShown, outputUntil, stepsOf } from './console.ts';
import { blocksOf, root } from './markdown.ts';

// Inside of the repository, so that "declarest" means this package; var/ is not under version control.
const directory = join(root, 'var', `docs-how-to-code-${process.pid}`);
let server: ChildProcess | undefined;

function writeFiles(page: string, application = ''): void {
  for (const { marks, text } of blocksOf(page)) {
    // with a package.json of its own, the directory would no longer belong to this package
    if (!marks.file || marks.file === 'package.json') continue;
    const file = join(directory, application, marks.file);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}

async function start(file: string, env: Record<string, string> = {}): Promise<string> {
  server = spawn(process.execPath, [join(directory, file)], { cwd: directory, env: environment({ PORT: '0', ...env }) });
  const text = await outputUntil(server, /listening on \S+\n/);
  return /listening on (\S+)/.exec(text)?.[1] ?? '';
}

afterEach(() => {
  server?.kill('SIGKILL');
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe('docs/how-to/embed-in-fastify.md', () => {
  const page = 'docs/how-to/embed-in-fastify.md';
  beforeAll(() => writeFiles(page));

  test.each(['shop.ts', 'office.ts'])('shows what %s responds', async (file) => {
    const terminal = new Console('', { url: await start(file) });
    const shown = blocksOf(page).filter(({ language, marks }) => language === 'shellsession' && marks.server === file);
    expect(shown.length).toBeGreaterThan(0);
    for (const step of shown.flatMap(({ text }) => stepsOf(text))) {
      const actual = await terminal.run(step.command);
      if (!matchesShown(step.shown, actual)) expect(actual).toBe(step.shown);
    }
  });
});

describe('docs/how-to/call-from-a-browser.md', () => {
  const origin = 'http://localhost:5173';
  beforeAll(() => writeFiles('docs/how-to/call-from-a-browser.md'));

  test('allows the listed origins, and no others', async () => {
    const env = { DIRECTORY: join(root, 'examples', 'courses'), DATABASE_URL: 'sqlite::memory:' };
    const url = await start('browser-server.ts', env);

    const preflight = await fetch(`${url}/api/person.json`, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization' },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-origin')).toBe(origin);
    expect(preflight.headers.get('access-control-allow-headers')).toContain('Authorization');

    const list = await fetch(`${url}/api/center.json`, { headers: { origin } });
    expect(list.status).toBe(200);
    expect(list.headers.get('access-control-allow-origin')).toBe(origin);
    expect(list.headers.get('vary')).toContain('Origin');

    const refused = await fetch(`${url}/api/person.json`, { headers: { origin } });
    expect(refused.status).toBe(401);
    expect(refused.headers.get('access-control-allow-origin')).toBe(origin);

    const foreign = await fetch(`${url}/api/center.json`, { headers: { origin: 'https://evil.example' } });
    expect(foreign.headers.get('access-control-allow-origin')).toBeNull();
  });
});

describe('docs/how-to/restrict-rows.md', () => {
  test('shows access tests that pass', () => {
    const page = 'docs/how-to/restrict-rows.md';
    writeFiles(page, 'customers');
    const options = { encoding: 'utf8', env: environment(), cwd: join(directory, 'customers') } as const;
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--test', '--test-reporter=tap'], options);
    expect(status, stdout + stderr).toBe(0);
    expect(stdout).toMatch(/^# pass [1-9]\d+$/m);
  });
});

describe('docs/how-to/test-access.md', () => {
  const blocks = blocksOf('docs/how-to/test-access.md');

  test('shows the test file of the example application', () => {
    const block = blocks.find(({ marks }) => marks.example);
    expect(block?.text).toBe(readFileSync(join(root, block?.marks.example ?? ''), 'utf8'));
  });

  test('shows tests that pass', () => {
    const block = blocks.find(({ marks }) => marks.run);
    const file = join(directory, block?.marks.run ?? '');
    mkdirSync(directory, { recursive: true });
    writeFileSync(file, block?.text ?? '');
    const options = { encoding: 'utf8', env: environment(), cwd: root } as const;
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--test', '--test-reporter=tap', file], options);
    expect(status, stdout + stderr).toBe(0);
    expect(stdout).toMatch(/^# pass 3$/m);
  });
});
