import { tooLarge } from '../../database/too-large.ts';
import type { BrokenConstraint, DatabaseError, ErrorReader } from '../error-reader.ts';

const driverCode = 'ERR_SQLITE_ERROR';

// primary result codes
const readOnly = 8;
const full = 13;
/** Busy, locked, read only, input or output, cannot open, protocol. */
const unavailable = new Set([5, 6, readOnly, 10, 14, 15]);

/** Another connection wrote after this transaction had begun to read. */
const busySnapshot = 517;

/** SQLite has no separate codes for these. */
const schemaFault =
  /no such (?:column|table)|NOT NULL constraint failed|has no column named|cannot store \w+ value|cannot (?:INSERT into|UPDATE) generated column/;

/** Without the checks for which SQLite has no errors. */
export const sqliteErrors = Object.freeze({
  isTransient: ({ code, errcode }) => code === driverCode && errcode === busySnapshot,
  isUnavailable: (error) => unavailable.has(primaryCode(error)) || /database is locked/.test(error.message ?? ''),
  isFull: (error) => primaryCode(error) === full,
  isReadOnly: ({ errcode }) => (Number(errcode) & 0xff) === readOnly,
  isTooLarge: ({ code, message = '' }) => code === driverCode && message.includes(`'${tooLarge}'`),
  isSchemaFault: ({ code, message = '' }) => code === driverCode && schemaFault.test(message),
  isTranslatable: ({ code }) => code === driverCode,
  /** `UNIQUE constraint failed: person.email, person.year`, `CHECK constraint failed: age > 0` */
  brokenConstraint({ message = '' }: DatabaseError): BrokenConstraint {
    const listed = /constraint failed: (.*)$/m.exec(message)?.[1] ?? '';
    const pairs = listed.split(', ').map((pair) => pair.split('.'));
    return {
      table: pairs[0]?.[0] ?? '',
      columns: pairs.map((pair) => pair[1] ?? ''),
      constraint: /CHECK constraint failed: (.*)$/m.exec(message)?.[1],
      isStillReferenced: false,
    };
  },
}) satisfies Partial<ErrorReader>;

/** The code without its extension; -1 if the error is not one of SQLite. */
function primaryCode({ code, errcode }: DatabaseError): number {
  return code === driverCode && typeof errcode === 'number' ? errcode & 0xff : -1;
}
