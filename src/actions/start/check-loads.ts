import type { EntityMetadata } from '@mikro-orm/core';
import { rolesFor } from '../../access/guard.ts';
import { isVoterClass } from '../../access/voter.ts';
import type { Mapper } from '../../database/mapper.ts';
import type { Report } from '../../declaration/report.ts';
import { didYouMean } from '../../declaration/suggest.ts';
import type { ApiDeclaration, Catalog } from '../../declaration/types.ts';
import { rolesOfGroups } from '../../model/groups.ts';
import { isPath, pathsNear } from '../../store/load-paths.ts';

/** Reports `loads` of voters that are not associations of a model on which they vote. */
export function checkLoads(
  catalog: Catalog,
  apis: readonly ApiDeclaration[],
  mapper: Mapper,
  findings: Pick<Report, 'add'>,
): void {
  for (const { name, qualifiedName, value } of catalog.voters) {
    if (!isVoterClass(value) || value.loads.length === 0) continue;
    if (!Array.isArray(value.loads)) {
      findings.add([qualifiedName], `${name} must list what it loads: static loads = ['${value.loads}']`);
      continue;
    }
    const relevant = apis.filter((api) => rolesOf(api).some((role) => value.roles.includes(role)));
    const metas = relevant.flatMap(
      (api) => (mapper.getMetadata().find(api.class.value as never) as EntityMetadata | undefined) ?? [],
    );
    for (const path of metas.length > 0 ? value.loads : []) {
      if (metas.some((meta) => isPath(mapper, meta, path))) continue;
      const known = metas.flatMap((meta) => pathsNear(mapper, meta, path));
      findings.add(
        [qualifiedName],
        `${name} loads "${path}", which is not an association of a model that it votes on;${didYouMean(path, known)} associations: ${[...new Set(known)].join(', ') || 'none'}`,
      );
    }
  }
}

function rolesOf({ actions, baseRole }: ApiDeclaration): readonly string[] {
  return actions.flatMap((action) => [
    ...action.methods.flatMap((method) => rolesFor(action, baseRole, method)),
    ...rolesOfGroups([...action.groups.read, ...action.groups.write]),
  ]);
}
