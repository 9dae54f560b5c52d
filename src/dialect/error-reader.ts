/** An error as a driver throws it, or as the mapper passes it on. */
export interface DatabaseError {
  readonly message?: string;
  readonly code?: unknown;
  /** SQLite's own code. */
  readonly errcode?: unknown;
  readonly severity?: unknown;
  readonly table?: string;
  readonly column?: string;
  readonly detail?: string;
  readonly constraint?: string;
}

/** A constraint that a change would have violated, as far as it is known. */
export interface BrokenConstraint {
  /** Empty if the database does not report it. */
  readonly table: string;
  readonly columns: readonly string[];
  /** Its name, or the expression of a check. */
  readonly constraint: string | undefined;
  /** Whether it is a foreign key that still points to the row; false if the database does not report it. */
  readonly isStillReferenced: boolean;
}

/**
 * Classifies errors of one database. Returns false or null for any other error. The caller has to check the causes of an error.
 */
export interface ErrorReader {
  /** The error is a conflict with another transaction: a retry is likely to succeed. */
  isTransient(error: DatabaseError): boolean;
  /** The database was unreachable, too slow or overloaded. */
  isUnavailable(error: DatabaseError): boolean;
  /** The database rejects a connection for a reason that retries do not fix. */
  isFinal(error: DatabaseError): boolean;
  /** The disk or the database is full. */
  isFull(error: DatabaseError): boolean;
  /** The database is read-only. */
  isReadOnly(error: DatabaseError): boolean;
  /** The rows of a response are larger than the statement allows. */
  isTooLarge(error: DatabaseError): boolean;
  /** A value does not fit its column. */
  isMisfit(error: DatabaseError): boolean;
  /** The statement names a table or column that does not exist or has another type, or a required column has no value. */
  isSchemaFault(error: DatabaseError): boolean;
  /** The database user lacks the privilege. */
  isForbidden(error: DatabaseError): boolean;
  /** A commit can throw this error, and the mapper has an exception for it. */
  isTranslatable(error: DatabaseError): boolean;
  /** A foreign key rejects the change, and the mapper has no exception for it. */
  isReferenceConflict(error: DatabaseError): boolean;
  brokenConstraint(error: DatabaseError): BrokenConstraint | null;
}

export type ErrorQuestion = Exclude<keyof ErrorReader, 'brokenConstraint'>;
