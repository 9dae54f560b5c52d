import { type Automaton, buildAutomaton, TooLarge } from './automaton.ts';
import { contains, intersects, representatives } from './character-set.ts';
import { componentsOf } from './components.ts';
import type { Expression } from './requirement-syntax.ts';

/** Why an expression is too expensive for a backtracking matcher. */
export type Ambiguity =
  /** Each repetition of some text at least doubles the work. */
  | 'exponential'
  /** Some text within the allowed length takes more than a million steps. */
  | 'costly'
  /** Too large for the analysis. */
  | 'large';

const mostPairs = 2_000_000;
const mostSteps = 1_000_000;
const mostVisits = 20_000_000;
const mostCandidates = 24;

/** Analyses an expression for values of up to `length` characters. */
export function ambiguityOf(expression: Expression, length: number): Ambiguity | null {
  try {
    const automaton = buildAutomaton(expression);
    if (isExponential(automaton)) return 'exponential';
    return isCostly(automaton, length) ? 'costly' : null;
  } catch (error) {
    if (error instanceof TooLarge) return 'large';
    throw error;
  }
}

/**
 * Whether two different paths lead from a state back to itself over the same text. Two paths that start together and read the
 * same characters are one path over pairs of states. They part and meet again exactly if a pair of different states is on a cycle
 * with a pair of equal states.
 */
function isExponential({ sets, edges }: Automaton): boolean {
  const size = sets.length;
  const successors = (state: number) => [...(edges[state]?.keys() ?? [])].filter((next) => sets[next]?.length !== 0);
  const component = componentsOf([size], successors);
  // Only edges on a cycle matter: a path passes all others once.
  const cyclic = Array.from({ length: size }, (_, state) =>
    successors(state).filter((next) => component.has(state) && component.get(state) === component.get(next)),
  );
  for (const [state, nexts] of cyclic.entries()) if (nexts.some((next) => (edges[state]?.get(next) ?? 0) > 1)) return true;

  let pairs = 0;
  const pairOf = (a: number, b: number) => (a < b ? a * size + b : b * size + a);
  const overlapping = new Map<number, boolean>();
  const overlap = (pair: number, a: number, b: number) => {
    const known = overlapping.get(pair) ?? intersects(sets[a] ?? [], sets[b] ?? []);
    overlapping.set(pair, known);
    return known;
  };
  const pairSuccessors = (pair: number): number[] => {
    const found: number[] = [];
    for (const a of cyclic[Math.floor(pair / size)] as number[]) {
      for (const b of cyclic[pair % size] as number[]) {
        if (++pairs > mostPairs) throw new TooLarge();
        const next = pairOf(a, b);
        if (a === b || overlap(next, a, b)) found.push(next);
      }
    }
    return found;
  };
  const diagonal = cyclic.flatMap((nexts, state) => (nexts.length > 0 ? [state * size + state] : []));
  const components = componentsOf(diagonal, pairSuccessors);
  const withDiagonal = new Set(diagonal.map((pair) => components.get(pair)));
  for (const [pair, of] of components) {
    if (Math.floor(pair / size) !== pair % size && withDiagonal.has(of)) return true;
  }
  return false;
}

interface Candidate {
  /** The number of ways to each state over the text so far. */
  readonly ways: ReadonlyMap<number, number>;
  readonly total: number;
  readonly steps: number;
}

/**
 * Looks for a text that takes a backtracking matcher more than {@link mostSteps} steps. There are too many texts to try all, so
 * only the most promising prefixes are extended. There are no false alarms. A text that is missed is harmless, because
 * exponential growth is already ruled out.
 */
function isCostly({ sets, edges }: Automaton, length: number): boolean {
  const characters = representatives(sets).map((character) => sets.map((set) => contains(set, character)));
  let candidates: Candidate[] = [{ ways: new Map([[sets.length, 1]]), total: 1, steps: 1 }];
  let visits = 0;
  for (let position = 0; position < length && candidates.length > 0; position++) {
    const best = new Map<string, Candidate>();
    for (const candidate of candidates) {
      for (const accepted of characters) {
        const ways = new Map<number, number>();
        let total = 0;
        for (const [state, count] of candidate.ways) {
          for (const [next, multiplicity] of edges[state] as ReadonlyMap<number, number>) {
            visits++;
            if (!accepted[next]) continue;
            ways.set(next, (ways.get(next) ?? 0) + count * multiplicity);
            total += count * multiplicity;
          }
        }
        const steps = candidate.steps + total;
        if (steps > mostSteps) return true;
        if (total === 0) continue;
        const key = [...ways.keys()].sort((a, b) => a - b).join();
        if ((best.get(key)?.steps ?? 0) < steps) best.set(key, { ways, total, steps });
      }
    }
    if (visits > mostVisits) throw new TooLarge();
    candidates = [...best.values()].sort((a, b) => b.total - a.total || b.steps - a.steps).slice(0, mostCandidates);
  }
  return false;
}
