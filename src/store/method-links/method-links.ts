import { type Collection, type EntityMetadata, type EntityProperty, Reference, Utils } from '@mikro-orm/core';
import type { ApiRequest } from '../../access/user.ts';
import type { AddedOrRemoved } from '../../change/add-remove.ts';
import { valueProblem } from '../../change/conflict.ts';
import type { PlainBody } from '../../change/plain-body.ts';
import type { ColumnValue } from '../../change/stored-columns.ts';
import type { Executor } from '../../database/executor.ts';
import type { Mapper, RequestEntityManager } from '../../database/mapper.ts';
import type { Step, Writer } from '../../database/writer.ts';
import { type Dialect, dialectOf } from '../../dialect/dialect.ts';
import { isTurnLong, nextTurn } from '../../event-loop.ts';
import { type Identifier, keyOf } from '../../model/identifier.ts';
import { statementOf } from '../../query/rows/bound-statement.ts';
import type { CompiledRead } from '../../query/rows/compiled-read.ts';
import { InstanceCollection, type InstanceContext } from '../../query/rows/instance.ts';
import { rootTableAlias } from '../../query/rows/row-plan.ts';
import type { Reading } from '../../query/rows/row-texts.ts';
import { RowChanged } from '../../query/rows/row-version.ts';
import { columnOf, tableOf } from '../../query/rows/table-name.ts';
import { rowIsSeenText, type SeenRows } from '../../query/visibility/visibility-columns.ts';
import type { EntityStore } from '../entity-store.ts';
import type { Admission, Linked } from '../port.ts';
import { stateOf } from '../request-state.ts';
import type { RowChanges } from '../row-changes.ts';
import type { FoundRow, RowStore } from '../row-store.ts';
import { InstanceEffects, type Watched } from './instance-effects.ts';

export interface MethodLinkOptions {
  readonly mapper: Mapper;
  readonly meta: EntityMetadata;
  readonly property: EntityProperty;
  /** The class of the items in bodies. */
  readonly target: EntityMetadata;
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

/** The item of a body, and the rows among which the caller sees it. */
export interface WantedItem {
  readonly id: Identifier;
  readonly seen: readonly SeenRows[] | 'all';
}

/** The objects that code gets, beside the owner. */
export interface SeenObjects {
  readonly item: Watched;
  /** What the association holds. */
  readonly members: readonly Watched[];
}

/** What code did with the objects. */
export interface Effect<Seen extends SeenObjects> {
  readonly seen: Seen;
  readonly owner: object;
  readonly collection: InstanceCollection;
  readonly effects: InstanceEffects;
  /** The object that the response shows. */
  readonly returned: object;
}

/** Makes a parameter of a value, with a type if it is used more than once. */
export type Bind = (value: unknown, type?: string) => string;

/** Writes a statement. `bound` are the parameters so far. */
export type Text = (bind: Bind, bound: unknown[]) => string;

/**
 * Adds to and removes from an association whose model has methods or rules of its own. They run once, on objects made of rows,
 * while nothing is locked. Statements write their changes, if the owner and the rows of the association are still the ones that
 * they saw. If the changes are more than statements can write, MikroORM writes them.
 */
export abstract class MethodLinks<Seen extends SeenObjects = SeenObjects> {
  readonly #options: MethodLinkOptions;
  protected readonly dialect: Dialect;
  /** The key column of items. */
  protected readonly itemKey: string;
  readonly #isItem: string;

  constructor(options: MethodLinkOptions) {
    this.#options = options;
    const { mapper, target } = options;
    this.dialect = dialectOf(mapper);
    this.itemKey = columnOf(mapper, keyOf(target));
    this.#isItem = `${rootTableAlias}.${this.itemKey} = ${this.dialect.sql.parameter(1)}`;
  }

  /** Reads the item and the rows of the association; undefined if the caller sees no such item. */
  protected abstract see(owner: object, key: Identifier, wanted: WantedItem, context: InstanceContext): Promise<Seen | undefined>;

  /** Writes the changes of code by statements; null if that takes MikroORM. */
  protected abstract write(request: ApiRequest, admission: Admission, effect: Effect<Seen>): Promise<Linked | null>;

  /** Whether the rows of an association that has the same keys still are the ones that code saw. The owner's row is locked. */
  protected async isSame(_em: RequestEntityManager, _owner: Identifier, _seen: Seen): Promise<boolean> {
    return true;
  }

  /** The entities that code has added to the association, and then moved to that of another owner. */
  protected moved(_effect: Effect<Seen>): object[] {
    return [];
  }

  /** Returns undefined if the item does not exist for the caller. */
  async change(request: ApiRequest, admission: Admission, wanted: WantedItem, apply: Apply): Promise<Linked | undefined> {
    const { mapper, meta, property } = this.#options;
    const owner = (admission.found as FoundRow).entity;
    const state = stateOf(request, mapper);
    const seen = await this.see(owner, admission.key, wanted, { em: () => state.em });
    if (!seen) return undefined;
    const { item, members } = seen;
    if (isTurnLong()) await nextTurn();
    const instances = members.map(({ instance }) => instance);
    const collection = new InstanceCollection(meta, owner, property, instances);
    (owner as Record<string, unknown>)[property.name] = collection;
    const effects = new InstanceEffects();
    effects.watch([{ instance: owner, meta, key: admission.key }, item, ...members]);
    if (isTurnLong()) await nextTurn();
    const { changed, returned } = await apply(owner, item.instance);
    if (!changed) return this.#read(request, item.key);
    const effect = { seen, owner, collection, effects, returned };
    if (isTurnLong()) await nextTurn();
    // code may have changed entities that it, or a voter before it, has loaded
    const linked = state.managedEntities === 0 ? await this.write(request, admission, effect) : null;
    return linked ?? this.#transfer(request, admission, effect);
  }

  protected rowOfItem({ id, seen }: WantedItem): Promise<unknown[][]> {
    const { executor, items, mapper, target } = this.#options;
    const key = this.dialect.values.bindable(id);
    if (seen === 'all') return executor.rows(statementOf(items.selectText([this.#isItem]), items.isWide), [key]);
    const row = { table: tableOf(mapper, target), keys: [`${rootTableAlias}.${this.itemKey}`] };
    const { params, sql } = rowIsSeenText(seen, row, 1, this.dialect);
    return executor.rows(statementOf(items.selectText([this.#isItem, sql]), items.isWide), [key, ...params]);
  }

  /** The columns of the owner that code has set; null if a statement cannot write them. */
  protected columnsOf(
    { effects, owner }: Effect<Seen>,
    plain: Pick<PlainBody, 'columnsOf'>,
    object = owner,
  ): ColumnValue[] | null {
    const { property } = this.#options;
    const names = effects.changesOf(object).filter((name) => object !== owner || name !== property.name);
    const columns = names.map((name) => {
      const value = (object as Record<string, unknown>)[name];
      const referred = Reference.isReference(value) ? (value.unwrap() as object) : value;
      // an entity that code has created is not stored yet
      return Utils.isEntity(referred) && !effects.find(referred) ? null : plain.columnsOf(name, value);
    });
    return columns.includes(null) ? null : (columns.flat() as ColumnValue[]);
  }

  /** Locks the row of the owner, on databases that lock rows. */
  protected locking(owner: Identifier): Step[] {
    const { owners } = this.#options;
    const lock = this.dialect.sql.rowLock(rootTableAlias);
    const text = `select 1 from ${owners.table} as ${rootTableAlias} where ${owners.hasKey()}${lock}`;
    return lock ? [{ ...this.step(owner, () => text), mayBeEmpty: true }] : [];
  }

  /** The condition that the owner is the one that code saw, and that the item is still there if the response shows it. */
  protected isSameOwner({ found }: Admission, shownItem: Identifier | null, bind: Bind): string {
    const { mapper, owners, target } = this.#options;
    const version = owners.versionText(found?.version ?? [], bind);
    const isOwner = `exists (select 1 from ${owners.table} as ${rootTableAlias} where ${owners.hasKey()} and ${version})`;
    if (shownItem === null) return isOwner;
    const isItem = `i.${this.itemKey} = ${bind(this.dialect.values.bindable(shownItem))}`;
    return `${isOwner} and exists (select 1 from ${tableOf(mapper, target)} as i where ${isItem})`;
  }

  /**
   * The statement that sets columns of the owner, and gives it a new version if `isChanged` says that the association changed; null
   * if it would set nothing.
   */
  protected updateOf(written: readonly ColumnValue[], isChanged: boolean): ((bind: Bind) => string) | null {
    const { owners } = this.#options;
    const { assignments } = owners;
    if (written.length === 0 && !(isChanged && assignments.hasVersion)) return null;
    return (bind) => {
      const sets = assignments.text(written, ({ value }, _, type) => bind(value, type), isChanged);
      return `update ${owners.table} as ${rootTableAlias} set ${sets} where ${owners.hasKey()}`;
    };
  }

  /** A statement whose first parameter is the key of the owner. */
  protected step(owner: Identifier, write: Text, isWide = false): Step {
    const { sql, values } = this.dialect;
    const parameters: unknown[] = [values.bindable(owner)];
    const bind: Bind = (value, type) => {
      const at = parameters.push(value);
      return type === undefined ? sql.parameter(at) : sql.typedParameter(at, type);
    };
    const text = write(bind, parameters);
    return { statement: statementOf(text, isWide), parameters };
  }

  /** Runs the steps, whose last reads the row of the response. Without a row, others have changed what code saw. */
  protected async run(request: ApiRequest, steps: readonly Step[], store: RowStore, reading: Reading): Promise<Linked> {
    const [row] = await this.#options.writer.change(steps).catch((error: unknown) => {
      throw valueProblem(error) ?? error;
    });
    if (!row) throw new RowChanged();
    return { entity: null, result: store.foundRow(request, row, reading) };
  }

  async #read(request: ApiRequest, item: Identifier): Promise<Linked | undefined> {
    const found = await this.#options.shownItems.find(request, item, null);
    return found ? { entity: null, result: found } : undefined;
  }

  /** Has MikroORM write the changes, if the association still has the rows that code saw. */
  async #transfer(request: ApiRequest, admission: Admission, effect: Effect<Seen>): Promise<Linked> {
    const { entities, mapper, property } = this.#options;
    const { effects, returned, seen } = effect;
    const linked = await entities.change(request, admission, async (entity) => {
      const { em } = stateOf(request, mapper);
      const collection = (entity as Record<string, unknown>)[property.name] as Collection<object>;
      // code may have changed items that it has loaded, which a refresh would undo
      await em.populate([entity], [property.name] as never, { refresh: collection.isInitialized() } as never);
      const current = new Set((collection.getIdentifiers() as unknown[]).map(String));
      const { members } = seen;
      const hasSameKeys = current.size === members.length && members.every(({ key }) => current.has(String(key)));
      if (!hasSameKeys || !(await this.isSame(em, admission.key, seen))) throw new RowChanged();
      const transfer = await effects.transfer(em, this.moved(effect));
      return transfer.shown(returned);
    });
    if (!linked) throw new RowChanged();
    return linked;
  }
}
