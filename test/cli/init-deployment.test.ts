// The files for Docker, Compose and continuous integration of a new application: all that they name exists.
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { commands } from '../../src/cli/commands.ts';
import { type PackageManagerName, packageManagers } from '../../src/cli/init/package-managers.ts';
import { makeTemporary } from '../support/temporary.ts';
import { call } from './call.ts';

const temporary = makeTemporary('init-deployment');
afterAll(temporary.remove);

/** Written by the package manager when the dependencies are installed. */
const locks: Record<PackageManagerName, string> = { npm: 'package-lock.json', pnpm: 'pnpm-lock.yaml', yarn: 'yarn.lock' };

interface Compose {
  readonly services: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

/** Keys of the Compose specification that the file may use. */
const serviceKeys = ['build', 'depends_on', 'environment', 'healthcheck', 'image', 'ports', 'stop_grace_period', 'volumes'];

/** The default of a key, as `declarest reference` prints it. */
async function defaultOf(key: string): Promise<string | undefined> {
  const { out } = await call(['reference']);
  return new RegExp(`^ +${key}: (\\S+) `, 'm').exec(out)?.[1];
}

const managers = Object.keys(packageManagers) as PackageManagerName[];

describe.each(managers)('a new application with %s', (manager) => {
  const directory = join(temporary.directory, manager);
  const read = (file: string) => readFileSync(join(directory, file), 'utf8');
  const exists = (path: string) => existsSync(join(directory, path)) || path === locks[manager];
  const created = call(['init', directory, '--package-manager', manager], { cwd: makeFolder() });

  function makeFolder(): string {
    mkdirSync(directory, { recursive: true });
    return temporary.directory;
  }

  /** The instructions of the Dockerfile, in order. */
  const instructions = () =>
    read('Dockerfile')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => /^([A-Z]+) (.*)$/.exec(line)?.slice(1) as [name: string, rest: string]);
  const instruction = (name: string) => instructions().find(([one]) => one === name)?.[1] ?? '';

  test('has a Dockerfile that copies existing files, and runs the server as a user without rights', async () => {
    expect((await created).code).toBe(0);
    const ignored = read('.dockerignore').trim().split('\n');
    const copied = instructions().flatMap(([name, rest]) => (name === 'COPY' ? rest.split(' ').slice(0, -1) : []));
    expect(copied).toEqual(expect.arrayContaining(['package.json', locks[manager], 'config', 'migrations', 'src']));
    expect(copied.filter((path) => !exists(path) || ignored.includes(path))).toEqual([]);
    expect(ignored).toEqual(expect.arrayContaining(['.env', '.git', 'node_modules']));

    const names = instructions().map(([name]) => name);
    expect(names[0]).toBe('FROM');
    expect(names.indexOf('USER')).toBeGreaterThan(names.lastIndexOf('RUN'));
    expect(instruction('USER')).toBe('node');
    // the form without a shell: signals reach the server
    const [program, command, ...options] = JSON.parse(instruction('CMD')) as string[];
    expect([program, command, options]).toEqual(['node_modules/.bin/declarest', 'serve', ['--host', '0.0.0.0']]);
  });

  test('checks the health of the container at the paths and ports that the server has', async () => {
    await created;
    const port = await defaultOf('port');
    expect(instruction('EXPOSE')).toBe(port);
    const [, ...program] = JSON.parse(instruction('HEALTHCHECK').replace(/^CMD \["node"/, '["node"')) as string[];
    expect(program[1]).toContain(`process.env.PORT || ${port}}${await defaultOf('ready')}`);
    // the program is valid
    expect(() => new Function(program[1] as string)).not.toThrow();
  });

  test('has a Compose file whose services, volumes and variables fit together', async () => {
    await created;
    const { services, volumes, ...others } = parse(read('compose.yaml')) as Compose;
    expect(others).toEqual({});
    for (const [name, service] of Object.entries(services)) {
      expect([name, Object.keys(service).filter((key) => !serviceKeys.includes(key))]).toEqual([name, []]);
      for (const volume of (service.volumes ?? []) as string[]) expect(volumes).toHaveProperty(volume.split(':')[0] as string);
      for (const [other, { condition }] of Object.entries((service.depends_on ?? {}) as Record<string, { condition: string }>)) {
        expect(condition).toBe('service_healthy');
        expect(services[other]).toHaveProperty('healthcheck.test');
      }
    }
    const { app, db } = services as Record<string, { environment: Record<string, string>; ports: string[]; build?: string }>;
    expect(exists(join(app?.build as string, 'Dockerfile'))).toBe(true);
    expect(app?.ports.map((port) => port.split(':').at(-1))).toEqual([instruction('EXPOSE')]);
    // no port is open to the network
    for (const port of [...(app?.ports ?? []), ...(db?.ports ?? [])]) expect(port).toMatch(/^127\.0\.0\.1:/);
    const production = read('config/app.yaml').split('when@prod:')[1] as string;
    const needed = Array.from(production.matchAll(/%env\((\w+)\)%/g), ([, name]) => name);
    expect(Object.keys(app?.environment ?? {}).sort()).toEqual([...needed].sort());
    const { username, password, hostname, pathname } = new URL(app?.environment.DATABASE_URL as string);
    const { POSTGRES_DB, POSTGRES_PASSWORD, POSTGRES_USER } = db?.environment ?? {};
    expect([username, password, hostname, pathname]).toEqual([POSTGRES_USER, POSTGRES_PASSWORD, 'db', `/${POSTGRES_DB}`]);
  });

  test('has a CI file and texts that use existing scripts and commands', async () => {
    await created;
    const workflows = readdirSync(join(directory, '.github/workflows')).map((name) => `.github/workflows/${name}`);
    for (const file of workflows) {
      const { jobs, on, permissions } = parse(read(file));
      expect([Object.keys(on), permissions]).toEqual([['push', 'pull_request'], { contents: 'read' }]);
      for (const { steps } of Object.values<{ steps: Record<string, string>[] }>(jobs))
        for (const { run, uses } of steps) expect(run ?? uses).toMatch(uses ? /^actions\/[\w-]+@v\d+$/ : /./);
    }
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const texts = [...workflows, 'README.md', 'AGENTS.md', 'Dockerfile'].map(read).join('\n');
    const named = Array.from(texts.matchAll(/\b(?:npm|pnpm|yarn) run (\w+)/g), ([, name]) => name as string);
    expect(named).toContain('check');
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
    const used = Array.from(texts.matchAll(/\b(?:npx|pnpm exec|yarn) declarest (\w+)/g), ([, name]) => name as string);
    expect(used).toContain('migrate');
    expect(used.filter((name) => !commands.some((one) => one.name === name))).toEqual([]);
    const paths = Array.from(texts.matchAll(/`((?:config|src|test|migrations)\/[\w./-]*\.\w+)`/g), ([, path]) => path as string);
    expect(paths.filter((path) => !exists(path))).toEqual([]);
    expect(paths.length).toBeGreaterThan(0);
  });
});
