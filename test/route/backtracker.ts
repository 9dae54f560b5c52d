import { contains } from '../../src/route/character-set.ts';
import type { Expression } from '../../src/route/requirement-syntax.ts';

/** Thrown where a match takes more steps than it was given. */
export class OutOfSteps extends Error {}

/** Matches as ECMAScript says a backtracking matcher does, and counts the characters it looks at. */
export function backtrack(
  expression: Expression,
  text: string,
  most = Number.POSITIVE_INFINITY,
): { matched: boolean; steps: number } {
  let steps = 0;
  const run = (node: Expression, at: number, then: (at: number) => boolean): boolean => {
    switch (node.type) {
      case 'set':
        if (++steps > most) throw new OutOfSteps();
        return at < text.length && contains(node.set, text.charCodeAt(at)) && then(at + 1);
      case 'sequence':
        return node.items.reduceRight<(at: number) => boolean>((after, item) => (from) => run(item, from, after), then)(at);
      case 'choice':
        return node.options.some((option) => run(option, at, then));
      case 'repeat':
        return repeat(node, node.min, node.max, at, then);
    }
  };
  const repeat = (
    node: Expression & { type: 'repeat' },
    min: number,
    max: number,
    at: number,
    then: (at: number) => boolean,
  ): boolean => {
    if (++steps > most) throw new OutOfSteps();
    if (max === 0) return then(at);
    const once = () =>
      run(node.item, at, (end) => (min === 0 && end === at ? false : repeat(node, Math.max(min - 1, 0), max - 1, end, then)));
    if (min > 0) return once();
    return node.lazy ? then(at) || once() : once() || then(at);
  };
  return { matched: run(expression, 0, (end) => end === text.length), steps };
}

/** The steps, or infinity where there are more than `most`. */
export function stepsOf(expression: Expression, text: string, most: number): number {
  try {
    return backtrack(expression, text, most).steps;
  } catch (error) {
    if (error instanceof OutOfSteps) return Number.POSITIVE_INFINITY;
    throw error;
  }
}
