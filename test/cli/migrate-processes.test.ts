// @module-tag divided
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { describe, expect, test } from 'vitest';
import { databases, freshDatabase } from '../support/databases.ts';
import { rowsOf } from '../support/sql.ts';
import { write } from './applications.ts';
import { call } from './call.ts';
import { migratedApplication, migrationText, modelFiles, nextVersion } from './migrated-application.ts';
import { addressOf, run, start } from './spawned.ts';

const name = "name: p.string().groups('read', 'write')";

/** Keeps everybody else from migrating; what is returned is the end of that. */
async function holdLock(url: string, milliseconds: number): Promise<{ readonly ended: Promise<void> }> {
  if (url.startsWith('sqlite:')) {
    const db = new DatabaseSync(url.slice('sqlite:'.length));
    db.exec('pragma journal_mode = wal; begin immediate');
    return { ended: sleep(milliseconds).then(() => db.close()) };
  }
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query("select pg_advisory_lock(hashtext('declarest'), hashtext(current_schema()))");
  return { ended: sleep(milliseconds).then(() => client.end()) };
}

describe.each(databases)('schema: migrate on %s', (kind) => {
  test('six concurrently started processes apply each migration once, and all of them serve', async () => {
    const database = await freshDatabase(kind);
    const directory = migratedApplication(name, { ...database, schema: 'migrate' });
    await call(['migrate', 'create', directory]);
    const slow =
      kind === 'sqlite'
        ? 'select count(*) from (with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000000) select i from n)'
        : 'select pg_sleep(0.5)';
    const insert = (text: string) => `insert into person (name) values ('${text}')`;
    const names = ['Migration29990101000000_a', 'Migration29990101000001_b'] as const;
    write(directory, `migrations/${names[0]}.ts`, migrationText(names[0], [insert('a'), slow]));
    write(directory, `migrations/${names[1]}.ts`, migrationText(names[1], [insert('b'), slow]));
    write(
      directory,
      'src/seed.ts',
      "import { Person } from './models/person.ts';\nexport default (em) => em.create(Person, { name: 'seed' });\n",
    );
    const servers = Array.from({ length: 6 }, () => start(['serve', directory, '--port', '0']));
    const addresses = await Promise.all(servers.map((server) => addressOf(server)));
    for (const address of addresses) {
      const { results } = (await (await fetch(`${address}/api/person.json`)).json()) as { results: { name: string }[] };
      expect(results.map((person) => person.name)).toEqual(['a', 'b', 'seed']);
    }
    const applied = await rowsOf(kind, database.url, 'select name from mikro_orm_migrations order by id');
    const files = readdirSync(join(directory, 'migrations')).filter((file) => file.endsWith('.ts'));
    expect(applied.map((row) => `${row.name}.ts`)).toEqual(files.sort());
    for (const { child } of servers) child.kill('SIGTERM');
    const outcomes = await Promise.all(servers.map((server) => server.ended));
    expect(outcomes.map(({ code }) => code)).toEqual(Array(6).fill(0));
    // one of them applied all of them
    const lines = outcomes.flatMap(({ err }) => err.split('\n').filter((line) => line.startsWith('applied Migration')));
    expect(lines).toHaveLength(3);
    expect(outcomes.filter(({ err }) => err.includes('ran src/seed'))).toHaveLength(1);
    await database.drop();
  });

  test('does not start if the models are ahead of the migrations, and lists the differences', async () => {
    const database = await freshDatabase(kind);
    const directory = migratedApplication(name, { ...database, schema: 'migrate' });
    await call(['migrate', 'create', directory]);
    await call(['migrate', 'up', directory]);
    const changed = nextVersion(
      directory,
      modelFiles(`${name}, age: p.integer().nullable()`, { ...database, schema: 'migrate' }),
    );
    const differs = await call(['serve', changed, '--port', '0']);
    expect(differs).toMatchObject({ code: 1, out: '' });
    expect(differs.err).toMatch(/^Person\.age: the table person has no column age; needed: \w+\n/);
    expect(differs.err).toMatch(
      /\nmodels and migrations differ; write a migration: declarest migrate create, then apply it: declarest migrate up\n$/,
    );
    await call(['migrate', 'create', changed, '--name', 'age']);
    const checked = nextVersion(changed, modelFiles(`${name}, age: p.integer().nullable()`, { ...database, schema: 'check' }));
    expect((await call(['serve', checked, '--port', '0'])).err).toMatch(
      /has no column age; needed: \w+\n1 difference .*\npending migration: Migration\d+_age; apply with: declarest migrate up\n$/,
    );
    const none = nextVersion(changed, modelFiles(`${name}, age: p.integer().nullable()`, { ...database, schema: 'none' }));
    const server = start(['serve', none, '--port', '0']);
    await addressOf(server);
    expect(server.printed.err).toMatch(/^warning: pending migration: Migration\d+_age; apply with: declarest migrate up\n/);
    await database.drop();
  });

  test('lists the options if a fully migrated database was changed by hand', async () => {
    const database = await freshDatabase(kind);
    const directory = migratedApplication(`${name}, age: p.integer().nullable()`, database);
    await call(['migrate', 'create', directory]);
    await call(['migrate', 'up', directory]);
    await rowsOf(kind, database.url, 'alter table person drop column age');
    const { err } = await call(['serve', directory, '--port', '0']);
    expect(err).toMatch(/^Person\.age: the table person has no column age; needed: \w+\n1 difference .*\n/);
    expect(err).toContain(
      '\nevery migration is applied, so the database was changed in another way. Undo that change by hand, ' +
        'or write a migration that does: declarest migrate create --empty --name repair\n',
    );
    // what is deployed may lack the snapshot
    rmSync(join(directory, `migrations/.snapshot-${kind}.json`));
    expect((await call(['serve', directory, '--port', '0'])).err).toMatch(
      /\nevery migration is applied, and .* has no snapshot\. Run "declarest migrate check" .*\n$/,
    );
    await database.drop();
  });

  test('reports that an old version does not fit a database with newer migrations', async () => {
    const database = await freshDatabase(kind);
    const old = migratedApplication(`${name}, age: p.integer().nullable()`, database);
    await call(['migrate', 'create', old]);
    await call(['migrate', 'up', old]);
    const next = nextVersion(old, modelFiles(name, database));
    await call(['migrate', 'create', next, '--name', 'contract', '--allow-drop']);
    await call(['migrate', 'up', next]);
    expect((await call(['serve', old, '--port', '0'])).err).toMatch(
      /^Person\.age: the table person has no column age; needed: \w+\n1 difference .*\nthe database has migrations that this version of the application does not: Migration\d+_contract; start the version that has them\n$/,
    );
    await database.drop();
  });

  test('"migrate up" waits without a time limit for another process that migrates', async () => {
    const database = await freshDatabase(kind);
    const directory = migratedApplication(name, database);
    await call(['migrate', 'create', directory]);
    // longer than any other statement waits on SQLite
    const { ended } = await holdLock(database.url, kind === 'sqlite' ? 6000 : 500);
    const { code, err } = await call(['migrate', 'up', directory]);
    expect({ code, err }).toEqual({ code: 0, err: 'waiting for another process that is changing the database\n' });
    await ended;
    await database.drop();
  });

  test('a failing migration prevents the server from starting, and changes nothing', async () => {
    const database = await freshDatabase(kind);
    const directory = migratedApplication(name, { ...database, schema: 'migrate' });
    await call(['migrate', 'create', directory]);
    const bad = 'Migration29990101000000_bad';
    write(directory, `migrations/${bad}.ts`, migrationText(bad, ['select nonsense']));
    const { code, err, out } = await run(['serve', directory, '--port', '0']);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(new RegExp(`${bad} failed: .*nonsense.* statement: select nonsense nothing was changed; fix`));
    await expect(rowsOf(kind, database.url, 'select 1 from person')).rejects.toThrow(/person/);
    await database.drop();
  });
});
