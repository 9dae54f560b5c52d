import { DatabaseSync } from 'node:sqlite';

/** Lower case beyond ASCII, which SQLite's own functions do not know. */
export const lowerFunction = 'declarest_lower';

/** A text in lower case, letter by letter: the Greek sigma has another form at the end of a word, which would make a part of a text unlike the whole. */
export function lowered(text: string): string {
  return text.replaceAll('Σ', 'σ').toLowerCase();
}

/** Adds the functions that statements of ours use to a connection. */
export function addFunctions(db: DatabaseSync): void {
  db.function(lowerFunction, { deterministic: true, useBigIntArguments: true }, (text) =>
    typeof text === 'string' ? text.toLowerCase() : text,
  );
}

/** Opens a connection that only reads, with the functions that statements of ours use. */
export function openToRead(file: string, timeout: number): DatabaseSync {
  const db = new DatabaseSync(file, { readOnly: true, timeout });
  addFunctions(db);
  return db;
}
