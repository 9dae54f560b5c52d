import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openApiDocument } from '../../src/openapi/document.ts';
import { freshDatabase } from '../support/databases.ts';
import { startApplication, type TestApplication } from '../support/testing.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const modules = join(root, 'node_modules');

/** What somebody writes with the types that `openapi-typescript` makes of the document. */
const program = `
import type { components, paths } from './courses.ts';

type Answer<Path extends keyof paths, Method extends 'get' | 'post' | 'patch', Status extends number> =
  paths[Path][Method] extends { responses: infer All }
    ? Status extends keyof All
      ? All[Status] extends { content: infer Content }
        ? Content[keyof Content]
        : never
      : never
    : never;

const [url, token] = process.argv.slice(2);

async function send<Path extends keyof paths, Method extends 'get' | 'post' | 'patch', Status extends number>(
  path: Path,
  method: Method,
  status: Status,
  { id, body, query = '' }: { id?: number; body?: unknown; query?: string } = {},
): Promise<Answer<Path, Method, Status>> {
  const response = await fetch(url + path.replace('{id}', String(id)) + query, {
    method: method.toUpperCase(),
    headers: { authorization: 'Bearer ' + token, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (response.status !== status) throw new Error(path + ' answered ' + response.status + ': ' + (await response.text()));
  return (await response.json()) as Answer<Path, Method, Status>;
}

const query: NonNullable<paths['/api/person.json']['get']['parameters']['query']> = { page: 1, items_per_page: 2 };
const people = await send('/api/person.json', 'get', 200, { query: '?page=' + query.page + '&items_per_page=' + query.items_per_page });
const centers = await send('/api/center.json', 'get', 200);
const center: components['schemas']['Center'] | undefined = centers.results[0];
if (!center) throw new Error('there is no center');
const body: components['schemas']['PersonCreate'] = { firstName: 'Ada', lastName: 'Byron', center: { id: center.id } };
const made = await send('/api/person.json', 'post', 201, { body });
const changed = await send('/api/person/{id}.json', 'patch', 200, { id: made.id, body: { firstName: 'Augusta' } });
const refused = await send('/api/person.json', 'post', 422, { body: { ...body, firstName: 'x'.repeat(81) } });
const violations: readonly components['schemas']['Violation'][] | undefined = refused.violations;
// @ts-expect-error: there is no such field
made.nationalNumber;
// @ts-expect-error: a center is linked by its id
const wrong: components['schemas']['PersonCreate'] = { ...body, center: 1 };

console.log(JSON.stringify({
  shown: people.results.length,
  named: changed.firstName + ' ' + changed.lastName,
  in: made.center?.name === center.name,
  violated: violations?.map(({ propertyPath }) => propertyPath),
}));
`;

let folder: string;
let app: TestApplication;
let drop: () => Promise<void>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'declarest-generator-'));
  const database = await freshDatabase('sqlite');
  drop = database.drop;
  app = await startApplication({ directory: join(root, 'examples/courses'), databaseUrl: database.url });
});
afterAll(async () => {
  await app?.close();
  await drop?.();
  rmSync(folder, { recursive: true, force: true });
});

test('openapi-typescript generates types that fit the running example', async () => {
  const file = (name: string) => join(folder, name);
  writeFileSync(file('document.json'), JSON.stringify(openApiDocument(app.application, { title: 'courses', version: '1.0.0' })));
  writeFileSync(file('program.ts'), program);
  writeFileSync(file('package.json'), '{ "type": "module" }');
  const typescript = `--import=${join(import.meta.dirname, 'typescript-of-others.ts')}`;
  const generator = join(modules, 'openapi-typescript/bin/cli.js');
  await run(process.execPath, [typescript, generator, file('document.json'), '-o', file('courses.ts')], { cwd: folder });
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
  const types = ['--types', 'node', '--typeRoots', join(modules, '@types'), '--allowImportingTsExtensions'];
  const compiler = join(modules, 'typescript/bin/tsc');
  const checked = await run(process.execPath, [compiler, ...strict, ...types, 'program.ts'], { cwd: folder }).catch(
    ({ stdout }) => ({
      stdout,
    }),
  );
  expect(checked.stdout).toBe('');
  const token = await app.tokenFor({ id: 3, roles: ['ROLE_ADMIN'], centers: [1, 2, 3] });
  const { stdout } = await run(process.execPath, [file('program.ts'), app.url, token]);
  expect(JSON.parse(stdout)).toEqual({ shown: 2, named: 'Augusta Byron', in: true, violated: ['firstName'] });
});
