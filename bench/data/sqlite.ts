import { DatabaseSync } from 'node:sqlite';
import { amounts, indexes, tables } from './shape.ts';

const day = 86_400_000;

/** The same rows as on PostgreSQL, in a new file. */
export function fillSqlite(file: string): string {
  const database = new DatabaseSync(file);
  database.exec('pragma journal_mode = wal');
  database.exec('begin');
  for (const table of tables({ id: 'integer primary key', moment: 'datetime' })) database.exec(table);
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
