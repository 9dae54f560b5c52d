import type { EntityMetadata } from '@mikro-orm/core';
import type { Executor, Statement } from '../../database/executor.ts';
import { LruCache } from '../../database/lru-cache.ts';
import type { Mapper } from '../../database/mapper.ts';
import { type Dialect, dialectOf } from '../../dialect/dialect.ts';
import { isTurnLong, nextTurn } from '../../event-loop.ts';
import { keyListText, keyText } from '../../model/composite-key.ts';
import type { RowField, RowObject, RowsByKey, VisibleKeys } from '../../serialization/row-writer.ts';
import {
  isAt,
  keyAt,
  keyTextAt,
  pointsOf,
  pointsWithin,
  type SeenClasses,
  VisibilityColumns,
  type VisibilityPoint,
} from '../visibility/visibility-columns.ts';
import { keyOfText, noText, type QueryText, statementOf, UnwrittenText } from './bound-statement.ts';
import { embeddedSize } from './embedded-size.ts';
import type { RowPlan } from './row-plan.ts';
import type { ManySelection } from './row-selection.ts';
import type { TextColumn } from './seek/key-order.ts';

/** Finds out which of these keys of a class, given with their texts, a caller can see. */
export type FindVisible = (meta: EntityMetadata, keys: ReadonlyMap<string, unknown>) => Promise<VisibleKeys>;

/** How the visibility of embedded rows is decided: by columns in the same statement, or by further statements. */
export type EmbeddedVisibility = { readonly seen: SeenClasses } | { readonly find: FindVisible };

/** Sends statements. */
export type Send = Pick<Executor, 'rows'>;

/** The rows of to-many associations, and the keys of embedded rows that the caller sees. */
export interface Embedded {
  readonly many: readonly RowsByKey[];
  readonly seen?: readonly VisibleKeys[];
  /** The number of rows in `many`. */
  readonly size: number;
}

/** Maximum of cached statements for each association, one for each condition of visibility. */
const maxCachedStatements = 200;

/** Embedded rows beyond which a response is written in several turns of the event loop. */
export const manyRows = 2000;

const nothingEmbedded: Embedded = Object.freeze({ many: [], size: 0 });
const noRows: Promise<unknown[][]> = Promise.resolve([]);
const noKeys: VisibleKeys = new Set();

interface Many extends ManySelection {
  /** The points of these rows themselves, if they can be hidden from the caller. */
  readonly own: readonly VisibilityPoint[];
  /** The same, and the points of all rows that are embedded in them. */
  readonly points: readonly VisibilityPoint[];
  readonly columnsSeen: VisibilityColumns;
  /** Reads the rows, with or without visibility columns. */
  statement(columnsSeen: QueryText): Statement;
}

/** Fetches the embedded rows of a plan that are not joined, and decides about the visibility of all embedded rows. */
export class EmbeddedRows {
  readonly #dialect: Dialect;
  readonly #many: readonly Many[];
  readonly #limited: readonly EntityMetadata[];
  readonly #rootPoints: readonly VisibilityPoint[];
  readonly #rootColumns: VisibilityColumns;
  /** The bytes of the rows that a row of the root embeds. */
  readonly #size: string;
  /** Whether all embedded rows are joined, and visible to everybody. */
  readonly #isEmpty: boolean;

  constructor(mapper: Mapper, { limited, many, root }: RowPlan, isWide: boolean) {
    this.#dialect = dialectOf(mapper);
    this.#limited = limited;
    this.#rootPoints = pointsWithin(root.object);
    this.#rootColumns = new VisibilityColumns(this.#rootPoints, root.columns, this.#dialect);
    this.#many = many.map((selection) => {
      const own = pointsOf(selection.object);
      const points = [...own, ...pointsWithin(selection.object)];
      const columnsSeen = new VisibilityColumns(points, selection.columns, this.#dialect);
      return { ...selection, own, points, columnsSeen, statement: this.#statement(selection, isWide) };
    });
    this.#size = embeddedSize(many, null, root.columns, this.#dialect.sql);
    this.#isEmpty = many.length === 0 && limited.length === 0;
  }

  /** The visibility columns of the root's rows, none if columns do not decide, and the one that limits what a row embeds. */
  columns(seen: SeenClasses | null, before: number, mostBytes?: number): QueryText {
    const visible = seen ? this.#rootColumns.select(seen, before) : noText;
    if (mostBytes === undefined || this.#many.length === 0) return visible;
    // visibility columns are the last ones of a row
    const write = () => `, ${this.#dialect.sql.failsBeyond(this.#size, mostBytes)}${visible.sql}`;
    return new UnwrittenText(`${keyOfText(visible)};${mostBytes}`, visible.params, write);
  }

  #statement(selection: ManySelection, isWide: boolean): Many['statement'] {
    const { columns, conditions, joins, object, order, owner, ownerTypes, table } = selection;
    const { sql } = this.#dialect;
    const isOwned =
      owner.length === 1 ? sql.among([...owner], sql.parameter(1)).join('') : sql.amongKeys(owner, ownerTypes, sql.parameter(1));
    const isAmong = [isOwned, ...conditions].join(' and ');
    const rest = `from ${[table, ...joins].join(' ')} where ${isAmong} order by ${order.sql}`;
    const own = columns.join(', ');
    const statement = (columnsSeen: string) => statementOf(`select ${own}${columnsSeen} ${rest}`, isWide || holdsBigints(object));
    const plain = statement('');
    const statements = new LruCache<Statement>(maxCachedStatements);
    return (columnsSeen) => {
      const key = keyOfText(columnsSeen);
      return key === '' ? plain : statements.get(key, () => statement(columnsSeen.sql));
    };
  }

  /** Writes rows with what they embed; synchronously if no further statement is needed. */
  written(
    rows: unknown[][],
    isWanted: (source: number) => boolean,
    send: Send,
    visibility: EmbeddedVisibility | null,
    write: (embedded: Embedded) => string | Promise<string>,
  ): string | Promise<string> {
    if (this.#isEmpty) return write(nothingEmbedded);
    if (this.#many.length > 0 || !visibility || 'find' in visibility)
      return this.#fetch(rows, isWanted, send, visibility).then(write);
    return write({ many: [], seen: this.#seenIn(rows, []), size: 0 });
  }

  /** Fetches all embedded rows first, and then decides about the visibility of all of them at once. */
  async #fetch(
    rows: unknown[][],
    isWanted: (source: number) => boolean,
    send: Send,
    visibility: EmbeddedVisibility | null,
  ): Promise<Embedded> {
    const found = await this.#fetchMany(rows, isWanted, send, visibility);
    const size = found.reduce((sum, some) => sum + some.length, 0);
    if (this.#limited.length === 0) {
      const many = found.map((some, source) => grouped(some, this.#many[source] as Many));
      return { many: size > manyRows ? await Promise.all(many) : (many as RowsByKey[]), size };
    }
    if (!visibility) throw new Error('the visibility of embedded rows must be decided');
    const seen = 'seen' in visibility ? this.#seenIn(rows, found) : await this.#foundVisible(rows, found, visibility.find);
    const many = found.map((some, source) => {
      const selection = this.#many[source] as Many;
      const { own } = selection;
      return grouped(some, selection, own.length > 0 ? (row) => own.every((point) => isSeen(row, point, seen)) : undefined);
    });
    return { many: size > manyRows ? await Promise.all(many) : (many as RowsByKey[]), seen, size };
  }

  /** The keys that are visible according to the visibility columns of the rows. */
  #seenIn(rows: unknown[][], many: unknown[][][]): VisibleKeys[] {
    const keys = this.#limited.map(() => new Set<string>());
    this.#rootColumns.gather(rows, keys);
    for (const [source, some] of many.entries()) (this.#many[source] as Many).columnsSeen.gather(some, keys);
    return keys;
  }

  #foundVisible(rows: unknown[][], many: unknown[][][], find: FindVisible): Promise<VisibleKeys[]> {
    const keys = this.#limited.map(() => new Map<string, unknown>());
    gather(rows, this.#rootPoints, keys);
    for (const [source, some] of many.entries()) gather(some, (this.#many[source] as Many).points, keys);
    return Promise.all(
      this.#limited.map((meta, i) => {
        const wanted = keys[i] as Map<string, unknown>;
        return wanted.size > 0 ? find(meta, wanted) : noKeys;
      }),
    );
  }

  /** One statement for each to-many association; those of one level are sent at the same time. */
  #fetchMany(
    root: unknown[][],
    isWanted: (source: number) => boolean,
    send: Send,
    visibility: EmbeddedVisibility | null,
  ): Promise<unknown[][][]> {
    const rows: Promise<unknown[][]>[] = [];
    for (const [source, many] of this.#many.entries()) {
      if (!isWanted(source)) rows.push(noRows);
      else if (many.parent === null) rows.push(this.#rowsFor(root, many, send, visibility));
      else rows.push((rows[many.parent] as Promise<unknown[][]>).then((some) => this.#rowsFor(some, many, send, visibility)));
    }
    return Promise.all(rows);
  }

  async #rowsFor(parents: unknown[][], many: Many, send: Send, visibility: EmbeddedVisibility | null): Promise<unknown[][]> {
    const keys = keysIn(parents, many.parentColumns);
    if (keys === null) return [];
    const columns = visibility && 'seen' in visibility ? many.columnsSeen.select(visibility.seen, 1) : noText;
    return send.rows(many.statement(columns), [
      Array.isArray(keys) ? keyListText(keys) : this.#dialect.values.list(keys),
      ...columns.params,
    ]);
  }
}

/** The keys in columns of rows, each once: values, or lists of values; null if there are none. */
function keysIn(rows: readonly unknown[][], columns: readonly number[]): Set<unknown> | unknown[][] | null {
  const [first] = columns as [number];
  if (columns.length === 1) {
    const keys = new Set<unknown>();
    for (const row of rows) if (row[first] !== null) keys.add(row[first]);
    return keys.size > 0 ? keys : null;
  }
  const keys = new Map<string, unknown[]>();
  for (const row of rows) {
    if (row[first] === null) continue;
    const values = columns.map((column) => row[column]);
    keys.set(keyText(values), values);
  }
  return keys.size > 0 ? [...keys.values()] : null;
}

/**
 * The rows of each owner, in order; a text key is ordered by code unit, whatever the database's collation. More than
 * {@link manyRows} are grouped in several turns of the event loop.
 */
function grouped(
  rows: unknown[][],
  { order: { textColumns }, owner: { length } }: ManySelection,
  isShown?: (row: unknown[]) => boolean,
): RowsByKey | Promise<RowsByKey> {
  const groups = new Map<unknown, unknown[][]>();
  const add = (from: number, to: number) => {
    for (let i = from; i < to; i++) {
      const row = rows[i] as unknown[];
      if (isShown && !isShown(row)) continue;
      const key = length === 1 ? String(row[0]) : keyText(row.slice(0, length));
      const group = groups.get(key);
      if (group) group.push(row);
      else groups.set(key, [row]);
    }
  };
  const sorted = () => {
    if (textColumns !== null) for (const group of groups.values()) group.sort((a, b) => compareRows(a, b, textColumns));
    return groups;
  };
  if (rows.length > manyRows) return addInTurns(rows.length, add).then(sorted);
  add(0, rows.length);
  return sorted();
}

async function addInTurns(count: number, add: (from: number, to: number) => void): Promise<void> {
  for (let from = 0; from < count; from += manyRows) {
    if (isTurnLong()) await nextTurn();
    add(from, Math.min(from + manyRows, count));
  }
}

function compareRows(a: unknown[], b: unknown[], columns: readonly TextColumn[]): number {
  for (const { column, isNumber } of columns) {
    const [one, other] = isNumber ? [BigInt(a[column] as string), BigInt(b[column] as string)] : [a[column], b[column]];
    if (one !== other) return (one as string) < (other as string) ? -1 : 1;
  }
  return 0;
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

function gather(rows: readonly unknown[][], points: readonly VisibilityPoint[], keys: readonly Map<string, unknown>[]): void {
  for (const row of rows) {
    for (const point of points) if (isAt(row, point)) keys[point.seen]?.set(keyTextAt(row, point), keyAt(row, point));
  }
}

function isSeen(row: unknown[], point: VisibilityPoint, seen: readonly VisibleKeys[]): boolean {
  return !isAt(row, point) || seen[point.seen]?.has(keyTextAt(row, point)) === true;
}
