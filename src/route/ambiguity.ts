import { type Automaton, buildAutomaton, TooLarge } from './automaton.ts';
import { contains, intersects, representatives } from './character-set.ts';
import { componentsOf } from './components.ts';
import type { Expression } from './requirement-syntax.ts';

/** How an expression wears out a backtracking matcher. */
export type Ambiguity =
  /** A text that is repeated doubles the work with each repetition, or more. */
  | 'exponential'
  /** Within the length that values may have, there is a text that takes more than a million steps. */
  | 'costly'
  /** Too large to be judged. */
  | 'large';

const mostPairs = 2_000_000;
const mostSteps = 1_000_000;
const mostVisits = 20_000_000;
const mostCandidates = 24;

/** Judges an expression that is to match values of up to `length` characters. */
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
 * Whether some state can be left and reached again in two different ways over the same text. Two walks that start together and read
 * the same characters are a walk over pairs of states; they part and come together again exactly if a pair of two different states lies
 * on a circle with a pair of equal ones.
 */
function isExponential({ sets, edges }: Automaton): boolean {
  const size = sets.length;
  const successors = (state: number) => [...(edges[state]?.keys() ?? [])].filter((next) => sets[next]?.length !== 0);
  const component = componentsOf([size], successors);
  // Only edges that lie on a circle matter: all others are walked once.
  const circling = Array.from({ length: size }, (_, state) =>
    successors(state).filter((next) => component.has(state) && component.get(state) === component.get(next)),
  );
  for (const [state, nexts] of circling.entries()) if (nexts.some((next) => (edges[state]?.get(next) ?? 0) > 1)) return true;

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
    for (const a of circling[Math.floor(pair / size)] as number[]) {
      for (const b of circling[pair % size] as number[]) {
        if (++pairs > mostPairs) throw new TooLarge();
        const next = pairOf(a, b);
        if (a === b || overlap(next, a, b)) found.push(next);
      }
    }
    return found;
  };
  const diagonal = circling.flatMap((nexts, state) => (nexts.length > 0 ? [state * size + state] : []));
  const components = componentsOf(diagonal, pairSuccessors);
  const withDiagonal = new Set(diagonal.map((pair) => components.get(pair)));
  for (const [pair, of] of components) {
    if (Math.floor(pair / size) !== pair % size && withDiagonal.has(of)) return true;
  }
  return false;
}

interface Candidate {
  /** How many ways lead to each state over the text so far. */
  readonly ways: ReadonlyMap<number, number>;
  readonly total: number;
  readonly steps: number;
}

/**
 * Looks for a text that takes a backtracking matcher more than {@link mostSteps} steps. There are too many texts to try all, so only the
 * most promising beginnings are followed. What is found is real; with exponential growth ruled out, what could be missed is tame.
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
