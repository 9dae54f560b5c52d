import type { EntityProperty } from '@mikro-orm/core';
import type { ApiRequest } from '../access/user.ts';
import { valueProblem } from '../change/conflict.ts';
import type { ColumnValue, Referred } from '../change/stored-columns.ts';
import type { Step } from '../database/writer.ts';
import { type Dialect, dialectOf } from '../dialect/dialect.ts';
import { isTurnLong, mapInTurns, nextTurn } from '../event-loop.ts';
import { keyFrom, keyText } from '../model/composite-key.ts';
import { isComposite, keyOf } from '../model/identifier.ts';
import { keyColumns } from '../query/rows/association.ts';
import { type QueryText, statementOf } from '../query/rows/bound-statement.ts';
import type { Reading } from '../query/rows/row-texts.ts';
import { RowChanged } from '../query/rows/row-version.ts';
import { isSeenText } from '../query/visibility/visibility-columns.ts';
import { locateConflict, type WantedRow } from './conflict-item.ts';
import type { ItemErrors } from './item-errors.ts';
import { groupsOf, stateOf } from './request-state.ts';
import type { SeenReferences } from './row-changes.ts';
import type { Check } from './row-code.ts';
import { FoundRows } from './row-store.ts';
import { noReferences, notPlain } from './row-writes.ts';
import type { RowWriting } from './write-store.ts';

/** An item of a list: a request of its own, with the item as its body. */
export interface NewItem {
  readonly request: ApiRequest;
  readonly check: Check;
}

interface Group {
  readonly columns: readonly ColumnValue[];
  readonly indexes: readonly number[];
}

/** Rows that are inserted within a few milliseconds. */
const mostQuick = 200;

type Rows = readonly (readonly ColumnValue[])[];

/** The rows as they are stored, in the order of the items; none if a referenced row is missing. */
interface Inserted {
  readonly reading: Reading;
  readonly rows: unknown[][];
}

/** Inserts many rows of one model by one statement, for bodies that no code of the application has to read. */
export class RowInserts {
  readonly #writing: RowWriting;
  readonly #dialect: Dialect;
  readonly #keys: string;
  /** Whether the database counts the keys up, unless code of the model makes them. */
  readonly #isCounted: boolean;

  constructor(writing: RowWriting) {
    this.#writing = writing;
    const { mapper, meta } = writing.writes.options;
    this.#dialect = dialectOf(mapper);
    this.#keys = keyColumns(mapper, meta).join(', ');
    this.#isCounted = !isComposite(meta) && isCounted(keyOf(meta));
  }

  /** Inserts a row for each item, all or none. Returns `notPlain` if MikroORM has to write them: then nothing was written. */
  async create(request: ApiRequest, items: readonly NewItem[], errors: ItemErrors): Promise<FoundRows | typeof notPlain> {
    const { plain, writes } = this.#writing;
    const { code, rows: store } = writes.options;
    const bodies: ColumnValue[][] = [];
    for (const { request: item } of items) {
      const columns = plain.read(item.body, 'create', { withDefaults: code === null });
      if (!columns) return notPlain;
      bodies.push(columns);
      await errors.pause();
    }
    const seen = await this.#seenBy(request, bodies);
    if (!seen) await this.#decideReferences(request, bodies);
    if (!seen) await errors.each(bodies, async (columns) => refuse(await writes.refusedReference(request, columns)));
    // code gets only rows that the caller sees
    const all = code ? await this.#coded(request, items, bodies, errors, seen ?? noReferences) : bodies;
    const toCheck = code ? noReferences : (seen ?? noReferences);
    if (!all) return notPlain;
    errors.throwIfAny();
    const groups = await this.#groupsOf(all);
    const refers = all.some((columns) => columns.some(({ refersTo }) => refersTo));
    // a statement that finds a reference missing inserts nothing, but those before it would stay
    if (groups.length > 1 && refers) return notPlain;
    const [only] = groups;
    const isCounted = this.#isCounted && groups.every(({ columns }) => columns.every(({ column }) => column !== this.#keys));
    const isOne = groups.length === 1 && isCounted && store.read.isReadWithin;
    const inserted = isOne ? this.#within(request, only as Group, all, toCheck) : this.#stepwise(request, groups, all, toCheck);
    const { reading, rows } = await inserted;
    if (rows.length === 0) {
      await this.#decideReferences(request, all);
      const existing = await writes.existing(referredBy(all));
      await errors.each(all, async (columns) => refuse(await writes.missingReference(request, columns, existing)));
      throw new RowChanged();
    }
    const found = await mapInTurns(rows, (row) => store.foundRow(request, row, reading));
    return new FoundRows(found, store.read, reading);
  }

  async #decideReferences(request: ApiRequest, bodies: Rows): Promise<void> {
    for (const [references, some] of Map.groupBy(referredBy(bodies), (referred) => referred.references))
      await references.decide(
        request,
        some.map(({ id }) => id),
      );
  }

  /** Inserts and reads the rows by one statement. Keys are counted in the order of insertion. */
  async #within(request: ApiRequest, group: Group, all: Rows, seen: SeenReferences): Promise<Inserted> {
    const { changes, options } = this.#writing.writes;
    const { read } = options.rows;
    const reading = await options.rows.readingWithin(request, [changes.table]);
    const insert = await this.#insert(group, all, seen);
    const rows = await this.#written(request, [...this.#turn(request), ...read.afterwards(insert, reading)], all);
    return { reading, rows: rows.sort((a, b) => Number(numberOf(read.keyOf(a)) - numberOf(read.keyOf(b)))) };
  }

  /** Inserts the rows by a statement for each group, and then reads all of them. */
  async #stepwise(request: ApiRequest, groups: readonly Group[], all: Rows, seen: SeenReferences): Promise<Inserted> {
    const { rows: store } = this.#writing.writes.options;
    const reading = await store.readingWithVisibility(request);
    const keys: unknown[][][] = [];
    // a step whose parameters do not depend on the one before is sent without waiting
    const mayTakeLong = all.length > mostQuick;
    const steps: Step[] = [];
    for (const [i, group] of groups.entries()) {
      const { params, sql } = await this.#insert(group, all, seen);
      const statement = statementOf(`${sql} returning ${this.#keys}`, true);
      const noting = (before: unknown[][]) => {
        keys[i - 1] = before;
        return params;
      };
      steps.push({ statement, mayTakeLong, parameters: i === 0 ? params : noting });
    }
    const keysOf = (before: unknown[][]) => {
      keys[groups.length - 1] = before;
      return keys.flat().map(keyFrom);
    };
    const found = await this.#written(request, [...this.#turn(request), ...steps, store.read.byKeys(keysOf, reading)], all);
    if (found.length === 0) return { reading, rows: [] };
    const byKey = new Map(await mapInTurns(found, (row) => [String(store.read.keyOf(row)), row] as const));
    const rows: unknown[][] = [];
    for (const [i, { indexes }] of groups.entries())
      for (const [at, index] of indexes.entries()) {
        if (isTurnLong()) await nextTurn();
        rows[index] = byKey.get(keyText(keys[i]?.[at] ?? [])) as unknown[];
      }
    return { reading, rows };
  }

  /** Runs the code of the model for each row. */
  async #coded(
    request: ApiRequest,
    items: readonly NewItem[],
    bodies: readonly ColumnValue[][],
    errors: ItemErrors,
    seen: SeenReferences,
  ): Promise<readonly ColumnValue[][] | null> {
    const { writes } = this.#writing;
    const { code } = writes.options;
    const referred = code && (await code.referredAll(request, bodies, seen));
    if (!code || !referred) return null;
    const all: ColumnValue[][] = [];
    await errors.each(items, async ({ check, request: item }, index) => {
      const columns = bodies[index] as ColumnValue[];
      const existing = referred[index] as ReadonlyMap<string, object>;
      refuse(writes.goneReference(columns, existing));
      all[index] = await code.created(item, columns, existing, check);
    });
    return all;
  }

  async #seenBy(request: ApiRequest, bodies: readonly ColumnValue[][]): Promise<SeenReferences | null> {
    // one value of each column is enough: whether a caller sees rows of a class does not depend on the value
    const columns = new Map(bodies.flatMap((body) => body.flatMap((one) => (one.refersTo ? [[one.column, one] as const] : []))));
    return this.#writing.writes.seenReferences(request, [...columns.values()]);
  }

  /** Rows with the same columns are inserted by the same statement. */
  async #groupsOf(all: Rows): Promise<Group[]> {
    const { emptyColumns } = this.#writing.plain;
    const used = new Map<string, ColumnValue>();
    for (const one of all.flat()) if (one.refersTo || !used.has(one.column)) used.set(one.column, one);
    const groups = new Map<string, { columns: readonly ColumnValue[]; indexes: number[] }>();
    for (const [index, columns] of all.entries()) {
      if (isTurnLong()) await nextTurn();
      const own = new Set(columns.map(({ column }) => column));
      const filled = [...used.values()].filter(({ column }) => own.has(column) || emptyColumns.has(column));
      const key = filled.map(({ column }) => column).join();
      const group = groups.get(key) ?? { columns: filled, indexes: [] };
      group.indexes.push(index);
      groups.set(key, group);
    }
    const { rowSource } = this.#dialect.sql;
    return [...groups.values()].flatMap(({ columns, indexes }) => {
      const most = rowSource.mostRows(columns.length);
      const chunks: Group[] = [];
      for (let from = 0; from < indexes.length; from += most) chunks.push({ columns, indexes: indexes.slice(from, from + most) });
      return chunks;
    });
  }

  async #insert({ columns, indexes }: Group, all: Rows, seen: SeenReferences): Promise<QueryText> {
    const { writes } = this.#writing;
    const rows = await mapInTurns(indexes, (index) => {
      const values = new Map((all[index] as readonly ColumnValue[]).map(({ column, value }) => [column, value]));
      return columns.map(({ column }) => values.get(column) ?? null);
    });
    const source = await this.#dialect.sql.rowSource.of(
      columns.map(({ type }) => type),
      rows,
    );
    const params = [...source.params];
    const conditions = columns.flatMap(({ column, refersTo }, i) => {
      if (!refersTo) return [];
      const isSeen = seen.get(column);
      const text = isSeen && isSeenText(isSeen, () => [`i.c${i}`], params.length, this.#dialect);
      if (text) params.push(...text.params);
      const exists = text?.sql ?? `exists (select 1 from ${refersTo.table} as r where r.${refersTo.key} = i.c${i})`;
      return [`i.c${i} is null or (${exists})`];
    });
    const every = conditions.map((each) => `(${each})`).join(' and ');
    // all or none: a row that refers to a missing one keeps the others from being inserted
    const where =
      conditions.length > 0 ? ` where not exists (select 1 from _rows as i where not coalesce((${every}), false))` : '';
    const names = columns.map(({ column }) => column).join(', ');
    const values = columns.map((_, i) => `c${i}`).join(', ');
    const sql =
      `with _rows as materialized (select * from ${source.sql} as s) insert into ${writes.changes.table} (${names}) ` +
      `select ${values} from _rows${where}${source.order}`;
    return { sql, params };
  }

  /** Lets other lists for the same table insert at the same time, unless a deadlock with them made this attempt necessary. */
  #turn(request: ApiRequest): Step[] {
    const { mapper } = this.#writing.writes.options;
    const turn = this.#dialect.sql.turn?.(!stateOf(request, mapper).isAlone);
    if (!turn) return [];
    return [{ statement: statementOf(turn), parameters: [this.#writing.writes.changes.table], mayBeEmpty: true }];
  }

  async #written(request: ApiRequest, steps: readonly Step[], all: Rows): Promise<unknown[][]> {
    const { executor, mapper, meta, writer } = this.#writing.writes.options;
    try {
      return await writer.change(steps);
    } catch (error) {
      const rowOf = (columns: readonly ColumnValue[], index: number): WantedRow => ({
        index,
        key: null,
        column: (name) => columns.find(({ column }) => column === name),
      });
      const rowsOf = (table: string) => (table === meta.root.tableName ? all.map(rowOf) : []);
      const groupsAt = () => groupsOf(request, mapper);
      throw valueProblem(error) ?? (await locateConflict(error, { executor, mapper, rowsOf, groupsAt })) ?? error;
    }
  }
}

/** A key can be beyond 2^53. */
function numberOf(key: unknown): bigint {
  return BigInt(String(key));
}

function isCounted({ autoincrement, runtimeType }: EntityProperty): boolean {
  return autoincrement === true && ['number', 'bigint'].includes(runtimeType);
}

function referredBy(rows: Rows): Referred[] {
  return rows.flatMap((columns) => columns.flatMap(({ refersTo }) => refersTo ?? []));
}

function refuse(refusal: Error | null): void {
  if (refusal) throw refusal;
}
