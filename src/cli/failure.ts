import { SchemaErrors } from '../database/schema/schema-errors.ts';
import { DeclarationErrors } from '../declaration/report.ts';
import { type Io, NoAnswer, say } from './io.ts';

/** 1: error in the application; 2: wrong command line. */
export type ExitCode = 0 | 1 | 2;

/** An expected failure: printed as one message, without a stack. */
export class Failure extends Error {
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'Failure';
    this.exitCode = exitCode;
  }
}

/** The call is wrong: an unknown option, a missing argument. */
export class CallFailure extends Failure {
  constructor(message: string) {
    super(2, message);
  }
}

/** The application has an error, or something it needs is missing. */
export class ApplicationFailure extends Failure {
  constructor(message: string, cause?: unknown) {
    super(1, message, { cause });
  }
}

export function tell(error: unknown, { stderr, env }: Io): ExitCode {
  if (error instanceof DeclarationErrors) {
    const lines = error.message.split('\n');
    for (const line of lines) say(stderr, line);
    say(stderr, `${lines.length} ${lines.length === 1 ? 'error' : 'errors'}`);
    return 1;
  }
  if (error instanceof SchemaErrors) {
    say(stderr, error.message);
    return 1;
  }
  const peer = missingPeer(error);
  if (peer !== null) {
    say(
      stderr,
      `declarest: the package ${peer} is not installed; run "npm install fastify@^5 @mikro-orm/core@^7 @mikro-orm/sql@^7"`,
    );
    return 1;
  }
  const file = fileFailure(error);
  const expected = error instanceof Failure;
  const debug = env.DEBUG !== undefined && env.DEBUG !== '' && env.DEBUG !== '0';
  say(stderr, `declarest: ${file ?? (expected ? error.message : messageOf(error))}`);
  if (debug) say(stderr, stackOf(expected ? (error.cause ?? error) : error));
  else if (!expected && file === null && !(error instanceof NoAnswer)) say(stderr, 'set DEBUG=1 for a stack trace');
  return expected ? error.exitCode : 1;
}

/** A package that every application installs beside Declarest, if an import of it failed. */
function missingPeer(error: unknown): string | null {
  const { code, message } = (error ?? {}) as { readonly code?: unknown; readonly message?: unknown };
  if (code !== 'ERR_MODULE_NOT_FOUND') return null;
  return /'(fastify|@mikro-orm\/(?:core|sql))'/.exec(String(message))?.[1] ?? null;
}

/** The message for an error of the file system: `cannot open /app/config: permission denied`. Null for other errors. */
function fileFailure(error: unknown): string | null {
  const { message, path, syscall } = (error ?? {}) as { readonly [key in 'message' | 'path' | 'syscall']?: unknown };
  if (!(error instanceof Error) || typeof path !== 'string' || typeof syscall !== 'string' || path === '') return null;
  // EACCES: permission denied, open '/app/config'
  const [, reason] = /^E[A-Z]+: ([^,]+),/.exec(String(message)) ?? [];
  if (reason === undefined) return null;
  const shown = path.length > 200 ? `${path.slice(0, 200)}…` : path;
  return `cannot ${verbs[syscall] ?? 'access'} ${shown}: ${reason}; check the path and its permissions`;
}

const verbs: Readonly<Record<string, string>> = {
  mkdir: 'create',
  open: 'open',
  rename: 'rename',
  scandir: 'list',
  write: 'write',
};

/** The message of any thrown value, in one line; for an AggregateError without a message, those of all its errors. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.message === '' && error instanceof AggregateError) return error.errors.map(messageOf).join('; ');
  return (error.message || error.name).replace(/\s*\n\s*/g, ' ');
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
