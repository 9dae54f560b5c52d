// @module-tag divided
// An existing application of 20 decorated models with its own MikroORM configuration, served by the command.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { makeTemporary } from '../support/temporary.ts';
import { addressOf, run, start } from './spawned.ts';

const temporary = makeTemporary('decorated');
afterAll(() => temporary.remove());

const packages = fileURLToPath(new URL('../../node_modules', import.meta.url));
const loader = { NODE_OPTIONS: `--import=${import.meta.resolve('tsx')}` };

type Decorators = 'legacy' | 'es';

/** A copy of the application, whose models use one kind of decorators. */
function copyOf(decorators: Decorators): string {
  const directory = mkdtempSync(join(temporary.directory, `${decorators}-`));
  cpSync(join(import.meta.dirname, 'fixtures', 'agency'), directory, { recursive: true });
  for (const name of readdirSync(join(directory, 'models')))
    replace(join(directory, 'models', name), 'decorators/es', `decorators/${decorators}`);
  const compilerOptions = {
    target: 'es2022',
    module: 'nodenext',
    rewriteRelativeImportExtensions: true,
    experimentalDecorators: decorators === 'legacy',
    skipLibCheck: true,
    types: ['node'],
    outDir: 'build',
  };
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts', 'models'] }));
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }');
  install(directory);
  return directory;
}

function install(directory: string): void {
  const folder = join(directory, 'node_modules');
  mkdirSync(join(folder, '@mikro-orm'), { recursive: true });
  const names = [
    '@mikro-orm/core',
    '@mikro-orm/decorators',
    '@mikro-orm/postgresql',
    '@mikro-orm/sql',
    '@types',
    'reflect-metadata',
  ];
  for (const name of names) symlinkSync(join(packages, name), join(folder, name));
}

function replace(file: string, from: string, to: string): void {
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(from, to));
}

/** The same, compiled to JavaScript. */
function compiledCopy(decorators: Decorators): string {
  const directory = copyOf(decorators);
  execFileSync(process.execPath, [join(packages, 'typescript', 'bin', 'tsc'), '-p', directory, '--singleThreaded'], {
    stdio: 'inherit',
  });
  replace(join(directory, 'config', 'app.yaml'), 'orm: mikro-orm.config.ts', 'orm: build/mikro-orm.config.js');
  return directory;
}

const ways = [
  ['legacy decorators by tsx', () => copyOf('legacy'), loader],
  ['compiled ES decorators', () => compiledCopy('es'), {}],
] as const;

describe.each(databases)('an application of decorated models on %s', (kind) => {
  let database: FreshDatabase;
  beforeEach(async () => {
    database = await freshDatabase(kind);
  });
  afterEach(() => database.drop());

  test.each(ways)('is served with %s', async (_title, prepare, env) => {
    // tsx looks for tsconfig.json in the working directory
    const spawned = start(['serve', '--port', '0'], { cwd: prepare(), env: { ...env, AGENCY_DATABASE: database.url } });
    const address = await addressOf(spawned);
    const call = async (method: string, path: string, body?: object) => {
      const response = await fetch(address + path, {
        method,
        ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      });
      const text = await response.text();
      return { status: response.status, json: text === '' ? null : JSON.parse(text) };
    };
    const create = async (path: string, body: object) => {
      const { json, status } = await call('POST', `${path}.json`, body);
      expect({ status, json }).toMatchObject({ status: 201 });
      return json;
    };
    const list = async (path: string) => (await call('GET', path)).json.results;

    // naming strategy, subscriber, onCreate
    const client = await create('/client', { companyName: 'Initech' });
    expect(client).toMatchObject({ id: 1, companyName: 'Initech', createdBy: 'audit', createdAt: expect.any(String) });
    expect(await call('POST', '/client.json', { companyName: 'Initech' })).toMatchObject({
      status: 409,
      json: { code: expect.stringMatching(/^conflict/) },
    });
    expect(spawned.printed.out + spawned.printed.err).toContain('COMPANY_NAME');
    const unfiltered = await create('/currency', { isoCode: 'EUR', minorUnits: 2 });
    expect(unfiltered).toEqual({ isoCode: 'EUR', minorUnits: 2 });
    const invoice = await create('/invoice', { client: { id: 1 }, currency: { isoCode: 'EUR' } });
    expect(invoice).toMatchObject({ client: { companyName: 'Initech' }, currency: { isoCode: 'EUR' } });
    expect(await create('/line', { invoice: { id: 1 }, price: '12.50' })).toMatchObject({ price: '12.50' });

    // inheritance, embeddables, private members
    await create('/team', { teamName: 'Blue' });
    await create('/skill', { title: 'SQL' });
    const address1 = { street: 'Main Street 1', city: 'Graz' };
    await create('/employee', { fullName: 'Ada', salary: 10, team: { id: 1 }, address: address1, skills: [{ id: 1 }] });
    await create('/contractor', { fullName: 'Bob', dayRate: 20 });
    expect(await list('/person.json?sort=-fullName')).toMatchObject([
      { kind: 'contractor', label: 'contractor · Bob', dayRate: 20, address: null },
      { kind: 'employee', label: 'employee · Ada', salary: 10, address: address1, team: { teamName: 'Blue' } },
    ]);
    expect((await call('PATCH', '/employee/1.json', { fullName: 'Ada L.' })).json).toMatchObject({ label: 'employee · Ada L.' });

    // lifecycle hooks, lists
    await create('/project', { projectName: 'Site', client: { id: 1 } });
    await create('/label', { text: 'urgent' });
    for (const title of ['Write docs', 'Fix bug'])
      await create('/task', { title, project: { id: 1 }, assignee: { id: 1 }, labels: [{ id: 1 }] });
    expect(await list('/task.json?title[contains]=bug&sort=title&q=fix')).toMatchObject([{ slug: 'fix-bug', state: 'open' }]);

    // views
    for (const minutes of [30, 45]) await create('/time', { task: { id: 1 }, minutes });
    await create('/time', { task: { id: 2 }, minutes: 5 });
    expect(await list('/tasktime.json?totalMinutes[gte]=10')).toEqual([{ id: 1, totalMinutes: 75 }]);

    // soft deletion by the filter of the base class, and a filter of the configuration
    expect((await call('PATCH', '/time/1.json', { removedAt: '2026-01-01T00:00:00Z' })).status).toBeLessThan(300);
    expect((await call('GET', '/time/1.json')).status).toBe(404);
    expect((await list('/time.json')).map(({ id }: { id: number }) => id)).toEqual([2, 3]);
    expect(await list('/tasktime.json?sort=totalMinutes')).toMatchObject([{ totalMinutes: 5 }, { totalMinutes: 45 }]);
    expect((await call('DELETE', '/time/1.json')).status).toBe(404);
    await create('/setting', { content: { theme: 'dark' } });
    expect((await call('GET', '/setting.json')).json).toMatchObject({ count: 1, results: [{ content: { theme: 'dark' } }] });
    expect((await call('DELETE', '/tasktime/1.json')).status).toBe(405);
    spawned.child.kill('SIGTERM');
    expect((await spawned.ended).code).toBe(0);
  });
});

describe('decorated models in src/models', () => {
  const files = {
    'config/routes.yaml': readFileSync(join(import.meta.dirname, 'fixtures/agency/config/routes.yaml'), 'utf8'),
    'config/app.yaml': 'app_main: { apis: { pet: { class: Pet, base_path: /pet, actions: { _index: null, _entity: null } } } }\n',
    'src/models/pet.ts': `import { Entity, PrimaryKey } from '@mikro-orm/decorators/es';
@Entity()
export class Pet {
  @PrimaryKey({ type: 'integer', groups: ['read'] })
  id!: number;
}
`,
  };
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(temporary.directory, 'src-'));
    for (const name of ['config', 'src/models']) mkdirSync(join(directory, name), { recursive: true });
    for (const [name, text] of Object.entries(files)) writeFileSync(join(directory, name), text);
    writeFileSync(join(directory, 'package.json'), '{ "type": "module" }');
    install(directory);
  });

  test('are known', async () => {
    expect(await run(['check', directory], { env: loader })).toMatchObject({ code: 0, out: 'ok: 1 API, 2 routes\n' });
  });

  test('are a start error without a loader that knows decorators', async () => {
    const { code, err } = await run(['check', directory]);
    expect(code).toBe(1);
    expect(err).toMatch(
      /^src\/models\/pet\.ts.*Node cannot run decorators; start with "node --import tsx", or compile the module/m,
    );
  });
});
