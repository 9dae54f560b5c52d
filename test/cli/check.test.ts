import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { fullApplication, smallApplication, writeFiles } from './applications.ts';
import { call } from './call.ts';
import { run } from './spawned.ts';

test('a valid application is summarized with counts', async () => {
  expect(await run(['check', fullApplication()], { fromSource: true })).toEqual({
    code: 0,
    out: 'ok: 2 APIs, 8 routes\n',
    err: '',
  });
});

test('the application defaults to the current directory', async () => {
  expect(await call(['check'], { cwd: smallApplication() })).toEqual({ code: 0, out: 'ok: 1 API, 2 routes\n', err: '' });
});

test('a check opens no database and writes no file', async () => {
  const config = 'app_main: { database: { url: "postgresql://nobody@127.0.0.1:1/none" } }';
  const application = smallApplication({ 'config/database.yaml': config, 'src/seed.ts': 'throw new Error("not to be loaded");' });
  const before = readdirSync(application, { recursive: true });
  expect((await run(['check', application])).code).toBe(0);
  expect(readdirSync(application, { recursive: true })).toEqual(before);
});

test('--verbose lists the methods that need entities, with the reason', async () => {
  const { code, out } = await run(['check', 'examples/courses', '--verbose']);
  expect(code).toBe(0);
  expect(out).toMatch(/^\d+ of \d+ methods use compiled statements$/m);
  expect(out).toContain('entities: POST /api/course/{id}/close.{_format}: a method of the controller handles it\n');
  // code on a model does not cost its reads the compiled path
  expect(out).not.toMatch(/^entities: GET \/api\/(person|course)(\/\{id\})?\./m);
});

test('warns that HEAD is guarded less than GET', async () => {
  const application = smallApplication({
    'config/app_main.yaml': `app_main:
  apis:
    person:
      class: Person
      base_path: /api/person
      actions:
        _index:
          roles: { GET: ROLE_READER, HEAD: null }
        _entity: { roles: { GET: null, HEAD: null } }
`,
  });
  expect(await call(['check', application])).toEqual({
    code: 0,
    out: 'ok: 1 API, 2 routes\n',
    err:
      'config/app_main.yaml:8:38: warning: HEAD does not require "ROLE_READER" as GET does: without that role, callers get the status, ' +
      'length and ETag of what GET would return; leave out "HEAD: null" to guard HEAD like GET\n',
  });
});

test('all errors are printed together, one per line, with their number at the end', async () => {
  const application = smallApplication({
    'config/app_main.yaml': `app_main:
  apis:
    person:
      class: Persn
      base_path: /api/person
      actions: { _index: { metods: {} } }
  serverr: {}
`,
  });
  const { code, out, err } = await call(['check', application]);
  expect({ code, out }).toEqual({ code: 1, out: '' });
  const lines = err.trimEnd().split('\n');
  expect(lines).toEqual([
    expect.stringMatching(/^config\/app_main\.yaml:4:14: .*"Persn".*did you mean "Person"\?/),
    expect.stringMatching(/^config\/app_main\.yaml:6:28: .*"metods".*did you mean "methods"\?/),
    expect.stringMatching(/^config\/app_main\.yaml:7:3: .*"serverr".*did you mean "server"\?/),
    '3 errors',
  ]);
});

test('--json prints the result, its warnings and its counts', async () => {
  const { code, out, err } = await call(['check', fullApplication(), '--json']);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(JSON.parse(out)).toEqual({ ok: true, apis: 2, routes: 8, errors: [], warnings: [] });
});

test('--json prints every error with its place, and exits with 1', async () => {
  const application = smallApplication({
    'config/app_main.yaml': `app_main:
  apis:
    person:
      class: Persn
      base_path: /api/person
      actions: { _index: null }
  serverr: {}
`,
  });
  const { code, out, err } = await call(['check', application, '--json']);
  expect({ code, err }).toEqual({ code: 1, err: '' });
  expect(JSON.parse(out)).toEqual({
    ok: false,
    errors: [
      {
        file: 'config/app_main.yaml',
        line: 4,
        column: 14,
        path: 'app_main.apis.person.class',
        message: expect.stringContaining('"Persn"'),
      },
      {
        file: 'config/app_main.yaml',
        line: 7,
        column: 3,
        path: 'app_main.serverr',
        message: expect.stringContaining('"serverr"'),
      },
    ],
    warnings: [],
  });
});

test('--json prints warnings with their place', async () => {
  const application = smallApplication({
    'config/app_main.yaml': `app_main:
  apis:
    person:
      class: Person
      base_path: /api/person
      actions: { _index: { roles: { GET: ROLE_READER, HEAD: null } } }
`,
  });
  const { code, out, err } = await call(['check', application, '--json']);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(JSON.parse(out)).toMatchObject({
    ok: true,
    warnings: [{ file: 'config/app_main.yaml', line: 6, message: expect.stringMatching(/^HEAD does not require/) }],
  });
});

test('--json with --verbose lists the methods that need entities', async () => {
  const { out } = await call(['check', 'examples/courses', '--json', '--verbose'], { cwd: process.cwd() });
  expect(JSON.parse(out).entities).toContainEqual({
    method: 'POST',
    path: '/api/course/{id}/close.{_format}',
    reason: 'a method of the controller handles it',
  });
});

test('a single error is counted in the singular', async () => {
  const { code, err } = await call(['check', smallApplication({ 'config/routes.yaml': null })]);
  expect(code).toBe(1);
  expect(err).toMatch(/^config\/routes\.yaml:1:1: .*\n1 error\n$/);
});

test('a module that cannot be loaded is reported with its place', async () => {
  const application = smallApplication({ 'src/voters/broken.ts': "\nthrow new Error('broken on purpose');\n" });
  const { code, err } = await run(['check', application]);
  expect(code).toBe(1);
  expect(err).toMatch(/^src\/voters\/broken\.ts:2:7: .*broken on purpose\n1 error\n$/);
});

test('a directory that does not exist is a usage error', async () => {
  expect(await call(['check', 'no-such'])).toEqual({
    code: 2,
    out: '',
    err: 'declarest: the directory no-such does not exist; give the directory of an application\n',
  });
  expect((await call(['check', 'package.json'], { cwd: smallApplication() })).code).toBe(2);
});

test.each([
  ['no directory config', {}, (directory: string) => `no config directory in ${directory}`],
  ['no YAML in config', { 'config/readme.txt': '' }, (directory: string) => `no configuration file in ${directory}/config`],
])(
  'the error for a directory with %s names the command that creates an application, and the files it needs',
  async (_, files, cause) => {
    const directory = writeFiles(files);
    const { code, out, err } = await call(['check', directory]);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    const remedy = `run "declarest init ${directory}" to create an application. It needs at least these files:`;
    expect(err).toContain(`declarest: ${cause(directory)}; ${remedy}\n`);
    for (const file of ['package.json', 'config/routes.yaml', 'config/app_main.yaml', 'src/models/person.ts'])
      expect(err).toContain(file);
  },
);

test('the printed files make a valid application', async () => {
  const { err } = await call(['check', writeFiles({})]);
  const files: Record<string, string> = {};
  let name = '';
  for (const line of err.split('\n').slice(2)) {
    name = line.slice(2, 26).trim() || name;
    if (name !== '') files[name] = `${files[name] ?? ''}${line.slice(26)}\n`;
  }
  expect(await call(['check', writeFiles(files)])).toEqual({ code: 0, out: 'ok: 1 API, 2 routes\n', err: '' });
});

test('an open handle of a module does not keep a finished command running', async () => {
  const application = smallApplication({ 'src/services/timer.ts': 'setInterval(() => {}, 1000);\nexport const timer = {};\n' });
  expect(await run(['check', application])).toEqual({ code: 0, out: 'ok: 1 API, 2 routes\n', err: '' });
});

describe('an incomplete project', () => {
  test('whose package.json is CommonJS, as npm init writes it, gets one error that says so', async () => {
    const directory = smallApplication({ 'package.json': '{\n  "name": "a",\n  "type": "commonjs"\n}\n' });
    const { code, out, err } = await run(['check', directory]);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toBe(
      'package.json:3:3: this package is CommonJS, but src/models/person.ts uses import or export; set "type": "module" in package.json\n1 error\n',
    );
  });

  test('whose package.json has no type is checked as usual', async () => {
    const { code, out } = await run(['check', smallApplication({ 'package.json': '{ "name": "a" }' })]);
    expect({ code, out }).toEqual({ code: 0, out: 'ok: 1 API, 2 routes\n' });
  });

  test.each([
    ['{ "type": "module" }', 'the package "left-pad" is not installed; run "npm install left-pad"'],
    [
      '{ "type": "module", "dependencies": { "left-pad": "1" } }',
      'the package "left-pad" is in package.json, but not installed; run "npm install"',
    ],
    [null, 'the package "left-pad" is not installed, and package.json is missing; run "npm install left-pad"'],
  ])('with the package.json %s gets one error that names a package that is not installed', async (manifest, message) => {
    const model = "import 'left-pad';\nexport const Person = {};\n";
    const directory = smallApplication({ 'package.json': manifest, 'src/models/person.ts': model });
    const { code, err } = await run(['check', directory]);
    expect({ code, err }).toEqual({ code: 1, err: `src/models/person.ts: ${message}\n1 error\n` });
  });
});
