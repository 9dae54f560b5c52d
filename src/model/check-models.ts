import { type EntityMetadata, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import type { Mapper } from '../database/mapper.ts';
import type { Findings } from '../declaration/report.ts';
import { didYouMean, listed } from '../declaration/suggest.ts';
import type { ApiDeclaration, HttpMethod, ListDeclaration } from '../declaration/types.ts';
import { rulesOf } from './constraints.ts';
import { isToMany, ownProperties } from './field-plan.ts';
import { concreteClasses } from './hierarchy.ts';
import { isComposite, type KeyPart, keyParts, unaddressableKey } from './identifier.ts';
import { valueKindOf } from './value-kind.ts';

/** Reports models that cannot be served, and default sorts by columns that the model does not have. */
export function checkModels(
  apis: readonly ApiDeclaration[],
  mapper: Mapper,
  findings: Findings,
  validates: (controller: unknown) => boolean,
): void {
  for (const api of apis) {
    const at = [...api.path, 'class'];
    // a class that is missing or not known was reported before
    if (api.class.value === null || findings.touches(at)) continue;
    const meta = mapper.getMetadata().find(api.class.value as never) as EntityMetadata | undefined;
    const problem = modelProblem(api.class.name, meta, mapper);
    if (problem) findings.add(at, problem);
    if (!meta || problem) continue;
    checkReadOnly(api, meta, findings);
    checkConstraints(api, meta, mapper, findings, validates);
    for (const { defaultSort, defaultSortPath } of listsOf(api)) {
      for (const [position, { property }] of defaultSort.entries()) {
        const wrong = sortProblem(meta, property);
        if (wrong) findings.add([...defaultSortPath, position], wrong);
      }
    }
  }
}

const writing: readonly HttpMethod[] = ['POST', 'PUT', 'PATCH', 'DELETE'];

/** Reports writing methods of models that MikroORM only reads. Methods of controllers may write something else. */
function checkReadOnly({ actions }: ApiDeclaration, meta: EntityMetadata, findings: Findings): void {
  const kind = readOnlyKind(meta);
  if (kind === null) return;
  for (const { controllerAction, methods, path } of actions) {
    if (controllerAction !== null) continue;
    for (const method of methods.filter((each) => writing.includes(each))) {
      findings.add(
        [...path, 'methods', method],
        `${meta.className} is ${kind}, which cannot be written; remove ${method}, or handle it by controller_action`,
      );
    }
  }
}

function readOnlyKind({ readonly, view }: EntityMetadata): string | null {
  if (view) return 'a view';
  return readonly ? 'a read-only entity' : null;
}

/** Reports invalid constraints, and validation groups without constraints. */
function checkConstraints(
  { actions, controller, path }: ApiDeclaration,
  meta: EntityMetadata,
  mapper: Mapper,
  findings: Findings,
  validates: (controller: unknown) => boolean,
): void {
  const classes = concreteClasses(mapper, meta);
  let known: Set<string>;
  try {
    known = new Set(classes.flatMap((each) => rulesOf(each).flatMap(({ groups }) => groups ?? [])));
  } catch (error) {
    findings.add([...path, 'class'], (error as Error).message);
    return;
  }
  // a `validate` method gets the groups, and can use more of them than the constraints do
  if (
    (controller && validates(controller.value)) ||
    classes.some(({ class: type }) => typeof type.prototype.validate === 'function')
  )
    return;
  for (const { path: at, validationGroups } of actions) {
    for (const [position, group] of validationGroups.entries()) {
      if (known.has(group)) continue;
      const hint = `${didYouMean(group, known)} groups: ${listed(known)}`;
      findings.add([...at, 'validation_groups', position], `no constraint of ${meta.className} has the group "${group}";${hint}`);
    }
  }
}

function modelProblem(name: string, meta: EntityMetadata | undefined, mapper: Mapper): string | null {
  if (!meta || meta.embeddable) return `${name} is not an entity with its own table`;
  if (meta.primaryKeys.length === 0) return `${name} needs a primary key to be addressed by {id}; it has none`;
  const kind = unaddressableKey(meta, mapper.driver.getPlatform());
  const allowed = 'an integer, a string, a UUID, an enum or a date';
  const part = isComposite(meta) ? 'a part of the primary key' : 'the primary key';
  return kind && `${part} of ${name} is of the kind "${kind}"; to be addressed by {id} it must be ${allowed}`;
}

/** The default requirement of the ids of an API whose model has a composite key; null for others. */
export function idRequirementOf({ class: { value } }: ApiDeclaration, mapper: Mapper): string | null {
  const meta = value === null ? undefined : (mapper.getMetadata().find(value as never) as EntityMetadata | undefined);
  if (!meta || meta.embeddable || meta.primaryKeys.length === 0 || !isComposite(meta)) return null;
  const platform = mapper.driver.getPlatform();
  const isCounted = ({ leaf }: KeyPart) => ['integer', 'bigint'].includes(valueKindOf(leaf, platform).kind);
  // the parts of a text are checked when it is parsed, because a part can contain an encoded comma
  return keyParts(meta).every(isCounted)
    ? keyParts(meta)
        .map(() => '\\d+')
        .join(',')
    : '.+';
}

/** The lists of an API; those of actions only if they have their own default sort. */
function listsOf({ actions, list }: ApiDeclaration): ListDeclaration[] {
  return [list, ...actions.flatMap((action) => action.list ?? []).filter(({ defaultSort }) => defaultSort !== list.defaultSort)];
}

function sortProblem(meta: EntityMetadata, path: string): string | null {
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
        : `"${path}" is not a single column; name one of its properties: ${path}.…`;
    }
    if (property.targetMeta && !isToMany(property)) owner = property.targetMeta;
    else return `"${names.slice(0, position + 1).join('.')}" is not a to-one association`;
  }
  return null;
}

function isSortable(property: EntityProperty): boolean {
  return property.kind === ReferenceKind.SCALAR && property.persist !== false;
}
