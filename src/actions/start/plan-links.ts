import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import { accessorsFor } from '../../change/accessors.ts';
import type { ActionDeclaration, HttpMethod } from '../../declaration/types.ts';
import type { ActiveGroups } from '../../model/groups.ts';
import { hasDiscriminator, metaOf } from '../../model/hierarchy.ts';
import { identifierParser, isComposite } from '../../model/identifier.ts';
import { hasRules } from '../../model/own-code.ts';
import { referringUpdates } from '../../store/inbound-versions.ts';
import { LinkStore, type RowLinking } from '../../store/link-store.ts';
import { ChildMethodLinks, type Children, childColumn } from '../../store/method-links/child-method-links.ts';
import { PivotMethodLinks } from '../../store/method-links/pivot-method-links.ts';
import { pivotFor } from '../../store/plain-pivot.ts';
import { RowLinks } from '../../store/row-links.ts';
import { RowWrites } from '../../store/row-writes.ts';
import { unitOfWorkReason } from '../../store/unit-of-work.ts';
import { hookWith } from '../hooks.ts';
import type { ApiRuntime } from './runtime.ts';
import { checkedRead, plainBody, readsSubject, referencesTo, responseRead, rowStore, type WritePlanning } from './write-parts.ts';

/** The store for changes of a declared association. `planning` is a text if compiled statements are out of the question. */
export function planLink(
  api: ApiRuntime,
  { association, name }: ActionDeclaration,
  method: HttpMethod,
  planning: WritePlanning | string,
  groups: ActiveGroups,
): { readonly store: LinkStore; readonly reason: string | null } {
  const { entities, framework, meta } = api;
  if (typeof planning === 'string') return { store: api.entityLinks, reason: planning };
  const { associations, mapper } = framework;
  const inEntities = (reason: string) => ({ store: new LinkStore(mapper, entities, associations, null), reason });
  const property = meta.properties[association?.property as never] as EntityProperty | undefined;
  const pivot = property ? pivotFor(mapper, meta, property) : null;
  const named = association?.types.map(({ value }) => mapper.getMetadata().get(value as never) as EntityMetadata) ?? [];
  const target = pivot ? property?.targetMeta : named[0];
  const hook = hookWith(api.overrides, 'changes');
  if (hook) return inEntities(`the controller has ${hook}, which runs during writes`);
  if (associations.denormalizesBody(`${api.api.name}.${name}`)) return inEntities('a denormalizer reads its body');
  const children = property && target && !pivot ? planChildren(api, property, target, planning, groups) : null;
  if (typeof children === 'string') return inEntities(children);
  if (!property || !target || !(pivot || children))
    return inEntities(`${association?.property} is neither a plain pivot table nor a plain one-to-many association`);
  const methods = accessorsFor(meta, property.name as string, target).methods;
  const hasMethods = (methods.add ?? methods.remove) !== null;
  const hasCode = hasMethods || hasRules(meta);
  if (hasCode && (isComposite(meta) || isComposite(target)))
    return inEntities(`methods or rules of ${meta.className} take part, and a key has several columns`);
  const work = sharedTable(meta) ?? unitOfWorkReason(mapper, meta, 'update');
  if (work) return inEntities(work);
  const references = referencesTo(api, property.name as string, target);
  if (!references || named.some((type) => type.class !== target.class)) return inEntities('its items need more than a key');
  const items = responseRead(api, target, { ...groups, read: groups.embedded }, planning.executor);
  const owners = responseRead(api, meta, groups, planning.executor);
  const checked = checkedRead(api, meta, hasCode || readsSubject(api, name, method), planning.executor);
  if (typeof items === 'string') return inEntities(items);
  if (typeof owners === 'string') return inEntities(owners);
  if (typeof checked === 'string') return inEntities(checked);
  const given = hasCode ? checkedRead(api, target, true, planning.executor) : null;
  if (typeof given === 'string') return inEntities(given);
  const { executor, writer } = planning;
  const shownOwners = rowStore(api, meta, owners, planning);
  const shownItems = rowStore(api, target, items, planning);
  const writes = new RowWrites({ mapper, meta, rows: shownOwners, writer, executor, associations, code: null });
  const common = { mapper, meta, property, target, executor, writer, owners: writes.changes, entities };
  const plain = plainBody(api, groups);
  const withMethods = given && { ...common, shownOwners, shownItems, items: given, plain };
  const links = children
    ? withMethods && new ChildMethodLinks(withMethods, children)
    : withMethods
      ? new PivotMethodLinks(withMethods, pivot as NonNullable<typeof pivot>)
      : new RowLinks(mapper, target, pivot as NonNullable<typeof pivot>, { owners: writes.changes, items, writer });
  if (!links) return inEntities(`${property.targetMeta?.className} rows are made by no method of ${meta.className}`);
  const linking: RowLinking = {
    target,
    references,
    parseId: identifierParser(target, mapper.driver.getPlatform(), 'json'),
    links,
    items: shownItems,
    writes,
    checked: rowStore(api, meta, checked, planning),
  };
  return { store: new LinkStore(mapper, entities, associations, linking), reason: null };
}

/**
 * The rows of a one-to-many association in which methods of the model keep items of another class. A text says why statements
 * alone cannot write them.
 */
function planChildren(
  api: ApiRuntime,
  property: EntityProperty,
  target: EntityMetadata,
  planning: WritePlanning,
  groups: ActiveGroups,
): Children | string | null {
  const { mapper } = api.framework;
  // that of the association lacks the version
  const child = metaOf(mapper, property.targetMeta?.class);
  const owner = childColumn(mapper, api.meta, property);
  if (!owner) return null;
  if (accessorsFor(api.meta, property.name as string, target).holds) return `adding moves rows of ${child.className}`;
  const [work] = (['create', 'update'] as const).flatMap((change) => unitOfWorkReason(mapper, child, change) ?? []);
  const refusal = sharedTable(child) ?? work;
  if (refusal) return refusal;
  const made = child.props.find(({ onCreate }) => onCreate && onCreate.length > 1);
  if (made) return `${child.className}.${String(made.name)} is made with an entity manager`;
  const read = checkedRead(api, child, true, planning.executor);
  if (typeof read === 'string') return read;
  const shown = responseRead(api, child, { ...groups, read: groups.embedded }, planning.executor);
  if (typeof shown === 'string') return shown;
  const mayRemove =
    property.orphanRemoval === true &&
    unitOfWorkReason(mapper, child, 'delete') === null &&
    referringUpdates(mapper, child, () => '?').length === 0;
  return { meta: child, owner, read, shown: rowStore(api, child, shown, planning), mayRemove };
}

function sharedTable(meta: EntityMetadata): string | null {
  return hasDiscriminator(meta) ? `${meta.className} shares its table with other classes` : null;
}
