import type { BrokenConstraint, DatabaseError, ErrorReader } from './error-reader.ts';
import { postgresErrors } from './postgresql/errors.ts';
import { sqliteErrors } from './sqlite/errors.ts';

/** SQLite's is the last one: its errors have no fields of their own, and are known by their messages. */
const readers: readonly ErrorReader[] = [postgresErrors, sqliteErrors];

const anyOf =
  (question: Exclude<keyof ErrorReader, 'brokenConstraint'>) =>
  (error: unknown): boolean =>
    typeof error === 'object' && error !== null && readers.some((reader) => reader[question](error as DatabaseError));

/** Tells what an error means that came from any database: it says so itself, so that nobody needs a mapper to ask. */
export const databaseErrors = Object.freeze({
  isTransient: anyOf('isTransient'),
  isUnavailable: anyOf('isUnavailable'),
  isFinal: anyOf('isFinal'),
  isFull: anyOf('isFull'),
  isReadOnly: anyOf('isReadOnly'),
  isRefusal: anyOf('isRefusal'),
  isMisfit: anyOf('isMisfit'),
  isTranslatable: anyOf('isTranslatable'),
  isReferenceConflict: anyOf('isReferenceConflict'),
  brokenConstraint(error: DatabaseError): BrokenConstraint {
    for (const reader of readers) {
      const broken = reader.brokenConstraint(error);
      if (broken) return broken;
    }
    return { table: '', columns: [], constraint: undefined, isStillReferenced: false };
  },
});
