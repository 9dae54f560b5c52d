import { Collection, type EntityMetadata, type EntityProperty, helper, Reference, ReferenceKind } from '@mikro-orm/core';
import type { RequestEntityManager } from '../../database/mapper.ts';
import { dialectOn } from '../../dialect/dialect.ts';
import { problem } from '../../errors.ts';
import { isTurnLong, nextTurn } from '../../event-loop.ts';
import { keyText } from '../../model/composite-key.ts';
import { isToMany } from '../../model/field-plan.ts';
import { entityKey, isComposite, keyOf, keyParts } from '../../model/identifier.ts';
import { amongAny, databaseKey, hasOneOf, keyNames } from '../../model/key-condition.ts';
import { isFiltered } from './filters.ts';
import { markUnchanged } from './hold-row.ts';
import { keyOrder, sentKeys } from './keys.ts';

/** Entities that are made at once; if there are more, {@link partSize}. */
const stepSize = 1000;

const partSize = 250;

/** The most entities that one entity may embed through an association. More are possible if compiled statements read them. */
const mostEmbedded = 10_000;

/**
 * Loads an association or a lazy column of entities, at most {@link stepSize} items at a time as far as their numbers are known.
 * Throws 413 if an owner has more than `most` items.
 */
export async function populateInSteps(
  em: RequestEntityManager,
  owners: readonly object[],
  property: string,
  most = mostEmbedded,
): Promise<void> {
  for (const group of bySource(owners, property)) await populateGroup(em, group, property, most);
}

/**
 * Owners whose items MikroORM can read at once: it reads those of all as the class of the first owner does. With a table for each
 * class, each class has a pivot table of its own.
 */
function bySource(owners: readonly object[], name: string): Iterable<readonly object[]> {
  const sourceOf = ({ properties }: EntityMetadata) => {
    const { fieldNames, pivotTable, targetMeta } = (properties as Record<string, EntityProperty>)[name] ?? {};
    return JSON.stringify([targetMeta?.uniqueName, fieldNames, pivotTable]);
  };
  const byClass = Map.groupBy(owners, (owner) => helper(owner).__meta as EntityMetadata);
  if (byClass.size < 2) return owners.length > 0 ? [owners] : [];
  const groups = Map.groupBy(byClass, ([meta]) => sourceOf(meta));
  return [...groups.values()].map((group) => group.flatMap(([, some]) => some));
}

async function populateGroup(em: RequestEntityManager, owners: readonly object[], property: string, most: number): Promise<void> {
  const [first] = owners;
  const association = first && (helper(first).__meta.properties as Record<string, EntityProperty>)[property];
  const isList = association !== undefined && isToMany(association);
  const counts = isList ? await countItems(em, owners, association) : null;
  const isWhole = association !== undefined && holdsAllRows(association);
  // a lazy column belongs to a row that was found, and filters would leave it out: those of a subclass, or through associations
  const options = association?.kind === ReferenceKind.SCALAR ? { filters: false } : {};
  for (const step of stepsOf(owners, counts)) {
    if (isTurnLong()) await nextTurn();
    const [owner] = step as [object];
    const count = counts?.get(owner) ?? 0;
    if (isWhole && count > most) throw tooMany(property);
    if (isWhole && count > stepSize && canReadByKeys(association)) await readByKeys(em, owner, association);
    else await em.populate([...step], [property] as never, options as never);
    if (isList && !(isWhole && counts)) for (const each of step) if (itemsOf(each, property) > most) throw tooMany(property);
  }
}

/** Loads paths of associations, such as `members.address`, from the entities that have them, for code that needs all their rows. */
export async function populatePaths(
  em: RequestEntityManager,
  owners: readonly object[],
  paths: readonly string[],
): Promise<void> {
  for (const [name, group] of Map.groupBy(paths, (path) => path.split('.')[0] as string)) {
    const known = owners.filter((owner) => name in helper(owner).__meta.properties);
    await populateInSteps(em, known, name, Number.POSITIVE_INFINITY);
    const rest = group.flatMap((path) => (path.includes('.') ? [path.slice(name.length + 1)] : []));
    const items = rest.length > 0 ? [...new Set(known.flatMap((owner) => associatedBy(owner, name)))] : [];
    await populatePaths(em, items, rest);
  }
}

function associatedBy(owner: object, property: string): object[] {
  const value = (owner as Record<string, unknown>)[property];
  if (value instanceof Collection) return value.getItems(false) as object[];
  const item = Reference.unwrapReference(value as object) as unknown;
  return typeof item === 'object' && item !== null ? [item] : [];
}

function tooMany(property: string) {
  return problem('too_many_items', { place: `the embedded list "${property}"`, limit: mostEmbedded });
}

function itemsOf(owner: object, property: string): number {
  const value = (owner as Record<string, unknown>)[property];
  return value instanceof Collection && value.isInitialized() ? value.length : 0;
}

function sizeFor(total: number): number {
  return total > stepSize ? partSize : stepSize;
}

function* stepsOf(owners: readonly object[], counts: ReadonlyMap<object, number> | null): Generator<readonly object[]> {
  let step: object[] = [];
  let items = 0;
  const size = sizeFor(owners.reduce((sum, owner) => sum + (counts?.get(owner) ?? 0), owners.length));
  for (const owner of owners) {
    const own = counts?.get(owner) ?? 0;
    if (step.length >= size || (step.length > 0 && items + own > size)) {
      yield step;
      step = [];
      items = 0;
    }
    step.push(owner);
    items += own;
  }
  if (step.length > 0) yield step;
}

/**
 * The number of rows that each owner has in a to-many association that is to be loaded, filters aside. Null if it is unknown: a
 * server would take a round trip to count.
 */
async function countItems(
  em: RequestEntityManager,
  owners: readonly object[],
  { joinColumns, kind, mappedBy, name, pivotTable, targetMeta }: EntityProperty,
  again = false,
): Promise<ReadonlyMap<object, number> | null> {
  const platform = em.getPlatform();
  const [meta] = owners.map((owner) => helper(owner).__meta as EntityMetadata);
  if (!meta || !targetMeta || !dialectOn(platform).connections.inProcess) return null;
  const isUnread = (owner: object) => {
    const value = (owner as Record<string, unknown>)[name];
    return helper(owner).hasPrimaryKey() && value instanceof Collection && (again || !value.isInitialized());
  };
  const inverse = (targetMeta.properties as Record<string, EntityProperty>)[mappedBy as string];
  const [table, columns] =
    kind === ReferenceKind.ONE_TO_MANY ? [targetMeta.tableName, inverse?.fieldNames] : [pivotTable, joinColumns];
  if (columns?.length !== keyParts(meta).length || !owners.some(isUnread)) return null;
  const key = columns.map((column) => platform.quoteIdentifier(column));
  const own = key.join(', ');
  const from = `from ${platform.quoteIdentifier(table)}`;
  const counts = new Map<object, number>();
  for (let start = 0; start < owners.length; start += stepSize) {
    // the keys of many owners take long as well, above all composite ones
    if (isTurnLong()) await nextTurn();
    const some = owners.slice(start, start + stepSize).filter(isUnread);
    const byKey = new Map(some.map((owner) => [String(entityKey(owner, true)), owner]));
    const { params, sql } = amongAny(
      meta,
      platform,
      key,
      some.map((owner) => entityKey(owner, true)),
    );
    const counted = `select ${own}, count(*) as items ${from} where ${sql} group by ${own}`;
    for (const row of some.length > 0 ? ((await em.execute(counted, [...params])) as object[]) : []) {
      const values = Object.values(row);
      const found = byKey.get(keyText(values.slice(0, -1)));
      if (found) counts.set(found, Number(values.at(-1)));
    }
  }
  return counts;
}

/** Whether an association holds all rows that refer to its owner. */
function holdsAllRows({ filters, targetMeta, where }: EntityProperty): boolean {
  return !where && !filters && targetMeta !== undefined && !isFiltered(targetMeta);
}

function canReadByKeys({
  fixedOrder,
  inverseJoinColumns,
  joinColumns,
  kind,
  mappedBy,
  orderBy,
  targetMeta,
}: EntityProperty): boolean {
  if (!targetMeta || fixedOrder) return false;
  const parts = keyParts(targetMeta);
  // the text of another value can differ between the entity and its row
  if (isComposite(targetMeta) ? parts.some(({ leaf }) => leaf.customType) : keyOf(targetMeta).targetMeta) return false;
  if (kind === ReferenceKind.ONE_TO_MANY) return Boolean(mappedBy) && !parts.some(({ leaf }) => leaf.customType);
  return !orderBy && !targetMeta.orderBy && joinColumns.length > 0 && inverseJoinColumns.length === parts.length;
}

/** Loads a to-many association of entities. Its items are equal to their rows. */
export async function loadLists(em: RequestEntityManager, owners: readonly object[], property: string): Promise<void> {
  const lists = owners.map((owner) => (owner as Record<string, unknown>)[property]).filter((list) => list instanceof Collection);
  const unread = lists.filter((list) => !list.isInitialized());
  await populateInSteps(
    em,
    unread.map((list) => list.owner as object),
    property,
    Number.POSITIVE_INFINITY,
  );
  for (const list of unread) markUnchanged(em, list.getItems(false) as object[]);
}

/** Loads the items of a to-many association for code that needs all, some at a time if they are many. */
export async function loadList(em: RequestEntityManager, list: Collection<object>): Promise<void> {
  await populateInSteps(em, [list.owner as object], (list.property as EntityProperty).name as string, Number.POSITIVE_INFINITY);
}

/** Loads an association as it is stored now, whatever the entity manager knows of it; some at a time if its items are many. */
export async function loadAgain(em: RequestEntityManager, owner: object, property: string): Promise<void> {
  const association = (helper(owner).__meta.properties as Record<string, EntityProperty>)[property];
  const isInSteps = association && isToMany(association) && holdsAllRows(association) && canReadByKeys(association);
  // a long list need not be counted again
  const isLong = itemsOf(owner, property) > stepSize;
  const counts = isInSteps && !isLong ? await countItems(em, [owner], association, true) : null;
  if (isInSteps && (isLong || (counts?.get(owner) ?? 0) > stepSize)) await readByKeys(em, owner, association, true);
  else await em.populate([owner], [property] as never, { refresh: true } as never);
}

/** Loads the items of a to-many association, some at a time if possible. They are equal to their rows. */
export async function loadItems(em: RequestEntityManager, list: Collection<object>): Promise<void> {
  const property = list.property as EntityProperty;
  if (holdsAllRows(property) && canReadByKeys(property)) return readByKeys(em, list.owner as object, property);
  await list.init();
  markUnchanged(em, list.getItems(false) as object[]);
}

/**
 * Reads the items of a long association in parts, and then makes them the content of the association. One statement selects the
 * keys of all: others may change the association meanwhile.
 */
async function readByKeys(em: RequestEntityManager, owner: object, association: EntityProperty, refresh = false): Promise<void> {
  const { kind, mappedBy, name } = association;
  const meta = association.targetMeta as EntityMetadata;
  const unit = em.getUnitOfWork();
  const platform = em.getPlatform();
  const refersToOwner = kind === ReferenceKind.ONE_TO_MANY ? { [mappedBy]: owner } : {};
  const keys = await (kind === ReferenceKind.ONE_TO_MANY ? referringKeys : linkedKeys)(em, owner, association);
  const items: object[] = [];
  const size = sizeFor(keys.length);
  for (let from = 0; from < keys.length; from += size) {
    if (isTurnLong()) await nextTurn();
    const some = keys.slice(from, from + size);
    const byKey = new Map<unknown, object>();
    // MikroORM finds a composite key only in the form that it has made
    for (const each of isComposite(meta) || refresh ? [] : some) {
      const known = unit.getById(meta.class as never, each as never) as object | undefined;
      if (known && helper(known).isInitialized()) byKey.set(String(each), known);
    }
    const unread = some.filter((each) => !byKey.has(String(each)));
    const where = { $and: [hasOneOf(meta, platform, unread), refersToOwner] };
    const found = (unread.length > 0 ? await em.find(meta.class, where as never, { refresh } as never) : []) as object[];
    markUnchanged(em, found);
    for (const item of found) byKey.set(String(entityKey(item)), item);
    for (const each of some) items.push(...[byKey.get(String(each)) ?? []].flat());
  }
  const list = (owner as Record<string, Collection<object>>)[name];
  list?.hydrate([], true);
  for (let from = 0; from < items.length; from += size) {
    if (isTurnLong()) await nextTurn();
    list?.add(items.slice(from, from + size) as never);
  }
  list?.takeSnapshot(true);
}

/** The keys of the rows that refer to an entity, in the order of the association. */
async function referringKeys(em: RequestEntityManager, owner: object, { mappedBy, orderBy, targetMeta }: EntityProperty) {
  const meta = targetMeta as EntityMetadata;
  const order = [...[orderBy ?? []].flat(), keyOrder(meta)];
  const query = em.createQueryBuilder(meta.class).select(keyNames(meta));
  return sentKeys(
    em,
    meta,
    query
      .where({ [mappedBy]: owner } as never)
      .orderBy(order as never)
      .toQuery(),
  );
}

/** The keys of the rows that are linked with an entity. */
async function linkedKeys(em: RequestEntityManager, owner: object, property: EntityProperty): Promise<unknown[]> {
  const { inverseJoinColumns, joinColumns, pivotEntity, targetMeta } = property;
  const platform = em.getPlatform();
  const { schema, tableName } = em.getMetadata().get(pivotEntity as never) as EntityMetadata;
  const table = [schema ?? [], tableName].flat().map((name) => platform.quoteIdentifier(name));
  const item = inverseJoinColumns.map((column) => platform.quoteIdentifier(column)).join(', ');
  const isOwn = joinColumns.map((column) => `${platform.quoteIdentifier(column)} = ?`).join(' and ');
  const sql = `select ${item} from ${table.join('.')} where ${isOwn} order by ${item}`;
  const params = databaseKey(helper(owner).__meta as EntityMetadata, platform, entityKey(owner, true));
  return sentKeys(em, targetMeta as EntityMetadata, { sql, params });
}
