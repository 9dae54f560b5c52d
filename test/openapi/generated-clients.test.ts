import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openApiDocument } from '../../src/openapi/document.ts';
import { freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const modules = join(root, 'node_modules');

/** A program with openapi-fetch, which repeats parameters with several values. */
const withOpenapiFetch = `
import createClient from 'openapi-fetch';
import type { paths } from './schema.ts';

const [baseUrl, token] = process.argv.slice(2);
const sent: string[] = [];
const client = createClient<paths>({ baseUrl, headers: { authorization: 'Bearer ' + token } });
client.use({ onRequest({ request }) { sent.push(decodeURIComponent(new URL(request.url).search)); } });
const { data, error } = await client.GET('/api/person.json', {
  params: { query: { 'center.id[in]': [1, 2], sort: ['center.name', '-lastName'], fields: ['id', 'center.id', 'lastName'], items_per_page: 100 } },
});
if (!data) throw new Error(JSON.stringify(error));
const one = await client.GET('/api/person/{id}.json', { params: { path: { id: data.results[0]?.id ?? 0 } } });
console.log(JSON.stringify({ sent, results: data.results, one: one.data?.lastName }));
`;

/** The same with the client that swagger-typescript-api generates. */
const withSwaggerTypescriptApi = `
import { Api } from './api.ts';

const [baseUrl, token] = process.argv.slice(2);
const sent: string[] = [];
const { api } = new Api({
  baseUrl,
  baseApiParams: { headers: { authorization: 'Bearer ' + token }, format: 'json' },
  customFetch: (address, options) => {
    sent.push(decodeURIComponent(new URL(String(address)).search));
    return fetch(address, options);
  },
});
const { data } = await api.listPersons({
  'center.id[in]': [1, 2],
  sort: ['center.name', '-lastName'],
  fields: ['id', 'center.id', 'lastName'],
  items_per_page: 100,
});
const one = await api.getPerson(data.results[0]?.id ?? 0);
console.log(JSON.stringify({ sent, results: data.results, one: one.data.lastName }));
`;

const administrator = { id: 3, roles: ['ROLE_ADMIN'], centers: [1, 2, 3] };

describe('clients of other generators', () => {
  let folder: string;
  let app: TestApplication;
  let token: string;
  let drop: () => Promise<void>;
  const file = (name: string) => join(folder, name);
  const withLibrary = `--import=${join(import.meta.dirname, 'typescript-of-others.ts')}`;
  const nodeRun = async (...given: string[]) => (await run(process.execPath, given, { cwd: folder })).stdout;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'declarest-clients-'));
    const database = await freshDatabase('sqlite');
    drop = database.drop;
    app = await startApplication({ directory: join(root, 'examples/courses'), databaseUrl: database.url });
    token = await app.tokenFor(administrator);
    const document = openApiDocument(app.application, { title: 'courses', version: '1.0.0' });
    writeFileSync(file('document.json'), JSON.stringify(document));
    writeFileSync(file('package.json'), '{ "type": "module" }');
    symlinkSync(modules, file('node_modules'));
    writeFileSync(file('fetch.ts'), withOpenapiFetch);
    writeFileSync(file('swagger.ts'), withSwaggerTypescriptApi);
    const generators = [
      [join(modules, 'openapi-typescript/bin/cli.js'), 'document.json', '-o', 'schema.ts'],
      [join(modules, 'swagger-typescript-api/dist/cli.mjs'), 'generate', '-p', 'document.json', '-o', folder, '-n', 'api.ts'],
    ];
    await Promise.all(generators.map((given) => nodeRun(withLibrary, ...given)));
  });
  afterAll(async () => {
    await app?.close();
    await drop?.();
    rmSync(folder, { recursive: true, force: true });
  });

  const outputOf = async (program: string) =>
    JSON.parse(await nodeRun('--experimental-transform-types', '--no-warnings', program, app.url, token));

  /** The rows as the typed client of Declarest gets them, which separates values by commas. */
  async function expectedRows() {
    const query = 'center.id[in]=1,2&sort=center.name,-lastName&fields=id,center.id,lastName&items_per_page=100';
    return (await app.request('GET', `/api/person.json?${query}`, { as: administrator })).json.results;
  }

  test('pass the type checker', async () => {
    const strict = [
      '--strict',
      '--noEmit',
      '--singleThreaded',
      '--module',
      'nodenext',
      '--target',
      'es2024',
      '--lib',
      'es2024,dom',
    ];
    const compiler = [join(modules, 'typescript/bin/tsc'), ...strict, '--types', 'node', '--allowImportingTsExtensions'];
    expect(await nodeRun(...compiler, 'fetch.ts', 'swagger.ts').catch(({ stdout }) => stdout)).toBe('');
  });

  test('openapi-fetch repeats array parameters, and gets the same rows', async () => {
    const { one, results, sent } = await outputOf('fetch.ts');
    expect(sent[0]).toContain('center.id[in]=1&center.id[in]=2&sort=center.name&sort=-lastName&fields=id&');
    expect(results).toEqual(await expectedRows());
    expect(one).toBe(results[0].lastName);
  });

  test('swagger-typescript-api repeats array parameters, and has functions with readable names', async () => {
    const { one, results, sent } = await outputOf('swagger.ts');
    expect(sent[0]).toMatch(/center\.id(\[in\])?.*=1&center\.id.*=2/);
    expect(results).toEqual(await expectedRows());
    expect(one).toBe(results[0].lastName);
  });
});
