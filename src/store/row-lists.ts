import type { EntityMetadata } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import type { WriteMode } from '../change/body-reader.ts';
import { valueProblem } from '../change/conflict.ts';
import type { PlainBody } from '../change/plain-body.ts';
import { type ListedItems, type PlainList, readLists } from '../change/plain-lists.ts';
import type { ColumnValue } from '../change/stored-columns.ts';
import type { Mapper } from '../database/mapper.ts';
import { TooLargeError } from '../database/too-large.ts';
import type { Step, Writer } from '../database/writer.ts';
import { type Dialect, dialectOf } from '../dialect/dialect.ts';
import { databaseErrors } from '../dialect/errors.ts';
import { keyColumns } from '../query/rows/association.ts';
import { statementOf } from '../query/rows/bound-statement.ts';
import { rootTableAlias } from '../query/rows/row-plan.ts';
import { tableOf } from '../query/rows/table-name.ts';
import type { Admission } from './port.ts';
import type { Condition, RowChanges, SeenReferences } from './row-changes.ts';
import type { FoundRow, RowStore } from './row-store.ts';

interface RowListOptions {
  readonly mapper: Mapper;
  readonly meta: EntityMetadata;
  readonly lists: ReadonlyMap<string, PlainList>;
  readonly writer: Writer;
  /** The most bytes of the rows that the response embeds. */
  readonly mostBytes: number;
}

interface ChangingLists {
  readonly changes: RowChanges;
  readonly rows: RowStore;
  readonly mode: WriteMode;
  /** The rows that the caller may refer to; null if a condition cannot say that. */
  seenReferences(request: ApiRequest, columns: readonly ColumnValue[]): Promise<SeenReferences | null>;
}

/** Writes a statement. The first parameters are the key of the owner. */
type Text = (bind: (value: unknown, type?: string) => string) => string;

/** Replaces the links of many-to-many associations by statements, in one transaction with the columns that a body sets. */
export class RowLists {
  readonly #options: RowListOptions;
  readonly #dialect: Dialect;

  constructor(options: RowListOptions) {
    this.#options = options;
    this.#dialect = dialectOf(options.mapper);
  }

  /**
   * Returns null if it wrote nothing: the body has more than lists and columns, the owner does not fulfil the condition, or an item
   * or a referenced row is missing. MikroORM finds out which.
   */
  async change(
    request: ApiRequest,
    { key }: Admission,
    plain: PlainBody,
    condition: Condition,
    { changes, mode, rows, seenReferences }: ChangingLists,
  ): Promise<FoundRow | null> {
    const { lists, mostBytes, writer } = this.#options;
    const found = readLists(request.body, lists, mode);
    if (!found) return null;
    const isEmpty = mode === 'patch' && Object.keys(found.rest).length === 0;
    const columns = isEmpty ? [] : plain.read(found.rest, mode, { lists });
    const seen = columns && (await seenReferences(request, columns));
    if (!seen || columns.some(({ property }) => property?.isPartial)) return null;
    const reading = { ...(await rows.readingWithVisibility(request)), mostBytes };
    const owner = rows.read.keyParameters(key);
    const { params, sql } = changes.selecting(condition, owner.length, changes.referring(columns, seen));
    const steps: Step[] = [
      // a list can replace any number of links
      { statement: statementOf(sql), parameters: [...owner, ...params], mayTakeLong: true },
      ...found.items.filter(({ keys }) => keys.length > 0).map((items) => this.#areThere(items)),
      ...this.#written(
        owner,
        found.items.flatMap((items) => this.#replacing(owner, items, changes)),
        columns,
        changes,
      ),
      rows.read.byKey(key, reading),
    ];
    try {
      const [row] = await writer.change(steps);
      return row ? rows.foundRow(request, row, reading) : null;
    } catch (error) {
      if (databaseErrors.isTooLarge(error)) throw new TooLargeError(mostBytes);
      throw valueProblem(error) ?? error;
    }
  }

  /**
   * Selects nothing if an item is missing: then the transaction ends before it has changed anything. Nobody removes the others
   * until it ends.
   */
  #areThere({ keys, list }: ListedItems): Step {
    const { sql, values } = this.#dialect;
    const among = this.#isAmong(`i.${this.#keyOf(list)}`, sql.parameter(1));
    const there = `select 1 from ${this.#tableOf(list)} as i where ${among}${sql.keyLock}`;
    const text = `select count(*) from (${there}) as s having count(*) = ${sql.parameter(2)}`;
    return { statement: statementOf(text), parameters: [values.list(keys), keys.length] };
  }

  #replacing(owner: readonly unknown[], { keys, list }: ListedItems, changes: RowChanges): Step[] {
    const { item, owner: owning, table } = list.pivot;
    const own = this.#dialect.sql.parameter(1);
    const listed = this.#dialect.values.list(keys);
    const removing = this.#step(
      owner,
      (bind) => `delete from ${table} where ${owning[0]} = ${own} and not (${this.#isAmong(String(item[0]), bind(listed))})`,
    );
    if (keys.length === 0) return [removing];
    const key = `i.${this.#keyOf(list)}`;
    const isLinked = `select 1 from ${table} as l where l.${owning[0]} = ${own} and l.${item[0]} = ${key}`;
    const from = `${changes.table} as ${rootTableAlias}, ${this.#tableOf(list)} as i`;
    const adding = this.#step(
      owner,
      (bind) =>
        `insert into ${table} (${owning[0]}, ${item[0]}) select ${changes.keys[0]}, ${key} from ${from} ` +
        `where ${changes.hasKey()} and ${this.#isAmong(key, bind(listed))} and not exists (${isLinked}) on conflict do nothing`,
    );
    return [removing, adding];
  }

  /** The steps that replace links, and the one that then sets columns. An owner with a version gets a new one if a link changed. */
  #written(owner: readonly unknown[], links: readonly Step[], columns: readonly ColumnValue[], changes: RowChanges): Step[] {
    const { assignments, table } = changes;
    const set = (isChanged: boolean | string, bind: Parameters<Text>[0]) => {
      const sets = assignments.text(columns, ({ value }, _, type) => bind(value, type), isChanged);
      return `update ${table} as ${rootTableAlias} set ${sets} where ${changes.hasKey()}`;
    };
    if (!assignments.hasVersion)
      return columns.length > 0 ? [...links, this.#step(owner, (bind) => set(false, bind))] : [...links];
    let isChanged = false;
    const noting = (step: Step, i: number): Step => ({
      ...step,
      parameters: (before) => {
        // a transaction can be repeated
        isChanged = i > 0 && (isChanged || before.length > 0);
        return step.parameters as readonly unknown[];
      },
    });
    const setting = this.#step(owner, (bind) => set(`${bind(0, 'int')} = 1`, bind));
    const [at, parameters] = [owner.length, setting.parameters as readonly unknown[]];
    return [
      ...links.map(noting),
      { ...setting, parameters: (before) => parameters.with(at, isChanged || before.length > 0 ? 1 : 0) },
    ];
  }

  #step(owner: readonly unknown[], write: Text): Step {
    const parameters = [...owner];
    const { parameter, typedParameter } = this.#dialect.sql;
    const text = write((value, type) => {
      const at = parameters.push(value);
      return type === undefined ? parameter(at) : typedParameter(at, type);
    });
    return { statement: statementOf(`${text} returning 1`), parameters, mayBeEmpty: true };
  }

  #isAmong(column: string, list: string): string {
    return this.#dialect.sql.among([column], list).join('');
  }

  #tableOf({ target }: PlainList): string {
    return tableOf(this.#options.mapper, target);
  }

  #keyOf({ target }: PlainList): string {
    return keyColumns(this.#options.mapper, target)[0] as string;
  }
}
