import { type Change, closed, type Facts, opened } from './changes.ts';
import type { AccessMatrix } from './matrix.ts';

/** The changed roles of groups. Groups that nothing uses are left out. */
export function changesOfGroups(facts: Facts, { models, routes }: AccessMatrix): Change[] {
  const listed = routes.flatMap(({ groups }) => [...groups.read, ...groups.write]);
  const wasUsed = (name: string) => facts.aboutAll('model ').some((model) => model.before(name).length > 0);
  const isUsed = (name: string) =>
    listed.some((group) => group.name === name) || models.some(({ groups }) => Object.hasOwn(groups, name));
  return facts.aboutAll('group ').flatMap((about) => {
    const name = about.subject.slice('group '.length);
    const subject = `the ${about.subject}`;
    const [was] = about.removed('requires');
    const [now] = about.added('requires');
    if (now) {
      if (was !== undefined) return [opened(now.place, subject, `requires ${now.value} now, required ${was}`)];
      return wasUsed(name) ? [closed(now.place, subject, `requires ${now.value} now`)] : [];
    }
    if (was === undefined || !isUsed(name)) return [];
    const place = listed.find((group) => group.name === name)?.rolePlace ?? null;
    return [opened(place, subject, `no longer requires ${was}`)];
  });
}
