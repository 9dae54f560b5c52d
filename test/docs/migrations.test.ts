import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { databases, freshDatabase } from '../support/databases.ts';
import { makeTemporary } from '../support/temporary.ts';
import { Console, matchesShown, stepsOf } from './console.ts';
import { blocksOf } from './markdown.ts';

const page = 'docs/reference/migrations.md';
const blocks = blocksOf(page);

describe.each(databases)('docs/reference/migrations.md on %s', (kind) => {
  const temporary = makeTemporary('docs-migrations');
  afterAll(temporary.remove);

  function write(directory: string, file: string, text: string): void {
    mkdirSync(dirname(join(directory, file)), { recursive: true });
    writeFileSync(join(directory, file), text);
  }

  /** The file of a migration, and its text with the time that the page shows. */
  function migration(directory: string, name: string, shown: string): { path: string; text: string; own: string } {
    const [path = ''] = globSync(join(directory, 'migrations', `*_${name}.ts`));
    const own = basename(path, '.ts');
    const text = readFileSync(path, 'utf8').replaceAll(own, /class (\w+)/.exec(shown)?.[1] ?? own);
    return { path, text, own };
  }

  async function follow(app: string, files: Readonly<Record<string, string>>): Promise<void> {
    const directory = join(temporary.directory, app);
    const database = await freshDatabase(kind);
    const terminal = new Console(directory, { cwd: directory, env: { DATABASE_URL: database.url } });
    for (const [file, text] of Object.entries(files)) write(directory, file, text);
    try {
      for (const { language, line, marks, text } of blocks) {
        const place = `${page}:${line}`;
        if (marks.migration && app === 'contacts') {
          const found = migration(directory, marks.migration, text);
          if (marks.system === kind) expect(found.text, place).toBe(text);
          else if (marks.system === undefined) writeFileSync(found.path, text.replace(/class \w+/, `class ${found.own}`));
        }
        if (marks.app !== app) continue;
        if (marks.file) write(directory, marks.file, text);
        if (language !== 'console') continue;
        for (const { command, shown } of stepsOf(text)) {
          const actual = await terminal.run(command);
          if (!matchesShown(shown, actual)) expect(`${place}\n$ ${command}\n${actual}`).toBe(`${place}\n$ ${command}\n${shown}`);
        }
      }
    } finally {
      await terminal.close();
      await database.drop();
    }
  }

  // the page shows migrations for PostgreSQL; random changes are migrated on both databases by test/database
  if (kind === 'postgresql') {
    test.runIf(kind === 'postgresql')(
      'every step of the guide works as shown, in order',
      async () => {
        const first = (file: string) => blocks.find(({ marks }) => marks.file === file)?.text ?? '';
        const names = ['package.json', 'config/routes.yaml', 'config/app_main.yaml', 'src/models/person.ts'];
        await follow('contacts', Object.fromEntries(names.map((file) => [file, first(file)])));
      },
      180_000,
    );
  }

  test('adopting an existing database works as shown', async () => {
    const last = (file: string) => blocks.findLast(({ marks }) => marks.file === file)?.text ?? '';
    const names = ['package.json', 'config/routes.yaml', 'src/models/person.ts', 'src/models/address.ts'];
    await follow('existing', Object.fromEntries(names.map((file) => [file, last(file)])));
  });
});
