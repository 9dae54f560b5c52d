import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { databases, dependencies, devDependencies } from '../../src/cli/init/generated-files.ts';
import { packageManagers } from '../../src/cli/init/package-managers.ts';
import { main } from '../../src/cli/main.ts';
import { makeTemporary } from '../support/temporary.ts';
import { call, testIo } from './call.ts';
import { run } from './spawned.ts';

const root = join(import.meta.dirname, '..', '..');
const temporary = makeTemporary('init');
afterAll(temporary.remove);
let count = 0;

/** A new empty folder. */
function folder(): string {
  const directory = join(temporary.directory, `folder-${++count}`);
  mkdirSync(directory);
  return directory;
}

function filesIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(directory.length + 1))
    .sort();
}

const read = (...path: string[]) => readFileSync(join(...path), 'utf8');

describe('declarest init', () => {
  test.each([
    ['my app', 'my-app', "cd 'my app'"],
    ["it's", 'it-s', "cd 'it'\\''s'"],
    ['-x', 'x', 'cd ./-x'],
    ['b\u00fccher', 'b-cher', 'cd b\u00fccher'],
    ['fastify', 'fastify-app', 'cd fastify'],
    ['node_modules', 'app', 'cd node_modules'],
  ])('names the package of the directory %j, and prints a command that enters it', async (dir, name, command) => {
    const cwd = folder();
    const { code, out } = await call(['init', '--', dir], { cwd });
    expect({ code, name: JSON.parse(read(cwd, dir, 'package.json')).name }).toEqual({ code: 0, name });
    expect(out).toContain(`\n  ${command}\n`);
  });

  test('leaves nothing behind if a file cannot be written, and names the reason', async () => {
    const cwd = folder();
    // paths have at most 4096 bytes: package.json fits, and the migration does not
    let deep = cwd;
    while (deep.length < 4096 - 150) deep = join(deep, 'x'.repeat(100));
    deep = join(deep, 'y'.repeat(4096 - deep.length - 40));
    mkdirSync(deep, { recursive: true });
    const { code, err } = await call(['init', deep], { cwd });
    expect({ code, left: filesIn(deep), folders: readdirSync(deep) }).toEqual({ code: 2, left: [], folders: [] });
    expect(err).toMatch(/^declarest: cannot write the application: ENAMETOOLONG: .*Nothing was written$/m);
    expect(await call(['init', 'z'.repeat(300)], { cwd })).toMatchObject({ code: 2 });
  });

  test('writes an application into a new directory and prints the next steps', async () => {
    const cwd = folder();
    const { code, out, err } = await call(['init', 'blog', '--model', 'BlogPost'], { cwd });
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^created blog in blog\n/);
    expect(out).toContain('  cd blog\n  npm install\n  npm run dev\n');
    expect(out).toContain('curl http://127.0.0.1:3000/api/blog-post.json');
    expect(filesIn(join(cwd, 'blog')).map((file) => file.replace(/\d{14}/, 'TIME'))).toEqual([
      '.dockerignore',
      '.github/workflows/ci.yaml',
      '.gitignore',
      'AGENTS.md',
      'Dockerfile',
      'README.md',
      'compose.yaml',
      'config/apis.yaml',
      'config/app.yaml',
      'config/routes.yaml',
      'migrations/postgresql/.snapshot-postgresql.json',
      'migrations/postgresql/MigrationTIME_initial.ts',
      'package.json',
      'src/models/blog-post.ts',
      'src/seed.ts',
      'src/voters/blog-post-voter.ts',
      'test/access.test.ts',
      'test/blog-post.test.ts',
      'tsconfig.json',
    ]);
    const texts = filesIn(join(cwd, 'blog')).map((file) => read(cwd, 'blog', file));
    expect(texts.join('\n')).not.toMatch(/sample.?(item|app)|20260101/i);
  });

  test('uses the current directory by default, even if it has .git', async () => {
    const cwd = folder();
    mkdirSync(join(cwd, '.git'));
    const { code, out } = await call(['init'], { cwd });
    expect(code).toBe(0);
    expect(out).toContain('Next steps:\n\n  npm install\n');
    for (const text of [out, read(cwd, 'README.md')]) expect(text).toContain('http://127.0.0.1:3000/explorer');
    expect(JSON.parse(read(cwd, 'package.json')).name).toMatch(/^folder-\d+$/);
  });

  test.each(['blog_post2', 'HTTPServer'])(
    'generates a valid application with the model %s, and a migration that fits it',
    async (model) => {
      const cwd = folder();
      expect((await call(['init', '--model', model], { cwd })).code).toBe(0);
      const checked = await run(['migrate', 'check'], { cwd, env: { DATABASE_URL: 'postgresql://app@127.0.0.1/app' } });
      expect(checked).toEqual({ code: 0, out: 'ok: the migrations match the models\n', err: '' });
    },
  );

  test('uses PostgreSQL in development with --database postgresql', async () => {
    const cwd = folder();
    const { out } = await call(['init', '--database', 'postgresql'], { cwd });
    expect(out).toContain('docker compose up -d db');
    expect(await run(['migrate', 'check'], { cwd })).toMatchObject({ code: 0, err: '' });
    const { app_main } = parse(read(cwd, 'config', 'app.yaml'));
    const { db } = parse(read(cwd, 'compose.yaml')).services;
    expect(db.environment).toEqual({ POSTGRES_USER: 'app', POSTGRES_PASSWORD: 'app', POSTGRES_DB: 'app' });
    expect(app_main.database).toEqual({
      url: '%env(default:postgresql://app:app@127.0.0.1:5432/app:DATABASE_URL)%',
      schema: 'migrate',
    });
    const sqlite = folder();
    await call(['init'], { cwd: sqlite });
    const texts = ['config/app.yaml', 'README.md', 'AGENTS.md'].map((file) => read(sqlite, file)).join('\n');
    expect(databases.postgresql.replacements.filter(([from]) => !texts.includes(from))).toEqual([]);
  });

  test.each(['pnpm', 'yarn'] as const)('writes files for %s', async (manager) => {
    const cwd = folder();
    const { out } = await call(['init', '--package-manager', manager], { cwd });
    expect(out).toContain(`  ${manager} install\n  ${manager} run dev\n`);
    const texts = filesIn(cwd).map((file) => read(cwd, file));
    expect(texts.join('\n')).not.toMatch(/\b(npm|npx)\b|package-lock/);
    expect(JSON.parse(read(cwd, 'package.json')).packageManager).toMatch(new RegExp(`^${manager}@\\d`));
    expect(existsSync(join(cwd, '.yarnrc.yml'))).toBe(manager === 'yarn');
    const npm = folder();
    await call(['init'], { cwd: npm });
    const originals = filesIn(npm)
      .map((file) => read(npm, file))
      .join('\n');
    expect(packageManagers[manager].replacements.filter(([from]) => !originals.includes(from))).toEqual([]);
  });

  test('detects the package manager that started it', async () => {
    const cwd = folder();
    await call(['init'], { cwd, env: { npm_config_user_agent: 'pnpm/11.2.3 npm/? node/v24.0.0 linux x64' } });
    expect(JSON.parse(read(cwd, 'package.json')).packageManager).toBe('pnpm@11.2.3');
  });

  test('writes configuration that fits the JSON Schema named in its first line', async () => {
    const cwd = folder();
    await call(['init'], { cwd });
    const validate = new Ajv2020({ strict: false, allErrors: true }).compile(
      JSON.parse(read(root, 'schema', 'app-main.schema.json')),
    );
    for (const name of readdirSync(join(cwd, 'config'))) {
      const text = read(cwd, 'config', name);
      expect(text).toMatch(/^# yaml-language-server: \$schema=\.\.\/node_modules\/declarest\/schema\/app-main\.schema\.json\n/);
      expect(validate(parse(text)), `${name}: ${JSON.stringify(validate.errors)}`).toBe(true);
    }
  });

  test('depends on Declarest by the version of the command, or as --declarest says', async () => {
    const { version } = JSON.parse(read(root, 'package.json'));
    const cwd = folder();
    writeFileSync(join(cwd, 'declarest.tgz'), '');
    const specOf = async (dir: string, ...options: string[]) => {
      expect((await call(['init', dir, ...options], { cwd })).code).toBe(0);
      return JSON.parse(read(cwd, dir, 'package.json')).dependencies.declarest;
    };
    expect(await specOf('a')).toBe(`^${version}`);
    expect(await specOf('b', '--declarest', 'declarest.tgz')).toBe('file:../declarest.tgz');
    expect(await specOf('c', '--declarest', 'next')).toBe('next');
    expect(await specOf('d', '--declarest', '1.2.3')).toBe('1.2.3');
  });

  test('has versions that include the ones Declarest is tested with', () => {
    const {
      dependencies: own,
      devDependencies: dev,
      peerDependencies,
      peerDependenciesMeta,
    } = JSON.parse(read(root, 'package.json'));
    const tested: Record<string, string> = { ...dev, ...own };
    for (const [name, range] of Object.entries({ ...dependencies, ...devDependencies }))
      expect(`${name} ${range}`).toBe(`${name} ${name.startsWith('@mikro-orm/') ? '' : '^'}${tested[name]}`);
    const required = Object.keys(peerDependencies).filter((name) => !peerDependenciesMeta[name]?.optional);
    expect(required.filter((name) => !Object.hasOwn(dependencies, name))).toEqual([]);
  });
});

describe('existing files', () => {
  test('are listed, and nothing is written', async () => {
    const cwd = folder();
    mkdirSync(join(cwd, 'config'));
    writeFileSync(join(cwd, 'config', 'app.yaml'), 'mine');
    writeFileSync(join(cwd, 'package.json'), '{ "name": "mine" }');
    writeFileSync(join(cwd, 'src'), 'a file in the place of a folder');
    symlinkSync('nowhere', join(cwd, 'Dockerfile'));
    const before = filesIn(cwd);
    const { code, out, err } = await call(['init'], { cwd });
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toBe(
      'declarest: the current directory already has files that init would write. Nothing was written. ' +
        'Choose another directory, or move these files:\n  Dockerfile\n  config/app.yaml\n  package.json\n  src\n',
    );
    expect(filesIn(cwd)).toEqual(before);
    expect(read(cwd, 'config', 'app.yaml')).toBe('mine');
  });

  test('do not matter if they are not in the way', async () => {
    const cwd = folder();
    writeFileSync(join(cwd, 'LICENSE'), 'mine');
    expect((await call(['init'], { cwd })).code).toBe(0);
    expect(read(cwd, 'LICENSE')).toBe('mine');
  });

  test('may be the package.json of "npm install declarest", whose dependencies are kept', async () => {
    const cwd = folder();
    writeFileSync(
      join(cwd, 'package.json'),
      '{ "dependencies": { "declarest": "file:../declarest.tgz", "@mikro-orm/core": "^7.2.2" } }',
    );
    expect((await call(['init'], { cwd })).code).toBe(0);
    const manifest = JSON.parse(read(cwd, 'package.json'));
    expect(manifest).toMatchObject({ type: 'module', dependencies: { ...dependencies, declarest: 'file:../declarest.tgz' } });
  });

  test('cannot be the directory itself', async () => {
    const cwd = folder();
    writeFileSync(join(cwd, 'app'), '');
    const { code, err } = await call(['init', 'app'], { cwd });
    expect(code).toBe(2);
    expect(err).toBe('declarest: app is a file; give a directory that is empty or does not exist\n');
  });
});

describe('wrong options', () => {
  test.each([
    [['--model', '1st'], /--model must be the name of a class .*, not "1st"/],
    [['--model', '../x'], /--model must be the name of a class/],
    [['--model', 'user'], /--model cannot be User: .* choose another, such as Account/],
    [['--name', 'My App'], /--name must be a package name .*, not "My App"/],
    [['--name', 'declarest'], /--name cannot be declarest/],
    [['--database', 'mysql'], /--database must be one of sqlite, postgresql, not "mysql"/],
    [['--package-manager', 'pnmp'], /--package-manager must be one of npm, pnpm, yarn, not "pnmp"; did you mean "pnpm"\?/],
    [['--declarest', './missing.tgz'], /--declarest: \.\/missing\.tgz does not exist/],
    [['--install', '--no-install'], /--install and --no-install exclude each other/],
  ])('%j are rejected, and nothing is written', async (options, message) => {
    const cwd = folder();
    const { code, err } = await call(['init', ...options], { cwd });
    expect(code).toBe(2);
    expect(err).toMatch(message);
    expect(filesIn(cwd)).toEqual([]);
  });
});

describe('on a terminal', () => {
  const answering = (cwd: string, answers: readonly string[]) => {
    const asked: string[] = [];
    const ask = async (question: string) => {
      asked.push(question);
      return answers[asked.length - 1] as string;
    };
    return { asked, io: { ...testIo({ cwd }), ask } };
  };

  test('it asks for what no option sets', async () => {
    const cwd = folder();
    const { asked, io } = answering(cwd, ['shop', 'Product', '', 'no']);
    expect(await main(['init'], io)).toBe(0);
    expect(asked).toEqual([
      'Directory [.]: ',
      'Model [Note]: ',
      'Database in development, sqlite or postgresql [sqlite]: ',
      'Run "npm install" now [yes]: ',
    ]);
    expect(existsSync(join(cwd, 'shop', 'src', 'models', 'product.ts'))).toBe(true);
  });

  test('it asks nothing if every option is given', async () => {
    const { asked, io } = answering(folder(), []);
    expect(await main(['init', '.', '--model', 'Product', '--database', 'sqlite', '--no-install'], io)).toBe(0);
    expect(asked).toEqual([]);
  });
});

test('--install runs the package manager in the directory, and its failure is reported', async () => {
  const cwd = folder();
  const bin = join(cwd, 'bin');
  mkdirSync(bin);
  const script = `#!/bin/sh\necho "$@" > installed.txt\nexit \${INSTALL_EXIT:-0}\n`;
  writeFileSync(join(bin, 'npm'), script, { mode: 0o755 });
  const declarest = join(root, 'bin', 'declarest.js');
  const init = (dir: string, env: NodeJS.ProcessEnv) =>
    execFileSync(process.execPath, [declarest, 'init', dir, '--install'], {
      cwd,
      encoding: 'utf8',
      stdio: 'pipe',
      env: { ...process.env, npm_config_user_agent: '', PATH: `${bin}:${process.env.PATH}`, ...env },
    });
  expect(init('a', {})).toContain('Next steps:\n\n  cd a\n  npm run dev\n');
  expect(read(cwd, 'a', 'installed.txt')).toBe('install\n');
  expect(() => init('b', { INSTALL_EXIT: '7' })).toThrow(
    /"npm install" failed: it ended with exit code 7\. The files were written; install the dependencies yourself/,
  );
});
