import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { builtPackage } from '../scripts/command.ts';
import { noteLoaded, packagesIn } from './support/loaded-modules.ts';
import { makeTemporary } from './support/temporary.ts';

const root = join(import.meta.dirname, '..');
const source = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

describe('the built package', () => {
  const temporary = makeTemporary('package');
  const built = builtPackage ?? join(temporary.directory, 'dist');
  // A project of a user's: Node treats what is in node_modules differently, and so does TypeScript.
  const project = join(temporary.directory, 'project');
  const installed = join(project, 'node_modules', 'declarest');
  const run = (...args: string[]) => execFileSync(process.execPath, args, { cwd: project, encoding: 'utf8' });

  beforeAll(() => {
    if (!builtPackage) execFileSync(process.execPath, [join(root, 'scripts', 'build.ts'), built], { encoding: 'utf8' });
    mkdirSync(join(project, 'node_modules', '@types'), { recursive: true });
    cpSync(built, installed, { recursive: true });
    for (const name of [...Object.keys(source.dependencies), '@types/node']) {
      mkdirSync(join(project, 'node_modules', name, '..'), { recursive: true });
      symlinkSync(join(root, 'node_modules', name), join(project, 'node_modules', name));
    }
    writeFileSync(join(project, 'package.json'), '{ "type": "module" }');
  });
  afterAll(temporary.remove);

  test('has a manifest without repository-only fields', () => {
    const manifest = JSON.parse(readFileSync(join(built, 'package.json'), 'utf8'));
    expect(manifest).toMatchObject({
      name: source.name,
      version: source.version,
      license: source.license,
      engines: source.engines,
      dependencies: source.dependencies,
    });
    for (const key of ['private', 'scripts', 'devDependencies', 'allowScripts', 'scarfSettings', 'files'])
      expect(manifest).not.toHaveProperty(key);
  });

  test('has every file named in its manifest', () => {
    const manifest = JSON.parse(readFileSync(join(built, 'package.json'), 'utf8'));
    expect(Object.keys(manifest.exports)).toEqual(Object.keys(source.exports));
    const named = Object.values<string | Record<string, string>>({ ...manifest.exports, ...manifest.bin }).flatMap((entry) =>
      typeof entry === 'string' ? [entry] : Object.values(entry),
    );
    expect(named.length).toBeGreaterThan(Object.keys(source.exports).length);
    expect(named.filter((file) => !existsSync(join(built, file)))).toEqual([]);
  });

  test('exports the same names as the source', async () => {
    for (const [path, file] of Object.entries<string>(source.exports).filter(([, file]) => file.endsWith('.ts'))) {
      const name = join('declarest', path);
      const names = run('--input-type=module', '-e', `console.log(JSON.stringify(Object.keys(await import('${name}')).sort()))`);
      expect(JSON.parse(names)).toEqual(Object.keys(await import(join(root, file))).sort());
    }
  });

  test('has types that a strict project can use', () => {
    // Where the types of a name cannot be found it silently becomes any. The last line has an error on purpose:
    // that it is the only one shows that the lines above it were looked at. So has that of a field that is called otherwise in JSON.
    const use = `
      import * as declarest from 'declarest';
      import * as testing from 'declarest/testing';
      type All = typeof declarest & typeof testing;
      type Untyped = { [K in keyof All]: 0 extends 1 & All[K] ? K : never }[keyof All];
      export const untyped: [Untyped] extends [never] ? [] : [Untyped] = [];
      export const missing = declarest.noSuchName;
      import { defineEntity, p } from '@mikro-orm/core';
      const Thing = defineEntity({ name: 'Thing', properties: { id: p.integer().primary(), size: p.integer().serializedName('length') } });
      const base = { class: Thing, base_path: '/thing', actions: { _index: null } } as const;
      export const apis = declarest.defineApis({ thing: { ...base, sort: ['length'] } });
      export const wrong = declarest.defineApis({ thing: { ...base, sort: ['size'] } });`;
    writeFileSync(join(project, 'use.ts'), use);
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', '--types', 'node', '--skipLibCheck'];
    const result = spawnSync(process.execPath, [tsc, '--ignoreConfig', ...options, 'use.ts'], { cwd: project, encoding: 'utf8' });
    expect(result.stdout.trim().split('\n')).toEqual([
      expect.stringMatching(/^use\.ts\(7,\d+\): error TS2339: .*noSuchName/),
      expect.stringMatching(/^use\.ts\(12,\d+\): error TS2322: .*Mistake<"Thing has no field 'size'; it has: id, length">/),
      expect.anything(),
    ]);
  });

  test('has a command', () => {
    expect(run(join(installed, 'bin', 'declarest.js'), '--help')).toMatch(/declarest/);
  });

  test('serves an application from its bundle and shares its classes with the application', async () => {
    cpSync(join(root, 'examples', 'courses'), join(project, 'courses'), { recursive: true });
    symlinkSync(join(root, 'node_modules', 'zod'), join(project, 'node_modules', 'zod'));
    const noted = noteLoaded(project);
    const server = spawn(process.execPath, [join(installed, 'bin', 'declarest.js'), 'serve', 'courses', '--port', '0'], {
      cwd: project,
      env: { ...process.env, ...noted.env, NODE_ENV: 'development', DATABASE_URL: 'sqlite::memory:' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const [line] = await once(server.stdout.setEncoding('utf8'), 'data');
      const response = await fetch(`${/http:\S+/.exec(line)?.[0]}/api/center.json`);
      expect(await response.json()).toMatchObject({ count: 3 });
      const page = await (await fetch(`${/http:\S+/.exec(line)?.[0]}/docs`)).text();
      const files = [...page.matchAll(/(?:href|src)="(docs\/[^"]+)"/g)].map(([, file]) => file);
      expect(files.filter((file) => /^docs\/(viewer|page)\.[0-9a-f]+\.(css|js)$/.test(file ?? ''))).toHaveLength(4);
      for (const file of files) expect((await fetch(`${/http:\S+/.exec(line)?.[0]}/${file}`)).status).toBe(200);
    } finally {
      server.kill('SIGTERM');
      await once(server, 'exit');
    }
    expect(packagesIn(noted.loaded())).toEqual(expect.arrayContaining(['declarest', 'fastify', 'zod']));
    expect(
      packagesIn(noted.loaded()).filter((name) => /^(@mikro-orm\/.*|kysely|yaml|jose|pg|swagger-ui-dist)$/.test(name)),
    ).toEqual([]);
    const own = noted.loaded().filter((url) => url.includes('/node_modules/declarest/'));
    expect(own.filter((url) => !/\/(bin|bundle)\//.test(url))).toEqual([]);
  });

  test('migrates an application from its bundle', () => {
    const noted = noteLoaded(project);
    const migrate = (action: string) =>
      execFileSync(process.execPath, [join(installed, 'bin', 'declarest.js'), 'migrate', action, 'courses'], {
        cwd: project,
        encoding: 'utf8',
        env: { ...process.env, ...noted.env, NODE_ENV: 'development', DATABASE_URL: 'sqlite:var/migrated.db' },
      });
    expect(migrate('create')).toMatch(/^created migrations\/Migration\d+_initial\.ts\n/);
    expect(migrate('up')).toMatch(/\napplied 1 migration to sqlite:var\/migrated\.db\n$/);
    expect(migrate('check')).toBe('ok: the migrations match the models\n');
    expect(migrate('down')).toMatch(/^reverted /);
    expect(packagesIn(noted.loaded()).filter((name) => name.startsWith('@mikro-orm/'))).toEqual([]);
  });

  test('includes the licenses of bundled packages', () => {
    const text = readFileSync(join(built, 'bundle', 'LICENSES.txt'), 'utf8');
    for (const name of ['@mikro-orm/core', '@mikro-orm/sql', '@mikro-orm/postgresql', 'kysely', 'yaml', 'jose'])
      expect(text).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+$`, 'm'));
  });

  test('lists its contents, including bundled and copied packages', () => {
    const sbom = JSON.parse(readFileSync(join(built, 'sbom.json'), 'utf8'));
    const names = sbom.components.map((component: { name: string; version: string }) => `${component.name} ${component.version}`);
    const bundled = readFileSync(join(built, 'bundle', 'LICENSES.txt'), 'utf8').match(/^\S+ \d+\.\d+\.\d+$/gm) ?? [];
    const direct = Object.entries(source.dependencies).map(([name, version]) => `${name} ${version}`);
    expect(bundled.length).toBeGreaterThan(5);
    expect(names).toEqual(expect.arrayContaining([...bundled, ...direct]));
    expect(names).toContainEqual(expect.stringMatching(/^swagger-ui-dist /));
  });

  test('contains the usual project files, and no sources', () => {
    const npm = process.env.npm_execpath;
    const args = ['pack', '--dry-run', '--json', '--loglevel=error', built];
    const output = npm ? run(npm, ...args) : execFileSync('npm', args, { cwd: project, encoding: 'utf8' });
    const [{ files }] = JSON.parse(output);
    const paths = files.map((file: { path: string }) => file.path);
    expect(paths).toEqual(
      expect.arrayContaining(['README.md', 'LICENSE', 'CHANGELOG.md', 'sbom.json', 'index.js', 'index.d.ts']),
    );
    // the runtime of generated clients and the files of new applications go out as they are
    const sources = paths.filter((path: string) => path.endsWith('.ts') && !path.endsWith('.d.ts'));
    expect(sources.filter((path: string) => !path.startsWith('assets/init/'))).toEqual(['assets/client-runtime.ts']);
    const templates = readdirSync(join(root, 'assets', 'init'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(root, join(entry.parentPath, entry.name)));
    expect(paths).toEqual(expect.arrayContaining(templates));
  });
});
