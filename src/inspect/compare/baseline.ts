import { type Fact, factIn, factsOf, lineOf } from './facts.ts';
import type { AccessMatrix } from './matrix.ts';

/** What was so when a baseline was saved, by its lines. */
export interface Baseline {
  readonly facts: ReadonlyMap<string, Fact>;
  readonly production: boolean;
}

export const baselineName = 'access.baseline';

const title = '# Who may do what: made by `declarest access --save`, compared by `declarest access --diff`.';
const environments = { true: '# As in production.', false: '# As outside production.' };

/** The text of a baseline: every fact on a line of its own, sorted. */
export function baselineText(matrix: AccessMatrix): string {
  const lines = factsOf(matrix).map(lineOf);
  return `${[title, environments[`${matrix.settings.production}`], ...lines].join('\n')}\n`;
}

/** A file that is no baseline, or was damaged. */
export class BaselineError extends Error {
  constructor(line: number, message: string) {
    super(`line ${line}: ${message}`);
    this.name = 'BaselineError';
  }
}

/** Reads a baseline. A line that cannot be understood is an error: what is passed over would never be missed. */
export function readBaseline(text: string): Baseline {
  const lines = text.split(/\r?\n/);
  if (lines[0] !== title) throw new BaselineError(1, 'it does not begin as a baseline does');
  const facts = new Map<string, Fact>();
  for (const [position, line] of lines.entries()) {
    if (line === '' || line.startsWith('#')) continue;
    const fact = factIn(line);
    if (!fact) throw new BaselineError(position + 1, `"${line}" is no fact that this version knows`);
    facts.set(line, fact);
  }
  if (facts.size === 0) throw new BaselineError(lines.length, 'it ends without a single fact');
  return { facts, production: lines.includes(environments.true) };
}
