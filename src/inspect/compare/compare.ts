import type { ModelAccess } from '../models.ts';
import type { Baseline } from './baseline.ts';
import { type Change, closed, type Facts, opened, pairFacts } from './changes.ts';
import { changesOfGroups } from './compare-groups.ts';
import { changesOfRoutes } from './compare-routes.ts';
import { changesOfSettings } from './compare-settings.ts';
import { factsOf } from './facts.ts';
import type { AccessMatrix } from './matrix.ts';

export type { Change };

/** Access that was opened or closed since the baseline was saved. */
export type Comparison = ReturnType<typeof compareAccess>;

/** Compares the access matrix of an application with its baseline. */
export function compareAccess(baseline: Baseline, matrix: AccessMatrix) {
  const facts = pairFacts([...baseline.facts.values()], factsOf(matrix));
  const changes = [
    ...changesOfSettings(facts, matrix.settings),
    ...changesOfModels(facts, matrix),
    ...changesOfGroups(facts, matrix),
    ...changesOfRoutes(facts, matrix),
  ];
  const { opened = [], closed = [] } = Object.groupBy(changes, ({ direction }) => direction);
  return { opened, closed };
}

/** Groups count even if no route shows the model: a handler can. */
function changesOfModels(facts: Facts, { groups: bound, models }: AccessMatrix): Change[] {
  const wasBound = (group: string) => facts.about(`group ${group}`).before('requires').length > 0;
  const isBound = (group: string) => bound.some(({ name }) => name === group);
  return facts.aboutAll('model ').flatMap((about) => {
    const name = about.subject.slice('model '.length);
    const model = models.find((each) => each.model === name);
    if (!model) return [closed(null, `the model ${name}`, 'was removed')];
    const shown = Object.values(model.groups).flat();
    if (!about.isKnown && shown.length > 1) return [newModel(model)];
    const placeOf = (field: string) => [...shown, ...model.closed].find((each) => each.name === field)?.place ?? null;
    const rows = `rows of ${name}`;
    const groups = about.kinds.filter((kind) => kind !== 'filtered by');
    // from a group for everyone into one with a role: routes that show more than before are reported by themselves
    const isLimited = (group: string, field: string) =>
      isBound(group) && groups.some((other) => !wasBound(other) && about.removed(other).includes(field));
    return [
      ...about.removed('filtered by').map((value) => opened(model.filtersPlace, rows, `are no longer filtered by ${value}`)),
      ...about.added('filtered by').map(({ value }) => closed(model.filtersPlace, rows, `are filtered by ${value} now`)),
      ...groups.flatMap((group) => [
        ...about
          .added(group)
          .map(({ place, value }) =>
            (isLimited(group, value) ? closed : opened)(place, `${name}.${value}`, `is in the group ${group} now`),
          ),
        ...about.removed(group).map((value) => closed(placeOf(value), `${name}.${value}`, `is no longer in the group ${group}`)),
      ]),
    ];
  });
}

function newModel({ groups, model, place }: ModelAccess): Change {
  const counts = Object.entries(groups).map(([group, { length }]) => `${length} in the group ${group}`);
  return opened(place, `the model ${model}`, `is new, with ${counts.join(' and ')}`);
}
