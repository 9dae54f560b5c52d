import { tooLarge } from '../../database/too-large.ts';
import type { DatabaseError, ErrorReader } from '../error-reader.ts';

/** Serialization failure, deadlock. */
const transient = new Set<unknown>(['40001', '40P01']);

const unavailable = new Set<unknown>([
  '57014', // statement timeout
  '57P01',
  '57P02',
  '57P03',
  '53200', // out of memory
  '53300', // too many connections
  '25006', // read-only, such as a standby during a failover
  '55P03',
  ...transient,
]);

/** An unknown user, a wrong password, an unknown database. */
const final = new Set<unknown>(['28000', '28P01', '3D000']);

/** Undefined table, column, function, type or schema; a value of another type than its column; no value for a required column. */
const schemaFaults = new Set<unknown>(['42P01', '42703', '42883', '42704', '3F000', '42804', '42846', '23502']);

/** `pg` reports these without a code. */
const connectionLost =
  /timeout exceeded when trying to connect|Connection terminated|connection error and is not queryable|Query read timeout/;

/** PostgreSQL 18 has a code of its own for `on delete restrict`. */
const restrictViolation = '23001';

export const postgresErrors: ErrorReader = Object.freeze<ErrorReader>({
  isTransient: ({ code }) => transient.has(code),
  isUnavailable({ code, message = '', severity }) {
    // the server ended or rejected the session: no such database, no connections allowed, wrong password
    if (severity === 'FATAL' || severity === 'PANIC') return true;
    return unavailable.has(code) || startsWith(code, '08') || connectionLost.test(message);
  },
  isFinal: ({ code }) => final.has(String(code)),
  isFull: ({ code }) => code === '53100',
  isReadOnly: ({ code }) => code === '25006',
  isTooLarge,
  isMisfit: (error) => startsWith(error.code, '22') && !isTooLarge(error),
  isSchemaFault: ({ code }) => schemaFaults.has(code),
  isForbidden: ({ code }) => code === '42501',
  isTranslatable: ({ code }) => typeof code === 'string' && /^23\w{3}$/.test(code),
  isReferenceConflict: ({ code }) => code === restrictViolation,
  brokenConstraint({ code, column, constraint, detail = '', table }) {
    if (table === undefined && constraint === undefined) return null;
    return {
      table: table ?? '',
      columns: column ? [column] : columnsIn(detail),
      constraint,
      isStillReferenced: code === restrictViolation || detail.includes('referenced from'),
    };
  },
});

function isTooLarge({ code, message = '' }: DatabaseError): boolean {
  return code === '22P02' && message.includes(`"${tooLarge}"`);
}

/** `Key (email)=(…) already exists.` */
function columnsIn(detail: string): string[] {
  const key = /^Key \((.*?)\)=/.exec(detail)?.[1];
  return key ? key.split(', ').map((column) => column.replace(/^"|"$/g, '')) : [];
}

function startsWith(code: DatabaseError['code'], start: string): boolean {
  return typeof code === 'string' && code.startsWith(start);
}
