import { JsonReply } from '../response/json-reply.ts';
import { isEntity } from '../serialization/serializer.ts';

/** Whether the result of a handler means that the request failed: an error status, or a list of violations. */
export function isFailure(result: unknown): boolean {
  const { status, value } = result instanceof JsonReply ? result : { status: 200, value: result };
  return status >= 400 || areViolations(value);
}

/** Whether a value is a list of violations that is not empty. */
export function areViolations(value: unknown): boolean {
  const isViolation = (item: unknown) =>
    typeof item === 'object' && item !== null && 'propertyPath' in item && 'title' in item && !isEntity(item);
  return Array.isArray(value) && value.length > 0 && value.every(isViolation);
}
