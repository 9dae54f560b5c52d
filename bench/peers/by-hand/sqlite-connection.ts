// A connection to SQLite with settings as safe as those of Declarest.
import { DatabaseSync } from 'node:sqlite';

export function connect(): DatabaseSync {
  const database = new DatabaseSync((process.env.DATABASE_URL ?? '').replace(/^sqlite:/, ''));
  database.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on; pragma busy_timeout = 5000');
  return database;
}

/** Returns a function that runs its argument in a write transaction. */
export function transactions(database: DatabaseSync) {
  const begin = database.prepare('begin immediate');
  const commit = database.prepare('commit');
  const rollback = database.prepare('rollback');
  return <Result>(work: () => Result): Result => {
    begin.run();
    try {
      const result = work();
      commit.run();
      return result;
    } catch (error) {
      rollback.run();
      throw error;
    }
  };
}
