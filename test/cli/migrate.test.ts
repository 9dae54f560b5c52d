import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { databases, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { rowsOf } from '../support/sql.ts';
import { write } from './applications.ts';
import { call, testIo } from './call.ts';
import { migratedApplication, migrationsIn, migrationText, modelFiles, nextVersion } from './migrated-application.ts';

const name = "name: p.string().groups('read', 'write')";

describe.each(databases)('declarest migrate on %s', (kind) => {
  let database: FreshDatabase;
  const migrate = (action: string, directory: string, ...options: string[]) => call(['migrate', action, directory, ...options]);

  const query = (url: string, sql: string) => rowsOf(kind, url, sql);

  beforeEach(async () => {
    database = await freshDatabase(kind);
  });
  afterEach(() => database.drop());

  /** An application whose first migration is applied, with rows. */
  async function started(properties = name): Promise<string> {
    const directory = migratedApplication(properties, database);
    expect(await migrate('create', directory)).toMatchObject({ code: 0, err: '' });
    expect(await migrate('up', directory)).toMatchObject({ code: 0, err: '' });
    await query(database.url, "insert into person (name) values ('Ada'), ('Grace')");
    return directory;
  }

  test('creates a migration for a new application, and nothing the second time', async () => {
    const directory = migratedApplication(name, database);
    expect(await migrate('check', directory)).toEqual({
      code: 1,
      out: '',
      err: `models and migrations differ:\n  the table person is new\nwrite a migration: declarest migrate create ${directory}\n`,
    });
    const { code, out } = await migrate('create', directory);
    expect(code).toBe(0);
    const [migration] = migrationsIn(directory);
    expect(migration).toMatch(/^Migration\d{14}_initial$/);
    expect(out.split('\n')[0]).toBe(`created migrations/${migration}.ts`);
    expect(out).toContain(`\nreview it, then apply it: declarest migrate up ${directory}\n`);
    const nothing = { code: 0, out: 'nothing to do: the migrations match the models\n', err: '' };
    expect(await migrate('create', directory)).toEqual(nothing);
    expect(migrationsIn(directory)).toEqual([migration]);
    expect(await migrate('check', directory)).toEqual({ code: 0, out: 'ok: the migrations match the models\n', err: '' });
  });

  test('applies, shows and reverts migrations', async () => {
    const directory = migratedApplication(name, database);
    await migrate('create', directory, '--name', 'first of all');
    const [first] = migrationsIn(directory) as [string];
    expect(first).toMatch(/_first_of_all$/);
    expect((await migrate('status', directory)).out).toMatch(new RegExp(`^pending {2}${first}\n.*: 0 applied, 1 pending\n$`));
    const up = await migrate('up', directory);
    expect(up.out).toMatch(
      new RegExp(`^applied ${first} \\(1 statement, \\d+ ms\\)\n(created .*\n)?applied 1 migration to .*\n$`),
    );
    expect((await migrate('up', directory)).out).toMatch(/^nothing to apply: .* has every migration\n$/);
    const { out } = await migrate('status', directory);
    expect(out).toMatch(
      new RegExp(`^applied {2}${first} {2}\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ\n.*: 1 applied, 0 pending\n$`),
    );
    const json = JSON.parse((await migrate('status', directory, '--json')).out);
    expect(json).toEqual({
      applied: [{ name: first, appliedAt: expect.stringMatching(/Z$/) }],
      pending: [],
      missing: [],
      late: [],
    });
    expect(await migrate('down', directory)).toEqual({ code: 0, out: `reverted ${first}\n`, err: '' });
    expect((await migrate('down', directory)).out).toMatch(/^nothing to revert: .* has no migration\n$/);
    await expect(query(database.url, 'select 1 from person')).rejects.toThrow(/person/);
  });

  test('never guesses a rename, and drops only on request', async () => {
    const first = await started();
    const second = nextVersion(first, modelFiles("title: p.string().groups('read', 'write')", database));
    expect(await migrate('create', second)).toEqual({
      code: 2,
      out: '',
      err: [
        'declarest: person.name is missing from the models, and Declarest never guesses a rename. Nothing was written. Add one of:',
        '  --rename person.name=title  keeps the data under the new name',
        '  --allow-drop                drops it with its data, if it is not renamed',
        '',
      ].join('\n'),
    });
    expect(migrationsIn(second)).toHaveLength(1);
    expect((await migrate('create', second, '--rename', 'person.name=title')).code).toBe(0);
    expect((await migrate('up', second)).code).toBe(0);
    expect(await query(database.url, 'select id, title from person order by id')).toEqual([
      { id: 1, title: 'Ada' },
      { id: 2, title: 'Grace' },
    ]);
    const third = nextVersion(second, modelFiles('title: p.string(), extra: p.string().nullable()', database));
    expect((await migrate('create', third)).code).toBe(0);
    const fourth = nextVersion(third, modelFiles('extra: p.string().nullable()', database));
    expect((await migrate('create', fourth)).err).toBe(
      'declarest: this would drop person.title, with all data in it. Nothing was written. If that is intended, add:\n' +
        '  --allow-drop  drops person.title\n',
    );
    expect((await migrate('create', fourth, '--allow-drop')).code).toBe(0);
    expect((await migrate('up', fourth)).code).toBe(0);
    expect(await query(database.url, 'select * from person order by id')).toEqual([
      { id: 1, extra: null },
      { id: 2, extra: null },
    ]);
  });

  test('asks in a terminal whether a column was renamed', async () => {
    const second = nextVersion(await started(), modelFiles('title: p.string(), other: p.string().nullable()', database));
    const asked: string[] = [];
    const answers = ['nonsense', '1'];
    const ask = async (question: string) => {
      asked.push(question);
      const answer = answers.shift();
      if (answer === undefined) throw new Error(`an unexpected question: ${question}`);
      return answer;
    };
    const io = { ...testIo(), ask };
    const { main } = await import('../../src/cli/main.ts');
    expect(await main(['migrate', 'create', second], io), io.printed.err).toBe(0);
    const question = [
      'person.name is missing from the models. What happened to it?',
      '  0  it is dropped, with its data',
      '  1  it is renamed to title',
      '  2  it is renamed to other',
      'Number: ',
    ].join('\n');
    expect(asked).toEqual([question, question]);
    await migrate('up', second);
    expect(await query(database.url, 'select title from person order by id')).toEqual([{ title: 'Ada' }, { title: 'Grace' }]);
  });

  test('explains errors in --rename and --fill', async () => {
    const first = await started();
    const second = nextVersion(first, modelFiles('title: p.string()', database));
    const wrong = async (...options: string[]) => {
      const { code, err } = await migrate('create', second, ...options);
      expect(code).toBe(2);
      return err.replace(/^declarest: /, '').trim();
    };
    expect(await wrong('--rename', 'person.nam=title')).toBe(
      '--rename person.nam=title: the migrations have no column "nam" in person; did you mean "name"? columns: id, name; nothing was written',
    );
    expect(await wrong('--rename', 'persn.name=title')).toMatch(/no table "persn"; did you mean "person"\? tables: person/);
    expect(await wrong('--rename', 'person.name=titel')).toMatch(/no new column "titel" in person; did you mean "title"\?/);
    expect(await wrong('--rename', 'person.id=title')).toMatch(/the models still have the column person\.id/);
    expect(await wrong('--rename', 'person')).toMatch(/write table\.old=new for a column, or old=new for a table/);
    expect(await wrong('--rename', 'people=persons')).toMatch(/no table "people"/);
    expect(await wrong('--rename', 'person.name=title', '--fill', 'person.title=1')).toMatch(
      /person\.title is not a column that becomes required; such columns: none/,
    );
    expect(migrationsIn(second)).toHaveLength(1);
  });

  test('fills a new required column in existing rows', async () => {
    const first = await started();
    const second = nextVersion(first, modelFiles(`${name}, email: p.string().unique().groups('read')`, database));
    expect(await migrate('create', second)).toMatchObject({
      code: 2,
      err: [
        'declarest: person.email is new and required, and existing rows may have no value for it. Nothing was written. Add:',
        `  --fill "person.email=SQL"  the value for those rows, for example 'unknown', 0 or another column`,
        'or give the property a default, or make it nullable.',
        '',
      ].join('\n'),
    });
    expect((await migrate('create', second, '--fill', "person.email=lower(name) || '@example.org'")).code).toBe(0);
    expect((await migrate('up', second)).code).toBe(0);
    expect(await query(database.url, 'select email from person order by id')).toEqual([
      { email: 'ada@example.org' },
      { email: 'grace@example.org' },
    ]);
    await expect(query(database.url, "insert into person (name) values ('Eve')")).rejects.toThrow(/null/i);
    expect((await migrate('down', second)).code).toBe(0);
    expect(await query(database.url, 'select * from person order by id')).toEqual([
      { id: 1, name: 'Ada' },
      { id: 2, name: 'Grace' },
    ]);
  });

  test('leaves the database unchanged if a migration fails, and names the failing statement', async () => {
    const directory = await started();
    const later = { good: 'Migration29990101000000_good', bad: 'Migration29990101000001_bad' };
    write(directory, `migrations/${later.good}.ts`, migrationText(later.good, ['create table fine (id int)']));
    write(directory, `migrations/${later.bad}.ts`, migrationText(later.bad, ["update person set name = 'X'", 'select nonsense']));
    const { code, err, out } = await migrate('up', directory);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(
      new RegExp(
        `^declarest: ${later.bad} failed: .*nonsense.*\nstatement: select nonsense\n` +
          `nothing was changed; fix migrations/${later.bad}\\.ts and run it again\n$`,
      ),
    );
    expect(await query(database.url, 'select name from person order by id')).toEqual([{ name: 'Ada' }, { name: 'Grace' }]);
    await expect(query(database.url, 'select 1 from fine')).rejects.toThrow(/fine/);
    expect((await migrate('status', directory)).out).toMatch(/: 1 applied, 2 pending\n$/);
  });

  test('rejects a migration that leaves dangling references', async () => {
    const directory = await started();
    const names = ['Migration29990101000000_reference', 'Migration29990101000001_orphan'] as const;
    const create = 'create table pet (id int, owner_id int references person (id)); insert into pet values (1, 1);';
    write(directory, `migrations/${names[0]}.ts`, migrationText(names[0], [create]));
    expect((await migrate('up', directory)).code).toBe(0);
    write(directory, `migrations/${names[1]}.ts`, migrationText(names[1], ['delete from person where id = 1']));
    const { code, err } = await migrate('up', directory);
    expect(code).toBe(1);
    expect(err).toMatch(
      kind === 'sqlite'
        ? /rows would reference rows that do not exist: pet row 1 → person; nothing was changed/
        : /violates foreign key/,
    );
    expect(await query(database.url, 'select count(*) as count from person')).toEqual([{ count: kind === 'sqlite' ? 2 : '2' }]);
  });

  test('reports missing files and migrations out of order', async () => {
    const directory = await started();
    const [first] = migrationsIn(directory) as [string];
    const early = 'Migration20000101000000_early';
    write(directory, `migrations/${early}.ts`, migrationText(early, ['select 1']));
    expect((await migrate('status', directory)).out).toContain(
      `out of order: ${early} is pending, and older than a migration that is applied\n`,
    );
    const up = await migrate('up', directory);
    expect(up).toMatchObject({ code: 0, err: `warning: ${early} is older than a migration that is applied already\n` });
    rmSync(join(directory, 'migrations', `${early}.ts`));
    const status = await migrate('status', directory);
    expect(status).toMatchObject({
      code: 0,
      out: expect.stringContaining(`missing: ${early} is applied, but it is not in migrations/\n`),
    });
    expect((await migrate('up', directory)).err).toBe(`warning: ${early} is applied, but it is not in migrations/\n`);
    expect(await migrate('down', directory)).toMatchObject({
      code: 1,
      err: `declarest: ${early} was applied last, but it is not in migrations/; restore its file to revert it\n`,
    });
    renameSync(join(directory, 'migrations', `${first}.ts`), join(directory, `${first}.ts`));
    const snapshot = `migrations/.snapshot-${kind}.json`;
    expect((await migrate('check', directory)).err).toBe(
      `declarest: ${snapshot} includes ${first}, and migrations/ does not have it; restore the migration, or an earlier .snapshot-${kind}.json, from version control\n`,
    );
  });

  test('records the first migration for a database created without migrations', async () => {
    const directory = migratedApplication(name, database);
    await query(
      database.url,
      kind === 'sqlite'
        ? 'create table person (id integer not null primary key autoincrement, name text not null)'
        : 'create table person (id serial primary key, name varchar(255) not null)',
    );
    await query(database.url, "insert into person (name) values ('Ada')");
    await migrate('create', directory);
    const [first] = migrationsIn(directory) as [string];
    expect(await migrate('up', directory)).toMatchObject({
      code: 1,
      err:
        `declarest: no migration is applied, but the database already has tables that ${first} creates: person. Nothing was changed. ` +
        'If the schema was created without migrations, record the first one as applied: declarest migrate up --baseline\n',
    });
    expect(await migrate('up', directory, '--baseline')).toEqual({
      code: 0,
      out: `recorded ${first} as applied, without running it\n`,
      err: '',
    });
    expect(await query(database.url, 'select name from person')).toEqual([{ name: 'Ada' }]);
    expect((await migrate('up', directory, '--baseline')).err).toMatch(/--baseline needs a database without applied migrations/);
    expect((await migrate('status', directory)).out).toMatch(/: 1 applied, 0 pending\n$/);
  });

  test('does not record a migration for a database that differs from the models', async () => {
    const directory = migratedApplication(`${name}, age: p.integer()`, database);
    const id = kind === 'sqlite' ? 'integer' : 'serial';
    await query(database.url, `create table person (id ${id} primary key, name text)`);
    await migrate('create', directory);
    const { code, err } = await migrate('up', directory, '--baseline');
    expect(code).toBe(1);
    const [first] = migrationsIn(directory);
    const head = `declarest: ${first} cannot be recorded as applied, because the database does not have what it creates:\n`;
    expect(err.startsWith(head)).toBe(true);
    expect(err).toMatch(/\nPerson\.age: the table person has no column age; needed: \w+ not null\n/);
    const discard = kind === 'sqlite' ? `delete the files ${database.url.slice('sqlite:'.length)}*` : 'use an empty database';
    const remedy = [
      'Nothing was changed. Choose one:',
      `- discard all data, for example in development: ${discard}, then run "declarest migrate up"`,
      '- change the database: by hand, or start once with app_main.database.schema set to update, which adds missing tables and columns; then run "declarest migrate up --baseline"',
      `- change the models: remove migrations/${first}.ts and migrations/.snapshot-${kind}.json, declare the models as the database has them, and run "declarest migrate create" and "declarest migrate up --baseline"; make further changes in a second migration`,
      '',
    ].join('\n');
    expect(err.endsWith(`\n${remedy}`)).toBe(true);
    const up = await migrate('up', directory);
    expect(up.code).toBe(1);
    expect(up.err.split('\n')[0]).toBe(
      `declarest: no migration is applied, but the database already has tables that ${first} creates: person. It does not have everything:`,
    );
    expect(up.err.endsWith(`\n${remedy}`)).toBe(true);
    // an update cannot add a required column to a table with rows
    await query(database.url, "insert into person values (1, 'Ada')");
    const { err: byHand } = await migrate('up', directory);
    expect(byHand).not.toContain('set to update');
    expect(byHand).toContain('\n- change the database by hand, then run "declarest migrate up --baseline"\n');
    await query(database.url, 'drop table person');
    await query(database.url, 'create table other (id integer)');
    expect((await migrate('up', directory, '--baseline')).err).toBe(`${head}Person: the table person does not exist\n${remedy}`);
    expect((await migrate('status', directory)).out).toMatch(/: 0 applied, 1 pending\n$/);
  });

  test('runs migrations compiled to JavaScript, in files of both kinds', async () => {
    const directory = migratedApplication(name, database);
    await migrate('create', directory);
    const [first] = migrationsIn(directory) as [string];
    const file = join(directory, 'migrations', first);
    const compiled = readFileSync(`${file}.ts`, 'utf8').replace(/override |: Promise<void>/g, '');
    rmSync(`${file}.ts`);
    // what is deployed may lack the snapshot
    rmSync(join(directory, `migrations/.snapshot-${kind}.json`));
    write(directory, `migrations/${first}.mjs`, compiled);
    write(
      directory,
      'migrations/Migration29990101000000_more.js',
      migrationText('More', ["insert into person (name) values ('Ada')"]),
    );
    expect((await migrate('up', directory)).out).toMatch(/\napplied 2 migrations to /);
    expect(await query(database.url, 'select name from person')).toEqual([{ name: 'Ada' }]);
  });

  test('runs a migration outside of a transaction if the migration requests it', async () => {
    const directory = await started();
    const index = 'Migration29990101000000_index';
    const concurrently = kind === 'sqlite' ? '' : 'concurrently ';
    const text = migrationText(
      index,
      [`create index ${concurrently}person_names on person (name)`],
      [`drop index ${concurrently}person_names`],
    );
    write(directory, `migrations/${index}.ts`, text.replace('async up', 'isTransactional() { return false; }\n  async up'));
    const later = 'Migration29990101000001_later';
    write(
      directory,
      `migrations/${later}.ts`,
      migrationText(later, [`insert into person (name) values ('{"a":1}')`, 'select 1; select 2']),
    );
    const { out } = await migrate('up', directory);
    expect(out).toMatch(new RegExp(`^applied ${index}[ ,].*\napplied ${later} .*\napplied 2 migrations to `));
    expect((await migrate('down', directory)).out).toBe(`reverted ${later}\n`);
    expect((await migrate('down', directory)).out).toBe(`reverted ${index}\n`);
    expect((await migrate('status', directory)).out).toMatch(/: 1 applied, 2 pending\n$/);
  });

  test('writes a migration without statements for a data change', async () => {
    const directory = await started();
    const { out } = await migrate('create', directory, '--empty', '--name', 'greet');
    expect(out).toMatch(/^created migrations\/Migration\d+_greet\.ts\nwrite its statements, then apply it: /);
    const [, greet] = migrationsIn(directory);
    expect(await migrate('up', directory)).toMatchObject({
      code: 0,
      out: expect.stringContaining(`applied ${greet} (0 statements`),
      err: `warning: ${greet} has no statements, but is now recorded as applied. To add statements: declarest migrate down, write them, declarest migrate up\n`,
    });
    const own = 'Migration29990101000000_own';
    const text = migrationText(own, []).replace('up() {', `up() { await this.execute("update person set name = 'Eve'");`);
    write(directory, `migrations/${own}.ts`, text);
    expect(await migrate('up', directory)).toMatchObject({ code: 0, err: '' });
    expect(await query(database.url, 'select distinct name from person')).toEqual([{ name: 'Eve' }]);
  });

  test('rejects migrations for the other database system', async () => {
    const directory = await started();
    const url = kind === 'sqlite' ? 'postgresql://127.0.0.1:1/none' : 'sqlite:var/other.db';
    const other = nextVersion(directory, modelFiles(name, { url }));
    const [own, foreign] = kind === 'sqlite' ? ['PostgreSQL', 'SQLite'] : ['SQLite', 'PostgreSQL'];
    const { code, err } = await migrate('create', other);
    expect(code).toBe(1);
    expect(err).toContain(`the migrations in migrations/ are for ${foreign}, and app_main.database.url is for ${own}.`);
    // a folder for each system
    const [mine, theirs] = kind === 'sqlite' ? ['postgresql', 'sqlite'] : ['sqlite', 'postgresql'];
    for (const file of readdirSync(join(other, 'migrations'))) {
      write(other, `migrations/${theirs}/${file}`, readFileSync(join(other, 'migrations', file), 'utf8'));
      rmSync(join(other, 'migrations', file));
    }
    write(other, `migrations/${mine}/README.md`, 'migrations of the other system');
    expect((await migrate('create', other)).out).toMatch(new RegExp(`^created migrations/${mine}/Migration\\d+_initial\\.ts\n`));
    expect((await migrate('status', nextVersion(other, modelFiles(name, database)))).out).toMatch(/: 1 applied, 0 pending/);
  });
});

describe('declarest migrate', () => {
  test('lists its actions', async () => {
    expect(await call(['migrate'])).toMatchObject({
      code: 2,
      err: 'declarest: ACTION is missing: One of status, create, up, down, check. See: declarest migrate --help\n',
    });
    expect(await call(['migrate', 'crate'])).toMatchObject({
      code: 2,
      err: 'declarest: unknown action "crate"; did you mean "create"? actions: status, create, up, down, check\n',
    });
    expect((await call(['migrate', 'up', '--name', 'x'])).err).toBe(
      'declarest: --name belongs to "declarest migrate create", not to "up"\n',
    );
  });

  test('does not create a database to show pending migrations', async () => {
    const directory = migratedApplication(name, { url: 'sqlite:var/app.db' });
    expect((await call(['migrate', 'status', directory])).out).toBe(
      `sqlite:var/app.db: 0 applied, 0 pending\nmigrations/ has no migration; write the first one: declarest migrate create ${directory}\n`,
    );
    await call(['migrate', 'create', directory]);
    expect((await call(['migrate', 'status', directory])).out).toMatch(
      /^pending .*\nsqlite:var\/app\.db: 0 applied, 1 pending\n$/,
    );
    expect(existsSync(join(directory, 'var'))).toBe(false);
  });
});
