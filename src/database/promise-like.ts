/** Whether a result has to be awaited. Without the check, synchronous code would cost a turn of the event loop. */
export function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

/** Calls a function, and then `end`: with the error if the call fails, and when its promise settles if it returns one. */
export function callThenEnd<Result>(call: () => Result, end: (error?: unknown) => void): Result {
  let result: Result;
  try {
    result = call();
  } catch (error) {
    end(error);
    throw error;
  }
  if (isPromiseLike(result)) result.then(() => end(), end);
  else end();
  return result;
}
