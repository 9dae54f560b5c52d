import type { RouteAccess } from '../compare/matrix.ts';
import type { Judgement } from './suite-judge.ts';

interface CoverageOptions {
  readonly sameForEveryRow?: readonly string[];
  readonly neverRefused?: readonly string[];
}

/** The coverage of a suite: it must not pass if its tests checked nothing. */
export function suiteCoverage(actors: number, { sameForEveryRow = [], neverRefused = [] }: CoverageOptions) {
  const notes: { readonly key: string; readonly actor: string; readonly judged: readonly Judgement[] }[] = [];
  return {
    /** Notes the judgements of a route for an actor, one for each row; none if there is no row. */
    note(route: RouteAccess, actor: string, judged: readonly Judgement[]): void {
      notes.push({ key: keyOf(route), actor, judged });
    },

    /** Fails for routes that were never granted or never refused. Skips routes if some of their tests did not run. */
    checkRoutes(routes: readonly RouteAccess[]): void {
      const faults = routes.flatMap((route) => {
        const own = notes.filter(({ key }) => key === keyOf(route));
        if (new Set(own.map(({ actor }) => actor)).size < actors) return [];
        const verdicts = new Set(own.flatMap(({ judged }) => judged.map(({ verdict }) => verdict)));
        const title = `${route.method} ${route.path}`;
        if (verdicts.size === 0) return [`${title}: ${route.model} has no row; add one in the seed, or with prepare: (em) => …`];
        const roles = route.roles.map(({ role, voters }) => `${role} (${voters.join(', ')})`).join(' and ');
        const loader = route.hooks.find(({ value }) => value.endsWith('.getEntity'));
        if (loader && verdicts.has('hidden') && verdicts.size === 1)
          return [
            `${title}: ${loader.value} returned none of the rows; if it does not accept keys, set what it accepts: ids: { ${route.api}: (row) => … }`,
          ];
        if (!verdicts.delete('granted'))
          return [`${title}: no caller was granted ${roles || 'it'}; add a user who is to actors: { … }`];
        if (route.public || verdicts.size > 0 || neverRefused.includes(keyOf(route))) return [];
        return [
          `${title}: no caller was denied ${roles}; add a user who is to actors: { … }, or allow it: neverRefused: ['${keyOf(route)}']`,
        ];
      });
      if (faults.length > 0) throw new Error(`the access suite does not cover enough:\n${faults.join('\n')}`);
    },

    /** Fails for roles that each caller has for all rows or for none: the voter ignores the row, or the rows do not differ. */
    checkVoters(): void {
      const differing = new Map<string, boolean>();
      for (const { judged } of notes) {
        const decisions = judged.filter(({ key }) => key !== null).flatMap(({ own }) => [...own]);
        for (const [role, those] of Map.groupBy(decisions, ([name]) => name))
          differing.set(role, differing.get(role) || new Set(those.map(([, granted]) => granted)).size > 1);
      }
      const roles = [...differing].flatMap(([role, differs]) => (differs || sameForEveryRow.includes(role) ? [] : [role]));
      if (roles.length === 0) return;
      throw new Error(
        `every caller got the same decision on ${roles.join(', ')} for all rows: add actors who may access one row but not ` +
          `another, or declare that the row does not matter: sameForEveryRow: ${JSON.stringify(roles)}`,
      );
    },
  };
}

function keyOf({ method, name }: RouteAccess): string {
  return `${method} ${name}`;
}
