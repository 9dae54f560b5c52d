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

/** What is known of a constraint that a change would have broken. */
export interface BrokenConstraint {
  /** Empty if the database does not say. */
  readonly table: string;
  readonly columns: readonly string[];
  /** Its name, or the expression of a check. */
  readonly constraint: string | undefined;
  /** Whether it is a foreign key that still points to the row; false if the database does not say. */
  readonly isStillReferenced: boolean;
}

/** Tells what an error of one database means, and returns false or null for any other error. Causes are left to the caller. */
export interface ErrorReader {
  /** Another transaction was in the way: the same work is likely to succeed if it is repeated. */
  isTransient(error: DatabaseError): boolean;
  /** The database was out of reach, too slow or too busy. */
  isUnavailable(error: DatabaseError): boolean;
  /** It refuses a connection for a reason that will not pass by itself. */
  isFinal(error: DatabaseError): boolean;
  /** There is no room left for what was to be written. */
  isFull(error: DatabaseError): boolean;
  /** It was opened for reading only. */
  isReadOnly(error: DatabaseError): boolean;
  /** A value does not fit its column. */
  isMisfit(error: DatabaseError): boolean;
  /** It names a table or column that does not exist or has another type, or a required column has no value. */
  isSchemaFault(error: DatabaseError): boolean;
  /** The user of the database may not do it. */
  isForbidden(error: DatabaseError): boolean;
  /** A commit can throw this, and the mapper has an exception for it. */
  isTranslatable(error: DatabaseError): boolean;
  /** A foreign key refuses the change, and the mapper has no exception for it. */
  isReferenceConflict(error: DatabaseError): boolean;
  brokenConstraint(error: DatabaseError): BrokenConstraint | null;
}

export type ErrorQuestion = Exclude<keyof ErrorReader, 'brokenConstraint'>;
