// Runs every `console` block of the tutorial and the how-to pages; commands that are not run belong in `sh` blocks.
//
// app=courses     in the root of the repository, with examples/courses served once for all pages; $TOKEN is the token of `npm start`
// app=another     in a temporary directory, into which the `file=` blocks of the page are written as they come; the pages of the tutorial share it
// database=FILE    marks statements that are run in this SQLite file of the directory
// postgresql://notes:secret@127.0.0.1:5432/notes     is an empty database of the test run
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { makeTemporary } from '../support/temporary.ts';
import { Console, environment, matchesShown, outputUntil, stepsOf } from './console.ts';
import { blocksOf, pages, readPage, root } from './markdown.ts';

const shownDatabase = 'postgresql://notes:secret@127.0.0.1:5432/notes';
const tutorial = pages.filter((page) => page.startsWith('docs/tutorial/'));
const howTos = pages.filter((page) => page.startsWith('docs/how-to/'));
/** It uses the application of the README, with which test/docs/examples.test.ts runs it. */
const runElsewhere = 'docs/how-to/review-access.md';

const hasBlocks = (page: string, belongs: (app: string | undefined) => boolean) =>
  blocksOf(page).some(({ language, marks }) => language === 'console' && belongs(marks.app));
const isOwn = (app: string | undefined) => app !== 'courses';

/** Runs the blocks of an application in the order of the page. Files are written before the steps that follow them. */
async function follow(
  page: string,
  terminal: Console,
  belongs: (app: string | undefined) => boolean,
  directory = '',
): Promise<void> {
  for (const { language, line, marks, text } of blocksOf(page)) {
    if (marks.file && directory !== '') {
      mkdirSync(dirname(join(directory, marks.file)), { recursive: true });
      writeFileSync(join(directory, marks.file), text);
    }
    if (marks.database && directory !== '') {
      const database = new DatabaseSync(join(directory, marks.database));
      database.exec(text);
      database.close();
    }
    if (language !== 'console' || !belongs(marks.app)) continue;
    for (const { command, shown } of stepsOf(text)) {
      const place = `${page}:${line}\n$ ${command}\n`;
      const actual = await terminal.run(command);
      if (!matchesShown(shown, actual)) expect(place + actual).toBe(place + shown);
    }
  }
}

/** Runs pages one after another on one application of their own. */
async function followAll(run: readonly string[]): Promise<void> {
  const temporary = makeTemporary('docs-how-to');
  const directory = join(temporary.directory, 'notes');
  mkdirSync(directory);
  let database: FreshDatabase | undefined;
  if (run.some((page) => readPage(page).includes(shownDatabase))) database = await freshDatabase('postgresql');
  const terminal = new Console(directory, { cwd: directory, aliases: { [shownDatabase]: database?.url ?? '' } });
  try {
    for (const page of run) await follow(page, terminal, isOwn, directory);
  } finally {
    await terminal.close();
    await database?.drop();
    temporary.remove();
  }
}

test('the tutorial shows what its commands print, page after page', async () => {
  await followAll(tutorial);
});

test.each(howTos.filter((page) => page !== runElsewhere && hasBlocks(page, isOwn)))(
  '%s shows what the commands on its own application print',
  async (page) => {
    await followAll([page]);
  },
);

describe('the how-to pages on examples/courses', () => {
  const shared = howTos.filter((page) => hasBlocks(page, (app) => app === 'courses'));
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

  test.each(shared)('%s shows what the commands on examples/courses print', async (page) => {
    const url = /listening on (\S+)/.exec(output)?.[1] ?? '';
    const token = /Bearer ([\w.-]+)/.exec(output)?.[1] ?? '';
    const terminal = new Console('', { cwd: root, env: { DATABASE_URL: 'sqlite::memory:' }, url, variables: { TOKEN: token } });
    await follow(page, terminal, (app) => app === 'courses');
    await terminal.close();
  });
});

test.each([...tutorial, ...howTos])('%s has at most 1,500 words', (page) => {
  expect(
    readPage(page)
      .replace(/^```[\s\S]*?^```$/gm, '')
      .split(/\s+/).length,
  ).toBeLessThanOrEqual(1500);
});
