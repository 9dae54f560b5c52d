import type { RouteAccess } from '../compare/matrix.ts';
import type { Judgement } from './suite-judge.ts';

interface CoverageOptions {
  readonly sameForEveryRow?: readonly string[];
  readonly neverRefused?: readonly string[];
}

/** What the tests of a suite have covered: a suite that tried nothing must not pass. */
export class SuiteCoverage {
  readonly #options: CoverageOptions;
  readonly #actors: number;
  readonly #seen = new Map<string, { actors: Set<string>; granted: boolean; refused: boolean; rows: boolean }>();
  /** By role: whether its voters ever decided differently about two rows. */
  readonly #told = new Map<string, boolean>();

  constructor(actors: number, options: CoverageOptions) {
    this.#options = options;
    this.#actors = actors;
  }

  /** Notes the judgements of a route for an actor, one for each row; none if there is no row. */
  note(route: RouteAccess, actor: string, judged: readonly Judgement[]): void {
    const seen = this.#seen.get(keyOf(route)) ?? { actors: new Set(), granted: false, refused: false, rows: false };
    this.#seen.set(keyOf(route), seen);
    seen.actors.add(actor);
    seen.rows ||= judged.length > 0;
    seen.granted ||= judged.some(({ verdict }) => verdict === 'granted');
    seen.refused ||= judged.some(({ verdict }) => verdict !== 'granted');
    const subjects = judged.filter(({ key }) => key !== null);
    for (const role of new Set(subjects.flatMap(({ own }) => [...own.keys()]))) {
      const answers = new Set(subjects.flatMap(({ own }) => own.get(role) ?? []));
      this.#told.set(role, (this.#told.get(role) ?? false) || answers.size > 1);
    }
  }

  /** Fails for routes that were never granted or never refused. Skips routes if some of their tests did not run. */
  checkRoutes(routes: readonly RouteAccess[]): void {
    const faults = routes.flatMap((route) => {
      const seen = this.#seen.get(keyOf(route));
      if (!seen || seen.actors.size < this.#actors) return [];
      const title = `${route.method} ${route.path}`;
      if (!seen.rows) return [`${title}: there is no row of ${route.model}; add one in the seed, or by prepare: (em) => …`];
      const roles = route.roles.map(({ role, voters }) => `${role} (${voters.join(', ')})`).join(' and ');
      if (!seen.granted) return [`${title}: nobody was granted ${roles || 'it'}; give actors: { … } a user who is`];
      if (route.public || seen.refused || this.#options.neverRefused?.includes(keyOf(route))) return [];
      return [
        `${title}: nobody was refused ${roles}; give actors: { … } a user who is, or say that all may: neverRefused: ['${keyOf(route)}']`,
      ];
    });
    if (faults.length > 0) throw new Error(`these tests have proven too little:\n${faults.join('\n')}`);
  }

  /** Fails for roles that each caller has for all rows or for none: the voter ignores the row, or the rows do not differ. */
  checkVoters(): void {
    const { sameForEveryRow = [] } = this.#options;
    const roles = [...this.#told].flatMap(([role, told]) => (told || sameForEveryRow.includes(role) ? [] : [role]));
    if (roles.length === 0) return;
    throw new Error(
      `whoever was asked about, ${roles.join(', ')} was the same for every row: give actors who have a right to one row and not to ` +
        `another, or say that the row does not matter: sameForEveryRow: ${JSON.stringify(roles)}`,
    );
  }
}

function keyOf({ method, name }: RouteAccess): string {
  return `${method} ${name}`;
}
