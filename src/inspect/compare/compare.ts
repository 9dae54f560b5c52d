import type { ModelAccess } from '../models.ts';
import type { Baseline } from './baseline.ts';
import { type Change, closed, Facts, opened } from './changes.ts';
import { changesOfRoutes } from './compare-routes.ts';
import { changesOfSettings } from './compare-settings.ts';
import { factsOf } from './facts.ts';
import type { AccessMatrix } from './matrix.ts';

export type { Change };

/** What was opened and what was closed since a baseline was saved. */
export interface Comparison {
  readonly opened: readonly Change[];
  readonly closed: readonly Change[];
}

/** Compares what an application lets happen with what it did when its baseline was saved. */
export function compareAccess(baseline: Baseline, matrix: AccessMatrix): Comparison {
  const facts = new Facts([...baseline.facts.values()], factsOf(matrix));
  const changes = [
    ...changesOfSettings(facts, matrix.settings),
    ...changesOfModels(facts, matrix.models),
    ...changesOfRoutes(facts, matrix),
  ];
  return {
    opened: changes.filter(({ direction }) => direction === 'opened'),
    closed: changes.filter(({ direction }) => direction === 'closed'),
  };
}

/** What models have in their groups counts even where no route shows it: a handler can. */
function changesOfModels(facts: Facts, models: readonly ModelAccess[]): Change[] {
  return facts.aboutAll('model ').flatMap((about) => {
    const name = about.subject.slice('model '.length);
    const model = models.find((each) => each.model === name);
    if (!model) return [closed(null, `the model ${name}`, 'is gone')];
    const shown = Object.values(model.groups).flat();
    if (!about.isKnown && shown.length > 1) return [newModel(model)];
    const placeOf = (field: string) => [...shown, ...model.closed].find((each) => each.name === field)?.place ?? null;
    const rows = `rows of ${name}`;
    return [
      ...about.removed('filtered by').map((value) => opened(model.filtersPlace, rows, `are no longer filtered by ${value}`)),
      ...about.added('filtered by').map(({ value }) => closed(model.filtersPlace, rows, `are filtered by ${value} now`)),
      ...about.kinds
        .filter((kind) => kind !== 'filtered by')
        .flatMap((group) => [
          ...about.added(group).map(({ place, value }) => opened(place, `${name}.${value}`, `is in the group ${group} now`)),
          ...about
            .removed(group)
            .map((value) => closed(placeOf(value), `${name}.${value}`, `is no longer in the group ${group}`)),
        ]),
    ];
  });
}

function newModel({ groups, model, place }: ModelAccess): Change {
  const counts = Object.entries(groups).map(([group, { length }]) => `${length} in the group ${group}`);
  return opened(place, `the model ${model}`, `is new, with ${counts.join(' and ')}`);
}
