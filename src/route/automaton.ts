import type { CharacterSet } from './character-set.ts';
import type { Expression } from './requirement-syntax.ts';

/**
 * The paths through an expression. A state is a position in the expression (repetitions expanded) that consumes one character. An
 * edge leads to a state that can consume the next one. It counts the different ways of a backtracking matcher to get there.
 */
export interface Automaton {
  readonly sets: readonly CharacterSet[];
  /** The edges from each state; the last entry has the edges from the start. */
  readonly edges: readonly ReadonlyMap<number, number>[];
}

/** Thrown if an expression is too large with its repetitions expanded. */
export class TooLarge extends Error {}

const mostStates = 2000;
const mostNodes = 5000;
const mostSteps = 300_000;

type Node =
  | { readonly kind: 'state'; readonly state: number; readonly next: number }
  | { readonly kind: 'split'; readonly next: number[] }
  // Around one iteration of an item that can match the empty text: an iteration that consumes nothing fails, as in JavaScript.
  | { readonly kind: 'begin' | 'end'; readonly iteration: number; readonly next: number }
  | { readonly kind: 'accept' };

/** Builds the automaton of an expression, or throws {@link TooLarge}. */
export function buildAutomaton(expression: Expression): Automaton {
  const graph = new Graph();
  const start = graph.build(expression, graph.accept);
  return { sets: graph.sets, edges: graph.edges(start) };
}

class Graph {
  readonly sets: CharacterSet[] = [];
  readonly #nodes: Node[] = [{ kind: 'accept' }];
  readonly accept = 0;
  #iterations = 0;
  #steps = 0;

  /** Adds the nodes of the expression before the node `next`, and returns the first of them. */
  build(expression: Expression, next: number): number {
    switch (expression.type) {
      case 'set':
        if (this.sets.length >= mostStates) throw new TooLarge();
        return this.#add({ kind: 'state', state: this.sets.push(expression.set) - 1, next });
      case 'sequence':
        return expression.items.reduceRight((after, item) => this.build(item, after), next);
      case 'choice':
        return this.#add({ kind: 'split', next: expression.options.map((option) => this.build(option, next)) });
      case 'repeat':
        return this.#repeat(expression, next);
    }
  }

  #repeat({ item, min, max }: Expression & { type: 'repeat' }, next: number): number {
    let at = next;
    if (max === Number.POSITIVE_INFINITY) {
      const loop: Node & { kind: 'split' } = { kind: 'split', next: [next] };
      at = this.#add(loop);
      loop.next.unshift(this.#iteration(item, at));
    } else {
      for (let i = min; i < max; i++) at = this.#add({ kind: 'split', next: [this.#iteration(item, at), next] });
    }
    for (let i = 0; i < min; i++) {
      const size = this.#nodes.length;
      at = this.build(item, at);
      // A repeated empty expression adds no nodes.
      if (this.#nodes.length === size) break;
    }
    return at;
  }

  #iteration(item: Expression, next: number): number {
    if (!isNullable(item)) return this.build(item, next);
    const iteration = this.#iterations++;
    const end = this.#add({ kind: 'end', iteration, next });
    return this.#add({ kind: 'begin', iteration, next: this.build(item, end) });
  }

  #add(node: Node): number {
    if (this.#nodes.length >= mostNodes) throw new TooLarge();
    return this.#nodes.push(node) - 1;
  }

  edges(start: number): Map<number, number>[] {
    const edges: Map<number, number>[] = [];
    for (const node of this.#nodes) if (node.kind === 'state') edges[node.state] = this.#reach(node.next);
    edges.push(this.#reach(start));
    return edges;
  }

  /** The states that come next, with the number of ways to each. */
  #reach(from: number): Map<number, number> {
    const ways = new Map<number, number>();
    const begun = new Set<number>();
    const visit = (index: number): void => {
      if (++this.#steps > mostSteps) throw new TooLarge();
      const node = this.#nodes[index] as Node;
      switch (node.kind) {
        case 'accept':
          return;
        case 'state':
          ways.set(node.state, (ways.get(node.state) ?? 0) + 1);
          return;
        case 'split':
          node.next.forEach(visit);
          return;
        case 'begin':
          begun.add(node.iteration);
          visit(node.next);
          begun.delete(node.iteration);
          return;
        case 'end':
          if (!begun.has(node.iteration)) visit(node.next);
      }
    };
    visit(from);
    return ways;
  }
}

function isNullable(expression: Expression): boolean {
  switch (expression.type) {
    case 'set':
      return false;
    case 'sequence':
      return expression.items.every(isNullable);
    case 'choice':
      return expression.options.some(isNullable);
    case 'repeat':
      return expression.min === 0 || isNullable(expression.item);
  }
}
