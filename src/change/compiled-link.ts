import { type EntityMetadata, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import type { Statement } from '../database/executor.ts';
import type { Mapper } from '../database/mapper.ts';
import type { Writer } from '../database/writer.ts';
import { type Dialect, dialectOf } from '../dialect/dialect.ts';
import { type Identifier, keyOf } from '../model/identifier.ts';
import { statementOf } from '../query/bound-statement.ts';
import type { CompiledRead } from '../query/compiled-read.ts';
import { tableOf } from '../query/row-plan.ts';
import { columnOf } from './compiled-change.ts';
import { isPlainReference } from './plain-body.ts';

/** The pivot table of a many-to-many association. */
export interface Pivot {
  /** Quoted, as are its two columns. */
  readonly table: string;
  readonly owner: string;
  readonly item: string;
  /** Take the keys of the owner and of the item. */
  readonly insert: Statement;
  readonly remove: Statement;
}

/** The pivot table of an association in which adding and removing is nothing but rows of it; null where there is more to it. */
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
  const quote = (name: string) => mapper.driver.getPlatform().quoteIdentifier(name).toString();
  const { sql } = dialectOf(mapper);
  const [first, second] = [sql.parameter(1), sql.parameter(2)];
  const table = pivotTable.split('.').map(quote).join('.');
  const owner = quote(joinColumns[0] as string);
  const item = quote(inverseJoinColumns[0] as string);
  return {
    table,
    owner,
    item,
    // the columns are named, so that a table that would take a link twice is found out
    insert: statementOf(
      `insert into ${table} (${owner}, ${item}) values (${first}, ${second}) on conflict (${owner}, ${item}) do nothing`,
    ),
    remove: statementOf(`delete from ${table} where ${owner} = ${first} and ${item} = ${second}`),
  };
}

/** Adds to and removes from a many-to-many association by statements on its pivot table. */
export class CompiledLink {
  readonly #writer: Writer;
  readonly #dialect: Dialect;
  readonly #steps: Readonly<Record<'add' | 'remove', ReturnType<CompiledRead['besides']>>>;

  constructor(mapper: Mapper, meta: EntityMetadata, target: EntityMetadata, pivot: Pivot, read: CompiledRead, writer: Writer) {
    this.#writer = writer;
    this.#dialect = dialectOf(mapper);
    const { sql } = this.#dialect;
    const [first, second] = [sql.parameter(1), sql.parameter(2)];
    const owner = `o.${columnOf(mapper, keyOf(meta))}`;
    const item = `i.${columnOf(mapper, keyOf(target))}`;
    const both = `from ${tableOf(mapper, meta)} as o, ${tableOf(mapper, target)} as i where ${owner} = ${first} and ${item} = ${second}`;
    const add = `insert into ${pivot.table} (${pivot.owner}, ${pivot.item}) select ${owner}, ${item} ${both} on conflict (${pivot.owner}, ${pivot.item}) do nothing`;
    const conditions = [
      `e.${columnOf(mapper, keyOf(target))} = ${second}`,
      `exists (select 1 from ${tableOf(mapper, meta)} as o where ${owner} = ${first})`,
    ];
    this.#steps = { add: read.besides(add, conditions), remove: read.besides(pivot.remove.text, conditions) };
  }

  /** Adds or removes an item and gives it as a row; undefined where it or its owner is missing. */
  async change(what: 'add' | 'remove', owner: Identifier, item: Identifier): Promise<unknown[] | undefined> {
    const { bindable } = this.#dialect.values;
    const parameters = [bindable(owner), bindable(item)];
    return (await this.#writer.change(this.#steps[what](parameters)))[0];
  }
}
