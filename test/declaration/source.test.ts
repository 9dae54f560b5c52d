import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Report } from '../../src/declaration/report.ts';
import { codeSource, label, type Source } from '../../src/declaration/source.ts';
import { readYamlSource } from '../../src/declaration/yaml-source.ts';
import { cpuTime } from '../support/cpu-time.ts';
import { outcomeOf, routesYaml, writeFiles, yamlSource } from './application.ts';

const at = (file: string, line: number, column: number) => ({ file: `config/${file}`, line, column });

/** The value as JSON sees it: without prototypes, and with marks for what could not be read left out. */
function plain(source: Source): { app_main: any; routes: any } {
  return JSON.parse(JSON.stringify(source.value));
}

function linesOf(source: Source): string[] {
  try {
    new Report(source).throwIfAny();
    return [];
  } catch (error) {
    return (error as Error).message.split('\n');
  }
}

describe('merging files', () => {
  test('is alphabetical: deep for mappings, and later scalars and lists win', () => {
    const source = yamlSource({
      'b.yaml': 'app_main: { server: { port: 2 }, formats: [b] }',
      'a.yaml': 'app_main: { server: { port: 1, host: a }, formats: [a, a] }',
      'c.yml': 'app_main: { server: { body_limit: 3 } }',
    });
    expect(plain(source).app_main).toEqual({ server: { port: 2, host: 'a', body_limit: 3 }, formats: ['b'] });
    expect(source.errors).toEqual([]);
  });

  test('treats both spellings of a declared key as one, but keeps user-defined names apart', () => {
    const source = yamlSource({
      'a.yaml': 'app_main: { server: { base-url: /a }, apis: { a-b: { base-path: /a } } }',
      'b.yaml': 'app-main: { server: { base_url: /b }, apis: { a_b: { base_path: /b } } }',
    });
    expect(plain(source).app_main).toEqual({
      server: { base_url: '/b' },
      apis: { 'a-b': { base_path: '/a' }, a_b: { base_path: '/b' } },
    });
  });

  test('appends lists of APIs', () => {
    const source = yamlSource({ 'a.yaml': 'app_main: { apis: [{ name: a }] }', 'b.yaml': 'app_main:\n  apis:\n    - name: b\n' });
    expect(plain(source).app_main.apis).toEqual([{ name: 'a' }, { name: 'b' }]);
    expect(source.placeOf(['app_main', 'apis', 1, 'name'])).toEqual(at('b.yaml', 3, 13));
  });

  test.each([
    [
      'a list',
      'a mapping',
      '[{ name: a }]',
      '{ b: {} }',
      '"apis" is a mapping here and a list in config/a.yaml:1; write a list or a mapping in both',
    ],
    [
      'a mapping',
      'a list',
      '{ b: {} }',
      '[{ name: a }]',
      '"apis" is a list here and a mapping in config/a.yaml:1; write a list or a mapping in both',
    ],
  ])('rejects %s of APIs in one file and %s in another', (_, __, first, second, message) => {
    const source = yamlSource({ 'a.yaml': `app_main: { apis: ${first} }`, 'b.yaml': `\napp_main:\n  apis: ${second}` });
    expect(linesOf(source)).toEqual([`config/b.yaml:3:9: ${message}`]);
  });

  test('ignores an empty value in place of a mapping', () => {
    const source = yamlSource({
      'a.yaml': 'app_main: { server: { port: 1 }, apis: [{ name: a }] }',
      'b.yaml': 'app_main:\n  server:\n  apis:\n',
      'c.yaml': 'app_main:',
    });
    expect(plain(source).app_main).toEqual({ server: { port: 1 }, apis: [{ name: 'a' }] });
  });

  test('lets null replace a mapping if null has a meaning', () => {
    const source = yamlSource({
      'a.yaml': 'app_main: { security: { jwt: { issuer: a } } }',
      'b.yaml': 'app_main: { security: { jwt: null } }',
    });
    expect(plain(source).app_main.security.jwt).toBeNull();
  });

  test('lets a later file fill an empty list of APIs', () => {
    expect(
      plain(yamlSource({ 'a.yaml': 'app_main: { apis: }', 'b.yaml': 'app_main: { apis: [{ name: b }] }' })).app_main.apis,
    ).toEqual([{ name: 'b' }]);
  });

  test('skips empty files and files without a YAML extension', () => {
    const source = yamlSource({ 'a.yaml': '', 'b.yaml': '# nothing\n', 'c.txt': 'x: [', 'd.json': '{' });
    expect(source.errors).toEqual([]);
    expect(source.value.app_main).toBeUndefined();
  });

  test('treats __proto__ and constructor as ordinary keys', () => {
    const source = yamlSource({
      'a.yaml': 'app_main: { __proto__: { polluted: true }, constructor: 1 }',
      'b.yaml': 'app_main: { __proto__: { more: 1 } }',
    });
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
    expect(Object.keys(source.value.app_main as object)).toEqual(['__proto__', 'constructor']);
    expect(outcomeOf(source).lines).toEqual([
      'config/a.yaml:1:13: unknown key "__proto__"; allowed: apis, groups, database, orm, security, pagination, server, formats, exports, openapi, explorer',
      'config/a.yaml:1:44: unknown key "constructor"; allowed: apis, groups, database, orm, security, pagination, server, formats, exports, openapi, explorer',
    ]);
  });
});

describe('when@ blocks', () => {
  const files = {
    'a.yaml':
      'app_main: { server: { port: 1, host: base } }\nwhen@prod: { app_main: { server: { port: 2 } } }\nwhen@test: { app-main: { server: { port: 3 } } }\nwhen@dev:\n  app_main: { server: { port: 4 } }\n',
    'z.yaml': 'app_main: { server: { port: 9 } }',
  };

  test.each([
    ['production', 2],
    ['test', 3],
    ['development', 4],
    ['', 4],
    [undefined, 4],
  ])('of the environment NODE_ENV=%s are merged after all files', (NODE_ENV, port) => {
    const source = yamlSource(files, NODE_ENV === undefined ? {} : { NODE_ENV });
    expect(plain(source).app_main.server).toEqual({ port, host: 'base' });
    expect(source.errors).toEqual([]);
  });

  test('can hold route entries in routes.yaml only', () => {
    const block = '\nwhen@dev:\n  extra: { resource: "a:b", type: service }\n';
    expect(Object.keys(plain(yamlSource({ 'routes.yaml': routesYaml + block })).routes)).toEqual(['app_cruds', 'extra']);
    expect(linesOf(yamlSource({ 'a.yaml': block }))).toEqual([
      'config/a.yaml:3:3: unknown key "extra"; allowed: app_main; route entries belong in config/routes.yaml',
    ]);
  });

  test('of other environments need no variables, but their keys are checked', () => {
    const source = yamlSource({ 'a.yaml': "when@prod: { app_main: { server: { host: '%env(HOST)%' } }, app_mian: 1 }" });
    expect(linesOf(source)).toEqual([
      'config/a.yaml:1:61: unknown key "app_mian"; did you mean "app_main"? allowed: app_main; route entries belong in config/routes.yaml',
    ]);
  });

  test('may be empty, but must otherwise be a mapping', () => {
    expect(linesOf(yamlSource({ 'a.yaml': 'when@dev:\nwhen@prod: 3\nwhen@test: []' }))).toEqual([
      'config/a.yaml:2:12: "when@prod" must be a mapping with the same keys as the file',
      'config/a.yaml:3:12: "when@test" must be a mapping with the same keys as the file',
    ]);
  });

  test('of an unknown environment are rejected, in routes.yaml too', () => {
    const allowed = 'did you mean "when@prod"? allowed: app_main, when@dev, when@test, when@prod';
    expect(linesOf(yamlSource({ 'a.yaml': 'when@prd: {}', 'routes.yaml': `${routesYaml}when@prd: {}` }))).toEqual([
      `config/a.yaml:1:1: unknown key "when@prd"; ${allowed}; route entries belong in config/routes.yaml`,
      `config/routes.yaml:4:1: unknown key "when@prd"; ${allowed}`,
    ]);
  });
});

describe('root keys', () => {
  test('are route entries in routes.yaml and in routes.yml', () => {
    expect(plain(yamlSource({ 'routes.yaml': `${routesYaml}app_main: { formats: [json] }` }))).toEqual({
      app_main: { formats: ['json'] },
      routes: { app_cruds: { resource: 'app_main_crud_route_loader:load', type: 'service' } },
    });
    expect(Object.keys(plain(yamlSource({ 'routes.yaml': null, 'routes.yml': routesYaml })).routes)).toEqual(['app_cruds']);
  });

  test('are rejected elsewhere with the nearest match', () => {
    expect(linesOf(yamlSource({ 'a.yaml': 'app_mian: {}' }))).toEqual([
      'config/a.yaml:1:1: unknown key "app_mian"; did you mean "app_main"? allowed: app_main, when@dev, when@test, when@prod; route entries belong in config/routes.yaml',
    ]);
  });
});

describe('placeholders in files', () => {
  test('are replaced after merging, so overridden values need no variable', () => {
    const source = yamlSource(
      {
        'a.yaml': "app_main: { server: { port: '%env(int:PORT)%', host: '%env(HOST)%' } }",
        'b.yaml': 'app_main: { server: { host: b } }',
      },
      { PORT: '81' },
    );
    expect(plain(source).app_main.server).toEqual({ port: 81, host: 'b' });
    expect(source.errors).toEqual([]);
  });

  test('are replaced in lists, and errors keep the place of the scalar', () => {
    const source = yamlSource({ 'a.yaml': "app_main:\n  formats:\n    - '%env(A)%'\n    - '%env(B)%'\n" }, { A: 'json' });
    expect(source.errors).toEqual([
      { place: at('a.yaml', 4, 7), path: ['app_main', 'formats', 1], message: expect.stringContaining('variable B is not set') },
    ]);
  });

  test('that fail cause no second error', () => {
    const yaml =
      "app_main: { apis: { a: { class: '%env(A)%', base_path: /a, actions: { _index: } } }, database: { url: '%env(B)%' } }";
    expect(outcomeOf(yamlSource({ 'a.yaml': yaml })).lines).toHaveLength(2);
  });
});

describe('places', () => {
  const source = yamlSource({
    'a.yaml':
      'app_main:\n  apis:\n    person:\n      class: Person\n      actions: { _index: { path: x } }\n      default-sort: [a,\n        b]\n',
    'b.yaml': 'app_main:\n  apis:\n    person:\n      class: Human\n      base_path: /x\n',
  });
  const person = ['app_main', 'apis', 'person'];

  test.each([
    ['a scalar', [...person, 'class'], 'value', at('b.yaml', 4, 14)],
    ['the key of a scalar', [...person, 'class'], 'key', at('b.yaml', 4, 7)],
    ['a block, which is its key', person, 'value', at('a.yaml', 3, 5)],
    ['a mapping on the line of its key', [...person, 'actions'], 'value', at('a.yaml', 5, 16)],
    ['something within it', [...person, 'actions', '_index', 'path'], 'value', at('a.yaml', 5, 34)],
    ['an item of a list', [...person, 'default_sort', 1], 'value', at('a.yaml', 7, 9)],
    ['a key spelled with dashes', [...person, 'default-sort'], 'key', at('a.yaml', 6, 7)],
    ['what is not there, which is what is around it', [...person, 'controller', 'x', 3], 'value', at('a.yaml', 3, 5)],
    ['what is below a scalar', [...person, 'class', 'x'], 'key', at('b.yaml', 4, 14)],
    ['routes', ['routes', 'app_cruds', 'type'], 'value', at('routes.yaml', 3, 9)],
    ['a missing route', ['routes', 'other'], 'value', at('routes.yaml', 1, 1)],
    ['an unknown root', ['nothing'], 'value', null],
    ['the root itself', [], 'value', null],
  ] as const)('are available for %s', (_, path, which, place) => {
    expect(source.placeOf(path, which)).toEqual(place);
  });

  test('of an empty value are the places of its key', () => {
    expect(yamlSource({ 'a.yaml': 'app_main:\n  server:\n' }).placeOf(['app_main', 'server'])).toEqual(at('a.yaml', 2, 3));
  });
});

describe('broken files', () => {
  test.each([
    [
      'a value that begins with a percent sign',
      'app_main:\n  a: %env(X)%\n',
      '2:6: a value cannot begin with %; put the placeholder in quotes',
    ],
    ['an open quote', 'app_main: "x\n', '2:1: YAML cannot be read here: missing closing "quote'],
    ['a second document', 'app_main: {}\n---\napp_main: {}\n', '2:1: a file must contain one document; remove the second "---"'],
    ['an unknown tag', 'app_main: !secret x\n', '1:11: YAML cannot be read here: unresolved tag: !secret'],
    ['a list at the root', '- a\n', '1:1: a file must contain a mapping, for example "app_main:"'],
    ['a scalar at the root', 'hello\n', '1:1: a file must contain a mapping, for example "app_main:"'],
    [
      'a repeated key',
      'app_main:\n  server: {}\n  formats: []\n  server: {}\n',
      '4:3: the key "server" is duplicated; it was first written in line 2',
    ],
    [
      'a key repeated in its other spelling',
      'app_main: { server: { base_url: /a, base-url: /b } }',
      '1:37: the key "base-url" is duplicated; it was first written in line 1',
    ],
    ['a key that is no string', 'app_main:\n  ? [a]\n  : b\n', '2:5: a key must be a string'],
    ['an alias without anchor', 'app_main: *x\n', '1:11: the alias *x has no anchor before it'],
    ['an alias that contains itself', 'app_main: &x\n  server: *x\n', '2:11: the alias *x contains itself'],
    ['a merge of something else', 'app_main:\n  <<: 3\n', '2:7: the value of "<<" must be a mapping, or a list of mappings'],
    [
      'values nested too deeply',
      `app_main: ${'['.repeat(150)}${']'.repeat(150)}`,
      '1:111: values are nested deeper than 100 levels',
    ],
    [
      'brackets without end',
      `app_main: ${'['.repeat(100_000)}`,
      expect.stringMatching(/^config\/a\.yaml:1:\d+: values are nested too deeply$/),
    ],
  ])('with %s are reported with the place', (_, text, line) => {
    expect(linesOf(yamlSource({ 'a.yaml': text }))).toEqual([typeof line === 'string' ? `config/a.yaml:${line}` : line]);
  });

  test('neither hide errors of other files nor cause further ones', () => {
    const { lines } = outcomeOf(
      yamlSource({ 'a.yaml': 'app_main: [', 'b.yaml': 'app_main: { port: 1 }', 'routes.yaml': 'app_cruds: "' }),
    );
    expect(lines.map((line) => line.split(':')[0])).toEqual(['config/a.yaml', 'config/b.yaml', 'config/routes.yaml']);
  });

  test('that expand aliases without end are stopped early', () => {
    const levels = Array.from({ length: 12 }, (_, i) => `  l${i + 1}: &l${i + 1} [${Array(9).fill(`*l${i}`).join(', ')}]`);
    const started = cpuTime();
    const lines = linesOf(yamlSource({ 'a.yaml': `app_main:\n  l0: &l0 [x, x]\n${levels.join('\n')}\n` }));
    expect(lines).toEqual([expect.stringContaining('aliases (*name) expand to more than 10000 values; write them out')]);
    expect(cpuTime() - started).toBeLessThan(5000);
  });

  test('that cannot be opened are reported', () => {
    const dir = writeFiles({ 'config/routes.yaml': routesYaml });
    mkdirSync(join(dir, 'config/a.yaml'));
    expect(linesOf(readYamlSource(dir, { env: {} }))).toEqual([
      expect.stringMatching(/^config\/a\.yaml:1:1: the file cannot be read: it is not a regular file$/),
    ]);
  });

  test('are reported if the directory has no config', () => {
    const dir = writeFiles({ 'other/file': '' });
    expect(outcomeOf(readYamlSource(dir, { env: {} })).lines).toEqual([
      `config: ${dir} has no directory "config"; give the directory of an application`,
    ]);
  });
});

describe('aliases', () => {
  test('resolve to their anchors and keep the places inside', () => {
    const source = yamlSource({ 'a.yaml': 'app_main:\n  pagination: &p\n    items_per_page: 5\n  server: *p\n' });
    expect(plain(source).app_main.server).toEqual({ items_per_page: 5 });
    expect(source.placeOf(['app_main', 'server'])).toEqual(at('a.yaml', 4, 11));
    expect(source.placeOf(['app_main', 'server', 'items_per_page'], 'key')).toEqual(at('a.yaml', 3, 5));
  });

  test('can be keys', () => {
    expect(plain(yamlSource({ 'a.yaml': 'app_main: { formats: [&f json], *f : 1 }' })).app_main).toEqual({
      formats: ['json'],
      json: 1,
    });
  });

  test('can be merged into a mapping, whose own keys win', () => {
    const source = yamlSource({
      'a.yaml':
        'app_main:\n  pagination: &p { a: 1, b: 2 }\n  server: { <<: *p, a: 3 }\n  database: { <<: [{ c: 1 }, *p, { b: 9 }] }\n',
    });
    expect(plain(source).app_main.server).toEqual({ a: 3, b: 2 });
    expect(plain(source).app_main.database).toEqual({ a: 1, b: 2, c: 1 });
  });
});

describe('a declaration in code', () => {
  test('has labels instead of places', () => {
    const source = codeSource({ app_main: {} });
    expect(source.placeOf(['app_main'])).toBeNull();
    expect(label(['app_main', 'apis', 0, 'class'])).toBe('app_main.apis.0.class');
  });

  test('loads the generated routes by default', () => {
    expect(codeSource({}).value.routes).toEqual({ app_cruds: { resource: 'app_main_crud_route_loader:load', type: 'service' } });
    expect(codeSource({ routes: {} }).value.routes).toEqual({});
  });

  test('keeps its percent signs', () => {
    expect(outcomeOf(codeSource({ app_main: { server: { host: '%env(HOST)%%%' } } })).declaration.server.host).toBe(
      '%env(HOST)%%%',
    );
  });
});
