import type { EntityMetadata } from '@mikro-orm/core';
import type { Executor, Statement } from '../../database/executor.ts';
import type { Mapper } from '../../database/mapper.ts';
import { type Dialect, dialectOf } from '../../dialect/dialect.ts';
import type { RowField, RowObject, RowsByKey, SeenKeys } from '../../serialization/row-writer.ts';
import { statementOf } from './bound-statement.ts';
import type { RowPlan } from './row-plan.ts';
import type { ManySelection } from './row-selection.ts';

/** Finds out which of some keys of a class, given by their texts, a caller can see. */
export type FindVisible = (meta: EntityMetadata, keys: ReadonlyMap<string, unknown>) => Promise<SeenKeys>;

/** What sends a statement. */
export type Send = Pick<Executor, 'rows'>;

/** The rows of to-many associations, and the keys of embedded rows that the caller sees. */
interface Embedded {
  readonly many: readonly RowsByKey[];
  readonly seen?: readonly SeenKeys[];
}

const nothingEmbedded: Embedded = Object.freeze({ many: [] });
const noRows: Promise<unknown[][]> = Promise.resolve([]);
const noKeys: SeenKeys = new Set();

interface Many extends ManySelection {
  readonly statement: Statement;
  /** Where the keys of these rows stand if they are embedded only where they are seen, and those of all that stands in them. */
  readonly own: readonly VisibilityPoint[];
  readonly points: readonly VisibilityPoint[];
}

/** Fetches what the rows of a plan embed beyond what is joined to them, and decides about the visibility of all that they embed. */
export class EmbeddedRows {
  readonly #dialect: Dialect;
  readonly #many: readonly Many[];
  readonly #limited: readonly EntityMetadata[];
  readonly #rootPoints: readonly VisibilityPoint[];
  /** Whether rows embed nothing but what is joined to them for everybody. */
  readonly #isEmpty: boolean;

  constructor(mapper: Mapper, { limited, many, root }: RowPlan, isWide: boolean) {
    this.#dialect = dialectOf(mapper);
    this.#limited = limited;
    this.#rootPoints = pointsWithin(root.object);
    this.#many = many.map((selection) => {
      const own = pointsOf(selection.object);
      const points = [...own, ...pointsWithin(selection.object)];
      return { ...selection, own, points, statement: this.#statement(selection, isWide) };
    });
    this.#isEmpty = many.length === 0 && limited.length === 0;
  }

  #statement({ columns, conditions, joins, object, order, owner, table }: ManySelection, isWide: boolean): Statement {
    const { sql } = this.#dialect;
    const isAmong = [sql.among([owner], sql.parameter(1)).join(''), ...conditions].join(' and ');
    const from = [table, ...joins].join(' ');
    const text = `select ${columns.join(', ')} from ${from} where ${isAmong} order by ${order.sql}`;
    return statementOf(text, isWide || holdsBigints(object));
  }

  /** Has rows written with what they embed; at once if that is nothing more than the rows themselves hold. */
  written(
    rows: unknown[][],
    isWanted: (source: number) => boolean,
    send: Send,
    findVisible: FindVisible | undefined,
    write: (embedded: Embedded) => string,
  ): string | Promise<string> {
    return this.#isEmpty ? write(nothingEmbedded) : this.#fetch(rows, isWanted, send, findVisible).then(write);
  }

  /** All is fetched first, and then its visibility is decided, all of it at once. */
  async #fetch(
    rows: unknown[][],
    isWanted: (source: number) => boolean,
    send: Send,
    findVisible: FindVisible | undefined,
  ): Promise<Embedded> {
    const found = await this.#fetchMany(rows, isWanted, send);
    if (this.#limited.length === 0) return { many: found.map((some, source) => grouped(some, this.#many[source] as Many)) };
    if (!findVisible) throw new Error('the visibility of embedded rows must be decided');
    const keys = this.#limited.map(() => new Map<string, unknown>());
    gather(rows, this.#rootPoints, keys);
    for (const [source, some] of found.entries()) gather(some, (this.#many[source] as Many).points, keys);
    const seen = await Promise.all(
      this.#limited.map((meta, i) => {
        const wanted = keys[i] as Map<string, unknown>;
        return wanted.size > 0 ? findVisible(meta, wanted) : noKeys;
      }),
    );
    const many = found.map((some, source) => {
      const selection = this.#many[source] as Many;
      const { own } = selection;
      const shown = own.length > 0 ? some.filter((row) => own.every((point) => isSeen(row, point, seen))) : some;
      return grouped(shown, selection);
    });
    return { many, seen };
  }

  /** One statement for each to-many, those of one level at the same time. */
  #fetchMany(root: unknown[][], isWanted: (source: number) => boolean, send: Send): Promise<unknown[][][]> {
    const rows: Promise<unknown[][]>[] = [];
    for (const [source, { parent, parentColumn, statement }] of this.#many.entries()) {
      if (!isWanted(source)) rows.push(noRows);
      else if (parent === null) rows.push(this.#rowsFor(root, parentColumn, statement, send));
      else rows.push((rows[parent] as Promise<unknown[][]>).then((some) => this.#rowsFor(some, parentColumn, statement, send)));
    }
    return Promise.all(rows);
  }

  async #rowsFor(parents: unknown[][], column: number, statement: Statement, send: Send): Promise<unknown[][]> {
    const keys = new Set<unknown>();
    for (const parent of parents) if (parent[column] !== null) keys.add(parent[column]);
    return keys.size === 0 ? [] : send.rows(statement, [this.#dialect.values.list(keys)]);
  }
}

/** The rows of each owner, in order; a text key is ordered by code unit, whatever the database's collation. */
function grouped(rows: unknown[][], { order: { textColumn } }: ManySelection): RowsByKey {
  const groups = new Map<unknown, unknown[][]>();
  for (const row of rows) {
    const key = String(row[0]);
    const group = groups.get(key);
    if (group) group.push(row);
    else groups.set(key, [row]);
  }
  if (textColumn !== null) {
    for (const group of groups.values()) group.sort((a, b) => ((a[textColumn] as string) < (b[textColumn] as string) ? -1 : 1));
  }
  return groups;
}

/** Whether an object can hold integers beyond 2^53. */
export function holdsBigints({ variants }: RowObject): boolean {
  return variants.some(({ fields }) => fields.some(holdsBigint));
}

function holdsBigint(field: RowField): boolean {
  if (field.kind === 'value') return field.value.kind === 'bigint';
  if (field.kind === 'embedded') return field.fields.some(holdsBigint);
  return field.kind === 'to-one' && field.objects.some(holdsBigints);
}

/** Where in a row the key of something stands that is embedded only where it is seen. */
interface VisibilityPoint {
  readonly key: number;
  /** The column and the value that tell whether the row is of the class in question. */
  readonly discriminator: number | null;
  readonly type: string | null;
  /** The number of the class. */
  readonly seen: number;
}

function pointsOf({ discriminator, key, variants }: RowObject): VisibilityPoint[] {
  return variants.flatMap(({ seen, type }) =>
    seen === undefined || key === undefined ? [] : [{ key, discriminator: type === null ? null : discriminator, type, seen }],
  );
}

/** Those of all that stands in an object's own row. */
function pointsWithin({ variants }: RowObject): VisibilityPoint[] {
  return variants.flatMap(({ fields }) =>
    fields.flatMap((field) =>
      field.kind === 'to-one' ? field.objects.flatMap((object) => [...pointsOf(object), ...pointsWithin(object)]) : [],
    ),
  );
}

function gather(rows: readonly unknown[][], points: readonly VisibilityPoint[], keys: readonly Map<string, unknown>[]): void {
  for (const row of rows) {
    for (const point of points) if (isAt(row, point)) keys[point.seen]?.set(String(row[point.key]), row[point.key]);
  }
}

function isAt(row: unknown[], { discriminator, key, type }: VisibilityPoint): boolean {
  return row[key] !== null && (discriminator === null || row[discriminator] === type);
}

function isSeen(row: unknown[], point: VisibilityPoint, seen: readonly SeenKeys[]): boolean {
  return !isAt(row, point) || seen[point.seen]?.has(String(row[point.key])) === true;
}
