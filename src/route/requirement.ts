import { ambiguityError } from './ambiguity.ts';
import { parseRequirement, RequirementError, writeExpression } from './requirement-syntax.ts';

/** No value of a placeholder is longer than this. */
export const maxValueLength = 100;

/** What a placeholder without a requirement matches: anything but an encoded slash. */
const anything = '[^/]+';

/** Says what is wrong with a requirement (as the end of a sentence), or null: invalid, unsupported, or prone to catastrophic backtracking. */
export function checkRequirement(source: string): string | null {
  try {
    return ambiguityError(parseRequirement(source), maxValueLength);
  } catch (error) {
    if (error instanceof RequirementError) return error.message;
    throw error;
  }
}

/** The requirement as a regular expression without anchors and capturing groups, to be embedded; throws where it cannot be read. */
export function requirementSource(source: string | undefined): string {
  if (source === undefined) return anything;
  try {
    return `(?:${writeExpression(parseRequirement(source))})`;
  } catch (error) {
    throw new Error(`The requirement "${source}" ${(error as Error).message}.`, { cause: error });
  }
}
