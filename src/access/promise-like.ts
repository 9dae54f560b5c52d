/** Whether an answer has to be waited for. ListQuery so that code that answers at once costs no turn of the event loop. */
export function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}
