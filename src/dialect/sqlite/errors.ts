import type { DatabaseError, ErrorReader } from '../error-reader.ts';

const driverCode = 'ERR_SQLITE_ERROR';

// primary result codes
const failure = 1;
const readOnly = 8;
const full = 13;
const constraint = 19;
/** Busy, locked, read only, input or output, cannot open, protocol. */
const unavailable = new Set([5, 6, readOnly, 10, 14, 15]);

/** Another connection wrote after this transaction had begun to read. */
const busySnapshot = 517;

export const sqliteErrors: ErrorReader = Object.freeze<ErrorReader>({
  isTransient: ({ code, errcode }) => code === driverCode && errcode === busySnapshot,
  isUnavailable: (error) => unavailable.has(primaryCode(error)) || /database is locked/.test(error.message ?? ''),
  isFinal: () => false,
  isFull: (error) => primaryCode(error) === full,
  isReadOnly: ({ errcode }) => (Number(errcode) & 0xff) === readOnly,
  isRefusal: ({ code, errcode }) => code === driverCode && ((Number(errcode) & 0xff) === constraint || errcode === failure),
  isMisfit: () => false,
  isTranslatable: ({ code }) => code === driverCode,
  isReferenceConflict: () => false,
  /** `UNIQUE constraint failed: person.email, person.year`, `CHECK constraint failed: age > 0` */
  brokenConstraint({ message = '' }) {
    const listed = /constraint failed: (.*)$/m.exec(message)?.[1] ?? '';
    const pairs = listed.split(', ').map((pair) => pair.split('.'));
    return {
      table: pairs[0]?.[0] ?? '',
      columns: pairs.map((pair) => pair[1] ?? ''),
      constraint: /CHECK constraint failed: (.*)$/m.exec(message)?.[1],
      isStillReferenced: false,
    };
  },
});

/** The code without its extension; -1 if the error is not one of SQLite. */
function primaryCode({ code, errcode }: DatabaseError): number {
  return code === driverCode && typeof errcode === 'number' ? errcode & 0xff : -1;
}
