import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { breaches, circles, databaseQuestions, importsIn, limits, oversized, readGraph, readSources } from '../scripts/walls.ts';

const root = join(import.meta.dirname, '..');
const readJson = (name: string) => JSON.parse(readFileSync(join(root, name), 'utf8'));

describe('the imports of src', () => {
  const graph = readGraph(join(root, 'src'));

  test('are found', () => {
    expect(graph.size).toBeGreaterThan(1);
    expect([...graph.values()].flat().length).toBeGreaterThan(0);
  });

  test('go only from upper layers to lower ones', () => {
    expect(breaches(graph)).toEqual([]);
  });

  test('never form a cycle', () => {
    expect(circles(graph)).toEqual([]);
  });
});

describe('the import parser', () => {
  test.each([
    [`import { a } from './a.ts';`],
    [`import type { A } from './a.ts';`],
    [`import a, { type B } from "./a.ts";`],
    [`import * as a from './a.ts';`],
    [`import './a.ts';`],
    [`export { a } from './a.ts';`],
    [`export type { A } from './a.ts';`],
    [`export * from './a.ts';`],
    [`import {\n  a,\n  type B,\n} from './a.ts';`],
    [`const a = await import('./a.ts');`],
    [`const a = await import(\n  './a.ts'\n);`],
    [`type A = import('./a.ts').A;`],
    [`export function from() {}\nimport { a } from './a.ts';`],
    [`const glob = 'src/**/*.ts';\nimport { a } from './a.ts';\nconst other = '*/';`],
  ])('finds the import in %j', (source) => {
    expect(importsIn(source)).toEqual(['./a.ts']);
  });

  test.each([
    [`// import { a } from './a.ts';`],
    [`/** Use it by await import('./a.ts'). */`],
    [` * @example import('./a.ts')`],
    [`const a = 'from', b = './a.ts';`],
    [`export const a = pick('from');\nconst b = './a.ts';`],
    [`import(path);`],
  ])('finds no import in %j', (source) => {
    expect(importsIn(source)).toEqual([]);
  });
});

describe('the import rules', () => {
  test('let a file import from its own folder and its subfolders', () => {
    const graph = new Map([
      ['plugin.ts', ['actions/list.ts', 'errors.ts']],
      ['actions/list.ts', ['actions/hooks.ts', 'model/plan.ts']],
      ['actions/hooks.ts', []],
      ['model/plan.ts', ['errors.ts']],
      ['errors.ts', []],
    ]);
    expect(breaches(graph)).toEqual([]);
    expect(circles(graph)).toEqual([]);
  });

  test('report both files of an import from a higher layer', () => {
    const graph = new Map([
      ['model/plan.ts', ['query/read.ts']],
      ['query/read.ts', []],
    ]);
    expect(breaches(graph)).toEqual([
      'src/model/plan.ts imports src/query/read.ts: model is below query, so pass in what it needs instead',
    ]);
  });

  test('reject folders that are missing from the list of layers', () => {
    expect(breaches(new Map([['utils/string.ts', []]]))).toEqual([
      'src/utils/string.ts belongs to no layer: move it, or add its folder to the layers in scripts/walls.ts',
    ]);
  });

  test('reject imports from outside src', () => {
    expect(breaches(new Map([['cli/main.ts', ['../test/a.ts']]]))).toEqual([
      'src/cli/main.ts imports test/a.ts, which is not a TypeScript file of src',
    ]);
  });

  test('show the path of a cycle', () => {
    const graph = new Map([
      ['cli/main.ts', ['route/a.ts']],
      ['route/a.ts', ['route/b.ts']],
      ['route/b.ts', ['route/c.ts']],
      ['route/c.ts', ['route/a.ts']],
    ]);
    expect(circles(graph)).toEqual(['src/route/a.ts → src/route/b.ts → src/route/c.ts → src/route/a.ts']);
  });
});

describe('the files of src', () => {
  const sources = readSources(join(root, 'src'));

  test('are within the size limits', () => {
    expect(sources.size).toBeGreaterThan(1);
    expect(oversized(sources)).toEqual([]);
  });

  test('leave the differences between databases to the dialects', () => {
    expect(databaseQuestions(sources)).toEqual([]);
  });

  test('are too many side by side beyond the limit, not counting those in subfolders', () => {
    const files = (count: number) => Array.from({ length: count }, (_, index) => [`model/a${index}.ts`, ''] as const);
    const elsewhere = [
      ['model/groups/b.ts', ''],
      ['main.ts', ''],
    ] as const;
    expect(oversized(new Map([...files(limits.files), ...elsewhere]))).toEqual([]);
    expect(oversized(new Map([...files(limits.files + 1), ...elsewhere]))).toEqual([
      'src/model has 26 files; move some of them to a subfolder',
    ]);
  });

  test('are too long beyond the limit', () => {
    const text = 'line\n'.repeat(limits.lines);
    expect(oversized(new Map([['a.ts', text]]))).toEqual([]);
    expect(oversized(new Map([['a.ts', `${text}line`]]))).toEqual(['src/a.ts has 401 lines; split it']);
  });

  test.each([
    `if (name === 'sqlite') a();`,
    `if (name !== "postgresql") a();`,
    `if ('sqlite' == name) a();`,
    `switch (name) { case 'postgresql': a(); }`,
    `if (name ===\n  'sqlite') a();`,
    `databaseKindOf(mapper);`,
  ])('cannot ask for the database: %j', (source) => {
    expect(databaseQuestions(new Map([['dialect/sqlite/a.ts', source]]))).toEqual([]);
    expect(databaseQuestions(new Map([['query/a.ts', `a();\n${source}`]]))).toEqual([
      'src/query/a.ts:2 checks which database is in use; ask its dialect instead',
    ]);
  });

  test.each([
    `// if (name === 'sqlite')`,
    `const names = ['sqlite', 'postgresql'];`,
    `const table = { sqlite: 1 };`,
    `a === 'sqlite3';`,
  ])('can name a database: %j', (source) => {
    expect(databaseQuestions(new Map([['query/a.ts', source]]))).toEqual([]);
  });
});

describe('the packages', () => {
  const manifest = readJson('package.json');
  const lock = readJson('package-lock.json');

  test('have exact versions', () => {
    const versions = Object.entries<string>({ ...manifest.dependencies, ...manifest.devDependencies });
    expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
  });

  test('are locked by checksum, without a registry URL', () => {
    const locked = Object.entries<{ resolved?: string; integrity?: string }>(lock.packages).filter(([path]) => path !== '');
    expect(locked.filter(([, entry]) => entry.resolved !== undefined || entry.integrity === undefined)).toEqual([]);
  });

  test('of MikroORM have one version, and Kysely has the version they use', () => {
    const mikro = Object.entries<string>(manifest.devDependencies).filter(([name]) => name.startsWith('@mikro-orm/'));
    expect(new Set(mikro.map(([, version]) => version)).size).toBe(1);
    expect(lock.packages['node_modules/@mikro-orm/sql'].dependencies.kysely).toBe(manifest.devDependencies.kysely);
  });
});
