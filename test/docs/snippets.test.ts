import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { builtPackage } from '../../scripts/command.ts';
import { blocksOf, pages, root } from './markdown.ts';

// Inside of the repository, so that "declarest" means this package; var/ is not under version control.
const directory = join(root, 'var', `docs-${process.pid}`);
const snippets = pages
  .filter((page) => page !== 'CONTRIBUTING.md')
  .flatMap((page) =>
    blocksOf(page)
      .filter(({ language, marks }) => language === 'ts' && marks.untyped === undefined)
      .map((block) => ({ page, ...block })),
  );

/** The tutorial builds one application, a how-to page has its own, and other pages add to the application of the README. */
function folderOf(page: string): string {
  if (page.startsWith('docs/tutorial/')) return 'tutorial';
  return page.startsWith('docs/how-to/') ? page.replaceAll(/\W/g, '-') : 'notes';
}

/** The compiler checks a whole program. The declarations that users install are read sooner than the source is checked. */
function declared(folder: string) {
  const types = (name: string) => [join(folder, 'types', `${name}.d.ts`)];
  return { paths: { declarest: types('index'), 'declarest/testing': types('testing') } };
}

describe('the TypeScript in the documentation', () => {
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  test('passes the type checker as a file of its application', () => {
    // A block without a file is placed beside the controllers of the example application, a tab beside YAML in its configuration.
    cpSync(join(root, 'examples', 'courses', 'src'), join(directory, 'courses', 'src'), { recursive: true });
    cpSync(join(root, 'examples', 'courses', 'client.ts'), join(directory, 'courses', 'src', 'controllers', 'client.ts'));
    const places = new Map<string, string>();
    for (const { page, marks, text, line } of snippets) {
      const place = 'tab' in marks ? 'courses/config' : 'courses/src/controllers';
      const file = marks.file ? `${folderOf(page)}/${marks.file}` : `${place}/${page.replaceAll(/\W/g, '-')}-${line}.ts`;
      places.set(file, `${page}:${line}`);
      mkdirSync(dirname(join(directory, file)), { recursive: true });
      writeFileSync(join(directory, file), text);
    }
    const config = {
      extends: join(root, 'tsconfig.json'),
      compilerOptions: {
        rootDir: root,
        typeRoots: [join(root, 'node_modules', '@types')],
        ...(builtPackage && declared(builtPackage)),
      },
      include: ['courses/config', 'courses/src/controllers', ...new Set(snippets.map(({ page }) => folderOf(page)))],
      exclude: [],
    };
    writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(config));
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const { stdout } = spawnSync(process.execPath, [tsc, '-p', directory, '--pretty', 'false', '--singleThreaded'], {
      cwd: directory,
      encoding: 'utf8',
    });
    const faults = stdout
      .trim()
      .split('\n')
      // the library itself is checked elsewhere
      .filter((text) => text !== '' && !text.startsWith('../../src/'))
      .map((text) => text.replace(/^[^(]+/, (file) => places.get(file) ?? file));
    expect(snippets.length).toBeGreaterThan(10);
    expect(faults).toEqual([]);
  });
});
