import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeTemporary } from '../support/temporary.ts';

const root = join(import.meta.dirname, '..', '..');
const temporary = makeTemporary('create');
const project = join(temporary.directory, 'project');
const installed = join(project, 'node_modules', 'create-declarest');

function run(program: string, args: readonly string[], cwd = project): string {
  return execFileSync(program, args, { cwd, encoding: 'utf8', stdio: 'pipe' });
}

/** Runs the npm that runs this test, or the one on the path. */
function npm(...args: string[]): string {
  const cli = process.env.npm_execpath;
  return cli?.endsWith('.js') ? run(process.execPath, [cli, ...args]) : run('npm', args);
}

describe('the package create-declarest', () => {
  beforeAll(() => {
    const built = join(temporary.directory, 'built');
    mkdirSync(installed, { recursive: true });
    run(process.execPath, [join(root, 'scripts', 'build-create.ts'), built]);
    const tarball = npm('pack', built, '--silent').trim();
    run('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1']);
    mkdirSync(join(project, 'node_modules', '.bin'));
    symlinkSync('../create-declarest/create-declarest.js', join(project, 'node_modules', '.bin', 'create-declarest'));
    writeFileSync(join(project, 'package.json'), JSON.stringify({ dependencies: { 'create-declarest': `file:${tarball}` } }));
  });
  afterAll(temporary.remove);

  test('has the version of Declarest, a command and no dependencies', () => {
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
    expect(manifest).toMatchObject({ name: 'create-declarest', version, bin: { 'create-declarest': 'create-declarest.js' } });
    for (const key of ['dependencies', 'private']) expect(manifest).not.toHaveProperty(key);
    const imported = readFileSync(join(installed, 'create-declarest.js'), 'utf8').matchAll(/^import .* from "(.*)";$/gm);
    expect([...imported].map(([, name]) => name).filter((name) => !name?.startsWith('node:'))).toEqual([]);
  });

  test('creates the same application as declarest init, when it is called by npm create', () => {
    expect(npm('create', '--offline', 'declarest', 'shop', '--', '--model', 'Product')).toContain('created shop in shop\n');
    run(process.execPath, [join(root, 'bin', 'declarest.js'), 'init', 'other', '--name', 'shop', '--model', 'Product']);
    expect(textsIn('shop')).toEqual(textsIn('other'));
    expect(textsIn('shop').size).toBeGreaterThan(15);
  });

  test('has help, and rejects a wrong call with exit code 2', () => {
    const command = join(installed, 'create-declarest.js');
    expect(run(process.execPath, [command, '--help'])).toContain('Usage: create-declarest [dir] [options]');
    expect(() => run(process.execPath, [command, '--modle', 'A'])).toThrow(
      expect.objectContaining({ status: 2, stderr: expect.stringContaining('unknown option --modle; did you mean "--model"?') }),
    );
  });
});

/** The texts of files below a folder, without the time in names of migrations. */
function textsIn(folder: string): Map<string, string> {
  const directory = join(project, folder);
  const files = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const timeless = (text: string) => text.replaceAll(/\d{14}/g, 'TIME');
  return new Map(
    files.map((entry) => {
      const file = join(entry.parentPath, entry.name);
      return [timeless(file.slice(directory.length)), timeless(readFileSync(file, 'utf8'))];
    }),
  );
}
