import { type EntityMetadata, type EntityProperty, ReferenceKind } from '@mikro-orm/core';
import { type DatabaseKind, databaseKindOf, type Mapper } from '../database/mapper.ts';
import type { Writer } from '../database/writer.ts';
import { type Identifier, type IdentifierParser, identifierParser, keyOf } from '../model/identifier.ts';
import { hasRules } from '../model/own-code.ts';
import { bindable } from '../query/bound-statement.ts';
import type { CompiledRead } from '../query/compiled-read.ts';
import { tableOf } from '../query/row-plan.ts';
import { accessorsFor } from './accessors.ts';
import { columnOf, needsUnitOfWork } from './compiled-change.ts';
import { isPlainReference, readReference } from './plain-body.ts';

/** Adds to and removes from a many-to-many association by statements on its pivot table. */
export class CompiledLink {
  readonly #writer: Writer;
  readonly #read: CompiledRead;
  readonly #kind: DatabaseKind;
  readonly #parseId: IdentifierParser;
  readonly #target: EntityMetadata;
  readonly #texts: Readonly<Record<'add' | 'remove', string>>;
  readonly #conditions: readonly string[];

  constructor(mapper: Mapper, meta: EntityMetadata, property: EntityProperty, read: CompiledRead, writer: Writer) {
    const target = property.targetMeta as EntityMetadata;
    this.#writer = writer;
    this.#read = read;
    this.#kind = databaseKindOf(mapper);
    this.#target = target;
    this.#parseId = identifierParser(target, mapper.driver.getPlatform(), 'json');
    const quote = (name: string) => mapper.driver.getPlatform().quoteIdentifier(name).toString();
    const parameter = (position: number) => (this.#kind === 'postgresql' ? `$${position}` : `?${position}`);
    const pivot = property.pivotTable.split('.').map(quote).join('.');
    const columns = [property.joinColumns[0], property.inverseJoinColumns[0]].map((name) => quote(name as string));
    const owner = `o.${columnOf(mapper, keyOf(meta))}`;
    const item = `i.${columnOf(mapper, keyOf(target))}`;
    const both = `from ${tableOf(mapper, meta)} as o, ${tableOf(mapper, target)} as i where ${owner} = ${parameter(1)} and ${item} = ${parameter(2)}`;
    this.#texts = {
      // the columns are named, so that a table that would take a link twice is found out
      add: `insert into ${pivot} (${columns.join(', ')}) select ${owner}, ${item} ${both} on conflict (${columns.join(', ')}) do nothing`,
      remove: `delete from ${pivot} where ${columns[0]} = ${parameter(1)} and ${columns[1]} = ${parameter(2)}`,
    };
    this.#conditions = [
      `e.${columnOf(mapper, keyOf(target))} = ${parameter(2)}`,
      `exists (select 1 from ${tableOf(mapper, meta)} as o where ${owner} = ${parameter(1)})`,
    ];
  }

  /** Whether adding and removing is nothing but rows of a pivot table. */
  static isPossible(mapper: Mapper, meta: EntityMetadata, property: EntityProperty): boolean {
    if (property.kind !== ReferenceKind.MANY_TO_MANY || !isPlainReference(property, [property.targetMeta as EntityMetadata]))
      return false;
    const { fixedOrder, inverseJoinColumns, joinColumns, pivotEntity, pivotTable, where } = property;
    const pivot = pivotEntity && (mapper.getMetadata().find(pivotEntity as never) as EntityMetadata | undefined);
    return (
      pivotTable !== undefined &&
      joinColumns.length === 1 &&
      inverseJoinColumns.length === 1 &&
      !fixedOrder &&
      !where &&
      // a pivot table of the application's own can have further columns
      pivot?.pivotTable === true &&
      pivot.props.length === 2 &&
      !accessorsFor(meta, property.name as string)?.hasMethods &&
      !hasRules(meta) &&
      !needsUnitOfWork(mapper, meta, 'update') &&
      !keyOf(meta).customType &&
      !keyOf(property.targetMeta as EntityMetadata).customType
    );
  }

  /** The key of the item that a body identifies; undefined where it is more than plain. */
  itemIn(body: unknown): Identifier | undefined {
    return readReference(body, this.#target, this.#parseId);
  }

  /** Adds or removes an item and gives it as a row; undefined where it or its owner is missing. */
  async change(what: 'add' | 'remove', owner: Identifier, item: Identifier): Promise<unknown[] | undefined> {
    const parameters = [bindable(owner, this.#kind), bindable(item, this.#kind)];
    return (await this.#writer.change(this.#read.besides(this.#texts[what], this.#conditions, parameters)))[0];
  }
}
