import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { freshDatabase } from '../support/databases.ts';
import { noteLoaded, packagesIn } from '../support/loaded-modules.ts';
import { personYaml, smallApplication } from './applications.ts';
import { addressOf, run, start } from './spawned.ts';

const src = join(import.meta.dirname, '..', '..', 'src');
const http = 'node:internal/deps/undici/undici';

/** What is loaded until a server has answered a request and has been stopped. */
async function loadedBy(directory: string, env: NodeJS.ProcessEnv = {}): Promise<readonly string[]> {
  const noted = noteLoaded(directory);
  const server = start(['serve', directory, '--port', '0'], { env: { ...noted.env, ...env }, fromSource: true });
  const response = await fetch(`${await addressOf(server)}/api/person.json`);
  expect(response.status).toBe(200);
  server.child.kill('SIGTERM');
  expect((await server.ended).code).toBe(0);
  return noted.loaded();
}

/** The files of src among what was loaded, from src on. */
function sourcesIn(loaded: readonly string[]): string[] {
  return loaded.filter((url) => url.includes(`${src}/`)).map((url) => url.split(`${src}/`)[1] as string);
}

describe('serving an application loads only the modules it uses', () => {
  test('on SQLite without tokens: no PostgreSQL, no jose, no schema compilers, no other command', async () => {
    // elsewhere than in production, tokens signed with the development key are taken
    const config = { 'config/database.yaml': 'app_main: { database: { schema: update } }' };
    const loaded = await loadedBy(smallApplication(config), { NODE_ENV: 'production' });
    const packages = packagesIn(loaded);
    expect(packages).toEqual(expect.arrayContaining(['@mikro-orm/core', '@mikro-orm/sql', 'fastify', 'yaml']));
    const needless =
      /^(pg|pg-.*|@mikro-orm\/postgresql|jose|ajv|@fastify\/.*compiler|@fastify\/(cors|compress)|light-my-request)$/;
    expect(packages.filter((name) => needless.test(name))).toEqual([]);
    const sources = sourcesIn(loaded);
    expect(sources).toEqual(expect.arrayContaining(['cli/commands/serve.ts', 'server.ts', 'dialect/sqlite/kysely-dialect.ts']));
    const unused =
      /^inspect\/|^openapi\/(?!places)|^cli\/(commands\/(check|dev|explain|match|reference|routes|token)|watch-application)\.ts$|postgres(?!ql\/errors)|^access\/(jwt|sign-token)|^testing\.ts$|^traffic\/(cors|compression)\.ts$|^telemetry\/(.*metrics|phases|request-timings|tracing|opentelemetry|query-text)/;
    expect(sources.filter((file) => unused.test(file))).toEqual([]);
    expect(loaded).not.toContain(http);
  });

  test('with tokens: the modules that verify them', async () => {
    const loaded = await loadedBy(smallApplication());
    expect(packagesIn(loaded)).toContain('jose');
    expect(sourcesIn(loaded)).toContain('access/jwt.ts');
    // what is told of the application is made when someone asks
    expect(
      sourcesIn(loaded).filter((file) =>
        /^inspect\/|^openapi\/(document|pages\/(docs-page|greeting)|explorer\/(page|problem-page|explain))\.ts$/.test(file),
      ),
    ).toEqual([]);
  });
});

test('serving an application on PostgreSQL loads the code for replicas only if some are declared', async () => {
  const database = await freshDatabase('postgresql');
  const isOfReplicas = (file: string) => file.startsWith('dialect/postgresql/replicas/');
  const loadedWith = async (replicas: string) => {
    const yaml = `app_main: { database: { url: '${database.url}', schema: update${replicas} } }`;
    return sourcesIn(await loadedBy(smallApplication({ 'config/database.yaml': yaml }))).filter(isOfReplicas);
  };
  expect(await loadedWith('')).toEqual([]);
  expect(await loadedWith(", replicas: ['%env(default::REPLICA_URL)%']")).toEqual([]);
  expect(await loadedWith(", replicas: ['postgresql://nobody@127.0.0.1:1/none']")).not.toEqual([]);
  await database.drop();
});

test('checking an application on PostgreSQL loads its driver, but neither SQLite nor the server', async () => {
  const yaml = `${personYaml}  database: { url: 'postgresql://nobody@127.0.0.1:1/none' }\n`;
  const directory = smallApplication({ 'config/app_main.yaml': yaml });
  const noted = noteLoaded(directory);
  expect(await run(['check', directory], { env: noted.env, fromSource: true })).toMatchObject({ code: 0 });
  expect(packagesIn(noted.loaded())).toContain('@mikro-orm/postgresql');
  expect(packagesIn(noted.loaded())).not.toContain('fastify');
  expect(noted.loaded()).not.toContain('node:sqlite');
});

test('an application declared in code loads no YAML parser', async () => {
  const directory = smallApplication();
  const noted = noteLoaded(directory);
  const script = join(directory, 'server.ts');
  writeFileSync(
    script,
    `import { createServer } from ${JSON.stringify(join(src, 'index.ts'))};
     import { defineEntity, p } from ${JSON.stringify(createRequire(import.meta.url).resolve('@mikro-orm/core'))};
     const Person = defineEntity({ name: 'Person', properties: { id: p.integer().primary().groups('read') } });
     const app = await createServer({
       app_main: { database: { url: 'sqlite::memory:' }, apis: { person: { class: 'Person', base_path: '/p', actions: { _index: null } } } },
       models: [Person],
     });
     console.log((await app.inject('/p.json')).statusCode);
     await app.close();`,
  );
  const printed = execFileSync(process.execPath, [script], { env: { ...process.env, ...noted.env }, encoding: 'utf8' });
  expect(printed).toBe('200\n');
  expect(packagesIn(noted.loaded())).toContain('@mikro-orm/sql');
  expect(packagesIn(noted.loaded())).not.toContain('yaml');
});
