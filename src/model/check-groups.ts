import type { EntityMetadata } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import { didYouMean, listed } from '../declaration/suggest.ts';
import type { ApiDeclaration, BoundGroup, Path } from '../declaration/types.ts';
import { embeddedTargets, ownProperties, targetsOf } from './field-plan.ts';
import { groupsOfProperty, readGroups, writeGroups } from './groups.ts';
import { concreteClasses } from './hierarchy.ts';

interface Findings {
  add(path: Path, message: string): void;
  warn(path: Path, message: string): void;
  /** Whether something at the path was reported before. */
  touches(path: Path): boolean;
}

/** Reports groups that neither a model nor `app_main.groups` knows. Warns of groups with a role that no property has or no API uses. */
export function checkGroups(
  apis: readonly ApiDeclaration[],
  bound: readonly BoundGroup[],
  mapper: Mapper,
  findings: Findings,
): void {
  const used = new Set<string>();
  const inModels = groupsOfModels(mapper);
  const reported = new Set<string>();
  for (const api of apis) {
    const meta = mapper.getMetadata().find(api.class.value as never) as EntityMetadata | undefined;
    const isUnknown = !meta || findings.touches([...api.path, 'class']);
    const known = isUnknown ? null : groupsReachable(mapper, meta);
    for (const { read, write } of [api.groups, ...api.actions.map(({ groups }) => groups)]) {
      for (const { name, path } of [...read, ...write]) {
        used.add(name);
        const isDefault = readGroups.includes(name) || writeGroups.includes(name);
        const isKnown = inModels.has(name) || bound.some((group) => group.name === name);
        if (!known || !path || isDefault || isKnown || reported.has(path.join('\n'))) continue;
        // actions inherit the groups of their API
        reported.add(path.join('\n'));
        findings.add(
          path,
          `no property of ${api.class.name}, or of a model that it embeds, has the group "${name}";${didYouMean(name, known)} groups: ${listed(known)}`,
        );
      }
    }
  }
  for (const { name, path } of bound) {
    if (!used.has(name))
      findings.warn(path, `no API uses the group "${name}"; add it to "groups" of an API or action, or remove it`);
    else if (!inModels.has(name))
      findings.warn(path, `no property has the group "${name}"; add it to a property of a model, or remove it here`);
  }
}

function groupsOfModels(mapper: Mapper): ReadonlySet<string> {
  const models = [...mapper.getMetadata().getAll().values()] as EntityMetadata[];
  return new Set(models.flatMap((meta) => ownProperties(meta).flatMap(groupsOfProperty)));
}

/** The groups of the properties of a model, and of all models that its rows can embed. */
function groupsReachable(mapper: Mapper, meta: EntityMetadata): ReadonlySet<string> {
  const groups = new Set<string>();
  const visited = new Set<EntityMetadata>();
  const pending = [meta];
  for (let next = pending.pop(); next; next = pending.pop()) {
    if (visited.has(next)) continue;
    visited.add(next);
    pending.push(...(next.embeddable ? [] : concreteClasses(mapper, next)));
    for (const property of ownProperties(next)) {
      for (const group of groupsOfProperty(property)) groups.add(group);
      pending.push(...(property.embeddable ? embeddedTargets(mapper, property) : targetsOf(property)));
    }
  }
  return groups;
}
