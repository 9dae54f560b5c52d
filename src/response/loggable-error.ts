/** Properties of an error that are logged with its message: names and codes, never values that were sent or stored. */
const loggedKeys = [
  'code',
  'errcode',
  'errno',
  'severity',
  'schema',
  'table',
  'column',
  'constraint',
  'routine',
  'syscall',
  'address',
  'port',
  'hostname',
  'statusCode',
] as const;

/** How many levels of causes are logged, and how many errors of an aggregate. */
const depth = 5;

interface LoggableError {
  readonly type: string;
  readonly message: string;
  readonly stack: string;
  readonly cause?: LoggableError;
  readonly errors?: readonly LoggableError[];
  readonly [key: string]: unknown;
}

const described = new WeakSet<object>();

/**
 * An error without the values of rows and parameters that a database puts into its details and messages. Any logger can log it as
 * it is.
 */
export function loggableError(error: unknown, left = depth): LoggableError {
  if (typeof error !== 'object' || error === null) return { type: typeof error, message: String(error), stack: '' };
  if (described.has(error)) return error as LoggableError;
  const { message, stack, cause, errors } = error as { message?: unknown; stack?: unknown; cause?: unknown; errors?: unknown };
  const previous = cause ?? (error as { previous?: unknown }).previous;
  const type = error.constructor?.name ?? 'Object';
  const text = withoutValues(typeof message === 'string' ? message : '', error);
  // a stack begins with the original message, which can have several lines
  const frames = typeof stack === 'string' ? stack.split('\n').filter((line) => /^\s+at /.test(line)) : [];
  const loggable: LoggableError = {
    type,
    message: text,
    ...Object.fromEntries(loggedKeys.flatMap((key) => loggedEntry(error as Record<string, unknown>, key))),
    stack: [`${type}: ${text}`, ...frames].join('\n'),
    ...(previous !== undefined && previous !== null && left > 1 && { cause: loggableError(previous, left - 1) }),
    ...(Array.isArray(errors) && left > 1 && { errors: errors.slice(0, depth).map((one) => loggableError(one, left - 1)) }),
  };
  described.add(loggable);
  return loggable;
}

/** The message of the innermost cause, without values. */
export function rootMessage(error: unknown): string {
  let { cause, message } = loggableError(error);
  for (; cause; { cause, message } = cause);
  return message;
}

function loggedEntry(error: Record<string, unknown>, key: string): [string, unknown][] {
  const value = error[key];
  return typeof value === 'string' || typeof value === 'number' ? [[key, value]] : [];
}

/** PostgreSQL puts values at the end of its message, or in quotes if the value itself is at fault (codes `22…`). */
function withoutValues(message: string, { code }: { code?: unknown }): string {
  const isOfDatabase = typeof code === 'string' && (/^[0-9A-Z]{5}$/.test(code) || code === 'ERR_SQLITE_ERROR');
  if (!isOfDatabase) return message;
  const short = message.replace(/\s+- (?:detail|hint|where):.*$/s, '');
  return code.startsWith('22') ? short.replace(/".*"|'.*'/gs, '"…"') : short;
}
