import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { expect, test } from 'vitest';
import { freshDatabase } from './databases.ts';

test('a fresh SQLite database can be written, and leaves no file behind', async () => {
  const database = await freshDatabase('sqlite');
  const file = database.url.slice('sqlite:'.length);
  const connection = new DatabaseSync(file);
  connection.exec('pragma journal_mode = wal; create table person (id integer primary key)');
  connection.close();
  expect(existsSync(file)).toBe(true);
  await database.drop();
  expect(existsSync(file)).toBe(false);
});

test('a fresh PostgreSQL database is empty, apart from others, and gone once dropped', async () => {
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

  await Promise.all([one.drop(), other.drop()]);
  await expect(new Client({ connectionString: one.url }).connect()).rejects.toThrow(/does not exist/);
});

test('a database that still has connections can be dropped', async () => {
  const database = await freshDatabase('postgresql');
  const client = new Client({ connectionString: database.url });
  const ended = new Promise((resolve) => client.on('error', resolve));
  await client.connect();
  await database.drop();
  await expect(ended).resolves.toMatchObject({ code: '57P01' });
});
