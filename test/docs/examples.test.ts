import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeTemporary } from '../support/temporary.ts';
import { Console, environment, matchesShown, outputUntil, stepsOf } from './console.ts';
import { blocksOf, root } from './markdown.ts';

const temporary = makeTemporary('docs');
afterAll(temporary.remove);

/** Writes the files that a page shows. */
function writeFiles(page: string, directory: string, skip: readonly string[] = []): void {
  for (const { marks, text } of blocksOf(page)) {
    if (!marks.file || skip.includes(marks.file)) continue;
    mkdirSync(dirname(join(directory, marks.file)), { recursive: true });
    writeFileSync(join(directory, marks.file), text);
  }
}

function stepsFor(page: string, app: string) {
  return blocksOf(page)
    .filter(({ language, marks }) => language === 'console' && marks.app === app)
    .flatMap(({ text, line }) => stepsOf(text).map((step) => ({ ...step, place: `${page}:${line}` })));
}

async function expectShown(console: Console, steps: ReturnType<typeof stepsFor>): Promise<void> {
  expect(steps.length).toBeGreaterThan(0);
  for (const { command, shown, place } of steps) {
    const actual = await console.run(command);
    if (!matchesShown(shown, actual)) expect(`${place}\n$ ${command}\n${actual}`).toBe(`${place}\n$ ${command}\n${shown}`);
  }
}

describe.each(['README.md', 'docs/reference/cli.md'])('the README application in %s', (page) => {
  const directory = join(temporary.directory, page.replaceAll(/\W/g, '-'), 'notes');
  const terminal = new Console(directory);
  afterAll(() => terminal.close());

  test('responds to every command and request as shown', async () => {
    writeFiles('README.md', directory);
    await expectShown(terminal, stepsFor(page, 'notes'));
  });

  test('reports its mistakes as shown', async () => {
    const broken = `${directory}-broken`;
    cpSync(directory, broken, { recursive: true, filter: (name) => !name.endsWith('/var') });
    for (const { marks, text } of blocksOf('README.md')) if (marks.broken) writeFileSync(join(broken, marks.broken), text);
    await expectShown(new Console(broken), stepsFor(page, 'broken'));
  });
});

test('declarest init responds as shown in docs/reference/cli.md', async () => {
  const cwd = join(temporary.directory, 'init');
  mkdirSync(cwd);
  await expectShown(new Console('', { cwd, env: { npm_config_user_agent: '' } }), stepsFor('docs/reference/cli.md', 'init'));
});

describe('the README application in docs/how-to/review-access.md', () => {
  const page = 'docs/how-to/review-access.md';
  const directory = join(temporary.directory, 'access-review', 'notes');

  test('is compared with its baseline as shown', async () => {
    writeFiles('README.md', directory);
    await expectShown(new Console(directory), stepsFor(page, 'notes'));
    const saved = readFileSync(join(directory, 'access.baseline'), 'utf8').split('\n');
    const facts =
      blocksOf(page)
        .find(({ text }) => text.startsWith('/api/note/'))
        ?.text.trim()
        .split('\n') ?? [];
    expect(saved).toEqual(expect.arrayContaining(facts));
    const opened = blocksOf(page).filter(({ marks }) => marks.opened);
    for (const { marks, text } of opened) writeFileSync(join(directory, marks.opened as string), text);
    await expectShown(new Console(directory), stepsFor(page, 'opened'));
  });
});

describe('npm start', () => {
  let server: ChildProcess;
  let output = '';

  beforeAll(async () => {
    server = spawn(process.execPath, [join(root, 'scripts', 'start.ts')], {
      cwd: root,
      env: environment({ PORT: '0', DATABASE_URL: 'sqlite::memory:' }),
    });
    output = await outputUntil(server, /Routes: /);
  });
  afterAll(async () => {
    const ended = new Promise((resolve) => server.once('exit', resolve));
    server.kill('SIGTERM');
    await ended;
  });

  test('prints the request that the README shows, and only the one without a token is rejected', async () => {
    const url = /listening on (\S+)/.exec(output)?.[1] ?? '';
    const token = /Bearer ([\w.-]+)/.exec(output)?.[1] ?? '';
    const printed = [...output.matchAll(/^ {2}(curl .*)$/gm)].map((match) =>
      (match[1] as string)
        .replace(url, 'http://127.0.0.1:3000')
        .replace(/^curl -i /, 'curl ')
        .replace(`'Authorization: Bearer ${token}'`, '"Authorization: Bearer $TOKEN"'),
    );
    const steps = stepsFor('README.md', 'courses');
    expect(printed).toEqual(expect.arrayContaining(steps.map(({ command }) => command)));
    const terminal = new Console('', { url, variables: { TOKEN: token } });
    await expectShown(terminal, steps);
    const rejected: string[] = [];
    for (const command of printed) if ((await terminal.run(command)).includes('urn:declarest:problem:')) rejected.push(command);
    expect(rejected).toEqual(['curl http://127.0.0.1:3000/api/person.json']);
  });

  test('responds to the requests of docs/reference/query-syntax.md as shown', async () => {
    const url = /listening on (\S+)/.exec(output)?.[1] ?? '';
    const token = /Bearer ([\w.-]+)/.exec(output)?.[1] ?? '';
    await expectShown(
      new Console('', { url, variables: { TOKEN: token } }),
      stepsFor('docs/reference/query-syntax.md', 'courses'),
    );
  });
});

describe('examples inside the repository, which resolve "declarest" to this package', () => {
  const directory = join(root, 'var', `docs-examples-${process.pid}`);
  beforeAll(() => {
    writeFiles('README.md', directory, ['package.json']);
    writeFiles('docs/reference/testing.md', directory);
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  test('the application in code serves the same responses', async () => {
    const server = spawn(process.execPath, [join(directory, 'server.ts')], { env: environment({ PORT: '0' }), cwd: directory });
    try {
      const text = await outputUntil(server, /listening on \S+\n/);
      const response = await fetch(`${/listening on (\S+)/.exec(text)?.[1]}/api/note.json`);
      expect(response.status).toBe(401);
    } finally {
      server.kill('SIGKILL');
    }
  });

  test('the tests of docs/reference/testing.md pass', () => {
    for (const [name, passed] of [
      ['note', 3],
      ['explain', 1],
      ['access', 35],
    ] as const) {
      const file = join(directory, 'test', `${name}.test.ts`);
      const { status, stdout, stderr } = spawnSync(process.execPath, ['--test', '--test-reporter=tap', file], {
        encoding: 'utf8',
        env: environment(),
        cwd: directory,
      });
      expect(status, stdout + stderr).toBe(0);
      expect(stdout).toMatch(new RegExp(`^# pass ${passed}$`, 'm'));
    }
  });
});
