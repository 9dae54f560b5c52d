import { type Fact, factIn, factsOf, lineOf } from './facts.ts';
import type { AccessMatrix } from './matrix.ts';

/** The facts at the time a baseline was saved, by their lines. */
export type Baseline = ReturnType<typeof readBaseline>;

export const baselineName = 'access.baseline';

const title = '# Access rules, written by `declarest access --save` and compared by `declarest access --diff`.';
const environments = { true: '# Environment: production.', false: '# Environment: not production.' };

/** Baselines of earlier versions have these lines. */
const earlier = {
  title: '# Who may do what: made by `declarest access --save`, compared by `declarest access --diff`.',
  production: '# As in production.',
};

/** The text of a baseline: every fact on a line of its own, sorted. */
export function baselineText(matrix: AccessMatrix): string {
  const lines = factsOf(matrix).map(lineOf);
  return `${[title, environments[`${matrix.settings.production}`], ...lines].join('\n')}\n`;
}

/** Reads a baseline. An unknown line is an error: if it were skipped, its loss would never be reported. */
export function readBaseline(text: string) {
  const fail = (line: number, message: string) => new Error(`line ${line}: ${message}`);
  const lines = text.split(/\r?\n/);
  if (lines[0] !== title && lines[0] !== earlier.title) throw fail(1, 'it does not begin with the header of a baseline');
  const facts = new Map<string, Fact>();
  for (const [position, line] of lines.entries()) {
    if (line === '' || line.startsWith('#')) continue;
    const fact = factIn(line);
    if (!fact) throw fail(position + 1, `unknown fact "${line}"`);
    facts.set(line, fact);
  }
  if (facts.size === 0) throw fail(lines.length, 'it contains no facts');
  return { facts, production: lines.includes(environments.true) || lines.includes(earlier.production) };
}
