import { type Ambiguity, ambiguityOf } from './ambiguity.ts';
import { parseRequirement, RequirementError, writeExpression } from './requirement-syntax.ts';

/** The maximum length of a placeholder's value. */
export const maxValueLength = 100;

/** The pattern of a placeholder without a requirement: anything but an encoded slash. */
const anything = '[^/]+';

const ambiguityErrors: Readonly<Record<Ambiguity, string>> = {
  exponential:
    'can backtrack catastrophically: a repeated part can match the same text in several ways, as in (a+)+ or (a|ab|b)*; ' +
    'rewrite it so that there is only one way to match a text',
  costly:
    'can backtrack catastrophically: too many repetitions or optional parts in a row can match the same text; merge them into one',
  large: 'is too large to be checked for catastrophic backtracking; use smaller numbers in {…} and fewer parts that can be empty',
};

/** The error of a requirement, as the end of a sentence, or null: invalid, unsupported, or prone to catastrophic backtracking. */
export function checkRequirement(source: string): string | null {
  try {
    const ambiguity = ambiguityOf(parseRequirement(source), maxValueLength);
    return ambiguity && ambiguityErrors[ambiguity];
  } catch (error) {
    if (error instanceof RequirementError) return error.message;
    throw error;
  }
}

/** The requirement as a regular expression without anchors and capturing groups, to be embedded; throws if it is invalid. */
export function requirementSource(source: string | undefined): string {
  if (source === undefined) return anything;
  try {
    return `(?:${writeExpression(parseRequirement(source))})`;
  } catch (error) {
    throw new Error(`The requirement "${source}" ${(error as Error).message}.`, { cause: error });
  }
}
