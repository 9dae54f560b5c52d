import { cpSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineEntity, MetadataStorage, p } from '@mikro-orm/core';
import { beforeAll, describe, expect, test } from 'vitest';
import { createServer } from '../../src/index.ts';
import { isOfOtherCopy } from '../../src/model/other-copy.ts';
import { smallApplication } from '../cli/applications.ts';
import { run } from '../cli/spawned.ts';

const installed = realpathSync(join(import.meta.dirname, '../../node_modules/@mikro-orm/core'));

describe('models of a second copy of MikroORM', () => {
  let directory: string;
  let copy: string;
  let other: typeof import('@mikro-orm/core');

  beforeAll(async () => {
    directory = smallApplication();
    copy = join(directory, 'node_modules', '@mikro-orm', 'core');
    mkdirSync(copy, { recursive: true });
    cpSync(installed, copy, { recursive: true, filter: (path) => !path.endsWith('.map') });
    const manifest = join(copy, 'package.json');
    writeFileSync(manifest, JSON.stringify({ ...JSON.parse(readFileSync(manifest, 'utf8')), version: '7.9.9' }));
    other = await import(join(copy, 'index.js'));
  });

  test('are a start error that names both copies and the remedy', async () => {
    const { code, err } = await run(['check', directory], { fromSource: true });
    expect(code).toBe(1);
    expect(err).toContain(`the models use ${realpathSync(copy)} (7.9.9), and Declarest uses ${installed} (`);
    expect(err).toContain('install the same version of all @mikro-orm packages for both, then run "npm dedupe"');
    expect(err).toMatch(/\n1 error\n$/);
  });

  test('are rejected in code as well', async () => {
    const Person = other.defineEntity({ name: 'Person', properties: { id: other.p.integer().primary().groups('read') } });
    const app_main = {
      database: { url: 'sqlite::memory:' },
      apis: { person: { class: 'Person', base_path: '/p', actions: { _index: null } } },
    };
    const starting = createServer({ app_main, models: [Person as never], directory });
    await expect(starting).rejects.toThrow(/^Person: two copies of MikroORM: /);
  });

  test('are recognized as schemas, classes and decorated classes', () => {
    const of = (orm: typeof other) => {
      const schema = orm.defineEntity({ name: 'Thing', properties: { id: orm.p.integer().primary() } });
      class Extended extends schema.class {}
      schema.setClass(Extended);
      class Decorated {}
      orm.MetadataStorage.getMetadata('Decorated', import.meta.filename, Decorated as never);
      return [schema, Extended, Decorated].map(isOfOtherCopy);
    };
    expect(of(other)).toEqual([true, true, true]);
    expect(of({ defineEntity, MetadataStorage, p } as typeof other)).toEqual([false, false, false]);
    expect([class Plain {}, null, 'text'].map(isOfOtherCopy)).toEqual([false, false, false]);
  });
});
