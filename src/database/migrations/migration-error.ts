/** Migrations cannot be created or applied, for a reason that a person can remove. */
export class MigrationError extends Error {
  /** Whether an option of the call is wrong or missing. */
  readonly isCall: boolean;

  constructor(message: string, { cause, isCall = false }: { cause?: unknown; isCall?: boolean } = {}) {
    super(message, { cause });
    this.name = 'MigrationError';
    this.isCall = isCall;
  }
}
