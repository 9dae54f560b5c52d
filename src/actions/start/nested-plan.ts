import { type EntityMetadata, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import type { GuardFor } from '../../access/guard.ts';
import type { ApiRequest } from '../../access/user.ts';
import { type NestedField, type NestedPlan, noNested } from '../../change/nested.ts';
import type { Mapper } from '../../database/mapper.ts';
import { didYouMean, listed } from '../../declaration/suggest.ts';
import type { ApiDeclaration, NestedDeclaration, Path } from '../../declaration/types.ts';
import { jsonName, ownProperties } from '../../model/field-plan.ts';
import { concreteClasses } from '../../model/hierarchy.ts';
import { stateOf } from '../../store/request-state.ts';
import { userOf } from './runtime.ts';

/** The associations of an API whose rows a body creates together with their owner. */
export function nestedPlanOf({ nested }: ApiDeclaration, meta: EntityMetadata, guardFor: GuardFor, mapper: Mapper): NestedPlan {
  return nested.length === 0 ? noNested : planOf(nested, 0, meta, guardFor, mapper);
}

function planOf(
  declared: readonly NestedDeclaration[],
  depth: number,
  meta: EntityMetadata,
  guardFor: GuardFor,
  mapper: Mapper,
): NestedPlan {
  const plan = new Map<string, NestedField>();
  for (const each of declared) {
    const name = each.names[depth];
    const property = name !== undefined && each.names.length === depth + 1 ? associationOf(mapper, meta, name) : undefined;
    if (name === undefined || !property) continue;
    const inner = declared.filter(({ names }) => names.length > depth + 1 && names[depth] === name);
    const guard = guardFor(each.role === null ? [] : [each.role]);
    plan.set(name, {
      property,
      maxItems: each.maxItems,
      nested: planOf(inner, depth + 1, property.targetMeta as EntityMetadata, guardFor, mapper),
      check: (request) => {
        const state = stateOf(request as ApiRequest, mapper);
        state.checkedNested ??= new Set();
        const { checkedNested } = state;
        // once for a request, however many rows it creates
        if (checkedNested.has(each.path)) return undefined;
        checkedNested.add(each.path);
        return guard.check(null, userOf(request), request);
      },
    });
  }
  return plan;
}

interface Findings {
  add(path: Path, message: string, part?: 'key'): void;
}

/** Reports names that are not to-many associations whose rows belong to one owner. */
export function checkNested(apis: readonly ApiDeclaration[], mapper: Mapper, findings: Findings): void {
  for (const { class: model, nested } of apis) {
    const root = nested.length > 0 ? (mapper.getMetadata().find(model.value as never) as EntityMetadata | undefined) : undefined;
    if (!root) continue;
    for (const { names, path } of nested) {
      const message = mistakeIn(names, root, nested, mapper);
      if (message !== null) findings.add(path, message, 'key');
    }
  }
}

function mistakeIn(
  names: readonly string[],
  root: EntityMetadata,
  nested: readonly NestedDeclaration[],
  mapper: Mapper,
): string | null {
  let meta = root;
  for (const [depth, name] of names.entries()) {
    const property = propertiesOf(mapper, meta).find((each) => jsonName(each) === name);
    const owned = propertiesOf(mapper, meta).filter(isOwned).map(jsonName);
    const known = owned.length > 0 ? ` its associations: ${listed(owned)}` : ' it has no such association';
    if (!property) return `${meta.className} has no association "${name}";${didYouMean(name, owned)}${known}`;
    if (!isOwned(property))
      return property.kind === ReferenceKind.MANY_TO_MANY
        ? `${meta.className}.${name} is a many-to-many association, whose rows belong to several owners; create them with their own API and send references`
        : `${meta.className}.${name} is not a one-to-many association, whose rows belong to one owner;${known}`;
    const outer = names.slice(0, depth);
    if (depth > 0 && !nested.some((each) => each.names.join('.') === outer.join('.')))
      return `"${names.join('.')}" is inside of "${outer.join('.')}", which is not declared; add "${outer.join('.')}" to "nested"`;
    meta = property.targetMeta as EntityMetadata;
  }
  return null;
}

function associationOf(mapper: Mapper, meta: EntityMetadata, name: string): EntityProperty | undefined {
  return propertiesOf(mapper, meta).find((property) => isOwned(property) && jsonName(property) === name);
}

function propertiesOf(mapper: Mapper, meta: EntityMetadata): readonly EntityProperty[] {
  return [meta, ...concreteClasses(mapper, meta)].flatMap((each) => ownProperties(each));
}

/** Whether the rows of an association refer to one owner. */
function isOwned({ kind, mappedBy, targetMeta }: EntityProperty): boolean {
  return kind === ReferenceKind.ONE_TO_MANY && typeof mappedBy === 'string' && targetMeta !== undefined;
}
