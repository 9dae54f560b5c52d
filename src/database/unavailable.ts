// Errors with PostgreSQL's error codes, on both databases. Each leads to a 503.

const coded = (code: string, message: string, cause?: unknown) => Object.assign(new Error(message, { cause }), { code });

export const lostError = (cause?: unknown) => coded('08006', 'the connection to the database was lost', cause);
export const closedError = () => coded('08003', 'the connection to the database was closed');
export const tooLongError = () => coded('57014', 'the statement took too long');
export const lateError = () => coded('53300', 'no connection to the database was free in time');
