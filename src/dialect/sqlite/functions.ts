import { DatabaseSync } from 'node:sqlite';
import { lowered, lowerFunction } from './lower-case.ts';

/** Adds the functions that statements of ours use to a connection. */
export function addFunctions(db: DatabaseSync): void {
  db.function(lowerFunction, { deterministic: true, useBigIntArguments: true }, (text) =>
    typeof text === 'string' ? lowered(text) : text,
  );
}

/** Opens a connection that only reads, with the functions that statements of ours use. */
export function openToRead(file: string, timeout: number): DatabaseSync {
  const db = new DatabaseSync(file, { readOnly: true, timeout });
  addFunctions(db);
  return db;
}
