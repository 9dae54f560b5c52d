import { Cascade, type EntityMetadata, type EntityProperty, type EventType } from '@mikro-orm/core';
import { type DatabaseKind, databaseKindOf, type Mapper } from '../database/mapper.ts';
import type { Writer } from '../database/writer.ts';
import { hasDiscriminator } from '../model/hierarchy.ts';
import { type Identifier, keyOf } from '../model/identifier.ts';
import { isBare } from '../model/own-code.ts';
import { bindable, statementOf } from '../query/bound-statement.ts';
import type { CompiledRead } from '../query/compiled-read.ts';
import { canHideRows } from '../query/filters.ts';
import { tableOf } from '../query/row-plan.ts';
import { type ColumnValue, defaultsOf } from './plain-body.ts';

/** Changes of one model's rows that no code of the application takes part in: each is one short transaction. */
export class CompiledChange {
  readonly #writer: Writer;
  readonly #read: CompiledRead;
  readonly #kind: DatabaseKind;
  readonly #table: string;
  readonly #key: string;

  constructor(mapper: Mapper, meta: EntityMetadata, read: CompiledRead, writer: Writer) {
    this.#writer = writer;
    this.#read = read;
    this.#kind = databaseKindOf(mapper);
    this.#table = tableOf(mapper, meta);
    this.#key = columnOf(mapper, keyOf(meta));
  }

  /** Sets columns of a row and gives the row as it is then; undefined where there is none, or nothing that it is to refer to. */
  async patch(id: Identifier, columns: readonly ColumnValue[]): Promise<unknown[] | undefined> {
    const sets = columns.map(({ column }, index) => `${column} = ${this.#value(columns, index, 2)}`);
    const conditions = [`${this.#key} = ${this.#parameter(1)}`, ...this.#references(columns, 2)];
    const text = `update ${this.#table} set ${sets.join(', ')} where ${conditions.join(' and ')}`;
    return this.#changed(text, [bindable(id, this.#kind), ...columns.map(({ value }) => value)]);
  }

  /** Makes a row and gives it; undefined where there is nothing that it is to refer to. */
  async insert(columns: readonly ColumnValue[]): Promise<unknown[] | undefined> {
    const values = columns.map((_, index) => this.#value(columns, index, 1, true));
    const conditions = this.#references(columns, 1);
    const source =
      conditions.length > 0 ? `select ${values.join(', ')} where ${conditions.join(' and ')}` : `values (${values.join(', ')})`;
    const names = columns.map(({ column }) => column);
    return this.#changed(
      `insert into ${this.#table} (${names.join(', ')}) ${source}`,
      columns.map(({ value }) => value),
    );
  }

  /** Removes a row. False: there was none. */
  async remove(id: Identifier): Promise<boolean> {
    const text = `delete from ${this.#table} where ${this.#key} = ${this.#parameter(1)} returning 1`;
    return (await this.#writer.change([{ statement: statementOf(text), parameters: [bindable(id, this.#kind)] }])).length > 0;
  }

  async #changed(text: string, parameters: readonly unknown[]): Promise<unknown[] | undefined> {
    return (await this.#writer.change(this.#read.afterwards(text, parameters)))[0];
  }

  /** Conditions that what the columns refer to is there. */
  #references(columns: readonly ColumnValue[], from: number): string[] {
    return columns.flatMap(({ refersTo }, index) =>
      refersTo
        ? [`exists (select 1 from ${refersTo.table} as r where r.${refersTo.key} = ${this.#value(columns, index, from)})`]
        : [],
    );
  }

  /** A parameter that is used more than once, or stands where no column says its type, has to say it itself. */
  #value(columns: readonly ColumnValue[], index: number, from: number, typed = false): string {
    const { refersTo, type } = columns[index] as ColumnValue;
    const cast = this.#kind === 'postgresql' && (typed || refersTo) ? `::${type}` : '';
    return this.#parameter(from + index) + cast;
  }

  #parameter(position: number): string {
    return this.#kind === 'postgresql' ? `$${position}` : `?${position}`;
  }
}

type Change = 'create' | 'update' | 'delete';

const events: Readonly<Record<Change, readonly (keyof typeof EventType)[]>> = {
  create: ['onInit', 'beforeCreate', 'afterCreate', 'beforeUpsert', 'afterUpsert'],
  update: ['onInit', 'beforeUpdate', 'afterUpdate'],
  delete: ['onInit', 'beforeDelete', 'afterDelete'],
};

const everywhere = ['beforeFlush', 'onFlush', 'afterFlush'] as const;

/** Whether a kind of change of the model's rows is more than statements: code of the application's, or work that the mapper does. */
export function needsUnitOfWork(mapper: Mapper, meta: EntityMetadata, change: Change): boolean {
  const manager = mapper.em.getEventManager();
  if ([...events[change], ...everywhere].some((event) => manager.hasListeners(event as EventType, meta))) return true;
  if (hasDiscriminator(meta) || canHideRows(meta)) return true;
  const properties = meta.props as EntityProperty[];
  if (properties.some(({ version, concurrencyCheck }) => version || concurrencyCheck)) return true;
  switch (change) {
    case 'create':
      return !isBare(meta) || defaultsOf(mapper, meta) === null;
    case 'update':
      return properties.some(({ onUpdate }) => onUpdate);
    case 'delete':
      return (meta.relations as EntityProperty[]).some(
        ({ cascade, orphanRemoval }) =>
          orphanRemoval ||
          cascade?.some((each) => each === Cascade.REMOVE || each === Cascade.ALL || each === Cascade.SCHEDULE_ORPHAN_REMOVAL),
      );
  }
}

export function columnOf(mapper: Mapper, property: EntityProperty): string {
  return mapper.driver
    .getPlatform()
    .quoteIdentifier(property.fieldNames[0] as string)
    .toString();
}
