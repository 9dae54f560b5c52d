import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import type { TableName } from '../../database/schema/catalogue.ts';
import type { Inventory } from '../../database/schema/inventory.ts';
import { didYouMean, listed } from '../../declaration/suggest.ts';
import { packageVersion } from '../../package-root.ts';
import type { Pulled } from '../../pull/pull.ts';
import { type Command, type Given, isGiven, optionValue } from '../command.ts';
import { ApplicationFailure, CallFailure } from '../failure.ts';
import { dependencies } from '../init/generated-files.ts';
import { type Io, say } from '../io.ts';
import { withDatabase } from '../migrated-application.ts';
import { withProgress } from '../progress.ts';

export default {
  details: [
    'Models have no groups, and their APIs are commented out, so nothing is served until you decide what is.',
    'Existing files are never changed. If an existing model differs from its table, the differences are printed.',
  ],
  options: {
    from: { value: 'URL', doc: 'The database: sqlite:FILE or postgresql://… It is read, never changed. Required.' },
    schema: { value: 'NAME', doc: 'Only tables of this schema. Repeatable. Default: all schemas.', repeatable: true },
    tables: { value: 'A,B', doc: 'Only these tables; with their schema, if it is not the default one.' },
    'dry-run': { doc: 'Print the files instead of writing them.' },
  },
  exitCodes: { 0: 'success', 1: 'the database cannot be read, or existing models differ from it', 2: 'wrong command line' },
  example: 'declarest pull my-application --from postgresql://app@localhost/shop',

  async run(given, io) {
    const url = addressOf(given, io);
    const directory = resolve(io.cwd, given.positionals.dir ?? '.');
    if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() === false)
      throw new CallFailure(`${given.positionals.dir} is not a directory`);
    const { databaseLabel } = await import('../../database/database-label.ts');
    const pulled = await withProgress(io, 'reading the database', () => read(directory, url, given));
    const isDry = isGiven(given, 'dry-run');
    for (const { path, text } of pulled.files) {
      if (!isDry) write(join(directory, path), text);
      say(io.stdout, `${isDry ? 'would create' : 'created'} ${path}`);
      if (isDry) io.stdout.write(`${text.replace(/^(?=.)/gm, '  ')}\n`);
    }
    for (const line of pulled.skipped) say(io.stdout, `skipped ${line}`);
    for (const line of pulled.warnings) say(io.stderr, `warning: ${line}`);
    say(io.stdout, summaryOf(pulled));
    if (pulled.models > 0 && !isDry) say(io.stdout, nextStep);
    if (pulled.drift.length === 0) return 0;
    for (const line of pulled.drift) say(io.stderr, line);
    const count = pulled.drift.length === 1 ? '1 difference' : `${pulled.drift.length} differences`;
    say(io.stderr, `${count} between the models and the database ${databaseLabel(url)}; existing files were not changed`);
    return 1;
  },
} satisfies Command;

const nextStep =
  'next: set DATABASE_URL to the address of the database, add groups to the properties that callers may read, and uncomment APIs in config';

function addressOf(given: Given, io: Io): string {
  const url = optionValue(given, 'from');
  if (url === undefined) throw new CallFailure('--from is missing: --from sqlite:FILE, or --from postgresql://user@host/name');
  if (!/^(?:sqlite:.+|postgres(?:ql)?:\/\/.+)$/.test(url) || url === 'sqlite::memory:')
    throw new CallFailure('--from must begin with sqlite:, postgresql:// or postgres://, followed by the address of a database');
  if (!url.startsWith('sqlite:')) {
    if ((URL.parse(url)?.pathname.length ?? 0) < 2)
      throw new CallFailure('--from must be a URL with the name of a database: postgresql://user@host/name');
    return url;
  }
  const name = url.slice('sqlite:'.length);
  const file = isAbsolute(name) ? name : resolve(io.cwd, name);
  if (!statSync(file, { throwIfNoEntry: false })?.isFile())
    throw new CallFailure(`the file ${name} does not exist; --from names an existing database`);
  return `sqlite:${file}`;
}

async function read(directory: string, url: string, given: Given): Promise<Pulled> {
  const { loadApplication } = await import('../../application.ts');
  const { loadModels } = await import('../../pull/existing-models.ts');
  const { pull } = await import('../../pull/pull.ts');
  const models = await loadModels(directory);
  const application = await loadApplication(
    { app_main: { database: { url } }, models: models.map(({ value }) => value as never), directory },
    (declared) => ({ ...declared, schema: 'none', readOnly: true, statementTimeout: 0 }),
  );
  const { mapper } = application;
  const choose = (inventory: Inventory) => chosen(inventory, given);
  return withDatabase(application, () => pull({ directory, models, mapper, choose, packages: packagesFor(url) }));
}

/** The packages that an application on a database needs, in alphabetical order. */
function packagesFor(url: string): Readonly<Record<string, string>> {
  const { '@mikro-orm/core': core, '@mikro-orm/postgresql': postgresql, '@mikro-orm/sql': sql, fastify } = dependencies;
  return {
    '@mikro-orm/core': core,
    ...(!url.startsWith('sqlite:') && { '@mikro-orm/postgresql': postgresql }),
    '@mikro-orm/sql': sql,
    declarest: `^${packageVersion()}`,
    fastify,
  };
}

/** The tables that the options name. */
function chosen({ skipped, tables }: Inventory, given: Given): (table: TableName) => boolean {
  const all: readonly TableName[] = [...tables, ...skipped];
  const isDefault = (schema: string | null) => schema === null || schema === 'public' || schema === 'main';
  const schemas = given.options.schema;
  const inSchema = ({ schema }: TableName, name: string) => schema === name || (schema === null && isDefault(name));
  for (const name of schemas ?? []) {
    if (all.some((table) => inSchema(table, name))) continue;
    const known = new Set(all.map(({ schema }) => schema ?? 'public'));
    throw new CallFailure(`the schema "${name}" has no tables;${didYouMean(name, known)} schemas: ${listed(known)}`);
  }
  const names = optionValue(given, 'tables')
    ?.split(',')
    .map((name) => name.trim());
  const isNamed = (table: TableName, name: string) => name === table.name || name === `${table.schema ?? 'public'}.${table.name}`;
  for (const name of names ?? []) {
    if (all.some((table) => isNamed(table, name))) continue;
    const known = all.map((table) => (table.schema === null ? table.name : `${table.schema}.${table.name}`));
    throw new CallFailure(`unknown table "${name}";${didYouMean(name, known)} tables: ${listed(known)}`);
  }
  return (table) =>
    (schemas?.some((name) => inSchema(table, name)) ?? true) && (names?.some((name) => isNamed(table, name)) ?? true);
}

function write(file: string, text: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text, { flag: 'wx' });
  } catch (error) {
    throw new ApplicationFailure(`cannot write ${file}: ${(error as Error).message}`, error);
  }
}

function summaryOf({ models, skipped }: Pulled): string {
  return `${models === 1 ? '1 model' : `${models} models`}, ${skipped.length} skipped`;
}
