import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { lowered, lowerFunction } from './lower-case.ts';
import { busyTimeout } from './write-lock.ts';

export const inMemory = ':memory:';

/** Creates a file that only its owner can read, unless it exists. SQLite gives the files beside it the same mode. */
export function createPrivate(file: string): void {
  try {
    closeSync(openSync(file, 'ax', 0o600));
  } catch {
    // SQLite reports why a file cannot be opened
  }
}

/** Opens a connection that reads and writes. */
export function openToWrite(file: string, timeout = busyTimeout): DatabaseSync {
  if (file !== inMemory) createPrivate(file);
  const db = new DatabaseSync(file, { timeout: busyTimeout });
  db.exec('pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on;');
  addFunctions(db);
  if (timeout !== busyTimeout) db.exec(`pragma busy_timeout = ${timeout}`);
  return db;
}

/** Opens a connection that only reads. */
export function openToRead(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { readOnly: true, timeout: busyTimeout });
  addFunctions(db);
  return db;
}

/**
 * Opens a connection that removes SQLite's files beside the database when it closes. Null if the file is not writable: then those
 * files cannot be removed either.
 */
export function openForCleanup(file: string): DatabaseSync | null {
  try {
    const db = new DatabaseSync(file, { timeout: busyTimeout });
    // SQLite examines the file only with the first read
    db.prepare('select 1 from sqlite_master').get();
    return db;
  } catch {
    return null;
  }
}

function addFunctions(db: DatabaseSync): void {
  db.function(lowerFunction, { deterministic: true, useBigIntArguments: true }, (text) =>
    typeof text === 'string' ? lowered(text) : text,
  );
}
