import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { expect, test } from 'vitest';
import { freshDatabase } from './databases.ts';

test('a fresh SQLite database is writable, and leaves no file behind', async () => {
  const database = await freshDatabase('sqlite');
  const file = database.url.slice('sqlite:'.length);
  const connection = new DatabaseSync(file);
  connection.exec('pragma journal_mode = wal; create table person (id integer primary key)');
  connection.close();
  expect(existsSync(file)).toBe(true);
  await database.drop();
  expect(existsSync(file)).toBe(false);
});

test('a fresh PostgreSQL database is empty, isolated from others, and gone once destroyed', async () => {
  const [one, other] = await Promise.all([freshDatabase('postgresql'), freshDatabase('postgresql')]);
  const client = new Client({ connectionString: one.url });
  await client.connect();
  await client.query('create table person (id int primary key)');
  await client.end();

  const second = new Client({ connectionString: other.url });
  await second.connect();
  const tables = await second.query(`select 1 from pg_tables where schemaname = 'public'`);
  await second.end();
  expect(tables.rowCount).toBe(0);

  await Promise.all([one.destroy(), other.destroy()]);
  await expect(new Client({ connectionString: one.url }).connect()).rejects.toThrow(/does not exist/);
});

test('a dropped PostgreSQL database is empty when it is reused', async () => {
  const used = await freshDatabase('postgresql');
  const client = new Client({ connectionString: used.url });
  await client.connect();
  const name = new URL(used.url).pathname.slice(1);
  await client.query(`create schema other; create table other.a (id serial primary key); create table b (id int);
    create type mood as enum ('low'); create function f() returns int language sql as 'select 1';
    alter database ${name} set statement_timeout = 1`);
  await client.end();
  await used.drop();
  for (let i = 0; i < 5; i++) {
    const next = await freshDatabase('postgresql');
    const second = new Client({ connectionString: next.url });
    await second.connect();
    const { rows } = await second.query(`
      select nspname as name from pg_namespace where nspname !~ '^pg_' and nspname not in ('public', 'information_schema')
      union all select relname from pg_class where relnamespace = 'public'::regnamespace
      union all select typname from pg_type where typnamespace = 'public'::regnamespace
      union all select proname from pg_proc where pronamespace = 'public'::regnamespace
      union all select setting from pg_settings where name = 'statement_timeout' and setting <> '0'`);
    expect(rows).toEqual([]);
    await second.end();
  }
});

test('a database with open connections can be dropped', async () => {
  const database = await freshDatabase('postgresql');
  const client = new Client({ connectionString: database.url });
  const ended = new Promise((resolve) => client.on('error', resolve));
  await client.connect();
  await database.drop();
  await expect(ended).resolves.toMatchObject({ code: '57P01' });
});
