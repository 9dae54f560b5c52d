import type { DatabaseError, ErrorQuestion, ErrorReader } from './error-reader.ts';
import { postgresErrors } from './postgresql/errors.ts';
import { sqliteErrors } from './sqlite/errors.ts';

const { brokenConstraint: _, ...questions } = postgresErrors;

/** Says what an error of any database means. No mapper is needed: errors of databases differ. */
export const databaseErrors = Object.freeze({
  ...(Object.fromEntries(Object.keys(questions).map((question) => [question, anyOf(question as ErrorQuestion)])) as Readonly<
    Record<ErrorQuestion, (error: unknown) => boolean>
  >),
  // errors of SQLite have no fields of their own: their messages are read last
  brokenConstraint: (error: DatabaseError) => postgresErrors.brokenConstraint(error) ?? sqliteErrors.brokenConstraint(error),
});

function anyOf(question: ErrorQuestion): (error: unknown) => boolean {
  const readers: readonly Partial<ErrorReader>[] = [postgresErrors, sqliteErrors];
  return (error) => typeof error === 'object' && error !== null && readers.some((reader) => reader[question]?.(error));
}
