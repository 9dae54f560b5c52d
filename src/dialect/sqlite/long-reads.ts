import type { DatabaseSync } from 'node:sqlite';

/** Milliseconds for which a read may hold up everything else; what takes longer is read in a thread. */
export const longest = 10;

/** Bytes of a database that is read through in about that time. */
const small = 16 * 1024 * 1024;

/** Whether no statement is expected to take long, as there is little to read. */
export function isSmall(db: DatabaseSync): boolean {
  const size = db.prepare('select page_count * page_size as bytes from pragma_page_count, pragma_page_size').get();
  return Number(size?.bytes) < small;
}
