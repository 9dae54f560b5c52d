import type { Baseline } from './baseline.ts';
import { type Change, Facts } from './changes.ts';
import { changesOfRoutes } from './compare-routes.ts';
import { changesOfSettings } from './compare-settings.ts';
import { factsOf } from './facts.ts';
import type { AccessMatrix, ModelAccess } from './matrix.ts';

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
  return facts.subjects
    .filter((subject) => subject.startsWith('model '))
    .flatMap((subject): Change[] => {
      const name = subject.slice('model '.length);
      const model = models.find((each) => each.model === name);
      if (!model) return [{ direction: 'closed', place: null, subject: `the model ${name}`, text: 'is gone' }];
      if (!facts.knew(subject) && Object.values(model.groups).flat().length > 1) return [newModel(model)];
      const { filtersPlace } = model;
      const fields = [...Object.values(model.groups).flat(), ...model.closed];
      const filters: Change[] = [
        ...facts.removed(subject, 'filtered by').map((value) => ({
          direction: 'opened' as const,
          place: filtersPlace,
          subject: `rows of ${name}`,
          text: `are no longer filtered by ${value}`,
        })),
        ...facts.added(subject, 'filtered by').map(({ value }) => ({
          direction: 'closed' as const,
          place: filtersPlace,
          subject: `rows of ${name}`,
          text: `are filtered by ${value} now`,
        })),
      ];
      const groups = facts.kindsOf(subject).filter((kind) => kind !== 'filtered by');
      const inGroups = groups.flatMap((group): Change[] => [
        ...facts.added(subject, group).map(({ value, place }) => ({
          direction: 'opened' as const,
          place,
          subject: `${name}.${value}`,
          text: `is in the group ${group} now`,
        })),
        ...facts.removed(subject, group).map((value) => ({
          direction: 'closed' as const,
          place: fields.find((field) => field.name === value)?.place ?? null,
          subject: `${name}.${value}`,
          text: `is no longer in the group ${group}`,
        })),
      ]);
      return [...filters, ...inGroups];
    });
}

function newModel({ groups, model, place }: ModelAccess): Change {
  const counts = Object.entries(groups).map(([group, { length }]) => `${length} in the group ${group}`);
  return { direction: 'opened', place, subject: `the model ${model}`, text: `is new, with ${counts.join(' and ')}` };
}
