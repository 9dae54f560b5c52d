// @module-tag divided
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompressSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');

/** A small application that calls itself, prints the responses, and ends. */
const program = `
import { defineEntity, p } from '@mikro-orm/core';
import Fastify from 'fastify';
import { declarest } from '${join(root, 'src/index.ts')}';

const Note = defineEntity({
  name: 'Note',
  properties: { id: p.integer().primary().groups('read'), title: p.string().groups('read', 'write') },
});
const warnings = [];
const app = Fastify({ logger: { level: 'warn', stream: { write: (line) => warnings.push(JSON.parse(line).msg) } } });
await app.register(declarest, {
  app_main: {
    database: { url: process.env.DATABASE_URL, schema: 'update' },
    openapi: { enabled: true },
    apis: { note: { class: Note, base_path: '/note', actions: { _index: { methods: { GET: true, POST: true } }, _entity: null } } },
  },
  models: [Note],
});
const url = await app.listen({ host: '127.0.0.1', port: 0 });
const statuses = {};
const send = async (path, options) => {
  const response = await fetch(url + path, options);
  statuses[(options?.method ?? 'GET') + ' ' + path] = response.status;
  return response.json().catch(() => null);
};
const headers = { 'content-type': 'application/json' };
await send('/note.json', { method: 'POST', headers, body: JSON.stringify({ title: 'first' }) });
const list = await send('/note.json');
await send('/note.json', { method: 'POST', headers, body: '{' });
await send('/note/1.json');
await send('/note/1.json', { method: 'PUT' });
await send('/docs');
await send('/explorer');
await send('/openapi.json');
const greeting = await fetch(url + '/', { headers: { accept: 'text/html' } });
statuses['GET /'] = greeting.status;
await app.close();
console.log(JSON.stringify({ results: list.results, statuses, warnings }));
process.exit(0);
`;

const results = [{ id: 1, title: 'first' }];
const statuses = {
  'POST /note.json': 400,
  'GET /note.json': 200,
  'GET /note/1.json': 200,
  'PUT /note/1.json': 405,
  'GET /docs': 200,
  'GET /explorer': 200,
  'GET /openapi.json': 200,
  'GET /': 200,
};

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'declarest-runtimes-'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(folder, 'app.ts'), program);
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function output(command: string, given: string[], url: string, cwd = folder) {
  const { NODE_OPTIONS: _, ...env } = process.env;
  const { stdout } = await run(command, given, { cwd, env: { ...env, DATABASE_URL: url }, timeout: 120_000 });
  return JSON.parse(stdout.slice(stdout.lastIndexOf('{"results"')));
}

describe.each(databases)('the plugin with %s', (kind) => {
  let database: FreshDatabase;
  beforeEach(async () => {
    database = await freshDatabase(kind);
  });
  afterEach(() => database.drop());

  test.each([
    ['Bun', 'bun', ['run', 'app.ts']],
    ['Deno', 'deno', ['run', '--allow-all', 'app.ts']],
  ])('runs on %s', async (_, name, given) => {
    const command = join(root, 'node_modules/.bin', name);
    expect(await output(command, given, database.url)).toEqual({ results, statuses, warnings: [] });
  });
});

describe.each([
  ['Bun', 'bun', ['run']],
  ['Deno', 'deno', ['run', '--allow-all']],
])('a directory application on %s', (_, name, given) => {
  const place = () => join(folder, `application-${name}`);
  beforeAll(() => {
    const files = {
      'package.json': '{ "type": "module" }',
      'config/routes.yaml': "app_cruds: { resource: 'app_main_crud_route_loader:load', type: service }",
      'config/app.yaml': `app_main:
  database: { url: 'sqlite:var/notes.db', schema: update }
  apis: { note: { class: Note, base_path: /note, actions: { _index: { methods: { GET: true, POST: true } } } } }`,
      'src/models/note.ts': `import { defineEntity, p } from '@mikro-orm/core';
export const Note = defineEntity({
  name: 'Note',
  properties: { id: p.integer().primary().groups('read'), title: p.string().groups('read', 'write') },
});`,
      'server.ts': `import { createServer } from '${join(root, 'src/index.ts')}';
const app = await createServer({ directory: import.meta.dirname });
process.once('SIGTERM', () => app.close().then(() => process.exit(0)));
console.log('listening on ' + (await app.listen({ host: '127.0.0.1', port: 0 })));`,
    };
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(dirname(join(place(), file)), { recursive: true });
      writeFileSync(join(place(), file), text);
    }
    symlinkSync(join(root, 'node_modules'), join(place(), 'node_modules'));
  });

  test.each([
    ['declarest serve', [join(root, 'bin/declarest.js'), 'serve', '--port', '0']],
    ['createServer', ['server.ts']],
  ])('is served by %s, until a signal stops it', async (_way, args) => {
    const server = spawn(join(root, 'node_modules/.bin', name), [...given, ...args], {
      cwd: place(),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const exited = once(server, 'exit');
    let printed = '';
    for (const stream of [server.stdout, server.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (printed += text));
    try {
      await vi.waitFor(() => expect(printed).toMatch(/listening on http\S+\n/), { timeout: 60_000, interval: 50 });
      const url = `${/listening on (http\S+)/.exec(printed)?.[1]}/note.json`;
      const body = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"title":"first"}' };
      expect((await fetch(url, body)).status).toBe(201);
      expect(await (await fetch(url)).json()).toMatchObject({
        results: expect.arrayContaining([expect.objectContaining({ title: 'first' })]),
      });
    } finally {
      server.kill('SIGTERM');
    }
    expect([(await exited)[0], printed]).toEqual([0, expect.not.stringContaining('rror')]);
  });
});

test('a runtime without node:sqlite is a startup error for SQLite', async () => {
  const started = output(process.execPath, ['--no-experimental-sqlite', 'app.ts'], 'sqlite::memory:');
  await expect(started).rejects.toThrow('app_main.database.url: this runtime has no module node:sqlite; use PostgreSQL,');
});

describe('in a bundle of one file', () => {
  const bundle = () => join(folder, 'bundle/dist/app.js');
  beforeAll(async () => {
    mkdirSync(dirname(bundle()), { recursive: true });
    const made = await rolldown({ input: join(folder, 'app.ts'), platform: 'node', logLevel: 'silent' });
    await made.write({ file: bundle(), format: 'esm', codeSplitting: false });
    await made.close();
  });

  test('the docs page and the explorer are left out with a warning, and everything else is served', async () => {
    const { warnings, ...served } = await output(process.execPath, [bundle()], 'sqlite::memory:', tmpdir());
    expect(served).toEqual({ results, statuses: { ...statuses, 'GET /docs': 404, 'GET /explorer': 404 } });
    const place = join(dirname(bundle()), 'declarest-assets');
    expect(warnings).toEqual([expect.stringContaining(`Copy node_modules/declarest/assets to ${place}, or keep the package`)]);
  });

  test('the docs page and the explorer are served from files beside the bundle', async () => {
    const place = join(dirname(bundle()), 'declarest-assets');
    cpSync(join(root, 'assets'), place, { recursive: true });
    const viewer = join(root, 'node_modules/swagger-ui-dist');
    mkdirSync(join(place, 'swagger-ui'), { recursive: true });
    for (const name of ['swagger-ui.css', 'swagger-ui-bundle.js']) cpSync(join(viewer, name), join(place, 'swagger-ui', name));
    // compressed, as in the package
    mkdirSync(join(place, 'explorer'));
    for (const name of ['explorer.css', 'explorer.js', 'index.html'])
      writeFileSync(join(place, 'explorer', `${name}.br`), brotliCompressSync('<title>Explorer</title>'));
    const served = await output(process.execPath, [bundle()], 'sqlite::memory:', tmpdir());
    expect(served).toEqual({ results, statuses, warnings: [] });
  });
});
