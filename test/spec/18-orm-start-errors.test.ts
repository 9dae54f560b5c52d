import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { MikroORM, type Options } from '@mikro-orm/core';
import { SqliteDriver } from '@mikro-orm/sql';
import { afterAll, describe, expect, test } from 'vitest';
import { createServer } from '../../src/index.ts';
import { makeTemporary } from '../support/temporary.ts';
import { Country, openShop, shopOptions } from './fixtures/shop.ts';

const temporary = makeTemporary('orm');
afterAll(() => temporary.remove());

const memory = { url: 'sqlite::memory:' };
const apis = { country: { class: Country, base_path: '/country', actions: { _index: null } } } as const;

/** The errors of an application in code. */
const errorsOf = (given: object) =>
  createServer({ app_main: { apis }, ...given }).then(
    () => expect.fail('it started'),
    (error: Error) => error.message,
  );

/** The errors of an application on disk, by its files. */
function errorsOnDisk(files: Readonly<Record<string, string>>): Promise<string> {
  const directory = mkdtempSync(join(temporary.directory, 'app-'));
  const all = {
    'package.json': '{ "type": "module" }',
    'config/routes.yaml': "app_cruds: { resource: 'app_main_crud_route_loader:load', type: service }",
    'config/app.yaml': 'app_main: { orm: mikro-orm.config.ts }\n',
    ...files,
  };
  for (const [name, text] of Object.entries(all)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), text);
  }
  return createServer({ directory }).then(
    () => expect.fail('it started'),
    (error: Error) => error.message,
  );
}

describe('an existing MikroORM instance is rejected', () => {
  test('if database.url is declared as well', async () => {
    const orm = await openShop(memory);
    const text = await errorsOf({ orm, app_main: { apis, database: { url: 'sqlite:x.db' } } });
    expect(text).toBe('app_main.database.url: the MikroORM configuration has the database; remove database.url, or orm');
  });

  test('if app_main.orm is declared as well', async () => {
    const text = await errorsOf({ orm: await openShop(memory), app_main: { apis, orm: 'mikro-orm.config.ts' } });
    expect(text).toMatch(/^app_main\.orm: the application was given a MikroORM instance as well; remove app_main\.orm/);
  });

  test('if Declarest does not support its driver', async () => {
    const OtherDriver = class OtherDriver extends SqliteDriver {};
    const orm = new MikroORM(shopOptions(memory, { driver: OtherDriver as never }));
    expect(await errorsOf({ orm })).toMatch(
      /^app_main\.orm: orm cannot be used: the driver OtherDriver is not supported; Declarest supports PostgreSqlDriver of @mikro-orm\/postgresql, and SqliteDriver of @mikro-orm\/sql/,
    );
  });

  test('if its driver is of another copy of MikroORM', async () => {
    const PostgreSqlDriver = class PostgreSqlDriver extends SqliteDriver {};
    const orm = new MikroORM(shopOptions(memory, { driver: PostgreSqlDriver as never }));
    expect(await errorsOf({ orm })).toContain('the driver PostgreSqlDriver belongs to another copy of MikroORM');
  });

  test('if it is an instance of another copy of MikroORM', async () => {
    const other = { config: { getAll: () => ({}) }, getMetadata: () => new Map() };
    expect(await errorsOf({ orm: other })).toContain('the MikroORM instance belongs to another copy of MikroORM');
  });

  test('if a filter was added by em.addFilter', async () => {
    const orm = await openShop(memory);
    orm.em.addFilter({ name: 'tenant', cond: () => ({ isoCode: 'AT' }), entity: Country as never, args: false });
    expect(await errorsOf({ orm })).toContain('a filter of Country was added by em.addFilter');
  });

  test.each<[string, Partial<Options>]>([
    ['forceUtcTimezone: false is not supported', { forceUtcTimezone: false }],
    ['attachDatabases is not supported', { attachDatabases: [{ name: 'other', path: 'other.db' }] }],
  ])('if an option would have another meaning: %s', async (message, options) => {
    expect(await errorsOf({ orm: await openShop(memory, options) })).toContain(message);
  });
});

describe('a MikroORM configuration is rejected', () => {
  test('if the file does not exist', async () => {
    expect(await errorsOnDisk({})).toMatch(
      /^config\/app\.yaml:1:\d+: mikro-orm\.config\.ts cannot be used: the file does not exist in /,
    );
  });

  test('if it cannot be loaded', async () => {
    expect(await errorsOnDisk({ 'mikro-orm.config.ts': 'import "./missing.ts";' })).toMatch(
      /mikro-orm\.config\.ts cannot be used: the module cannot be loaded: Cannot find module/,
    );
  });

  test.each([
    ['has no default export', 'export const config = {};', 'it must have a default export'],
    ['exports a list', 'export default [];', 'it must be the options of MikroORM'],
    ['has no driver', 'export default { dbName: "a" };', 'No driver specified'],
  ])('if it %s', async (_title, text, message) => {
    expect(await errorsOnDisk({ 'mikro-orm.config.ts': text })).toContain(`mikro-orm.config.ts cannot be used: ${message}`);
  });
});
