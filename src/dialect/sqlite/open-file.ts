import { DatabaseSync } from 'node:sqlite';
import { addFunctions } from './functions.ts';
import { busyTimeout } from './write-lock.ts';

/** What another connection to the same data is opened with. */
export interface Source {
  readonly file: string;
  readonly busyTimeout: number;
}

/** Opens a connection that reads and writes. */
export function openToWrite(file: string, timeout = busyTimeout): DatabaseSync {
  const db = new DatabaseSync(file, { timeout: busyTimeout });
  db.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on;');
  addFunctions(db);
  if (timeout !== busyTimeout) db.exec(`pragma busy_timeout = ${timeout}`);
  return db;
}

/** Null where the file is not ours to write, and so nothing beside it is ours to remove. */
export function openToTidy(file: string): DatabaseSync | null {
  try {
    const db = new DatabaseSync(file, { timeout: busyTimeout });
    // until something is read, the connection does not know what kind of file it is
    db.prepare('select 1 from sqlite_master').get();
    return db;
  } catch {
    return null;
  }
}
