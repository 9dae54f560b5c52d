// @module-tag divided
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { defineEntity, type EntityManager, p } from '@mikro-orm/core';
import Fastify from 'fastify';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ApiController, type CodeOptions, DeclarationErrors, declarest, Voter } from '../../src/index.ts';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { makeTemporary } from '../support/temporary.ts';
import { startApplication } from '../support/testing.ts';
import { call, serve, serveInVain, type ZooRequest, zooDirectory, zooInCode, zooSecret } from './fixtures/zoo.ts';

const temporary = makeTemporary('spec-1');
afterAll(() => temporary.remove());

/** A directory outside the repository, with no node_modules in it or above it. */
function copyOfZoo(changed: Readonly<Record<string, string | null>> = {}): string {
  const directory = mkdtempSync(join(temporary.directory, 'zoo-'));
  cpSync(zooDirectory, directory, { recursive: true, filter: (name) => !name.startsWith(join(zooDirectory, 'var')) });
  for (const [name, text] of Object.entries(changed)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    if (text === null) rmSync(join(directory, name));
    else writeFileSync(join(directory, name), text);
  }
  return directory;
}

const zooEnv = (url: string) => ({ ZOO_DATABASE: url, ZOO_SECRET: zooSecret });

/** The declarations in a list, each class by its qualified name, dashes written as underscores. */
const listYaml = `
app_main:
  security: { jwt: { secret: '%env(ZOO_SECRET)%' } }
  apis:
    - name: animal
      class: src/models/animal#Animal
      base-path: /api/animal
      controller: src/controllers/animal-controller#AnimalController
      base-role: ANIMAL_SEE
      actions:
        _index: { methods: { GET: true, HEAD: true, POST: true }, roles: { POST: ROLE_KEEPER, GET: ~ } }
        _entity:
          methods: { GET: true, HEAD: true, PATCH: true, DELETE: true }
          roles: { PATCH: ROLE_KEEPER, DELETE: ROLE_DIRECTOR }
        keepers: { methods: { POST: true, DELETE: true }, roles: { POST: ROLE_KEEPER, DELETE: ROLE_KEEPER } }
        loudest: { methods: { GET: true }, single_collection: collection, controller-action: theLoudest }
    - name: keeper
      class: Keeper
      base_path: /api/keeper
      controller: ~
      base_role: ~
      actions:
        _index: {}
        _entity: { path: profile, requirements: { id: '[1-9]\\d{0,3}' } }
`;

interface Running {
  readonly url: string;
  stop(): Promise<unknown>;
}

async function inCode(options: CodeOptions): Promise<Running> {
  const app = Fastify();
  await app.register(declarest, options);
  return { url: await app.listen({ host: '127.0.0.1', port: 0 }), stop: () => app.close() };
}

const forms: Readonly<Record<string, (url: string) => Promise<Running>>> = {
  'on disk, as a mapping': (url) => serve(zooDirectory, zooEnv(url)),
  'on disk outside the repository, as a list with qualified names': (url) =>
    serve(copyOfZoo({ 'config/20-apis.yaml': listYaml }), zooEnv(url)),
  'in code, as a mapping': (url) => inCode(zooInCode(url)),
  'in code, as a list': (url) => inCode(zooInCode(url, 'list')),
};

describe.each(databases)('an application on %s', (kind) => {
  describe.each(Object.entries(forms))('declared %s', (_, start) => {
    let database: FreshDatabase;
    let running: Running;
    const send = (method: string, path: string, request?: ZooRequest) => call(running.url, method, path, request);
    const keeper = { id: 'kim', roles: ['ROLE_KEEPER'] };
    const director = { id: 'dora', roles: ['ROLE_DIRECTOR'] };

    beforeAll(async () => {
      database = await freshDatabase(kind);
      running = await start(database.url);
    });
    afterAll(async () => {
      await running?.stop();
      await database?.drop();
    });

    test('lists the seeded rows that the controller allows, in the collection model', async () => {
      const { status, headers, json } = await send('GET', '/api/animal.json');
      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(json).toEqual({
        count: 3,
        results: [
          { id: 1, name: 'Leo', loudness: 90, favourite: { id: 1, name: 'Ann' }, keepers: [] },
          { id: 2, name: 'Mia', loudness: 5, favourite: null, keepers: [] },
        ],
        pagination: {
          more: true,
          next: expect.stringMatching(/^\/zoo\/api\/animal\.json\?page=2&after=[\w-]+$/),
          previous: null,
          first: 0,
          items_per_page: 2,
        },
      });
      expect((await send('GET', '/api/animal.json', { as: director })).json.count).toBe(4);
    });

    test('passes the entity to the voter for a single action, and null for a list', async () => {
      expect((await send('GET', '/api/animal/3.json')).status).toBe(401);
      expect((await send('GET', '/api/animal/3.json', { as: keeper })).status).toBe(403);
      expect((await send('GET', '/api/animal/3.json', { as: director })).json).toMatchObject({ id: 3, name: 'Newborn' });
      expect((await send('HEAD', '/api/animal/3.json')).status).toBe(401);
    });

    test('writes if the caller has the role of the method, and rejects violations of the model', async () => {
      const json = { name: 'Pia', favourite: { badge: 'K-2' } };
      expect((await send('POST', '/api/animal.json', { json })).status).toBe(401);
      const made = await send('POST', '/api/animal.json', { json, as: keeper });
      expect(made.status).toBe(201);
      expect(made.json).toEqual({ id: 5, name: 'Pia', loudness: 0, favourite: { id: 2, name: 'Bob' }, keepers: [] });
      expect(made.headers.get('location')).toBe('/zoo/api/animal/5.json');

      const refused = await send('PATCH', '/api/animal/5.json', { json: { loudness: 101 }, as: keeper });
      expect(refused.status).toBe(422);
      expect(refused.json.violations).toEqual([
        { propertyPath: 'loudness', title: 'hurts the ears', code: expect.any(String), parameters: {} },
      ]);
      expect((await send('DELETE', '/api/animal/5.json', { as: keeper })).status).toBe(403);
      expect((await send('DELETE', '/api/animal/5.json', { as: director })).status).toBe(204);
      expect((await send('GET', '/api/animal/5.json')).status).toBe(404);
    });

    test('adds and removes items of an association through the controller', async () => {
      const added = await send('POST', '/api/animal/2/keepers.json', { json: { id: 1 }, as: keeper });
      expect([added.status, added.json]).toEqual([200, { id: 1, name: 'Ann' }]);
      expect((await send('GET', '/api/animal/2.json')).json.keepers).toEqual([{ id: 1, name: 'Ann' }]);
      const missing = await send('POST', '/api/animal/2/keepers.json', { json: { id: 99 }, as: keeper });
      expect([missing.status, missing.json.detail]).toEqual([400, 'keeper id not found']);
      await send('DELETE', '/api/animal/2/keepers.json', { json: { id: 1 }, as: keeper });
      expect((await send('GET', '/api/animal/2.json')).json.keepers).toEqual([]);
    });

    test('handles a custom action with the configured controller method', async () => {
      const { status, json } = await send('GET', '/api/animal/loudest.json');
      expect(status).toBe(200);
      expect(json).toMatchObject({ format: 'json', animal: { name: 'Leo' } });
    });

    test('has exactly the declared methods and paths', async () => {
      const put = await send('PUT', '/api/animal/1.json', { json: {}, as: director });
      expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, HEAD, PATCH, DELETE']);
      expect((await send('HEAD', '/api/animal/loudest.json')).status).toBe(405);
      expect((await send('GET', '/api/animal')).status).toBe(404);
      expect((await send('GET', '/api/animal.xml')).json).toMatchObject({ code: 'unknown_format', status: 404 });
      expect((await send('GET', '/api/keeper/1.json')).status).toBe(404);
      expect((await send('GET', '/api/keeper/1/profile.json')).json).toEqual({ id: 1, name: 'Ann' });
      expect((await send('GET', '/api/keeper/01/profile.json')).status).toBe(404);
      expect((await send('POST', '/api/keeper.json', { json: {} })).status).toBe(405);
      expect((await send('GET', '/api/keeper.json')).json.results).toEqual([
        { id: 1, name: 'Ann' },
        { id: 2, name: 'Bob' },
      ]);
    });

    test("serves the routes of the application's own loader, and checks their roles", async () => {
      expect((await send('GET', '/zoo/hours.json')).json).toEqual({ opens: 9, format: 'json', formats: ['json'] });
      expect((await send('POST', '/zoo/hours.json')).status).toBe(405);
      expect((await send('GET', '/zoo/lions/feeding.json')).status).toBe(401);
      expect((await send('GET', '/zoo/lions/feeding.json', { as: { id: 1 } })).status).toBe(403);
      expect((await send('GET', '/zoo/lions/feeding.json', { as: keeper })).json).toEqual({ method: 'GET', place: 'lions' });
      expect((await send('POST', '/zoo/lions/feeding.json', { as: keeper, json: {} })).status).toBe(403);
      expect((await send('POST', '/zoo/lions/feeding.json', { as: director, json: {} })).status).toBe(200);
      expect((await send('GET', '/zoo/LIONS/feeding.json', { as: keeper })).status).toBe(404);
    });

    test("checks the GET role for HEAD on the loader's routes too", async () => {
      expect((await send('HEAD', '/zoo/lions/feeding.json')).status).toBe(401);
      expect((await send('HEAD', '/zoo/lions/feeding.json', { as: keeper })).status).toBe(200);
    });

    test("accepts users of the application's own authenticator", async () => {
      const ticket = (value: string) => ({ headers: { 'x-ticket': value } });
      expect((await send('GET', '/api/animal/3.json', ticket('director-ticket'))).status).toBe(200);
      const forged = await send('GET', '/api/keeper.json', ticket('forged'));
      expect(forged.status).toBe(401);
      expect(forged.json.detail).toBe('the credentials are not valid: the ticket is not known');
      expect(forged.headers.get('www-authenticate')).toMatch(/^Bearer/);
    });
  });
});

describe('the seed', () => {
  const Note = defineEntity({
    name: 'Note',
    properties: { id: p.integer().primary().groups('read'), text: p.string().groups('read') },
  });
  const options = (url: string, seed: (em: EntityManager) => unknown): CodeOptions => ({
    app_main: {
      apis: { note: { class: Note, base_path: '/note', actions: { _index: null } } },
      database: { url, schema: 'update' },
    },
    models: [Note],
    seed,
  });
  const texts = async (url: string, seed: (em: EntityManager) => unknown) => {
    const application = await startApplication(options(url, seed));
    const { json } = await application.request('GET', '/note.json');
    await application.close();
    return json.results.map(({ text }: { text: string }) => text);
  };
  const writes = (text: string) => async (em: EntityManager) => {
    em.create(Note, { text });
    await em.flush();
  };

  test.each(databases)('runs on the first start and never again on %s', async (kind) => {
    const database = await freshDatabase(kind);
    try {
      expect(await texts(database.url, writes('first'))).toEqual(['first']);
      expect(await texts(database.url, writes('second'))).toEqual(['first']);
    } finally {
      await database.drop();
    }
  });

  test.each(databases)('is written even if it does not flush, on %s', async (kind) => {
    const database = await freshDatabase(kind);
    try {
      expect(await texts(database.url, (em) => void em.create(Note, { text: 'left to the framework' }))).toEqual([
        'left to the framework',
      ]);
    } finally {
      await database.drop();
    }
  });

  test.each(databases)('aborts the start if it fails, writes nothing and runs again at the next start, on %s', async (kind) => {
    const database = await freshDatabase(kind);
    try {
      const failing = async (em: EntityManager) => {
        await writes('half')(em);
        throw new Error('out of seeds');
      };
      await expect(startApplication(options(database.url, failing))).rejects.toThrow('out of seeds');
      expect(await tablesOf(kind, database.url)).toEqual([]);
      expect(await texts(database.url, writes('whole'))).toEqual(['whole']);
    } finally {
      await database.drop();
    }
  });

  test('leaves no open database connection if it fails', async () => {
    const database = await freshDatabase('postgresql');
    try {
      await startApplication(
        options(database.url, () => {
          throw new Error('out of seeds');
        }),
      ).catch(() => undefined);
      const client = new Client({ connectionString: database.url });
      await client.connect();
      const others = 'select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()';
      const until = Date.now() + 2000;
      let open = (await client.query(others)).rowCount;
      while (open && Date.now() < until) open = (await client.query(others)).rowCount;
      await client.end();
      expect(open).toBe(0);
    } finally {
      await database.drop();
    }
  });
});

async function tablesOf(kind: (typeof databases)[number], url: string): Promise<string[]> {
  if (kind === 'sqlite') {
    const { DatabaseSync } = await import('node:sqlite');
    const db = new DatabaseSync(url.slice('sqlite:'.length));
    const rows = db.prepare("select name from sqlite_master where type = 'table' and name not like 'sqlite_%'").all();
    db.close();
    return rows.map(({ name }) => String(name));
  }
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query("select tablename as name from pg_tables where schemaname = 'public'");
  await client.end();
  return rows.map(({ name }) => String(name));
}

describe('an application on disk', () => {
  const env = { ZOO_DATABASE: 'sqlite:var/zoo.db', ZOO_SECRET: zooSecret };

  test('with errors opens no port, creates no database, and lists all errors with their location', async () => {
    const directory = copyOfZoo({
      'config/20-apis.yaml': listYaml
        .replace('src/models/animal#Animal', 'src/models/animal#Animl')
        .replace('ROLE_DIRECTOR', 'ANIMAL_REMOVE')
        .replace('class: Keeper', 'klass: Keeper'),
      'config/routes.yaml': "app_cruds: { resource: 'zoo_page_loader:pages', type: service }\n",
      'config/30-broken.yaml': 'app_main:\n  server:\n    port: many\n',
    });
    const { code, text } = await serveInVain(directory, env);
    expect(code).toBe(1);
    expect(text).not.toContain('listening');
    expect(text).toMatch(/^config\/20-apis\.yaml:6:\d+: .*"src\/models\/animal#Animl".*src\/models\/animal#Animal/m);
    expect(text).toMatch(/^config\/20-apis\.yaml:\d+:\d+: unknown key "klass".*class/m);
    expect(text).toMatch(/^config\/30-broken\.yaml:3:11: .*port.*"many"/m);
    expect(text).toMatch(/^config\/routes\.yaml:1:\d+: .*app_main_crud_route_loader:load/m);
    expect(text.trim().split('\n').length).toBeGreaterThanOrEqual(4);
    expect(existsSync(join(directory, 'var'))).toBe(false);
  });

  test('without the routing entry app_cruds does not start, and the error says what to add', async () => {
    const { code, text } = await serveInVain(copyOfZoo({ 'config/routes.yaml': null }), env);
    expect(code).toBe(1);
    expect(text).toMatch(/^config\/routes\.yaml.*"app_cruds" is missing.*app_main_crud_route_loader:load/m);
    expect(text).not.toContain('listening');
  });

  test('must qualify a class name that two classes share, and the error lists the candidates', async () => {
    const second = { 'src/models/old-keeper.ts': readFileSync(join(zooDirectory, 'src/models/keeper.ts'), 'utf8') };
    const ambiguous = await serveInVain(copyOfZoo({ ...second, 'config/20-apis.yaml': listYaml }), env);
    expect(ambiguous.code).toBe(1);
    expect(ambiguous.text).toMatch(/"Keeper" is ambiguous.*src\/models\/keeper#Keeper.*src\/models\/old-keeper#Keeper/);
  });

  test('can be written in JavaScript', async () => {
    const directory = mkdtempSync(join(temporary.directory, 'plain-'));
    const files = {
      'config/app.yaml':
        'app_main: { apis: { stone: { class: Stone, base_path: /stone, base_role: STONE_SEE, actions: { _index: ~ } } } }\n',
      'config/routes.yaml': "app_cruds: { resource: 'app_main_crud_route_loader:load', type: service }\n",
      'src/models/stone.js': `import { defineEntity, p } from '@mikro-orm/core';
        export const Stone = defineEntity({ name: 'Stone', properties: { id: p.integer().primary().groups('read') } });`,
      'src/voters/stone-voter.js': `import { Voter } from 'declarest';
        export class StoneVoter extends Voter { static roles = ['STONE_SEE']; vote() { return 'grant'; } }`,
      'src/seed.js': `import { Stone } from './models/stone.js';
        export default async (em) => { em.create(Stone, {}); };`,
    };
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(directory, name)), { recursive: true });
      writeFileSync(join(directory, name), text);
    }
    const served = await serve(directory, {});
    try {
      const { status, json } = await call(served.url, 'GET', '/stone.json');
      expect([status, json.results]).toEqual([200, [{ id: 1 }]]);
      // The default database is a file of the application, wherever the process was started.
      expect(existsSync(join(directory, 'var', 'app.db'))).toBe(true);
    } finally {
      await served.stop();
    }
  });

  test.each(databases)('that is killed during its seed is seeded at the next start, on %s', async (kind) => {
    const database = await freshDatabase(kind);
    const seed = readFileSync(join(zooDirectory, 'src/seed.ts'), 'utf8');
    const killed = seed.replace(
      'await em.flush();',
      "await em.flush();\n  if (process.env.ZOO_KILL) process.kill(process.pid, 'SIGKILL');",
    );
    expect(killed).not.toBe(seed);
    const directory = copyOfZoo({ 'src/seed.ts': killed });
    try {
      expect((await serveInVain(directory, { ...zooEnv(database.url), ZOO_KILL: '1' })).code).toBeNull();
      const served = await serve(directory, zooEnv(database.url));
      const { json } = await call(served.url, 'GET', '/api/animal.json');
      await served.stop();
      expect(json.count).toBe(3);
    } finally {
      await database.drop();
    }
  });

  test('applies the configuration block of its environment', async () => {
    const directory = copyOfZoo({ 'config/30-prod.yaml': 'when@prod: { app_main: { pagination: { items_per_page: 1 } } }\n' });
    const sizes: number[] = [];
    for (const NODE_ENV of ['production', 'development']) {
      const served = await serve(directory, { ...env, NODE_ENV });
      sizes.push((await call(served.url, 'GET', '/api/animal.json')).json.pagination.items_per_page);
      await served.stop();
    }
    expect(sizes).toEqual([1, 2]);
  });

  test('reports the module that cannot be loaded', async () => {
    const directory = copyOfZoo({ 'src/voters/broken.ts': "\nthrow new Error('no voter today');\n" });
    const { code, text } = await serveInVain(directory, env);
    expect(code).toBe(1);
    expect(text).toMatch(/^src\/voters\/broken\.ts:2:\d+: .*no voter today/m);
  });
});

describe('an application in code', () => {
  const Stone = defineEntity({ name: 'Stone', properties: { id: p.integer().primary().groups('read') } });
  const api = { class: Stone, base_path: '/stone', actions: { _index: null } };
  const options = (app_main: CodeOptions['app_main'], more: Partial<CodeOptions> = {}): CodeOptions => ({
    app_main: { database: { url: 'sqlite::memory:' }, ...app_main },
    models: [Stone],
    ...more,
  });
  const refusal = (given: CodeOptions) =>
    startApplication(given).then(
      async (application) => {
        await application.close();
        return 'it started';
      },
      (error: Error) => (error instanceof DeclarationErrors ? error.message : `another error: ${error.message}`),
    );

  test('reports all its errors at once', async () => {
    class Stray extends ApiController {}
    const message = await refusal(
      options(
        {
          apis: {
            stone: {
              ...api,
              base_role: 'STONE_SEE',
              controller: Stray,
              actions: { _index: null, polish: { methods: { GET: true } } },
            },
            pebble: { ...api, class: 'Peble' },
          },
        },
        { controllers: [Stray], routes: {} },
      ),
    );
    expect(message.split('\n').sort()).toEqual([
      expect.stringMatching(/^app_main\.apis\.pebble\.actions\._index: .*already handled/),
      expect.stringMatching(/^app_main\.apis\.pebble\.class: .*"Peble".*Stone/),
      expect.stringMatching(/^app_main\.apis\.stone\.actions\.polish.*polishApi/),
      expect.stringMatching(/^app_main\.apis\.stone\.base_role: .*"STONE_SEE"/),
      expect.stringMatching(/^routes: .*app_cruds/),
    ]);
  });

  test.each([
    ['missing', { other: { resource: 'app_main_crud_route_loader:load', type: 'service' } }, /"app_cruds" is missing/],
    ['for another resource', { app_cruds: { resource: 'other:load', type: 'service' } }, /"app_main_crud_route_loader:load"/],
    ['of another type', { app_cruds: { resource: 'app_main_crud_route_loader:load', type: 'file' } }, /service/],
    ['without a type', { app_cruds: { resource: 'app_main_crud_route_loader:load' } }, /"type" is missing/],
    ['without a resource', { app_cruds: { type: 'service' } }, /"resource" is missing/],
  ])('whose routing entry app_cruds is %s does not start', async (_, routes, message) => {
    expect(await refusal(options({ apis: { stone: api } }, { routes: routes as never }))).toMatch(message);
  });

  test.each([
    ['a service that does not exist', 'stone_loder:load', /unknown service "stone_loder".*did you mean "stone_loader"/],
    ['a method that the service does not have', 'stone_loader:lod', /"stone_loader" has no method "lod"/],
    ['a method that gives no routes', 'stone_loader:nonsense', /must return a list of/],
    [
      'a method that fails',
      'stone_loader:failing',
      /^routes\.extra\.resource: stone_loader:failing failed: the quarry is closed$/,
    ],
  ])('does not start with %s in its routing configuration', async (_, resource, message) => {
    const stone_loader = {
      load: () => [],
      nonsense: () => [{ path: '/x' }],
      failing: () => {
        throw new Error('the quarry is closed');
      },
    };
    const routes = {
      app_cruds: { resource: 'app_main_crud_route_loader:load', type: 'service' },
      extra: { resource, type: 'service' },
    } as const;
    expect(await refusal(options({ apis: { stone: api } }, { services: { stone_loader }, routes }))).toMatch(message);
  });

  const withRoute = (route: object, security = {}) =>
    options(
      { apis: {}, security },
      {
        services: { loader: { load: () => [{ name: 'r', path: '/r', methods: ['GET'], handler: () => ({}), ...route }] } },
        routes: {
          app_cruds: { resource: 'app_main_crud_route_loader:load', type: 'service' },
          mine: { resource: 'loader:load', type: 'service' },
        },
      },
    );

  test('does not start if a route of its own loader has a role without a voter', async () => {
    expect(await refusal(withRoute({ roles: 'STONE_SEE' }))).toMatch(/^routes\.mine.*no voter judges the role "STONE_SEE"/);
    expect(await refusal(withRoute({ roles: { GET: 'STONE_SEE' } }))).toMatch(/no voter judges the role "STONE_SEE"/);
    expect(await refusal(withRoute({ roles: 'ROLE_MASON' }))).toBe('it started');
  });

  test.each([
    ['roles', ['ROLE_MASON']],
    ['roles', { get: 'ROLE_MASON' }],
    ['roles', { GET: ['ROLE_MASON'] }],
    ['roles', ''],
    ['methods', []],
    ['methods', ['get']],
    ['path', 'r'],
    ['handler', 'show'],
    ['requirements', { id: /x/ }],
  ])('does not start if a route of its own loader has the invalid %s %j', async (key, value) => {
    expect(await refusal(withRoute({ [key]: value }))).toMatch(new RegExp(`^routes\\.mine.*"${key}" must be`));
  });

  test('does not start if a route of its own loader is public and require_role is set', async () => {
    expect(await refusal(withRoute({}, { require_role: true }))).toMatch(/^routes\.mine.*require_role.*"r".*GET/);
    expect(await refusal(withRoute({ roles: 'ROLE_MASON' }, { require_role: true }))).toBe('it started');
  });

  test('closes without waiting for idle connections', async () => {
    const application = await startApplication(options({ apis: { stone: api } }));
    const silent = connect(Number(new URL(application.url).port), '127.0.0.1');
    await once(silent, 'connect');
    const closed = once(silent, 'close');
    await application.close();
    await closed;
  });

  test('can run beside other routes of the same Fastify instance, under a prefix', async () => {
    const app = Fastify();
    app.get('/own', () => ({ own: true }));
    await app.register(declarest, { ...options({ apis: { stone: api } }), prefix: '/v1' } as CodeOptions);
    try {
      expect((await app.inject('/own')).json()).toEqual({ own: true });
      expect((await app.inject('/v1/stone.json')).json().count).toBe(0);
      expect((await app.inject('/stone.json')).statusCode).toBe(404);
      // Fastify's own answer: what is not the application's is not touched.
      expect((await app.inject('/elsewhere')).json()).toMatchObject({ message: 'Route GET:/elsewhere not found' });
    } finally {
      await app.close();
    }
  });

  test('can be mounted twice on one instance, each with its own voters and database', async () => {
    class Yes extends Voter {
      static override roles = ['SEE'];
      vote() {
        return 'grant' as const;
      }
    }
    class No extends Voter {
      static override roles = ['SEE'];
      vote() {
        return 'deny' as const;
      }
    }
    const app = Fastify();
    const apis = { stone: { ...api, base_role: 'SEE' } };
    await app.register(declarest, { ...options({ apis }, { voters: [Yes] }), prefix: '/open' } as CodeOptions);
    await app.register(declarest, { ...options({ apis }, { voters: [No] }), prefix: '/closed' } as CodeOptions);
    try {
      expect((await app.inject('/open/stone.json')).statusCode).toBe(200);
      expect((await app.inject('/closed/stone.json')).statusCode).toBe(401);
    } finally {
      await app.close();
    }
  });
});
