import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { defineEntity, EntitySchema, p } from '@mikro-orm/core';
import { describe, expect, test } from 'vitest';
import { type CatalogKinds, catalogFromCode, loadCatalog } from '../../src/declaration/modules/modules.ts';
import { Report } from '../../src/declaration/report.ts';
import { codeSource } from '../../src/declaration/source.ts';
import { writeFiles } from './application.ts';

const isClass = (value: unknown) => typeof value === 'function' && String(value).startsWith('class');
const kinds: CatalogKinds = {
  models: (value) => isClass(value) || (typeof value === 'object' && value !== null && 'class' in value),
  voters: (value) => isClass(value) && 'roles' in (value as object),
  denormalizers: isClass,
  normalizers: isClass,
  authenticators: isClass,
};

const names = (exported: readonly { qualifiedName: string }[]) => exported.map(({ qualifiedName }) => qualifiedName);

describe('the modules of an application', () => {
  test('provide their exports in alphabetical order of files', async () => {
    const dir = writeFiles({
      'src/models/person.ts': 'export class Person { id: number = 1 }\nexport class Address {}\nexport const notAModel = 3;\n',
      'src/models/center.mjs': 'export default class Center {}\n',
      'src/models/index.ts': "export * from './person.ts';\n",
      'src/models/types.d.ts': 'export class Declared {}\n',
      'src/models/person.test.ts': 'export class Tested {}\n',
      'src/models/notes.md': 'export class Text {}\n',
      'src/controllers/person-controller.js':
        'export class PersonController {}\nexport function helper() {}\nexport const text = "x";\n',
      'src/voters/voters.mts': 'export class See { static roles: string[] = ["SEE"] }\nexport class Base {}\n',
      'src/denormalizers/any.ts': 'export default (() => class {})();\n',
      'src/services/extra.ts': 'export const extra_routes = { load() { return []; } };\nexport const other = 1;\n',
    });
    const { catalog, faults } = await loadCatalog(dir, kinds);
    expect(faults).toEqual([]);
    expect(names(catalog.models)).toEqual(['src/models/center#Center', 'src/models/person#Address', 'src/models/person#Person']);
    expect(names(catalog.controllers)).toEqual(['src/controllers/person-controller#PersonController']);
    expect(names(catalog.voters)).toEqual(['src/voters/voters#See']);
    expect(catalog.denormalizers).toMatchObject([{ name: 'any', qualifiedName: 'src/denormalizers/any#any' }]);
    expect(catalog.authenticators).toEqual([]);
    expect(catalog.services.map(({ name }) => name)).toEqual(['extra_routes', 'other']);
    expect(Object.isFrozen(catalog) && Object.isFrozen(catalog.models) && Object.isFrozen(catalog.models[0])).toBe(true);
  });

  test('count a schema and its class as one', async () => {
    const dir = writeFiles({
      'src/models/person.ts':
        'export class Person {}\nclass Schema { class = Person; name = "Person" }\nexport const PersonSchema = new Schema();\n',
    });
    const { catalog } = await loadCatalog(dir, kinds);
    expect(names(catalog.models)).toEqual(['src/models/person#Person']);
    expect(typeof catalog.models[0]?.value).toBe('function');
  });

  test('that fail to load are reported with the place, and do not stop the others', async () => {
    const dir = writeFiles({
      'src/models/a.ts': '\nthrow new Error("not today\\nnor tomorrow");\n',
      'src/models/b.ts': 'export class B {}\n',
      'src/models/c.ts': "import './missing.ts';\n",
      'src/models/d.ts': "import '../helper.ts';\n",
      'src/models/e.ts': "throw 'text';\n",
      'src/helper.ts': "\n\n  throw new Error('helpless');\n",
    });
    const { catalog, faults } = await loadCatalog(dir, kinds);
    expect(names(catalog.models)).toEqual(['src/models/b#B']);
    expect(faults).toMatchObject([
      {
        path: ['src/models/a.ts'],
        place: { file: 'src/models/a.ts', line: 2 },
        message: 'the module cannot be loaded: not today',
      },
      { path: ['src/models/c.ts'], message: expect.stringContaining('missing.ts') },
      {
        path: ['src/models/d.ts'],
        place: { file: 'src/helper.ts', line: 3 },
        message: 'the module cannot be loaded: helpless (loaded by src/models/d.ts)',
      },
      { path: ['src/models/e.ts'], place: null, message: 'the module cannot be loaded: text' },
    ]);
    const report = new Report(codeSource({}), faults);
    expect(() => report.throwIfAny()).toThrow('src/models/a.ts:2:7: the module cannot be loaded: not today');
  });
});

test('modules that Node cannot parse are reported with their line', () => {
  const dir = writeFiles({
    'src/models/a.ts': 'export class A {\n  x = ;\n}\n',
    'src/models/b.ts': 'export enum B { X }\n',
    'src/models/c.ts': "import './missing.ts';\n",
    'src/models/d.js': 'let a = 1;\nfoo(\n',
    'src/models/e.ts': "import '../helper.js';\n",
    'src/models/f.ts': "import '../helper';\n",
    'src/helper.ts': '',
  });
  const script = `
    import { loadCatalog } from ${JSON.stringify(join(import.meta.dirname, '../../src/declaration/modules/modules.ts'))};
    const all = () => true;
    const { faults } = await loadCatalog(${JSON.stringify(dir)}, { models: all, voters: all, denormalizers: all, normalizers: all, authenticators: all });
    console.log(JSON.stringify(faults.map(({ path, place, message }) => [path[0], place && place.line, message])));`;
  const told = execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' });
  expect(JSON.parse(told)).toEqual([
    ['src/models/a.ts', 2, 'the module cannot be loaded: Expression expected'],
    ['src/models/b.ts', 1, expect.stringContaining('enum is not supported')],
    ['src/models/c.ts', null, "the module cannot be loaded: Cannot find module 'src/models/missing.ts'"],
    ['src/models/d.js', 3, 'the module cannot be loaded: Unexpected end of input'],
    ...['src/models/e.ts', 'src/models/f.ts'].map((file) => [
      file,
      null,
      expect.stringMatching(
        /Cannot find module 'src\/helper(\.js)?'\. Import "helper\.ts" instead: Node needs the extension that the file has$/,
      ),
    ]),
  ]);
});

describe('an application in code', () => {
  test('provides classes, schemas and services under their names', () => {
    const Schema = defineEntity({ name: 'Thing', properties: { id: p.integer().primary() } });
    class Other {}
    const service = { load: () => [] };
    const catalog = catalogFromCode({
      models: [Schema, Schema.class, Other],
      voters: [(() => class {})()],
      services: { extra: service },
    });
    expect(Schema).toBeInstanceOf(EntitySchema);
    expect(catalog.models).toEqual([
      { name: 'Thing', qualifiedName: 'Thing', value: Schema },
      { name: 'Other', qualifiedName: 'Other', value: Other },
    ]);
    expect(catalog.voters).toMatchObject([{ name: 'anonymous' }]);
    expect(catalog.services).toEqual([{ name: 'extra', qualifiedName: 'extra', value: service }]);
    expect(Object.isFrozen(service)).toBe(false);
    expect(catalogFromCode({}).controllers).toEqual([]);
  });
});
