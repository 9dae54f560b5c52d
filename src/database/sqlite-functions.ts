import type { DatabaseSync } from 'node:sqlite';

/** Lower case beyond ASCII, which SQLite's own functions do not know. */
export const lowerFunction = 'declarest_lower';

/** Adds the functions that statements of ours use to a connection. */
export function addFunctions(db: DatabaseSync): void {
  db.function(lowerFunction, { deterministic: true, useBigIntArguments: true }, (text) =>
    typeof text === 'string' ? text.toLowerCase() : text,
  );
}
