import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { main } from '../../src/cli/main.ts';
import { freshDatabase } from '../support/databases.ts';
import { fullApplication, personYaml, smallApplication } from './applications.ts';
import { call, testIo } from './call.ts';
import { addressOf, run, start } from './spawned.ts';

const seed = "import { Person } from './models/person.ts';\nexport default (em) => { em.create(Person, { name: 'Ada' }); };\n";
const anyPort = ['--port', '0'];

async function json(url: string, options?: RequestInit): Promise<any> {
  return (await fetch(url, options)).json();
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Serves in this process for as long as `use` runs. */
async function serving(
  argv: readonly string[],
  use: (url: string, io: ReturnType<typeof testIo>) => unknown,
  world: Parameters<typeof testIo>[0] = {},
): Promise<{ code: number; out: string; err: string }> {
  const io = testIo(world);
  const ended = main(['serve', ...argv], io);
  const ready = io.until(/^listening on (.*)$/m);
  await Promise.race([ready, ended]);
  if (!io.printed.out) throw new Error(`it did not start:\n${io.printed.err}`);
  try {
    await use((await ready)[1] as string, io);
  } finally {
    io.stop();
  }
  return { code: await ended, ...io.printed };
}

describe('a served application', () => {
  test('responds once it is listening, stores its data in a file and exits with 0 on SIGTERM', async () => {
    const application = smallApplication({ 'src/seed.ts': seed });
    const first = start(['serve', application, ...anyPort]);
    const url = await addressOf(first);
    expect(await json(`${url}/api/person.json`)).toMatchObject({ count: 1, results: [{ id: 1, name: 'Ada' }] });
    first.child.kill('SIGTERM');
    expect(await first.ended).toMatchObject({ code: 0, signal: null, out: `listening on ${url}\n` });
    expect(first.printed.err).toBe(
      [
        'created the database sqlite:var/app.db and ran src/seed',
        'schema: create table `person` (`id` integer not null primary key autoincrement, `name` text not null);',
        'PUBLIC  GET,POST /api/person.{_format}  app_api_single_person__index',
        'PUBLIC  GET,HEAD /api/person/{id}.{_format}  app_api_single_person__entity',
        'development mode (NODE_ENV is not set)',
        `docs on ${url}/docs`,
        `explorer on ${url}/explorer`,
        '',
      ].join('\n'),
    );
    expect(existsSync(join(application, 'var', 'app.db'))).toBe(true);

    const second = start(['serve', '--port=0'], { cwd: application });
    expect(await json(`${await addressOf(second)}/api/person.json`)).toMatchObject({ count: 1 });
    second.child.kill('SIGINT');
    expect(await second.ended).toMatchObject({ code: 0, signal: null });
    expect(second.printed.err).not.toContain('created');
  });

  test('lists only public routes as PUBLIC', async () => {
    const { err } = await serving([fullApplication(), ...anyPort], () => {});
    expect(err.split('\n').filter((line) => line.startsWith('PUBLIC'))).toEqual([
      'PUBLIC  GET,HEAD /api/person.{_format}  app_api_single_person__index',
      'PUBLIC  GET,HEAD /api/person/{id}/details.{_format}  app_api_single_person__entity',
    ]);
  });

  test('prints warnings of the declaration before the public routes', async () => {
    const config = personYaml.replace('_entity: null', '_entity: { roles: { GET: ROLE_READER, HEAD: null } }');
    const { err } = await serving([smallApplication({ 'config/app_main.yaml': config }), ...anyPort], () => {});
    const lines = err.split('\n').filter((line) => /PUBLIC|warning/.test(line));
    expect(lines).toEqual([
      expect.stringMatching(/^config\/app_main\.yaml:6:\d+: warning: HEAD does not require "ROLE_READER" as GET does/),
      'PUBLIC  GET,POST /api/person.{_format}  app_api_single_person__index',
      'PUBLIC  HEAD /api/person/{id}.{_format}  app_api_single_person__entity',
    ]);
  });

  test('accepts a token that "declarest token" printed', async () => {
    const application = fullApplication();
    const { out } = await call(['token', application, '--sub', '7', '--roles', 'ROLE_USER', '--claim', 'center=5']);
    await serving([application, ...anyPort], async (url) => {
      const headers = { authorization: `Bearer ${out.trim()}` };
      expect(await json(`${url}/status.json`, { headers })).toMatchObject({ id: '7', roles: ['ROLE_USER'] });
      expect((await fetch(`${url}/status.json`)).status).toBe(401);
      expect((await fetch(`${url}/api/de/course.json`, { headers })).status).toBe(200);
    });
  });

  test('listens on the configured address unless an option overrides it', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const application = smallApplication({ 'config/server.yaml': `app_main: { server: { port: ${port} } }` });
    await serving([application, ...anyPort, '--host', '0.0.0.0'], async (url) => {
      expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
      expect((await fetch(`${url}/api/person.json`)).status).toBe(200);
    });
    expect(await call(['serve', application])).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining(
        `declarest: cannot listen on 127.0.0.1:${port}: the port is in use; stop the program that uses it, or choose another port with --port (0 for any free one)\n`,
      ),
    });
    taken.close();
    await once(taken, 'close');
    await serving([application], (url) => expect(url).toBe(`http://127.0.0.1:${port}`));
  });

  test('completes pending requests before it stops', async () => {
    const slow = 'load: () => [{ name: "slow", path: "/slow.{_format}", methods: ["GET"], handler: () => wait() }]';
    const application = smallApplication({
      'config/routes.yaml': `app_cruds: { resource: 'app_main_crud_route_loader:load', type: service }\nslow: { resource: 'slow:load', type: service }\n`,
      'src/services/slow.ts': `const wait = async () => { console.log('asked'); await new Promise((done) => setTimeout(done, 300)); return { done: true }; };\nexport const slow = { ${slow} };\n`,
    });
    const server = start(['serve', application, ...anyPort]);
    const answer = json(`${await addressOf(server)}/slow.json`);
    await server.until(/asked/);
    server.child.kill('SIGTERM');
    expect(await answer).toEqual({ done: true });
    expect(await server.ended).toMatchObject({ code: 0, signal: null });
  });

  test('stops despite an idle connection', async () => {
    const server = start(['serve', smallApplication(), ...anyPort]);
    const { hostname, port } = new URL(await addressOf(server));
    const socket = connect(Number(port), hostname).on('error', () => {});
    await once(socket, 'connect');
    server.child.kill('SIGTERM');
    expect(await server.ended).toMatchObject({ code: 0, signal: null });
    socket.destroy();
  });

  test('logs to stderr as JSON, from LOG_LEVEL on', async () => {
    const application = smallApplication();
    const ask = async (url: string) => void (await fetch(`${url}/api/person.json`));
    const quiet = await serving([application, ...anyPort], ask);
    expect(quiet.err).not.toContain('{"');
    const loud = await serving([application, ...anyPort], ask, { env: { LOG_LEVEL: 'info' } });
    expect(loud.out).toMatch(/^listening on \S+\n$/);
    const logged = loud.err.split('\n').filter((line) => line.startsWith('{'));
    expect(logged.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ msg: 'request', status: 200, route: '/api/person.{_format}' }),
    );
  });

  test('logs the creation of a new database without a seed', async () => {
    const { err } = await serving([smallApplication(), ...anyPort], () => {});
    expect(err).toMatch(/^created the database sqlite:var\/app\.db\n/);
  });

  test('runs on PostgreSQL', async () => {
    const database = await freshDatabase('postgresql');
    const config = `app_main: { database: { url: '%env(DATABASE)%', schema: update } }`;
    const application = smallApplication({ 'config/database.yaml': config, 'src/seed.ts': seed });
    const { code, err } = await serving(
      [application, ...anyPort],
      async (url) => expect(await json(`${url}/api/person/1.json`)).toEqual({ id: 1, name: 'Ada' }),
      { env: { DATABASE: database.url } },
    );
    expect(code).toBe(0);
    expect(err).toContain('created the database postgresql://postgres@127.0.0.1:');
    expect(err).not.toContain(new URL(database.url).password);
    await database.drop();
  });
});

describe('an application that cannot be served', () => {
  test('prints all errors of its declaration, and opens neither port nor database', async () => {
    const application = smallApplication({
      'config/app_main.yaml':
        'app_main: { apis: { person: { class: Nobody, base_path: /a, actions: { _index: , x: { path: 1 } } } } }',
    });
    const { code, out, err } = await run(['serve', application, ...anyPort]);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    const lines = err.trimEnd().split('\n');
    expect(lines.length).toBeGreaterThan(2);
    for (const line of lines.slice(0, -1)) expect(line).toMatch(/^config\/app_main\.yaml:1:\d+: /);
    expect(lines.at(-1)).toBe(`${lines.length - 1} errors`);
    expect(existsSync(join(application, 'var'))).toBe(false);
  });

  test.each([
    [
      'sqlite:package.json/app.db',
      /^declarest: cannot open the database sqlite:package\.json\/app\.db: .*; check app_main\.database\.url/,
    ],
    ['sqlite:src', /^declarest: cannot open the database sqlite:src: unable to open database file; check/],
  ])('names the unreachable database %s and exits with 1', async (url, message) => {
    const application = smallApplication({ 'config/database.yaml': `app_main: { database: { url: '${url}' } }` });
    const { code, out, err } = await call(['serve', application, ...anyPort]);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(message);
  });

  test('reports a failing seed and runs it again at the next start', async () => {
    const application = smallApplication({ 'src/seed.ts': "export default () => { throw new Error('no data'); };\n" });
    for (const [attempt, serve] of [run, call].entries()) {
      expect(await serve(['serve', application, ...anyPort]), `attempt ${attempt + 1}`).toEqual({
        code: 1,
        out: '',
        err: 'declarest: src/seed failed: no data; fix it and start again (the new database was discarded)\n',
      });
    }
  });

  test('prints any other start error without a stack', async () => {
    const config = 'app_main: { security: { jwt: { algorithm: RS256, jwks: keys.json } } }';
    const { code, err } = await call(['serve', smallApplication({ 'config/security.yaml': config }), ...anyPort]);
    expect(code).toBe(1);
    expect(err).toMatch(/^declarest: cannot start: the key set .*keys\.json of security\.jwt\.jwks cannot be read.*\n$/);
  });

  test.each([
    [
      '203.0.113.1',
      /^declarest: cannot listen on 203\.0\.113\.1:0: this machine does not have that address; use --host 127\.0\.0\.1/m,
    ],
    ['no-such-host.invalid', /^declarest: cannot listen on no-such-host\.invalid:0: this machine does not have that address/m],
  ])('reports that the address %s does not belong to this machine', async (host, message) => {
    const { code, out, err } = await call(['serve', smallApplication(), ...anyPort, '--host', host]);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(message);
  });

  test.each(['http', '65536', '-1', '80.5', ' '])('is not loaded if PORT is "%s"', async (port) => {
    expect(await call(['serve', 'anywhere'], { env: { PORT: port } })).toEqual({
      code: 2,
      out: '',
      err: `declarest: the environment variable PORT must be a whole number from 0 to 65535, not "${port}"; change or unset it, or use --port\n`,
    });
  });

  test('listens on PORT and HOST of the environment, which come after the command line and before the configuration', async () => {
    const free = await freePort();
    const config = { 'config/server.yaml': 'app_main: { server: { port: 1, host: 203.0.113.1 } }' };
    const env = { PORT: String(free), HOST: 'localhost' };
    await serving([smallApplication(config)], (url) => expect(url).toMatch(new RegExp(`:${free}$`)), { env });
    const port = '1';
    await serving([smallApplication(config), ...anyPort], (url) => expect(url).not.toMatch(/:1$/), {
      env: { ...env, PORT: port },
    });
    await serving([smallApplication(), ...anyPort, '--host', '127.0.0.1'], (url) => expect(url).toContain('//127.0.0.1:'), {
      env: { HOST: '203.0.113.1' },
    });
    // an empty variable counts as not set
    await serving([smallApplication({ 'config/server.yaml': 'app_main: { server: { port: 0 } }' })], () => {}, {
      env: { PORT: '', HOST: '' },
    });
  });

  test('is not loaded if LOG_LEVEL is invalid', async () => {
    expect(await call(['serve', 'anywhere'], { env: { LOG_LEVEL: 'wran' } })).toEqual({
      code: 2,
      out: '',
      err: 'declarest: LOG_LEVEL is "wran"; did you mean "warn"? use one of: fatal, error, warn, info, debug, trace, silent\n',
    });
  });
});
