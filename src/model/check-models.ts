import { type EntityMetadata, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import { didYouMean, listed } from '../declaration/suggest.ts';
import type { ApiDeclaration, ListDeclaration, Path } from '../declaration/types.ts';
import { ownProperties } from './field-plan.ts';
import { unaddressableKey } from './identifier.ts';

interface Findings {
  add(path: Path, message: string): void;
  /** Whether something at the path was reported before. */
  touches(path: Path): boolean;
}

/** Reports APIs whose model cannot be served, and orders by what the model does not have. */
export function checkModels(apis: readonly ApiDeclaration[], mapper: Mapper, findings: Findings): void {
  for (const api of apis) {
    // a class that is missing or not known was reported before
    if (api.class.value === null || findings.touches([...api.path, 'class'])) continue;
    const meta = mapper.getMetadata().find(api.class.value as never) as EntityMetadata | undefined;
    if (!meta || meta.embeddable) {
      findings.add([...api.path, 'class'], `${api.class.name} is no entity with a table of its own`);
      continue;
    }
    if (meta.primaryKeys.length !== 1) {
      const keys = meta.primaryKeys.join(', ');
      findings.add(
        [...api.path, 'class'],
        `${api.class.name} needs a single primary key to be addressed by {id}; it has ${keys || 'none'}`,
      );
      continue;
    }
    const kind = unaddressableKey(meta, mapper.driver.getPlatform());
    if (kind) {
      const keys = 'an integer, a string, a UUID, an enum or a date';
      findings.add(
        [...api.path, 'class'],
        `the primary key of ${api.class.name} is of the kind "${kind}"; to be addressed by {id} it must be ${keys}`,
      );
      continue;
    }
    for (const { defaultSort, defaultSortPath } of listsOf(api)) {
      for (const [position, { property }] of defaultSort.entries()) {
        const trouble = sortTrouble(meta, property);
        if (trouble) findings.add([...defaultSortPath, position], trouble);
      }
    }
  }
}

/** The lists of an API, those of actions only where they have an order of their own. */
function listsOf({ actions, list }: ApiDeclaration): ListDeclaration[] {
  return [list, ...actions.flatMap((action) => action.list ?? []).filter(({ defaultSort }) => defaultSort !== list.defaultSort)];
}

function sortTrouble(meta: EntityMetadata, path: string): string | null {
  let owner = meta;
  const names = path.split('.');
  for (const [position, name] of names.entries()) {
    const property = ownProperties(owner).find((candidate) => candidate.name === name);
    if (!property || property.persist === false) {
      const known = ownProperties(owner)
        .filter(isSortable)
        .map((candidate) => candidate.name as string);
      return `${owner.className} has no column for "${name}";${didYouMean(name, known)} it has: ${listed(known)}`;
    }
    if (position === names.length - 1) {
      return property.kind === ReferenceKind.SCALAR
        ? null
        : `"${path}" is no single column; go on to one of its properties: ${path}.…`;
    }
    const isToOne = property.kind === ReferenceKind.MANY_TO_ONE || property.kind === ReferenceKind.ONE_TO_ONE;
    if (property.kind === ReferenceKind.EMBEDDED && property.targetMeta) owner = property.targetMeta;
    else if (isToOne && property.targetMeta) owner = property.targetMeta;
    else return `"${names.slice(0, position + 1).join('.')}" is no association to one entity`;
  }
  return null;
}

function isSortable(property: EntityProperty): boolean {
  return property.kind === ReferenceKind.SCALAR && property.persist !== false;
}
