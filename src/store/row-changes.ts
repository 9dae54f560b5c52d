import type { EntityMetadata } from '@mikro-orm/core';
import type { ColumnValue } from '../change/stored-columns.ts';
import type { Executor, Statement } from '../database/executor.ts';
import { LruCache } from '../database/lru-cache.ts';
import type { Mapper, RequestEntityManager } from '../database/mapper.ts';
import type { Step, Writer } from '../database/writer.ts';
import type { SortKey } from '../declaration/types.ts';
import { type Dialect, dialectOf } from '../dialect/dialect.ts';
import type { Identifier } from '../model/identifier.ts';
import { asRow } from '../model/key-condition.ts';
import { conditionOf } from '../query/entities/condition-query.ts';
import { keysSelected } from '../query/entities/keys.ts';
import { classConditions, keyColumns } from '../query/rows/association.ts';
import { keyOfText, noText, type QueryText, statementOf, UnwrittenText } from '../query/rows/bound-statement.ts';
import type { CompiledRead } from '../query/rows/compiled-read.ts';
import { parametrized } from '../query/rows/parametrized.ts';
import { rootTableAlias } from '../query/rows/row-plan.ts';
import type { Reading } from '../query/rows/row-texts.ts';
import { type RowVersion, versionColumns } from '../query/rows/row-version.ts';
import { tableOf } from '../query/rows/table-name.ts';
import { isSeenText, type SeenRows } from '../query/visibility/visibility-columns.ts';
import { Assignments } from './assignments.ts';
import { referringUpdates } from './inbound-versions.ts';
import type { Restriction } from './port.ts';
import type { RowStore } from './row-store.ts';

/** The condition that a row must fulfil for a statement to write it. */
export interface Condition {
  readonly restriction: Restriction;
  /** The version of the row when access was checked; null if nothing was checked, and the restriction decides. */
  readonly version: RowVersion | null;
  readonly em: () => RequestEntityManager;
}

/** The rows that a caller may refer to, by the column with the reference. A column without an entry may refer to any row. */
export type SeenReferences = ReadonlyMap<string, readonly SeenRows[]>;

/** Maximum of cached statements that change rows, one for each selection of columns and condition. */
const maxCachedChanges = 200;

/** Changes one model's rows. Each change is a short transaction of prepared statements that contain the condition on the row. */
export class RowChanges {
  readonly #mapper: Mapper;
  readonly #meta: EntityMetadata;
  readonly #writer: Writer;
  readonly #read: CompiledRead;
  readonly #sort: readonly SortKey[];
  readonly #dialect: Dialect;
  readonly table: string;
  /** The key columns of {@link table}, with their alias. */
  readonly keys: readonly string[];
  readonly #versionColumns: readonly string[];
  readonly assignments: Assignments;
  /** What a removal writes first. The parameters are the key. */
  readonly #beforeRemoval: readonly string[];
  readonly #removals = new LruCache<Statement>(maxCachedChanges);

  constructor(mapper: Mapper, meta: EntityMetadata, { read, sort }: Pick<RowStore, 'read' | 'sort'>, writer: Writer) {
    this.#mapper = mapper;
    this.#meta = meta;
    this.#writer = writer;
    this.#read = read;
    this.#sort = sort;
    this.#dialect = dialectOf(mapper);
    this.table = tableOf(mapper, meta);
    this.keys = keyColumns(mapper, meta).map((column) => `${rootTableAlias}.${column}`);
    this.#versionColumns = versionColumns(mapper, meta, rootTableAlias);
    this.assignments = new Assignments(mapper, meta);
    this.#beforeRemoval = referringUpdates(mapper, meta, (position) => this.#parameter(position));
  }

  /**
   * Sets columns of a row and returns the stored row; undefined if no row fulfils the condition, or a referenced row is missing.
   */
  async update(
    id: Identifier,
    columns: readonly ColumnValue[],
    condition: Condition,
    reading: Reading,
    seen: SeenReferences,
  ): Promise<unknown[] | undefined> {
    const first = this.keys.length + 1;
    const before = this.keys.length + columns.length;
    const own = this.#textOf(condition, before);
    const references = this.#references(columns, first, seen, before + own.params.length);
    const params = [...this.#read.keyParameters(id), ...valuesOf(columns), ...own.params, ...references.params];
    const key = `update ${namesOf(columns)};${keyOfText(own)};${keyOfText(references)}`;
    const write = () => {
      const sets = this.assignments.text(columns, (_, index, type) => this.#value(columns, index, first, type !== undefined));
      return `update ${this.table} as ${rootTableAlias} set ${sets} where ${allOf(this.hasKey(), references.sql, own.sql)}`;
    };
    return this.#run(new UnwrittenText(key, params, write), reading);
  }

  /** Inserts a row and returns it as it is stored; undefined if a referenced row is missing. */
  insert(columns: readonly ColumnValue[], reading: Reading, seen: SeenReferences): Promise<unknown[] | undefined> {
    const references = this.#references(columns, 1, seen, columns.length);
    const write = () => {
      const values = columns.map((_, index) => this.#value(columns, index, 1, true)).join(', ');
      const source = references.sql === '' ? `values (${values})` : `select ${values} where ${references.sql}`;
      return `insert into ${this.table} (${columns.map(({ column }) => column).join(', ')}) ${source}`;
    };
    const key = `insert ${namesOf(columns)};${keyOfText(references)}`;
    return this.#run(new UnwrittenText(key, [...valuesOf(columns), ...references.params], write), reading);
  }

  /** Removes a row. Returns false if no row fulfils the condition. */
  async remove(id: Identifier, condition: Condition): Promise<boolean> {
    const keys = this.#read.keyParameters(id);
    if (this.#beforeRemoval.length > 0) {
      const { params, sql } = this.selecting(condition, keys.length, () => noText);
      const removal = `delete from ${this.table} as ${rootTableAlias} where ${this.hasKey()} returning 1`;
      const steps = [...this.#beforeRemoval, removal].map(
        (text): Step => ({ statement: statementOf(text), parameters: keys, mayBeEmpty: true }),
      );
      return (
        (await this.#writer.change([{ statement: statementOf(sql), parameters: [...keys, ...params] }, ...steps])).length > 0
      );
    }
    const own = this.#textOf(condition, keys.length);
    const statement = this.#removals.get(keyOfText(own), () =>
      statementOf(`delete from ${this.table} as ${rootTableAlias} where ${allOf(this.hasKey(), own.sql)} returning 1`),
    );
    return (await this.#writer.change([{ statement, parameters: [...keys, ...own.params] }])).length > 0;
  }

  /** A statement that selects and locks the row if it fulfils the condition and `more`. The first parameters are the key. */
  selecting(condition: Condition, before: number, more: (before: number) => QueryText): QueryText {
    const own = this.#textOf(condition, before);
    const further = more(before + own.params.length);
    const key = `${before};${keyOfText(own)};${keyOfText(further)}`;
    return new UnwrittenText(key, [...own.params, ...further.params], () => {
      const lock = this.#dialect.sql.rowLock(rootTableAlias);
      const selected = this.keys.map((column, i) => `${column} as key${i}`).join(', ');
      const where = allOf(this.hasKey(), own.sql, further.sql);
      return `select ${selected} from ${this.table} as ${rootTableAlias} where ${where}${lock}`;
    });
  }

  async #run(change: QueryText, reading: Reading): Promise<unknown[] | undefined> {
    return (await this.#writer.change(this.#read.afterwards(change, reading)))[0];
  }

  /** A version implies the restriction: the row was found through it. */
  #textOf({ em, restriction, version }: Condition, before: number): QueryText {
    if (version) {
      const { values } = this.#dialect;
      const params = version.map((value) => values.bindable(value));
      return new UnwrittenText('version', params, () => this.#sameVersionText((i) => this.#parameter(before + i + 1)));
    }
    const ofClass = classConditions(this.#mapper, this.#meta, rootTableAlias);
    if (!restriction) return { sql: allOf(...ofClass), params: [] };
    const own = conditionOf(restriction, this.#meta);
    const bound = own && parametrized(own, this.#dialect, before);
    if (bound) return new UnwrittenText(keyOfText(bound), bound.params, () => allOf(...ofClass, bound.sql));
    const keys = keysSelected(em(), this.#meta, restriction, this.#sort);
    const selected = parametrized(keys, this.#dialect, before);
    const sql = selected?.sql ?? this.#mapper.driver.getPlatform().formatQuery(keys.sql, keys.params);
    return { sql: `${asRow(this.keys)} in (${sql})`, params: selected?.params ?? [] };
  }

  /** Whether a row still has this version. */
  async isStill(id: Identifier, version: RowVersion, executor: Executor): Promise<boolean> {
    const params = this.#read.keyParameters(id);
    const isSame = this.versionText(version, (value) => this.#parameter(params.push(value)));
    const text = `select 1 from ${this.table} as ${rootTableAlias} where ${this.hasKey()} and ${isSame}`;
    return (await executor.rows(statementOf(text), params)).length > 0;
  }

  /** The condition that the row has this version; `bind` makes parameters of values. */
  versionText(version: RowVersion, bind: (value: unknown) => string): string {
    const { values } = this.#dialect;
    return this.#sameVersionText((i) => bind(values.bindable(version[i])));
  }

  #sameVersionText(parameter: (index: number) => string): string {
    return this.#dialect.sql.areSame(
      this.#versionColumns,
      this.#versionColumns.map((_, i) => parameter(i)),
    );
  }

  /** The condition of {@link selecting} that the rows that columns refer to exist and are visible to the caller. */
  referring(columns: readonly ColumnValue[], seen: SeenReferences): (before: number) => QueryText {
    const referring = columns.filter(({ refersTo }) => refersTo);
    return (before) => {
      const references = this.#references(referring, before + 1, seen, before + referring.length);
      const key = `${namesOf(referring)};${keyOfText(references)}`;
      return new UnwrittenText(key, [...valuesOf(referring), ...references.params], () => references.sql);
    };
  }

  /** Conditions that referenced rows exist and are visible to the caller. `before` is the number of parameters before theirs. */
  #references(columns: readonly ColumnValue[], from: number, seen: SeenReferences, before: number): QueryText {
    if (columns.every(({ refersTo }) => !refersTo)) return noText;
    const params: unknown[] = [];
    let key = '';
    const conditions = columns.flatMap(({ column, refersTo }, index) => {
      if (!refersTo) return [];
      const rows = seen.get(column);
      if (!rows) {
        key += `${refersTo.table} ${refersTo.key},`;
        return [
          () => `exists (select 1 from ${refersTo.table} as r where r.${refersTo.key} = ${this.#value(columns, index, from)})`,
        ];
      }
      const isSeen = isSeenText(rows, () => [this.#value(columns, index, from)], before + params.length, this.#dialect);
      key += `${keyOfText(isSeen)},`;
      params.push(...isSeen.params);
      return [() => isSeen.sql];
    });
    return new UnwrittenText(key, params, () => allOf(...conditions.map((write) => write())));
  }

  /** A parameter needs an explicit type if it is used more than once, or if no column determines its type. */
  #value(columns: readonly ColumnValue[], index: number, from: number, typed = false): string {
    const { refersTo, type } = columns[index] as ColumnValue;
    const { sql } = this.#dialect;
    return typed || refersTo ? sql.typedParameter(from + index, type) : sql.parameter(from + index);
  }

  /** The condition that a row of {@link table} has the key in the first parameters. */
  hasKey(): string {
    return this.keys.map((key, i) => `${key} = ${this.#parameter(i + 1)}`).join(' and ');
  }

  #parameter(position: number): string {
    return this.#dialect.sql.parameter(position);
  }
}

/** The columns of a statement, and which of them refer to a row, in keys of caches. */
function namesOf(columns: readonly ColumnValue[]): string {
  let names = '';
  for (const { column, refersTo } of columns) names += refersTo ? `${column}>` : `${column},`;
  return names;
}

function valuesOf(columns: readonly ColumnValue[]): unknown[] {
  return columns.map(({ value }) => value);
}

/** Conditions that must all hold. */
function allOf(...conditions: readonly string[]): string {
  return conditions.filter((condition) => condition !== '').join(' and ');
}
