import { type Collection, type EntityMetadata, type EntityProperty, Reference, Utils } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import type { AddedOrRemoved } from '../change/add-remove.ts';
import { valueProblem } from '../change/conflict.ts';
import type { ColumnValue, PlainBody } from '../change/plain-body.ts';
import type { Executor, Statement } from '../database/executor.ts';
import type { Mapper } from '../database/mapper.ts';
import type { Step, Writer } from '../database/writer.ts';
import { type Dialect, dialectOf } from '../dialect/dialect.ts';
import { type Identifier, keyOf } from '../model/identifier.ts';
import type { Pivot } from '../query/rows/association.ts';
import { statementOf } from '../query/rows/bound-statement.ts';
import type { CompiledRead } from '../query/rows/compiled-read.ts';
import { InstanceCollection, type InstanceContext } from '../query/rows/instance.ts';
import { rootTableAlias } from '../query/rows/row-plan.ts';
import type { Reading } from '../query/rows/row-texts.ts';
import { RowChanged } from '../query/rows/row-version.ts';
import { columnOf, tableOf } from '../query/rows/table-name.ts';
import type { EntityStore } from './entity-store.ts';
import { InstanceEffects, type Watched } from './instance-effects.ts';
import type { Admission, Linked } from './port.ts';
import { stateOf } from './request-state.ts';
import type { RowChanges } from './row-changes.ts';
import type { FoundRow, RowStore } from './row-store.ts';

export interface MethodLinkOptions {
  readonly mapper: Mapper;
  readonly meta: EntityMetadata;
  readonly property: EntityProperty;
  readonly pivot: Pivot;
  readonly executor: Executor;
  readonly writer: Writer;
  readonly owners: RowChanges;
  /** Reads owners and items as a response shows them. */
  readonly shownOwners: RowStore;
  readonly shownItems: RowStore;
  /** Reads items as objects for code of the application. */
  readonly items: CompiledRead;
  /** The columns of the owner that code may set. */
  readonly plain: PlainBody;
  readonly entities: EntityStore;
}

/** Application code that adds an item to an owner, or removes it. */
export type Apply = (owner: object, item: object) => Promise<AddedOrRemoved>;

/**
 * Adds to and removes from a many-to-many association whose model has methods or rules of its own. They run once, on objects made
 * of rows, while nothing is locked. Statements write their changes to the association and to columns of the owner, if the owner
 * and the items of the association are still the ones that they saw. If they changed more, MikroORM writes the changes.
 */
export class MethodLinks {
  readonly #options: MethodLinkOptions;
  readonly #dialect: Dialect;
  readonly #itemKey: string;
  readonly #item: Statement;
  readonly #members: Statement;

  constructor(options: MethodLinkOptions) {
    this.#options = options;
    const { items, mapper, pivot, property } = options;
    this.#dialect = dialectOf(mapper);
    this.#itemKey = columnOf(mapper, keyOf(property.targetMeta as EntityMetadata));
    const { parameter } = this.#dialect.sql;
    const key = `${rootTableAlias}.${this.#itemKey}`;
    this.#item = statementOf(items.selectText([`${key} = ${parameter(1)}`]), items.isWide);
    const linked = `select ${pivot.item[0]} from ${pivot.table} where ${pivot.owner[0]} = ${parameter(1)}`;
    this.#members = statementOf(`${items.selectText([`${key} in (${linked})`])} order by ${key}`, items.isWide);
  }

  /** Returns undefined if the item does not exist. */
  async change(request: ApiRequest, admission: Admission, id: Identifier, apply: Apply): Promise<Linked | undefined> {
    const { executor, mapper, meta, property } = this.#options;
    const { values } = this.#dialect;
    const [[itemRow], memberRows] = await Promise.all([
      executor.rows(this.#item, [values.bindable(id)]),
      executor.rows(this.#members, [values.bindable(admission.key)]),
    ]);
    if (!itemRow) return undefined;
    const owner = (admission.found as FoundRow).entity;
    const state = stateOf(request, mapper);
    const context: InstanceContext = { em: () => state.em };
    const members = memberRows.map((row) => this.#watched(row, context));
    const item = members.find(({ key }) => String(key) === String(id)) ?? this.#watched(itemRow, context);
    const instances = members.map(({ instance }) => instance);
    const collection = new InstanceCollection(meta, owner, property, instances);
    (owner as Record<string, unknown>)[property.name] = collection;
    const effects = new InstanceEffects();
    effects.watch([{ instance: owner, meta, key: admission.key }, item, ...members]);
    const { changed, returned } = await apply(owner, item.instance);
    // code may have changed entities that it, or a voter before it, has loaded
    const written = changed && state.managedEntities === 0 ? this.#columnsOf(effects, owner) : null;
    const shown = returned === owner ? 'owner' : [item, ...members].find(({ instance }) => instance === returned);
    if (!changed) return this.#read(request, item.key);
    if (!written || !shown) return this.#transfer(request, admission, effects, members, returned);
    const before = members.map(({ key }) => key);
    const after = collection.getItems(false).map((each) => effects.find(each)?.key);
    if (after.includes(undefined)) return this.#transfer(request, admission, effects, members, returned);
    return this.#write(request, admission, shown === 'owner' ? null : shown.key, {
      before,
      after: after as Identifier[],
      written,
    });
  }

  /** The row as an object in which the other side of the association is not loaded. */
  #watched(row: unknown[], context: InstanceContext): Watched {
    const { items, property } = this.#options;
    const instance = items.subjectOf(row, context);
    const other = property.inversedBy ?? property.mappedBy;
    const target = property.targetMeta as EntityMetadata;
    if (other) {
      const collection = new InstanceCollection(target, instance, target.properties[other as never] as EntityProperty);
      Object.defineProperty(instance, other, { value: collection, writable: true, enumerable: false, configurable: true });
    }
    return { instance, meta: target, key: (instance as Record<string, unknown>)[keyOf(target).name as string] as Identifier };
  }

  /** The columns of the owner that code has set; null if it has changed more than these and the association. */
  #columnsOf(effects: InstanceEffects, owner: object): ColumnValue[] | null {
    const { plain, property } = this.#options;
    const names = effects.changesOf(owner).filter((name) => name !== property.name);
    const columns = names.map((name) => {
      const value = (owner as Record<string, unknown>)[name];
      const referred = Reference.isReference(value) ? (value.unwrap() as object) : value;
      // an entity that code has created is not stored yet
      return Utils.isEntity(referred) && !effects.find(referred) ? null : plain.columnOf(name, value);
    });
    if (columns.includes(null) || effects.isMore(owner, [property.name as string, ...names])) return null;
    return columns as ColumnValue[];
  }

  async #read(request: ApiRequest, item: Identifier): Promise<Linked | undefined> {
    const { shownItems } = this.#options;
    const found = await shownItems.find(request, item, null);
    return found ? { entity: null, result: found } : undefined;
  }

  /** `shown`: the key of the item in the response; null if the response shows the owner. */
  async #write(request: ApiRequest, admission: Admission, shown: Identifier | null, changes: Changes): Promise<Linked> {
    const { owners, pivot, shownItems, shownOwners, writer } = this.#options;
    const store = shown === null ? shownOwners : shownItems;
    const reading = await store.readingWithin(request, [owners.table, pivot.table]);
    const [row] = await writer.change(this.#steps(admission, shown, changes, reading)).catch((error: unknown) => {
      throw valueProblem(error) ?? error;
    });
    if (!row) throw new RowChanged();
    return { entity: null, result: store.foundRow(request, row, reading) };
  }

  /** One statement if the database supports that; otherwise a check that can end the transaction, and a statement per change. */
  #steps(admission: Admission, shown: Identifier | null, changes: Changes, reading: Reading): Step[] {
    const { owners, shownItems, shownOwners } = this.#options;
    const { sql } = this.#dialect;
    const texts = this.#changeTexts(changes);
    const lock = sql.rowLock(rootTableAlias);
    const lockText = `select 1 from ${owners.table} as ${rootTableAlias} where ${owners.hasKey()}${lock}`;
    const locking: Step[] = lock ? [{ ...this.#step(admission.key, () => lockText), mayBeEmpty: true }] : [];
    const isSame = (bind: Bind) => this.#sameText(admission, changes.before, bind);
    const store = shown === null ? shownOwners : shownItems;
    const afterwards = store.read.byKey(shown ?? admission.key, reading);
    if (!sql.changesWithin) {
      const check = this.#step(admission.key, (bind) => `select 1 where ${isSame(bind)}`);
      const steps = texts.map(
        (text): Step => ({ ...this.#step(admission.key, (bind) => `${text(bind, '')} returning 1`), mayBeEmpty: true }),
      );
      return [...locking, check, ...steps, afterwards];
    }
    const guard = ' and exists (select 1 from _same)';
    const changing = (bind: Bind) => {
      const parts = [
        `_same as (select 1 where ${isSame(bind)})`,
        ...texts.map((text, i) => `_change${i} as (${text(bind, guard)})`),
      ];
      return `with ${parts.join(', ')}`;
    };
    // an item that embeds no changed row can be read by the same statement
    if (shown === null || store.read.reads(owners.table))
      return [...locking, this.#step(admission.key, (bind) => `${changing(bind)} select 1 from _same`), afterwards];
    const whole: Text = (bind, bound) => {
      const isShown = `${rootTableAlias}.${this.#itemKey} = ${bind(this.#dialect.values.bindable(shown))}`;
      const change = changing(bind);
      const { params, sql } = store.read.reading([isShown, 'exists (select 1 from _same)'], bound.length, reading);
      bound.push(...params);
      return `${change} ${sql}`;
    };
    return [...locking, this.#step(admission.key, whole, store.read.isWide)];
  }

  /** The condition that the owner and the items of the association are the ones that code saw. */
  #sameText({ found }: Admission, before: readonly Identifier[], bind: Bind): string {
    const { owners, pivot } = this.#options;
    const { sql, values } = this.#dialect;
    const own = sql.parameter(1);
    const version = owners.versionText(found?.version ?? [], bind);
    const linked = `select count(*) from ${pivot.table} where ${pivot.owner[0]} = ${own}`;
    const count = bind(before.length);
    const among = sql.among([...pivot.item], bind(values.list(before))).join('');
    return [
      `exists (select 1 from ${owners.table} as ${rootTableAlias} where ${owners.hasKey()} and ${version})`,
      `(${linked}) = ${count}`,
      `(${linked} and ${among}) = ${count}`,
    ].join(' and ');
  }

  #changeTexts({ after, before, written }: Changes): ((bind: Bind, guard: string) => string)[] {
    const { mapper, owners, pivot, property } = this.#options;
    const { sql, values } = this.#dialect;
    const own = sql.parameter(1);
    const among = (column: string, ids: readonly Identifier[], bind: Bind) =>
      sql.among([column], bind(values.list(ids))).join('');
    const added = after.filter((id) => !before.includes(id));
    const removed = before.filter((id) => !after.includes(id));
    const items = tableOf(mapper, property.targetMeta as EntityMetadata);
    const texts: ((bind: Bind, guard: string) => string)[] = [];
    if (removed.length > 0) {
      const links = `delete from ${pivot.table} where ${pivot.owner[0]} = ${own}`;
      texts.push((bind, guard) => `${links} and ${among(pivot.item[0] as string, removed, bind)}${guard}`);
    }
    if (added.length > 0) {
      const keys = `select ${owners.keys[0]}, i.${this.#itemKey} from ${owners.table} as ${rootTableAlias}, ${items} as i`;
      const links = `insert into ${pivot.table} (${pivot.owner}, ${pivot.item}) ${keys} where ${owners.hasKey()}`;
      const conflict = `on conflict (${pivot.owner}, ${pivot.item}) do nothing`;
      texts.push((bind, guard) => `${links} and ${among(`i.${this.#itemKey}`, added, bind)}${guard} ${conflict}`);
    }
    if (written.length > 0) {
      const sets = (bind: Bind) => written.map(({ column, value }) => `${column} = ${bind(value)}`).join(', ');
      const table = `${owners.table} as ${rootTableAlias}`;
      texts.push((bind, guard) => `update ${table} set ${sets(bind)} where ${owners.hasKey()}${guard}`);
    }
    return texts;
  }

  /** A statement whose first parameter is the key of the owner. */
  #step(owner: Identifier, write: Text, isWide = false): Step {
    const { sql, values } = this.#dialect;
    const parameters: unknown[] = [values.bindable(owner)];
    const text = write((value) => sql.parameter(parameters.push(value)), parameters);
    return { statement: statementOf(text, isWide), parameters };
  }

  /** Has MikroORM write the changes, if the association still has the items that code saw. */
  async #transfer(
    request: ApiRequest,
    admission: Admission,
    effects: InstanceEffects,
    members: readonly Watched[],
    returned: object,
  ): Promise<Linked> {
    const { entities, mapper, property } = this.#options;
    const linked = await entities.change(request, admission, async (entity) => {
      const { em } = stateOf(request, mapper);
      const collection = (entity as Record<string, unknown>)[property.name] as Collection<object>;
      // code may have changed items that it has loaded, which a refresh would undo
      await em.populate([entity], [property.name] as never, { refresh: collection.isInitialized() } as never);
      const current = collection.getIdentifiers() as unknown[];
      const isSame =
        current.length === members.length && members.every(({ key }) => current.some((each) => String(each) === String(key)));
      if (!isSame) throw new RowChanged();
      const transfer = await effects.transfer(em);
      return transfer.entityOf(returned);
    });
    if (!linked) throw new RowChanged();
    return linked;
  }
}

/** Makes a parameter of a value. */
type Bind = (value: unknown) => string;

/** Writes a statement. `bound` are the parameters so far. */
type Text = (bind: Bind, bound: unknown[]) => string;

/** The changes by code: keys in the association before and after, and columns of the owner. */
interface Changes {
  readonly before: readonly Identifier[];
  readonly after: readonly Identifier[];
  readonly written: readonly ColumnValue[];
}
