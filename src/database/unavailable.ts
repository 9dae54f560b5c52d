// Errors with the codes that PostgreSQL has for them, whichever the database: each is answered with 503.

export function lostError(cause?: unknown): Error {
  return Object.assign(new Error('the connection to the database was lost', { cause }), { code: '08006' });
}

export function closedError(): Error {
  return Object.assign(new Error('the connection to the database was closed'), { code: '08003' });
}

export function tooLongError(): Error {
  return Object.assign(new Error('the statement took too long'), { code: '57014' });
}

export function lateError(): Error {
  return Object.assign(new Error('no connection to the database was free in time'), { code: '53300' });
}
