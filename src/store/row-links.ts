import { type EntityMetadata, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import { isPlainReference } from '../change/plain-body.ts';
import type { Mapper } from '../database/mapper.ts';
import type { Step, Writer } from '../database/writer.ts';
import { type Dialect, dialectOf } from '../dialect/dialect.ts';
import { type Identifier, keyOf } from '../model/identifier.ts';
import { type Pivot, pivotOf } from '../query/rows/association.ts';
import { noText, type QueryText, statementOf } from '../query/rows/bound-statement.ts';
import type { CompiledRead } from '../query/rows/compiled-read.ts';
import { rootTableAlias } from '../query/rows/row-plan.ts';
import type { Reading } from '../query/rows/row-texts.ts';
import { columnOf, tableOf } from '../query/rows/table-name.ts';
import { isSeenText, type SeenRows } from '../query/visibility/visibility-columns.ts';
import type { Condition, RowChanges } from './row-changes.ts';

/** The keys of the owner and of the item, as parameters. */
type Keys = readonly [unknown, unknown];

/** The pivot table of an association, if adding and removing changes only its rows; null otherwise. */
export function pivotFor(mapper: Mapper, meta: EntityMetadata, property: EntityProperty): Pivot | null {
  if (property.kind !== ReferenceKind.MANY_TO_MANY || !isPlainReference(property, [property.targetMeta as EntityMetadata]))
    return null;
  const { fixedOrder, inverseJoinColumns, joinColumns, pivotEntity, pivotTable, where } = property;
  const pivot = pivotEntity && (mapper.getMetadata().find(pivotEntity as never) as EntityMetadata | undefined);
  // a pivot table of the application's own can have further columns
  const isPlain =
    pivot?.pivotTable === true && pivot.props.length === 2 && joinColumns.length === 1 && inverseJoinColumns.length === 1;
  const keys = [keyOf(meta), keyOf(property.targetMeta as EntityMetadata)];
  if (!isPlain || !pivotTable || fixedOrder || where || keys.some(({ customType }) => customType)) return null;
  return pivotOf(mapper, property);
}

/** Adds to and removes from a many-to-many association by statements on its pivot table, under a lock on the owner's row. */
export class RowLinks {
  readonly #writer: Writer;
  readonly #dialect: Dialect;
  readonly #owners: RowChanges;
  readonly #items: CompiledRead;
  readonly #pivot: Pivot;
  readonly #itemTable: string;
  readonly #itemKey: string;

  constructor(
    mapper: Mapper,
    target: EntityMetadata,
    pivot: Pivot,
    { items, owners, writer }: { owners: RowChanges; items: CompiledRead; writer: Writer },
  ) {
    this.#writer = writer;
    this.#dialect = dialectOf(mapper);
    this.#owners = owners;
    this.#items = items;
    this.#pivot = pivot;
    this.#itemTable = tableOf(mapper, target);
    this.#itemKey = columnOf(mapper, keyOf(target));
  }

  /** The table that adding and removing changes. */
  get table(): string {
    return this.#pivot.table;
  }

  /** Adds or removes an item and returns its row; undefined if it is missing, or its owner does not fulfil the condition. */
  async change(
    what: 'add' | 'remove',
    owner: Identifier,
    item: Identifier,
    condition: Condition,
    reading: Reading,
    seen: readonly SeenRows[] | 'all',
  ): Promise<unknown[] | undefined> {
    const { sql, values } = this.#dialect;
    const keys = [values.bindable(owner), values.bindable(item)] as const;
    if (sql.changesWithin)
      return (await this.#writer.change(this.#inOne(what, keys, this.#ownerText(condition, seen, 2), reading)))[0];
    // a statement must not have unused parameters
    const used = seen === 'all' ? 1 : 2;
    const { params, sql: text } = this.#ownerText(condition, seen, used);
    const owning: Step = { statement: statementOf(text), parameters: [...keys.slice(0, used), ...params] };
    const steps = this.#inSteps(what, keys, owning, this.#items.byKey(item, reading));
    return (await this.#writer.change(steps))[0];
  }

  /** Selects the owner, if the caller sees the item. Their keys are the first parameters; `before` is the number of these. */
  #ownerText(condition: Condition, seen: readonly SeenRows[] | 'all', before: number): QueryText {
    const item = this.#dialect.sql.parameter(2);
    return this.#owners.selecting(condition, before, (next) =>
      seen === 'all' ? noText : isSeenText(seen, item, next, this.#dialect),
    );
  }

  /** One statement that includes the lock and the change. */
  #inOne(what: 'add' | 'remove', keys: Keys, { params, sql }: QueryText, reading: Reading): Step[] {
    const item = this.#dialect.sql.parameter(2);
    const isItem = [`${rootTableAlias}.${this.#itemKey} = ${item}`, 'exists (select 1 from _owner)'];
    const shown = this.#items.reading(isItem, keys.length + params.length, reading);
    const text = `with _owner as (${sql}), _change as (${this.#changeText(what, item)}) ${shown.sql}`;
    return [{ statement: statementOf(text, this.#items.isWide), parameters: [...keys, ...params, ...shown.params] }];
  }

  /** Selects the owner before the change: a restriction that depends on links may exclude it afterwards. */
  #inSteps(what: 'add' | 'remove', keys: Keys, owning: Step, reading: Step): Step[] {
    const { parameter } = this.#dialect.sql;
    const change = `with _owner as (select ${parameter(1)} as key) ${this.#changeText(what, parameter(2))} returning 1`;
    return [owning, { statement: statementOf(change), parameters: keys, mayBeEmpty: true }, reading];
  }

  #changeText(what: 'add' | 'remove', item: string): string {
    const { item: itemColumn, owner: ownerColumn, table } = this.#pivot;
    if (what === 'remove')
      return `delete from ${table} where ${ownerColumn} in (select key from _owner) and ${itemColumn} = ${item}`;
    const keys = `select o.key, i.${this.#itemKey} from _owner as o, ${this.#itemTable} as i where i.${this.#itemKey} = ${item}`;
    // with named columns, the statement fails if the table could hold a link twice
    return `insert into ${table} (${ownerColumn}, ${itemColumn}) ${keys} on conflict (${ownerColumn}, ${itemColumn}) do nothing`;
  }
}
