import { DatabaseSync } from 'node:sqlite';
import type { TableRows, Value } from './rows.ts';
import { amounts, indexes, tables } from './shape.ts';

export const sqliteTypes = { id: 'integer primary key', moment: 'datetime' };

const day = 86_400_000;

/** The same rows as on PostgreSQL, in a new file. */
export function fillSqlite(file: string): string {
  const database = new DatabaseSync(file);
  database.exec('pragma journal_mode = wal');
  database.exec('begin');
  for (const table of tables(sqliteTypes)) database.exec(table);
  const center = database.prepare('insert into center values (?, ?)');
  for (let n = 1; n <= amounts.centers; n++) center.run(n, `Center ${n}`);
  const person = database.prepare('insert into person values (?, ?, ?, ?, ?, ?, ?, ?)');
  for (let n = 1; n <= amounts.people; n++) {
    person.run(
      n,
      ['student', 'teacher', 'staff'][n % 3] as string,
      `First${n}`,
      `Last${(n * 7919) % amounts.people}`,
      `p${n}@example.org`,
      new Date(Date.UTC(1960, 0, 1) + ((n * 13) % 18_000) * day).toISOString().slice(0, 10),
      Date.UTC(2020, 0, 1) + n * 60_000,
      1 + ((n * 31) % amounts.centers),
    );
  }
  for (const owner of ['course', 'team']) {
    const group = database.prepare(`insert into ${owner} values (?, ?)`);
    const participant = database.prepare(`insert into ${owner}_person values (?, ?)`);
    for (let o = 1; o <= amounts.courses; o++) {
      group.run(o, `Course ${o}`);
      for (let k = 1; k <= amounts.participants; k++) participant.run(o, 1 + ((o * 7919 + k * 104_729) % amounts.people));
    }
  }
  for (const index of indexes) database.exec(index);
  database.exec('commit');
  database.exec('analyze');
  database.exec('pragma wal_checkpoint(truncate)');
  database.close();
  return `sqlite:${file}`;
}

/** Replaces the rows of tables in a file. */
export function insertIntoSqlite(file: string, tables: readonly TableRows[]): void {
  const database = new DatabaseSync(file);
  // rows are removed and inserted table by table, so foreign keys are invalid in between
  database.exec('pragma journal_mode = wal; pragma foreign_keys = off; begin');
  for (const { table, columns, rows } of tables) {
    database.exec(`delete from ${table}`);
    const names = columns.map((name) => `"${name}"`).join(', ');
    const insert = database.prepare(`insert into ${table} (${names}) values (${columns.map(() => '?').join(', ')})`);
    for (const row of rows) insert.run(...row.map(toSqlite));
  }
  database.exec('commit; analyze; pragma wal_checkpoint(truncate)');
  database.close();
}

/** Values as MikroORM stores them: times in milliseconds, booleans as numbers. */
function toSqlite(value: Value): string | number | null {
  if (value instanceof Date) return value.getTime();
  return typeof value === 'boolean' ? Number(value) : value;
}

export function runOnSqlite(url: string, statements: readonly string[]): void {
  const database = new DatabaseSync(url.replace(/^sqlite:/, ''));
  database.exec('pragma busy_timeout = 5000');
  for (const statement of statements) database.exec(statement);
  database.close();
}
