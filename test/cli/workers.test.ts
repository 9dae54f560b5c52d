// @module-tag divided
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type DatabaseKind, databases, freshDatabase } from '../support/databases.ts';
import { smallApplication, write } from './applications.ts';
import { call } from './call.ts';
import { addressOf, type Spawned, start } from './spawned.ts';

const seed = "import { Person } from './models/person.ts';\nexport default (em) => { em.create(Person, { name: 'Ada' }); };\n";
const whoYaml = `app_cruds: { resource: 'app_main_crud_route_loader:load', type: service }\nwho: { resource: 'who:load', type: service }\n`;
const who = `export const who = { load: () => [{ name: 'who', path: '/who.{_format}', methods: ['GET'], handler: async (request) => {
  await new Promise((done) => setTimeout(done, Number(request.query.wait ?? 0)));
  return { pid: process.pid };
} }] };\n`;

async function application(kind: DatabaseKind, server = '{}') {
  const database = await freshDatabase(kind);
  const directory = smallApplication({
    'config/database.yaml': `app_main: { database: { url: '${database.url}', schema: update }, server: ${server} }`,
    'config/routes.yaml': whoYaml,
    'src/services/who.ts': who,
    'src/seed.ts': seed,
  });
  return { directory, database };
}

async function pidsOf(url: string): Promise<Set<number>> {
  const answers = await Promise.all(
    Array.from({ length: 12 }, async () => {
      const response = await fetch(`${url}/who.json?wait=100`, { headers: { connection: 'close' } });
      return ((await response.json()) as { pid: number }).pid;
    }),
  );
  return new Set(answers);
}

async function ended(server: Spawned): Promise<{ code: number; took: number }> {
  const before = performance.now();
  server.child.kill('SIGTERM');
  const { code } = await server.ended;
  return { code, took: performance.now() - before };
}

describe.each(databases)('several processes on %s', (kind) => {
  test('share one port, are restarted when they exit, and stop together without losing a request', async () => {
    const { directory, database } = await application(kind);
    const server = start(['serve', directory, '--port', '0', '--workers', '2']);
    const url = await addressOf(server);
    const pids = await pidsOf(url);
    expect(pids.size).toBe(2);
    expect(pids).not.toContain(server.child.pid);
    // the seed was run once, and lines are said once
    expect(await (await fetch(`${url}/api/person.json`)).json()).toMatchObject({ count: 1 });
    expect(server.printed.err.match(/created the database/g)).toHaveLength(1);
    expect(server.printed.err.match(/^PUBLIC .*__index$/gm)).toHaveLength(1);

    const [victim] = pids;
    process.kill(victim as number, 'SIGKILL');
    await server.until(/ended with SIGKILL; starting another in \d+ ms/);
    for (let tries = 0; (await pidsOf(url).catch(() => new Set())).size < 2 && tries < 100; tries++) await sleep(50);
    const now = await pidsOf(url);
    expect(now.size).toBe(2);
    expect(now).not.toContain(victim);

    // both write
    const written = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        fetch(`${url}/api/person.json`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', connection: 'close' },
          body: JSON.stringify({ name: `person ${i}` }),
        }),
      ),
    );
    expect(written.map(({ status }) => status)).toEqual(Array(20).fill(201));

    const last = Array.from({ length: 6 }, () => fetch(`${url}/who.json?wait=500`).then(({ status }) => status));
    await sleep(250);
    const { code } = await ended(server);
    expect(code).toBe(0);
    expect(await Promise.all(last)).toEqual(Array(6).fill(200));
    expect(server.printed.out).toBe(`listening on ${url}\n`);
    await database.drop();
  });
});

test('all processes exit with 1 and the reason if a worker cannot start', async () => {
  const { directory } = await application('sqlite', '{ host: 203.0.113.1 }');
  const { code, err } = await start(['serve', directory, '--port', '0', '--workers', '2']).ended;
  expect(code).toBe(1);
  expect(err).toContain('cannot listen on 203.0.113.1');
});

test('--workers rejects an in-memory database, and an invalid number', async () => {
  const directory = smallApplication({ 'config/database.yaml': "app_main: { database: { url: 'sqlite::memory:' } }" });
  expect(await call(['serve', directory, '--workers', '2'])).toMatchObject({
    code: 2,
    err: expect.stringMatching(/^declarest: --workers does not work with a database in memory/),
  });
  expect(await call(['serve', directory, '--workers', 'many'])).toMatchObject({ code: 2 });
});

describe('SIGHUP', () => {
  /** Sends requests without a pause until it is stopped: some on kept connections, some on new ones. */
  function requests(url: string) {
    const failures: string[] = [];
    const seen = new Set<string>();
    let isOver = false;
    let sent = 0;
    const one = async (headers: Record<string, string>) => {
      while (!isOver) {
        try {
          const response = await fetch(`${url}/who.json?wait=5`, { headers });
          const { version } = (await response.json()) as { version: string };
          if (response.status !== 200) failures.push(String(response.status));
          seen.add(version);
          sent++;
        } catch (error) {
          failures.push(String((error as Error).cause ?? error));
        }
      }
    };
    const all = Promise.all([one({}), one({}), one({ connection: 'close' }), one({ connection: 'close' })]);
    return {
      failures,
      seen,
      sent: () => sent,
      stop: async () => {
        isOver = true;
        await all;
      },
    };
  }

  const versioned = (version: string) => who.replace('{ pid: process.pid }', `{ pid: process.pid, version: '${version}' }`);

  test('replaces the workers one by one with the current code and configuration, without a failed request', async () => {
    const { directory, database } = await application('sqlite');
    write(directory, 'src/services/who.ts', versioned('one'));
    const server = start(['serve', directory, '--port', '0', '--workers', '2']);
    const url = await addressOf(server);
    const before = await pidsOf(url);
    const traffic = requests(url);

    // the workers keep the address of the first start
    write(directory, 'config/port.yaml', 'app_main: { server: { port: 1, request_id: X-Trace } }');
    write(directory, 'src/services/who.ts', versioned('two'));
    server.child.kill('SIGHUP');
    await server.until(/^restarted 2 workers$/m);
    const sent = traffic.sent();
    for (let tries = 0; traffic.sent() < sent + 20 && tries < 200; tries++) await sleep(50);
    await traffic.stop();
    expect(traffic.failures).toEqual([]);
    expect([...traffic.seen].sort()).toEqual(['one', 'two']);

    const after = await pidsOf(url);
    expect(after.size).toBe(2);
    expect([...after].filter((pid) => before.has(pid))).toEqual([]);
    const response = await fetch(`${url}/who.json`);
    expect(await response.json()).toMatchObject({ version: 'two' });
    expect(response.headers.get('x-trace')).not.toBeNull();
    expect(server.printed.err).not.toContain('ended with');

    expect((await ended(server)).code).toBe(0);
    await database.drop();
  });

  test('keeps the old workers if the new code cannot start, and replaces them once it can', async () => {
    const { directory, database } = await application('sqlite');
    const server = start(['serve', directory, '--port', '0', '--workers', '2']);
    const url = await addressOf(server);
    const before = await pidsOf(url);

    write(directory, 'config/more.yaml', 'app_main: { nothing: 1 }');
    server.child.kill('SIGHUP');
    await server.until(
      /^a new worker could not start; the other 2 of 2 workers were not restarted, and keep serving\. Fix the error above, and send SIGHUP again$/m,
    );
    expect(server.printed.err).toContain('unknown key "nothing"');
    expect(await pidsOf(url)).toEqual(before);

    write(directory, 'config/more.yaml', '{}');
    server.child.kill('SIGHUP');
    await server.until(/^restarted 2 workers$/m);
    const after = await pidsOf(url);
    expect([...after].filter((pid) => before.has(pid))).toEqual([]);
    expect((await ended(server)).code).toBe(0);
    await database.drop();
  });

  test('keeps requests away from a new worker whose database is unreachable, and ends one that hangs at its start', async () => {
    const { directory, database } = await application('sqlite', '{ shutdown_timeout: 1000 }');
    const server = start(['serve', directory, '--port', '0', '--workers', '2']);
    const url = await addressOf(server);
    const before = await pidsOf(url);

    const unreachable = 'postgresql://nobody:x@127.0.0.1:1/nothing?connect_timeout=1';
    write(directory, 'config/more.yaml', `app_main: { database: { url: '${unreachable}', connect_timeout: 1000 } }`);
    server.child.kill('SIGHUP');
    await server.until(/^a new worker could not start; the other 2 of 2 workers were not restarted/m);
    expect(server.printed.err).toContain('cannot open the database postgresql://nobody@127.0.0.1:1/nothing');
    expect(await pidsOf(url)).toEqual(before);

    write(directory, 'config/more.yaml', '{}');
    const hanging = "process.stderr.write('hanging\\n');\nawait new Promise((done) => setTimeout(done, 1e9));\n";
    write(directory, 'src/services/who.ts', `${hanging}${who}`);
    server.child.kill('SIGHUP');
    await server.until(/^hanging$/m);
    write(directory, 'src/services/who.ts', who);
    server.child.kill('SIGHUP');
    await server.until(/^restarted 2 workers$/m);
    const after = await pidsOf(url);
    expect(after.size).toBe(2);
    expect([...after].filter((pid) => before.has(pid))).toEqual([]);
    expect((await ended(server)).code).toBe(0);
    await database.drop();
  });
});
