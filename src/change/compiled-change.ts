import { Cascade, type EntityMetadata, type EntityProperty, type EventType } from '@mikro-orm/core';
import type { Statement } from '../database/executor.ts';
import type { Mapper } from '../database/mapper.ts';
import type { Step, Writer } from '../database/writer.ts';
import { type Dialect, dialectOf } from '../dialect/dialect.ts';
import { hasDiscriminator } from '../model/hierarchy.ts';
import { type Identifier, keyOf } from '../model/identifier.ts';
import { isBare } from '../model/own-code.ts';
import { statementOf } from '../query/bound-statement.ts';
import type { CompiledRead } from '../query/compiled-read.ts';
import { canHideRows } from '../query/filters.ts';
import { tableOf } from '../query/row-plan.ts';
import { type ColumnValue, defaultsOf } from './plain-body.ts';

/** Statements that are kept, each for a set of columns that came together; beyond that the oldest goes. */
const keptStatements = 200;

type MakeSteps = (parameters: readonly unknown[]) => Step[];

/** Changes of one model's rows that no code of the application takes part in: each is one short transaction. */
export class CompiledChange {
  readonly #writer: Writer;
  readonly #read: CompiledRead;
  readonly #dialect: Dialect;
  readonly #table: string;
  readonly #key: string;
  readonly #removal: Statement;
  readonly #patches = new Map<string, MakeSteps>();
  readonly #inserts = new Map<string, MakeSteps>();

  constructor(mapper: Mapper, meta: EntityMetadata, read: CompiledRead, writer: Writer) {
    this.#writer = writer;
    this.#read = read;
    this.#dialect = dialectOf(mapper);
    this.#table = tableOf(mapper, meta);
    this.#key = columnOf(mapper, keyOf(meta));
    this.#removal = statementOf(`delete from ${this.#table} where ${this.#key} = ${this.#parameter(1)} returning 1`);
  }

  /** Sets columns of a row and gives the row as it is then; undefined where there is none, or nothing that it is to refer to. */
  patch(id: Identifier, columns: readonly ColumnValue[]): Promise<unknown[] | undefined> {
    return this.#run(this.#patches, columns, () => this.#update(columns), [this.#dialect.values.bindable(id)]);
  }

  /** Makes a row and gives it; undefined where there is nothing that it is to refer to. */
  insert(columns: readonly ColumnValue[]): Promise<unknown[] | undefined> {
    return this.#run(this.#inserts, columns, () => this.#insertion(columns), []);
  }

  /** Removes a row. False: there was none. */
  async remove(id: Identifier): Promise<boolean> {
    return (
      (await this.#writer.change([{ statement: this.#removal, parameters: [this.#dialect.values.bindable(id)] }])).length > 0
    );
  }

  /** Sends the statement for a set of columns, which is made when they first come together. */
  async #run(
    kept: Map<string, MakeSteps>,
    columns: readonly ColumnValue[],
    textOf: () => string,
    first: readonly unknown[],
  ): Promise<unknown[] | undefined> {
    const key = columns.map(({ column, refersTo }) => (refersTo ? `${column} ` : column)).join();
    let make = kept.get(key);
    if (!make) {
      make = this.#read.afterwards(textOf());
      if (kept.size >= keptStatements) kept.delete(kept.keys().next().value as string);
      kept.set(key, make);
    }
    return (await this.#writer.change(make([...first, ...columns.map(({ value }) => value)])))[0];
  }

  #update(columns: readonly ColumnValue[]): string {
    const sets = columns.map(({ column }, index) => `${column} = ${this.#value(columns, index, 2)}`);
    const conditions = [`${this.#key} = ${this.#parameter(1)}`, ...this.#references(columns, 2)];
    return `update ${this.#table} set ${sets.join(', ')} where ${conditions.join(' and ')}`;
  }

  #insertion(columns: readonly ColumnValue[]): string {
    const values = columns.map((_, index) => this.#value(columns, index, 1, true)).join(', ');
    const conditions = this.#references(columns, 1);
    const source = conditions.length > 0 ? `select ${values} where ${conditions.join(' and ')}` : `values (${values})`;
    return `insert into ${this.#table} (${columns.map(({ column }) => column).join(', ')}) ${source}`;
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
    return typed || refersTo ? this.#dialect.sql.typedParameter(from + index, type) : this.#parameter(from + index);
  }

  #parameter(position: number): string {
    return this.#dialect.sql.parameter(position);
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
