import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { builtPackage } from '../../scripts/command.ts';
import { dependencies, devDependencies } from '../../src/cli/init/generated-files.ts';
import { freshDatabase } from '../support/databases.ts';
import { makeTemporary } from '../support/temporary.ts';
import { call } from './call.ts';
import { addressOf, run, start } from './spawned.ts';

const root = join(import.meta.dirname, '..', '..');
const temporary = makeTemporary('init-application');
const directory = join(temporary.directory, 'tasks');
afterAll(temporary.remove);

/** Runs a program of Node in the application, without the variables of the test runner. */
function node(...args: string[]) {
  const { NODE_ENV, NODE_OPTIONS, NODE_TEST_CONTEXT, VITEST, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: directory, encoding: 'utf8', env });
  return { status, output: stdout + stderr };
}

beforeAll(async () => {
  expect(await call(['init', directory, '--model', 'Task'])).toMatchObject({ code: 0, err: '' });
  // installed without a network
  const installed = { ...dependencies, ...devDependencies };
  for (const name of [...Object.keys(installed), 'declarest']) {
    const link = join(directory, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(name === 'declarest' ? (builtPackage ?? root) : join(root, 'node_modules', name), link);
  }
});

test.runIf(builtPackage)('declarest init runs before the other packages are installed', () => {
  const copy = join(temporary.directory, 'package');
  cpSync(builtPackage as string, copy, { recursive: true });
  const made = join(temporary.directory, 'early');
  const args = [join(copy, 'bin', 'declarest.js'), 'init', made];
  expect(spawnSync(process.execPath, args, { encoding: 'utf8' })).toMatchObject({ status: 0, stderr: '' });
});

describe('an application made by declarest init', () => {
  test('responds to its first request', async () => {
    const server = start(['serve', '--port', '0'], { cwd: directory });
    const url = await addressOf(server);
    expect((await fetch(`${url}/api/task.json`)).status).toBe(401);
    const { out: token } = await run(['token', '--sub', 'ed', '--roles', 'ROLE_EDITOR'], { cwd: directory });
    const response = await fetch(`${url}/api/task.json`, { headers: { authorization: `Bearer ${token.trim()}` } });
    expect(response.status).toBe(200);
    const { count, results } = (await response.json()) as { count: number; results: { title: string }[] };
    expect([count, results.map(({ title }) => title)]).toEqual([3, ['Archived', 'First', 'Second']]);
    const page = await (await fetch(`${url}/docs`)).text();
    expect(page).toContain('Ed (editor)');
  });

  test('passes its own tests', () => {
    const { scripts } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
    expect(scripts.test).toBe('node --test');
    const { status, output } = node('--test', '--test-reporter=tap');
    expect(status, output).toBe(0);
    expect(output).toMatch(/^# pass 5\d$/m);
  });

  // the templates are also part of this repository's own type check
  test.runIf(builtPackage)('passes the type checker with the declarations of the package', () => {
    expect(node(join(root, 'node_modules', 'typescript', 'bin', 'tsc'), '--singleThreaded')).toEqual({ status: 0, output: '' });
  });

  test('starts in production on PostgreSQL, without sample rows and users', async () => {
    const database = await freshDatabase('postgresql');
    const env = { NODE_ENV: 'production', DATABASE_URL: database.url, JWT_SECRET: 'a secret of 32 characters or more' };
    const server = start(['serve', '--port', '0'], { cwd: directory, env });
    const url = await addressOf(server);
    expect(server.printed.err).toMatch(/^applied Migration\d+_initial /m);
    expect(server.printed.err).not.toContain('warning');
    const { out: token } = await run(['token', '--sub', 'ed', '--roles', 'ROLE_EDITOR'], { cwd: directory, env });
    const headers = { authorization: `Bearer ${token.trim()}`, 'content-type': 'application/json' };
    expect(await (await fetch(`${url}/api/task.json`, { headers })).json()).toMatchObject({ count: 0 });
    const created = await fetch(`${url}/api/task.json`, { method: 'POST', headers, body: '{"title":"Deploy"}' });
    expect(created.status).toBe(201);
    expect((await fetch(`${url}/docs`)).status).toBe(404);
    expect((await fetch(`${url}/health/ready`)).status).toBe(200);
    server.child.kill('SIGTERM');
    expect((await server.ended).code).toBe(0);
    await database.drop();
  });

  test('names the variables that production needs', async () => {
    const { code, err } = await run(['check'], { cwd: directory, env: { NODE_ENV: 'production' } });
    expect(code).toBe(1);
    const readme = readFileSync(join(directory, 'README.md'), 'utf8');
    for (const name of ['DATABASE_URL', 'JWT_SECRET']) {
      expect(err).toContain(name);
      expect(readme).toContain(`| \`${name}\` |`);
    }
  });
});
