import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { smallApplication, write, writeFiles } from '../cli/applications.ts';
import { call } from '../cli/call.ts';
import { type DatabaseKind, databases, freshDatabase } from '../support/databases.ts';
import { checkSchema, runSql, schemaSql } from './databases.ts';

const library = `
create table author (id integer primary key, name varchar(50) not null);
create table book (id integer primary key, author_id integer not null references author, title text not null, kind text not null check (kind in ('novel', 'poem')));
`;

async function databaseWith(kind: DatabaseKind, sql: string) {
  const database = await freshDatabase(kind);
  onTestFinished(() => database.drop());
  await runSql(kind, database, sql);
  return database;
}

const textOf = (directory: string, file: string) => readFileSync(join(directory, file), 'utf8');

/** Adds groups to a model, as a user would. */
function edit(directory: string, file: string): string {
  const edited = textOf(directory, file).replace('name: p.string().length(50)', "name: p.string().length(50).groups('read')");
  expect(edited).toContain('groups');
  write(directory, file, edited);
  return edited;
}

/** A copy, because modules of a folder are loaded once per process. */
function copyOf(directory: string): string {
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) => /\.\w+$/.test(name));
  return writeFiles(Object.fromEntries(files.map((name) => [name, textOf(directory, name)])));
}

describe.each(databases)('declarest pull on %s', (kind) => {
  test('keeps edited models, and reports per model and column what changed in the database', async () => {
    const database = await databaseWith(kind, library);
    const pull = (directory: string) => call(['pull', directory, '--from', database.url]);
    const directory = writeFiles({});
    expect((await pull(directory)).code).toBe(0);
    const edited = edit(directory, 'src/models/author.ts');
    const unchanged = await pull(copyOf(directory));
    expect([unchanged.code, unchanged.err, unchanged.out]).toEqual([0, '', '0 models, 0 skipped\n']);

    await runSql(
      kind,
      database,
      'alter table author add column born date; alter table author add column raw integer[]'.replace(
        'integer[]',
        kind === 'sqlite' ? 'polygon' : 'point',
      ),
    );
    await runSql(kind, database, 'alter table book drop column title; create table shelf (id integer primary key, label text)');
    const second = copyOf(directory);
    const { code, err, out } = await pull(second);
    expect(code).toBe(1);
    expect(err).toContain('Author: the column author.born (date) has no property; add born: p.date().nullable()\n');
    expect(err).toMatch(
      /^Author: the column author\.raw \(\w+\) has no property, and cannot have one: .*; add the comment \/\/ pull ignores raw$/m,
    );
    expect(err).toMatch(/^Book\.title: the table book has no column title; needed: text not null$/m);
    expect(err).toMatch(/^3 differences between the models and the database .*; existing files were not changed$/m);
    expect(textOf(second, 'src/models/author.ts')).toBe(edited);
    expect(out).toContain('created config/apis-2.yaml\ncreated src/models/shelf.ts\n1 model, 0 skipped\n');

    write(
      second,
      'src/models/author.ts',
      edited.replace('  properties: {', '  // pull ignores born\n  // pull ignores raw\n  properties: {'),
    );
    const ignoring = await pull(copyOf(second));
    expect(ignoring.err.split('\n')[0]).toMatch(/^Book\.title/);
    await runSql(kind, database, 'drop table book');
    const dropped = await pull(copyOf(second));
    expect([dropped.code, dropped.err.split('\n')[0]]).toEqual([1, 'Book: the table book does not exist']);
  });

  test('adds models to an application, and refers to those that it has', async () => {
    const person =
      kind === 'sqlite' ? 'id integer primary key, name text not null' : 'id serial primary key, name varchar(255) not null';
    const database = await databaseWith(
      kind,
      `create table person (${person}); create table pet (id integer primary key, owner_id integer not null references person);`,
    );
    const directory = smallApplication({ 'src/models/pet.ts': '// taken\n' });
    const before = textOf(directory, 'src/models/person.ts');
    const { code, out } = await call(['pull', directory, '--from', database.url]);
    expect([code, out.split('\n').slice(0, 2)]).toEqual([0, ['created config/apis.yaml', 'created src/models/pet-2.ts']]);
    expect(textOf(directory, 'src/models/person.ts')).toBe(before);
    expect(textOf(directory, 'src/models/pet-2.ts')).toMatch(
      /import \{ Person \} from '\.\/person\.ts';[\s\S]*owner: \(\) => p\.manyToOne\(Person\)/,
    );
    expect(existsSync(join(directory, 'config/app.yaml'))).toBe(false);
    write(directory, 'config/database.yaml', "app_main: { database: { url: '%env(DATABASE_URL)%', schema: check } }");
    await checkSchema(directory, database.url);
  });

  test('pulls named tables only, and maps a foreign key to another table as a plain column', async () => {
    const database = await databaseWith(kind, library);
    const directory = writeFiles({});
    const { code, out } = await call([
      'pull',
      directory,
      '--from',
      database.url,
      '--tables',
      'book',
      '--schema',
      kind === 'sqlite' ? 'main' : 'public',
    ]);
    expect([code, out]).toEqual([0, expect.stringContaining('1 model, 1 skipped\n')]);
    expect(out).toContain('skipped Book: the foreign key (author_id): references author (id), which has no model\n');
    expect(textOf(directory, 'src/models/book.ts')).toContain(
      '    // references author (id), which has no model\n    authorId: p.integer(),\n',
    );
    const unknown = await call(['pull', directory, '--from', database.url, '--tables', 'books']);
    expect([unknown.code, unknown.err]).toEqual([
      2,
      'declarest: unknown table "books"; did you mean "book"? tables: author, book\n',
    ]);
    const schema = await call(['pull', directory, '--from', database.url, '--schema', 'sales']);
    expect([schema.code, schema.err]).toEqual([
      2,
      expect.stringMatching(/^declarest: the schema "sales" has no tables; schemas: /),
    ]);
  });

  test('prints the files with --dry-run, and writes nothing', async () => {
    const database = await databaseWith(kind, library);
    const directory = writeFiles({});
    const { code, out } = await call(['pull', directory, '--from', database.url, '--dry-run']);
    expect([code, readdirSync(directory)]).toEqual([0, []]);
    expect(out).toContain(
      "would create src/models/author.ts\n  import { defineEntity, type InferEntity, p } from '@mikro-orm/core';\n",
    );
    expect(out).toContain('would create config/app.yaml\n  # yaml-language-server:');
  });

  test('writes models in no group, and every API as a comment', async () => {
    const database = await databaseWith(kind, schemaSql('shop', kind));
    const directory = writeFiles({});
    await call(['pull', directory, '--from', database.url]);
    for (const file of readdirSync(join(directory, 'src/models')))
      expect(textOf(directory, `src/models/${file}`)).not.toContain('groups');
    const lines = textOf(directory, 'config/apis.yaml')
      .split('\n')
      .filter((line) => line !== '' && !/^\s*#/.test(line));
    expect(lines).toEqual(['app_main:', '  apis:']);
    expect(textOf(directory, 'config/apis.yaml')).toContain('    # order_line:\n    #   class: OrderLine\n');
  });
});

test('declarest pull rejects a wrong address without printing it', async () => {
  const wrong = await call(['pull', '.', '--from', 'mysql://root:secret@localhost/x']);
  expect([wrong.code, wrong.err]).toEqual([
    2,
    'declarest: --from must begin with sqlite:, postgresql:// or postgres://, followed by the address of a database\n',
  ]);
  expect((await call(['pull', '.'])).err).toMatch(/^declarest: --from is missing: /);
  const missing = await call(['pull', '.', '--from', 'sqlite:missing.db']);
  expect([missing.code, missing.err]).toEqual([
    2,
    'declarest: the file missing.db does not exist; --from names an existing database\n',
  ]);
  expect(existsSync('missing.db')).toBe(false);
});

test.runIf(databases.includes('postgresql'))('declarest pull never writes or prints a password', async () => {
  const database = await databaseWith(
    'postgresql',
    `create role pulling login password 'swordfish'; grant usage on schema public to pulling; ${library} grant select on author to pulling`,
  );
  onTestFinished(() => runSql('postgresql', database, 'drop owned by pulling; drop role pulling'));
  const url = new URL(database.url);
  url.username = 'pulling';
  url.password = 'swordfish';
  const directory = writeFiles({});
  const pulled = await call(['pull', directory, '--from', url.href]);
  expect([pulled.code, pulled.out]).toEqual([0, expect.stringContaining('skipped book: this user has no right to read it\n')]);
  await runSql('postgresql', database, 'alter table author add column born date');
  const drifted = await call(['pull', directory, '--from', url.href]);
  url.port = '1';
  const away = await call(['pull', directory, '--from', url.href]);
  expect([drifted.code, away.code]).toEqual([1, 1]);
  const files = readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) => /\.\w+$/.test(name));
  const texts = files.map((name) => textOf(directory, name));
  expect(texts.join('')).toContain("url: '%env(DATABASE_URL)%'");
  expect([...texts, pulled.out, pulled.err, drifted.out, drifted.err, away.out, away.err].join('')).not.toMatch(/swordfish/);
});
