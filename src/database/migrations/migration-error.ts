/** Migrations cannot be created or applied, for a reason that the user can fix. */
export class MigrationError extends Error {
  /** Whether an option of the command is wrong or missing. */
  readonly isCall: boolean;

  constructor(message: string, { cause, isCall = false }: { cause?: unknown; isCall?: boolean } = {}) {
    super(message, { cause });
    this.name = 'MigrationError';
    this.isCall = isCall;
  }
}
