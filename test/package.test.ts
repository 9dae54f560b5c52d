import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { builtPackage } from '../scripts/command.ts';
import { noteLoaded, packagesIn } from './support/loaded-modules.ts';
import { makeTemporary } from './support/temporary.ts';

const root = join(import.meta.dirname, '..');
const source = manifestOf(root);
/** The packages that every application installs beside Declarest. */
const required = ['fastify', '@mikro-orm/core', '@mikro-orm/sql'];

function manifestOf(folder: string) {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

/** The files below a folder, by their paths from there. */
function filesIn(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}

describe('the built package', () => {
  const temporary = makeTemporary('package');
  const built = builtPackage ?? join(temporary.directory, 'dist');
  // A project of a user's: Node treats what is in node_modules differently, and so does TypeScript.
  const project = join(temporary.directory, 'project');
  const installed = join(project, 'node_modules', 'declarest');
  const command = join(installed, 'bin', 'declarest.js');
  const run = (...args: string[]) => execFileSync(process.execPath, args, { cwd: project, encoding: 'utf8' });
  const install = (name: string) => {
    mkdirSync(join(project, 'node_modules', name, '..'), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(project, 'node_modules', name));
  };
  const pack = (...options: string[]) => {
    const npm = process.env.npm_execpath;
    const args = ['pack', ...options, '--json', '--loglevel=error', built];
    return JSON.parse(npm ? run(npm, ...args) : execFileSync('npm', args, { cwd: project, encoding: 'utf8' }));
  };
  /** A command that fails: what it prints as errors. */
  const failure = (env: NodeJS.ProcessEnv, ...args: string[]) => {
    const { status, stderr } = spawnSync(process.execPath, [command, ...args], {
      cwd: project,
      encoding: 'utf8',
      env: { ...process.env, NODE_ENV: 'development', ...env },
    });
    expect(status).toBe(1);
    return stderr;
  };

  beforeAll(() => {
    if (!builtPackage) execFileSync(process.execPath, [join(root, 'scripts', 'build.ts'), built], { encoding: 'utf8' });
    mkdirSync(join(project, 'node_modules', '@types'), { recursive: true });
    cpSync(built, installed, { recursive: true });
    for (const name of [...Object.keys(manifestOf(built).dependencies), ...required, '@types/node', 'zod']) install(name);
    writeFileSync(join(project, 'package.json'), '{ "type": "module" }');
  });
  afterAll(temporary.remove);

  test('has a manifest without repository-only fields', () => {
    const manifest = manifestOf(built);
    const { name, version, license, engines, homepage, repository, bugs, peerDependencies, peerDependenciesMeta } = source;
    const kept = { name, version, license, engines, homepage, repository, bugs, peerDependencies, peerDependenciesMeta };
    expect(manifest).toMatchObject(kept);
    expect(source.dependencies).toMatchObject(manifest.dependencies);
    for (const key of ['private', 'scripts', 'devDependencies', 'overrides', 'allowScripts', 'scarfSettings', 'files'])
      expect(manifest).not.toHaveProperty(key);
  });

  test('leaves Fastify and MikroORM to the application, and only the packages of a database optional', () => {
    const { dependencies, peerDependencies, peerDependenciesMeta } = manifestOf(built);
    const isShared = (name: string) => /^(fastify|kysely|pg|@mikro-orm\/.*)$/.test(name);
    expect(Object.keys(dependencies).filter(isShared)).toEqual([]);
    const peers = Object.keys(peerDependencies).filter(isShared);
    expect(peers.filter((name) => !peerDependenciesMeta[name]).sort()).toEqual([...required].sort());
    expect(peers.filter((name) => peerDependenciesMeta[name])).toEqual(['@mikro-orm/postgresql']);
    for (const name of peers) expect(peerDependencies[name]).toMatch(/^\^/);
  });

  test('has less than 2 MB, and one copy of the code', () => {
    // commands that tests start from it may have left their cache
    const files = filesIn(built).filter((file) => !file.startsWith('node_modules/'));
    const bytes = files.reduce((sum, file) => sum + statSync(join(built, file)).size, 0);
    expect(bytes).toBeLessThan(2_000_000);
    expect(files.filter((file) => file.endsWith('.js') && !/^(lib|bin|assets\/docs)\//.test(file))).toEqual([]);
    expect(files.filter((file) => /^lib\/.*\.js$/.test(file)).length).toBeGreaterThan(10);
  });

  test('has source maps that lead to the lines of the sources', () => {
    const script = join(project, 'fail.mjs');
    writeFileSync(script, "import { problem } from 'declarest';\nproblem('no such code');\n");
    const { stderr } = spawnSync(process.execPath, ['--enable-source-maps', script], { cwd: project, encoding: 'utf8' });
    const [, line] = /node_modules\/declarest\/src\/errors\.ts:(\d+)/.exec(stderr) ?? [];
    const named = readFileSync(join(root, 'src', 'errors.ts'), 'utf8').split('\n')[Number(line) - 1];
    expect({ stderr, named }).toMatchObject({ named: expect.stringContaining('catalogue[code].detail') });
    const withSources = filesIn(join(built, 'lib')).filter(
      (file) => file.endsWith('.map') && readFileSync(join(built, 'lib', file), 'utf8').includes('"sourcesContent"'),
    );
    expect(withSources).toEqual([]);
  });

  test('has types that refer only to its own files and to packages that an application installs', () => {
    const types = join(built, 'types');
    const allowed = /^(node:.*|http|fastify(\/.*)?|@mikro-orm\/(core|sql))$/;
    const broken = filesIn(types).flatMap((file) => {
      const text = readFileSync(join(types, file), 'utf8');
      return [...text.matchAll(/(?:from |import\()["']([^"']+)["']/g)].flatMap(([, target = '']) => {
        if (!target.startsWith('.')) return allowed.test(target) ? [] : [`${file}: ${target}`];
        return existsSync(join(types, dirname(file), target.replace(/\.js$/, '.d.ts'))) ? [] : [`${file}: ${target}`];
      });
    });
    expect(broken).toEqual([]);
  });

  test('has a README without dead links', () => {
    const text = readFileSync(join(built, 'README.md'), 'utf8');
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
    const anchors = [...text.matchAll(/^#+ (.+)$/gm)].map(
      ([, title = '']) =>
        `#${title
          .toLowerCase()
          .replace(/[^\w -]/g, '')
          .replaceAll(' ', '-')}`,
    );
    const base = `${source.repository.url.replace(/^git\+|\.git$/g, '')}/`;
    const dead = links.filter((link) => {
      if (link.startsWith('#')) return !anchors.includes(link);
      const path =
        link.startsWith(base) &&
        link
          .slice(base.length)
          .replace(/^(blob|raw)\/main\//, '')
          .replace(/#.*/, '');
      return !path || !existsSync(join(root, path));
    });
    expect(links.length).toBeGreaterThan(10);
    expect(dead).toEqual([]);
  });

  test('says which packages are missing', () => {
    const url = 'postgresql://nobody@127.0.0.1:1/none';
    const { version } = manifestOf(join(root, 'node_modules', '@mikro-orm', 'core'));
    cpSync(join(root, 'examples', 'courses'), join(project, 'courses'), { recursive: true });
    expect(failure({ DATABASE_URL: url }, 'check', 'courses')).toContain(
      `PostgreSQL needs the package @mikro-orm/postgresql, which is not installed; run "npm install @mikro-orm/postgresql@${version}"`,
    );
    rmSync(join(project, 'node_modules', 'fastify'));
    expect(failure({ DATABASE_URL: 'sqlite::memory:' }, 'serve', 'courses')).toContain(
      'the package fastify is not installed; run "npm install fastify@^5 @mikro-orm/core@^7 @mikro-orm/sql@^7"',
    );
    install('fastify');
    install('@mikro-orm/postgresql');
    const compress = join(project, 'courses', 'config', 'compress.yaml');
    writeFileSync(compress, 'app_main:\n  server: { compress: true }\n');
    expect(failure({ DATABASE_URL: 'sqlite::memory:' }, 'check', 'courses')).toContain(
      'config/compress.yaml:2:13: app_main.server.compress needs the package @fastify/compress; run "npm install @fastify/compress"',
    );
    rmSync(compress);
  });

  test('has every file named in its manifest', () => {
    const manifest = manifestOf(built);
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
    const result = spawnSync(process.execPath, [tsc, '--ignoreConfig', '--singleThreaded', ...options, 'use.ts'], {
      cwd: project,
      encoding: 'utf8',
    });
    expect(result.stdout.trim().split('\n')).toEqual([
      expect.stringMatching(/^use\.ts\(7,\d+\): error TS2339: .*noSuchName/),
      expect.stringMatching(/^use\.ts\(12,\d+\): error TS2322: .*Mistake<"Thing has no field 'size'; it has: id, length">/),
      expect.anything(),
    ]);
  });

  test('has a command', () => {
    expect(run(command, '--help')).toMatch(/declarest/);
  });

  test('serves an application from its bundle, with the MikroORM of the application', async () => {
    const noted = noteLoaded(project);
    const server = spawn(process.execPath, [command, 'serve', 'courses', '--port', '0'], {
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
    const packages = packagesIn(noted.loaded());
    expect(packages).toEqual(expect.arrayContaining(['declarest', 'fastify', '@mikro-orm/core', '@mikro-orm/sql', 'zod']));
    const needless = /^(@mikro-orm\/(postgresql|migrations)|ajv|yaml|jose|pg|prom-client|swagger-ui-dist)$/;
    expect(packages.filter((name) => needless.test(name))).toEqual([]);
    const own = noted.loaded().filter((url) => url.includes('/node_modules/declarest/'));
    expect(own.filter((url) => !/\/(bin|lib)\//.test(url))).toEqual([]);
    // the hundreds of files that import each other would be half of the time that it takes to load MikroORM
    const slow = noted
      .searched()
      .filter(([name, parent]) => /^\./.test(name) && /\/node_modules\/(@mikro-orm|kysely)\//.test(parent ?? ''));
    expect(slow).toEqual([]);
  });

  test('reads from a file in threads', async () => {
    const script = join(project, 'threads.mjs');
    writeFileSync(
      script,
      `import { createServer } from 'declarest';
      const app = await createServer({ directory: 'courses', databaseUrl: 'sqlite:threads.db' });
      const response = await app.inject('/api/center.json');
      console.log(response.statusCode, response.json().count);
      await app.close();`,
    );
    expect(run(script)).toBe('200 3\n');
  });

  test('migrates an application from its bundle', () => {
    const env = { NODE_ENV: 'development', DATABASE_URL: 'sqlite:var/migrated.db' };
    const migrate = (action: string) =>
      execFileSync(process.execPath, [command, 'migrate', action, 'courses'], {
        cwd: project,
        encoding: 'utf8',
        env: { ...process.env, ...env },
      });
    expect(migrate('create')).toMatch(/^created migrations\/Migration\d+_initial\.ts\n/);
    expect(failure(env, 'migrate', 'up', 'courses')).toContain('a migration needs the package @mikro-orm/migrations');
    install('@mikro-orm/migrations');
    expect(migrate('up')).toMatch(/\napplied 1 migration to sqlite:var\/migrated\.db\n$/);
    expect(migrate('check')).toBe('ok: the migrations match the models\n');
    expect(migrate('down')).toMatch(/^reverted /);
  });

  test('includes the licenses of bundled packages', () => {
    const text = readFileSync(join(built, 'lib', 'LICENSES.txt'), 'utf8');
    for (const name of ['yaml', 'jose', 'pg-connection-string'])
      expect(text).toMatch(new RegExp(`^${name} \\d+\\.\\d+\\.\\d+$`, 'm'));
  });

  test('lists its contents, including bundled and copied packages', () => {
    const sbom = JSON.parse(readFileSync(join(built, 'sbom.json'), 'utf8'));
    const names = sbom.components.map((component: { name: string; version: string }) => `${component.name} ${component.version}`);
    const bundled = readFileSync(join(built, 'lib', 'LICENSES.txt'), 'utf8').match(/^\S+ \d+\.\d+\.\d+$/gm) ?? [];
    const direct = Object.entries(source.dependencies).map(([name, version]) => `${name} ${version}`);
    expect(bundled.length).toBeGreaterThan(2);
    expect(names).toEqual(expect.arrayContaining([...bundled, ...direct]));
    for (const name of [...required, '@mikro-orm/postgresql', 'pg', 'kysely', 'swagger-ui-dist'])
      expect(names).toContainEqual(expect.stringMatching(new RegExp(`^${name} `)));
  });

  test('passes the checks of publint and attw', () => {
    const check = (tool: string, ...args: string[]) => {
      const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'node_modules', tool), ...args], {
        encoding: 'utf8',
      });
      expect({ status, printed: stdout + stderr }).toMatchObject({ status: 0 });
    };
    check('publint/src/cli.js', built, '--pack', 'false', '--strict');
    const [{ filename }] = pack('--pack-destination', temporary.directory);
    const options = ['--profile', 'esm-only', '--no-definitely-typed', '--format', 'ascii'];
    check('@arethetypeswrong/cli/dist/index.js', join(temporary.directory, filename), ...options);
  }, 120_000);

  test('contains the usual project files, and no sources', () => {
    const [{ files }] = pack('--dry-run');
    const paths = files.map((file: { path: string }) => file.path);
    expect(paths).toEqual(expect.arrayContaining(['README.md', 'LICENSE', 'sbom.json', 'lib/index.js', 'types/index.d.ts']));
    // the runtime of generated clients and the files of new applications go out as they are
    const sources = paths.filter((path: string) => path.endsWith('.ts') && !path.endsWith('.d.ts'));
    expect(sources.filter((path: string) => !path.startsWith('assets/init/'))).toEqual(['assets/client-runtime.ts']);
    const templates = readdirSync(join(root, 'assets', 'init'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(root, join(entry.parentPath, entry.name)));
    expect(paths).toEqual(expect.arrayContaining(templates));
  });
});
