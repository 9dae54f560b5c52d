import type { DatabaseError, ErrorQuestion, ErrorReader } from './error-reader.ts';
import { postgresErrors } from './postgresql/errors.ts';
import { sqliteErrors } from './sqlite/errors.ts';

const { brokenConstraint: _, ...questions } = postgresErrors;

/** Classifies an error of any database. The mapper is not needed: errors of different databases cannot be confused. */
export const databaseErrors = Object.freeze({
  ...(Object.fromEntries(Object.keys(questions).map((question) => [question, anyOf(question as ErrorQuestion)])) as Readonly<
    Record<ErrorQuestion, (error: unknown) => boolean>
  >),
  // SQLite errors have no fields, so their messages are parsed last
  brokenConstraint: (error: DatabaseError) => postgresErrors.brokenConstraint(error) ?? sqliteErrors.brokenConstraint(error),
});

function anyOf(question: ErrorQuestion): (error: unknown) => boolean {
  const readers: readonly Partial<ErrorReader>[] = [postgresErrors, sqliteErrors];
  return (error) => typeof error === 'object' && error !== null && readers.some((reader) => reader[question]?.(error));
}
