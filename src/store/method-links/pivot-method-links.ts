import type { EntityMetadata, EntityProperty } from '@mikro-orm/core';
import type { ApiRequest } from '../../access/user.ts';
import type { ColumnValue } from '../../change/stored-columns.ts';
import type { Statement } from '../../database/executor.ts';
import type { Step } from '../../database/writer.ts';
import { isTurnLong, nextTurn } from '../../event-loop.ts';
import { type Identifier, keyOf } from '../../model/identifier.ts';
import type { Pivot } from '../../query/rows/association.ts';
import { statementOf } from '../../query/rows/bound-statement.ts';
import { InstanceCollection, type InstanceContext } from '../../query/rows/instance.ts';
import { rootTableAlias } from '../../query/rows/row-plan.ts';
import type { Reading } from '../../query/rows/row-texts.ts';
import { tableOf } from '../../query/rows/table-name.ts';
import type { Admission, Linked } from '../port.ts';
import type { Watched } from './instance-effects.ts';
import {
  type Bind,
  type Effect,
  type MethodLinkOptions,
  MethodLinks,
  type SeenObjects,
  type Text,
  type WantedItem,
} from './method-links.ts';

/** Runs methods and rules of a model on a many-to-many association, and writes the rows of its pivot table. */
export class PivotMethodLinks extends MethodLinks {
  readonly #options: MethodLinkOptions;
  readonly #pivot: Pivot;
  readonly #members: Statement;

  constructor(options: MethodLinkOptions, pivot: Pivot) {
    super(options);
    this.#options = options;
    this.#pivot = pivot;
    const { items } = options;
    const key = `${rootTableAlias}.${this.itemKey}`;
    const linked = `select ${pivot.item[0]} from ${pivot.table} where ${pivot.owner[0]} = ${this.dialect.sql.parameter(1)}`;
    this.#members = statementOf(`${items.selectText([`${key} in (${linked})`])} order by ${key}`, items.isWide);
  }

  protected override async see(_owner: object, key: Identifier, wanted: WantedItem, context: InstanceContext) {
    const [[itemRow], memberRows] = await Promise.all([
      this.rowOfItem(wanted),
      this.#options.executor.rows(this.#members, [this.dialect.values.bindable(key)]),
    ]);
    if (!itemRow) return undefined;
    const members: Watched[] = [];
    for (const row of memberRows) {
      if (isTurnLong()) await nextTurn();
      members.push(this.#watched(row, context));
    }
    return {
      members,
      item: members.find((member) => String(member.key) === String(wanted.id)) ?? this.#watched(itemRow, context),
    };
  }

  protected override async write(request: ApiRequest, admission: Admission, effect: Effect<SeenObjects>): Promise<Linked | null> {
    const { owners, plain, property, shownItems, shownOwners } = this.#options;
    const { collection, effects, owner, returned, seen } = effect;
    const written = this.columnsOf(effect, plain);
    const shown = returned === owner ? 'owner' : [seen.item, ...seen.members].find(({ instance }) => instance === returned);
    const ownNames = new Set([property.name as string, ...effects.changesOf(owner)]);
    if (!written || !shown || effects.isMore((instance, name) => instance === owner && ownNames.has(name))) return null;
    const before = seen.members.map(({ key }) => key);
    const after = collection.getItems(false).map((each) => effects.find(each)?.key);
    if (after.includes(undefined)) return null;
    const store = shown === 'owner' ? shownOwners : shownItems;
    const reading = await store.readingWithin(request, [owners.table, this.#pivot.table]);
    const changes = { before, after: after as Identifier[], written };
    return this.run(request, this.#steps(admission, shown === 'owner' ? null : shown.key, changes, reading), store, reading);
  }

  /** The row as an object in which the other side of the association is not loaded. */
  #watched(row: unknown[], context: InstanceContext): Watched {
    const { items, property, target } = this.#options;
    const instance = items.subjectOf(row, context);
    const other = property.inversedBy ?? property.mappedBy;
    if (other) {
      const collection = new InstanceCollection(target, instance, target.properties[other as never] as EntityProperty);
      Object.defineProperty(instance, other, { value: collection, writable: true, enumerable: false, configurable: true });
    }
    return { instance, meta: target, key: (instance as Record<string, unknown>)[keyOf(target).name as string] as Identifier };
  }

  /**
   * One statement if the database supports that; otherwise a check that can end the transaction, and a statement per change.
   * `shown`: the key of the item in the response; null if the response shows the owner.
   */
  #steps(admission: Admission, shown: Identifier | null, changes: Changes, reading: Reading): Step[] {
    const { owners, shownItems, shownOwners } = this.#options;
    const { sql } = this.dialect;
    const texts = this.#changeTexts(changes);
    const locking = this.locking(admission.key);
    const isSame = (bind: Bind) => this.#sameText(admission, shown, changes.before, bind);
    const store = shown === null ? shownOwners : shownItems;
    const afterwards = store.read.byKey(shown ?? admission.key, reading);
    if (!sql.changesWithin) {
      const check = this.step(admission.key, (bind) => `select 1 where ${isSame(bind)}`);
      const steps = texts.map(
        (text): Step => ({ ...this.step(admission.key, (bind) => `${text(bind, '')} returning 1`), mayBeEmpty: true }),
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
      return [...locking, this.step(admission.key, (bind) => `${changing(bind)} select 1 from _same`), afterwards];
    const whole: Text = (bind, bound) => {
      const isShown = `${rootTableAlias}.${this.itemKey} = ${bind(this.dialect.values.bindable(shown))}`;
      const change = changing(bind);
      const { params, sql } = store.read.reading([isShown, 'exists (select 1 from _same)'], bound.length, reading);
      bound.push(...params);
      return `${change} ${sql}`;
    };
    return [...locking, this.step(admission.key, whole, store.read.isWide)];
  }

  /** The condition that the owner and the items of the association are the ones that code saw. */
  #sameText(admission: Admission, shown: Identifier | null, before: readonly Identifier[], bind: Bind): string {
    const { sql, values } = this.dialect;
    const pivot = this.#pivot;
    const isOwner = this.isSameOwner(admission, shown, bind);
    const linked = `select count(*) from ${pivot.table} where ${pivot.owner[0]} = ${sql.parameter(1)}`;
    const count = bind(before.length);
    const among = sql.among([...pivot.item], bind(values.list(before))).join('');
    return [isOwner, `(${linked}) = ${count}`, `(${linked} and ${among}) = ${count}`].join(' and ');
  }

  #changeTexts({ after, before, written }: Changes): ((bind: Bind, guard: string) => string)[] {
    const { mapper, owners, property } = this.#options;
    const { sql, values } = this.dialect;
    const pivot = this.#pivot;
    const own = sql.parameter(1);
    const among = (column: string, ids: readonly Identifier[], bind: Bind) =>
      sql.among([column], bind(values.list(ids))).join('');
    const wasLinked = new Set(before);
    const isLinked = new Set(after);
    const added = after.filter((id) => !wasLinked.has(id));
    const removed = before.filter((id) => !isLinked.has(id));
    const items = tableOf(mapper, property.targetMeta as EntityMetadata);
    const texts: ((bind: Bind, guard: string) => string)[] = [];
    if (removed.length > 0) {
      const links = `delete from ${pivot.table} where ${pivot.owner[0]} = ${own}`;
      texts.push((bind, guard) => `${links} and ${among(pivot.item[0] as string, removed, bind)}${guard}`);
    }
    if (added.length > 0) {
      const keys = `select ${owners.keys[0]}, i.${this.itemKey} from ${owners.table} as ${rootTableAlias}, ${items} as i`;
      const links = `insert into ${pivot.table} (${pivot.owner}, ${pivot.item}) ${keys} where ${owners.hasKey()}`;
      const conflict = `on conflict (${pivot.owner}, ${pivot.item}) do nothing`;
      texts.push((bind, guard) => `${links} and ${among(`i.${this.itemKey}`, added, bind)}${guard} ${conflict}`);
    }
    const update = this.updateOf(written, texts.length > 0);
    if (update) texts.push((bind, guard) => `${update(bind)}${guard}`);
    return texts;
  }
}

/** The changes by code: keys in the association before and after, and columns of the owner. */
interface Changes {
  readonly before: readonly Identifier[];
  readonly after: readonly Identifier[];
  readonly written: readonly ColumnValue[];
}
