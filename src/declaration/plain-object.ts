export function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Freezes lists and plain objects recursively. Classes, instances and schemas of the application stay as they are. */
export function deepFreeze<T>(value: T): T {
  const isOwn = Array.isArray(value) || (isPlainObject(value) && !('~standard' in value));
  if (!isOwn || Object.isFrozen(value)) return value;
  Object.values(value).forEach(deepFreeze);
  return Object.freeze(value);
}
