import { type EntityMetadata, type EntityProperty, Reference, ReferenceKind } from '@mikro-orm/core';
import type { ApiRequest } from '../../access/user.ts';
import { type ColumnValue, isPlainReference, StoredColumns } from '../../change/stored-columns.ts';
import type { Statement } from '../../database/executor.ts';
import type { Mapper, RequestEntityManager } from '../../database/mapper.ts';
import type { Step } from '../../database/writer.ts';
import { keyFrom } from '../../model/composite-key.ts';
import { hasDiscriminator } from '../../model/hierarchy.ts';
import { type Identifier, isComposite, keyOf } from '../../model/identifier.ts';
import { statementOf } from '../../query/rows/bound-statement.ts';
import type { CompiledRead } from '../../query/rows/compiled-read.ts';
import type { InstanceContext } from '../../query/rows/instance.ts';
import { rootTableAlias } from '../../query/rows/row-plan.ts';
import { versionColumns } from '../../query/rows/row-version.ts';
import { columnOf, tableOf } from '../../query/rows/table-name.ts';
import { Assignments } from '../assignments.ts';
import type { Admission, Linked } from '../port.ts';
import type { RowStore } from '../row-store.ts';
import type { Watched } from './instance-effects.ts';
import { type Effect, type MethodLinkOptions, MethodLinks, type SeenObjects, type WantedItem } from './method-links.ts';
import { newRowColumns } from './new-row.ts';
import { shareObjects } from './shared-objects.ts';

/** The rows of a one-to-many association, such as the participations of a course. */
export interface Children {
  readonly meta: EntityMetadata;
  /** The column that refers to the owner. */
  readonly owner: string;
  /** Reads them as objects for code of the application. */
  readonly read: CompiledRead;
  /** Reads them as a response shows them. */
  readonly shown: RowStore;
  /** Whether a row that code removes from the association is deleted, and by a statement alone. */
  readonly mayRemove: boolean;
}

interface SeenChildren extends SeenObjects {
  /** A text that differs if one of the rows was changed, or another row belongs to the owner. */
  readonly version: string;
}

/** The column by which rows of a one-to-many association refer to their owner; null if that takes more than one column. */
export function childColumn(mapper: Mapper, meta: EntityMetadata, property: EntityProperty): string | null {
  const { fixedOrder, kind, mappedBy, orderBy, targetMeta: target, where } = property;
  if (kind !== ReferenceKind.ONE_TO_MANY || !target || !mappedBy || where || fixedOrder || orderBy) return null;
  const inverse = target.properties[mappedBy as never] as EntityProperty | undefined;
  if (!inverse || !isPlainReference(inverse, [meta]) || inverse.fieldNames.length !== 1) return null;
  const isUnusual = inverse.persist === false || inverse.mapToPk || inverse.primary || inverse.filters || property.filters;
  const isConverted = [meta, target].some((each) => isComposite(each) || keyOf(each).customType || keyOf(each).targetMeta);
  const isShared = hasDiscriminator(target) || target.inheritanceType === 'tpt' || target.root.inheritanceType === 'tpt';
  return isUnusual || isConverted || isShared ? null : columnOf(mapper, inverse);
}

/**
 * Runs methods and rules of a model that keep items in rows of a one-to-many association, and writes the rows that they make,
 * change and remove.
 */
export class ChildMethodLinks extends MethodLinks<SeenChildren> {
  readonly #options: MethodLinkOptions;
  readonly #children: Children;
  readonly #table: string;
  readonly #key: string;
  readonly #columns: StoredColumns;
  readonly #assignments: Assignments;
  /** The key and version of a row as a text. */
  readonly #versionText: string;
  readonly #rows: Statement;

  constructor(options: MethodLinkOptions, children: Children) {
    super(options);
    this.#options = options;
    this.#children = children;
    const { meta, owner, read } = children;
    this.#table = tableOf(options.mapper, meta);
    this.#key = columnOf(options.mapper, keyOf(meta));
    this.#columns = new StoredColumns(options.mapper, meta);
    this.#assignments = new Assignments(options.mapper, meta);
    const ownKey = `${rootTableAlias}.${this.#key}`;
    this.#versionText = this.dialect.sql.textOf([ownKey, ...versionColumns(options.mapper, meta, rootTableAlias)]);
    const isOwn = `${rootTableAlias}.${owner} = ${this.dialect.sql.parameter(1)}`;
    const text = read.selectText([isOwn], `, ${this.#versionText}`);
    this.#rows = statementOf(`${text} order by ${ownKey}`, read.isWide);
  }

  protected override async see(owner: object, key: Identifier, wanted: WantedItem, context: InstanceContext) {
    const { executor, items, meta, target } = this.#options;
    const { meta: child, read } = this.#children;
    const [[itemRow], rows] = await Promise.all([
      this.rowOfItem(wanted),
      executor.rows(this.#rows, [this.dialect.values.bindable(key)]),
    ]);
    if (!itemRow) return undefined;
    const watched = (metadata: EntityMetadata, instance: object): Watched => {
      const own = (instance as Record<string, unknown>)[keyOf(metadata).name as string] as Identifier;
      return { instance, meta: metadata, key: own };
    };
    const members = rows.map((row) => watched(child, read.subjectOf(row, context)));
    const item = watched(target, items.subjectOf(itemRow, context));
    shareObjects([{ instance: owner, meta, key }, item, ...members]);
    return { item, members, version: rows.map((row) => row.at(-1)).join(';') };
  }

  protected override async isSame(em: RequestEntityManager, owner: Identifier, { version }: SeenChildren): Promise<boolean> {
    const [row] = await em.execute(`select ${this.#sameText('?', '?')} as same`, [owner, version]);
    return Boolean(Number((row as { same?: unknown } | undefined)?.same));
  }

  protected override async write(
    request: ApiRequest,
    admission: Admission,
    effect: Effect<SeenChildren>,
  ): Promise<Linked | null> {
    const { plain } = this.#options;
    const changes = this.#changesOf(effect, this.columnsOf(effect, plain));
    if (!changes) return null;
    const { made, removed, updated, written } = changes;
    const { shownItems, shownOwners } = this.#options;
    const { shown: shownChildren } = this.#children;
    const { owner, returned, seen } = effect;
    const last = made.find(({ entity }) => entity === returned);
    const member = seen.members.find(({ instance }) => instance === returned);
    const store = returned === owner ? shownOwners : last || member ? shownChildren : shownItems;
    // MikroORM responds with a row that is gone
    if (member && removed.includes(member.key)) return null;
    const known = returned === owner ? admission.key : (member ?? seen.item).key;
    if (!(last || member || returned === owner || returned === seen.item.instance)) return null;
    const reading = await store.readingWithVisibility(request);
    const inserts = [...made.filter((each) => each !== last), ...(last ? [last] : [])];
    const update = this.updateOf(written, made.length + removed.length > 0);
    const writes = [
      ...(update ? [this.step(admission.key, update)] : []),
      ...updated.map(({ columns, key }) => this.#updating(key, columns)),
      ...removed.map((key) => this.#removing(key)),
      ...inserts.map(({ columns }) => this.#inserting(columns)),
    ];
    const shown = last ? store.read.byKeys((before) => before.map(keyFrom), reading) : store.read.byKey(known, reading);
    if (writes.length === 0) return this.run(request, [shown], store, reading);
    const check = this.step(admission.key, (bind) => {
      const { sql } = this.dialect;
      return `select 1 where ${this.isSameOwner(admission, store === shownItems ? seen.item.key : null, bind)} and ${this.#sameText(sql.parameter(1), bind(seen.version))}`;
    });
    const steps = writes.map((step, i): Step => (last && i === writes.length - 1 ? step : { ...step, mayBeEmpty: true }));
    return this.run(request, [...this.locking(admission.key), check, ...steps, shown], store, reading);
  }

  protected override moved({ collection, effects, owner }: Effect<SeenChildren>): object[] {
    return [...collection.added].filter((each) => !effects.find(each) && this.#isElsewhere(each, owner));
  }

  /** Whether a row belongs to another owner. */
  #isElsewhere(row: object, owner: object): boolean {
    const now = (row as Record<string, unknown>)[this.#options.property.mappedBy as string] as object | null | undefined;
    return now !== null && now !== undefined && Reference.unwrapReference(now) !== owner;
  }

  /** What code has changed; null if statements cannot write it. */
  #changesOf(effect: Effect<SeenChildren>, written: readonly ColumnValue[] | null): Changes | null {
    const { meta: child, mayRemove } = this.#children;
    const { property } = this.#options;
    const { collection, effects, owner, seen } = effect;
    const items = collection.getItems(false);
    const removed = seen.members.filter(({ instance }) => !items.includes(instance));
    const entities = items.filter((item) => !effects.find(item));
    const isKnown = (object: object) => entities.includes(object) || effects.find(object) !== undefined;
    const changed = seen.members.filter((member) => !removed.includes(member) && effects.changesOf(member.instance).length > 0);
    const updated = changed.map(({ instance, key }) => ({ key, columns: this.columnsOf(effect, this.#columns, instance) }));
    if (this.moved(effect).length > 0 || seen.members.some(({ instance }) => this.#isElsewhere(instance, owner))) return null;
    if (!written || (removed.length > 0 && !mayRemove) || updated.some(({ columns }) => columns === null)) return null;
    // MikroORM clears such references
    const kept = [...seen.members.filter((member) => !removed.includes(member)).map(({ instance }) => instance), ...entities];
    if (removed.some(({ instance }) => kept.some((each) => refersTo(each, instance)))) return null;
    const ownNames = new Set([property.name as string, ...effects.changesOf(owner)]);
    const isMore = effects.isMore(
      (instance, name) => (instance === owner && ownNames.has(name)) || holdsOnly(instance, name, isKnown),
      new Set(seen.members.map(({ instance }) => instance)),
    );
    if (isMore) return null;
    const isStored = (object: object) => effects.find(object) !== undefined;
    const made = entities.map((entity) => ({ entity, columns: newRowColumns(child, this.#columns, entity, isStored) }));
    if (made.some(({ columns }) => columns === null)) return null;
    return { written, made: made as never, updated: updated as never, removed: removed.map(({ key }) => key) };
  }

  /** The condition that the rows of the association are the ones that code saw. Nobody can change them until the commit. */
  #sameText(owner: string, version: string): string {
    const { sql } = this.dialect;
    const isOwn = `${rootTableAlias}.${this.#children.owner} = ${owner}`;
    const lock = sql.rowLock(rootTableAlias);
    const key = `${rootTableAlias}.${this.#key}`;
    const rows = `select ${this.#versionText} as v, ${key} as k from ${this.#table} as ${rootTableAlias} where ${isOwn}${lock}`;
    return `coalesce((select string_agg(v, ';' order by k) from (${rows}) as m), '') = ${version}`;
  }

  #updating(key: Identifier, columns: readonly ColumnValue[]): Step {
    return this.step(key, (bind) => {
      const sets = this.#assignments.text(columns, ({ value }, _, type) => bind(value, type));
      return `update ${this.#table} set ${sets} where ${this.#key} = ${this.dialect.sql.parameter(1)}`;
    });
  }

  #removing(key: Identifier): Step {
    return this.step(key, () => `delete from ${this.#table} where ${this.#key} = ${this.dialect.sql.parameter(1)}`);
  }

  #inserting(columns: readonly ColumnValue[]): Step {
    const { sql } = this.dialect;
    const names = columns.map(({ column }) => column).join(', ');
    const values = columns.map(({ type }, i) => sql.typedParameter(i + 1, type)).join(', ');
    const text = `insert into ${this.#table} (${names}) values (${values}) returning ${this.#key}`;
    return { statement: statementOf(text, true), parameters: columns.map(({ value }) => value) };
  }
}

/** The changes by code that statements can write. */
interface Changes {
  /** Columns of the owner. */
  readonly written: readonly ColumnValue[];
  readonly made: readonly { readonly entity: object; readonly columns: readonly ColumnValue[] }[];
  readonly updated: readonly { readonly key: Identifier; readonly columns: readonly ColumnValue[] }[];
  readonly removed: readonly Identifier[];
}

function refersTo(object: object, other: object): boolean {
  return Object.values(object).some((value) => value instanceof Object && Reference.unwrapReference(value as object) === other);
}

/** Whether a property is the other side of an association whose rows are all known. The rows themselves hold the reference. */
function holdsOnly(instance: object, name: string, isKnown: (object: object) => boolean): boolean {
  const { __meta: meta, [name]: value } = instance as Record<string, unknown> & { __meta: EntityMetadata };
  const property = meta.properties[name as never] as EntityProperty;
  if (property.kind !== ReferenceKind.ONE_TO_MANY) return false;
  return (value as { getItems(check: boolean): object[] }).getItems(false).every(isKnown);
}
