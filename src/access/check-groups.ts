import type { EntityProperty } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import type { Report } from '../declaration/report.ts';
import { didYouMean, listed } from '../declaration/suggest.ts';
import type { Declaration, DeclaredGroup } from '../declaration/types.ts';
import { checkRole } from './check-roles.ts';
import type { VoterRegistry } from './voter-registry.ts';

type Findings = Pick<Report, 'add' | 'warn'>;

/** Reports roles of groups that no voter judges, and warns of groups without effect. */
export function checkGroups({ apis, groups }: Declaration, mapper: Mapper, voters: VoterRegistry, findings: Findings): void {
  const used = apis.flatMap((api) => [api.groups, ...api.actions.map((action) => action.groups)]).flatMap(each);
  const inModels = groupsOfModels(mapper);
  for (const { name, path, role } of groups) {
    checkRole(role, [...path, 'role'], voters, findings);
    if (used.some((group) => group.name === name)) continue;
    findings.warn(path, `no API or action lists the group "${name}": nobody gets its fields; add it to "groups" of an API`);
  }
  const empty = used.filter(({ name, path }) => path !== null && !inModels.has(name));
  for (const { name, path } of new Map(empty.map((group) => [group.path?.join('\n'), group])).values())
    findings.warn(
      path ?? [],
      `no property is in the group "${name}";${didYouMean(name, inModels)} groups of the models: ${listed(inModels)}`,
    );
}

function each({ read, write }: { readonly read: readonly DeclaredGroup[]; readonly write: readonly DeclaredGroup[] }) {
  return [...read, ...write];
}

function groupsOfModels(mapper: Mapper): ReadonlySet<string> {
  const properties = [...mapper.getMetadata().getAll().values()].flatMap(
    (meta) => Object.values(meta.properties) as EntityProperty[],
  );
  return new Set(properties.flatMap(({ groups }) => groups ?? []).sort());
}
