import type { Dialect } from '../../dialect/dialect.ts';
import { keyFrom, keyText } from '../../model/composite-key.ts';
import type { RowObject } from '../../serialization/row-writer.ts';
import { noText, type QueryText, UnwrittenText } from '../rows/bound-statement.ts';
import { type BindableText, numberedText } from '../rows/parametrized.ts';

/** Rows of a class that a caller sees: those of its table that fulfil a condition. */
export interface SeenRows {
  readonly table: string;
  /** The table with the alias that the condition uses. */
  readonly from: string;
  /** The key columns with that alias. */
  readonly keys: readonly string[];
  readonly condition: BindableText;
  /** Whether the condition uses only columns of the row itself. */
  readonly isOfRowAlone: boolean;
  /** The condition on rows under another alias; null if it can't be written so. */
  under(alias: string): BindableText | null;
}

/** For each limited class of a plan, what a caller sees: the rows of any of these, or all rows (null). */
export type SeenClasses = readonly (readonly SeenRows[] | null)[];

/**
 * The condition that parameters are the key of a row that a caller sees. `before` is the number of parameters in front of those
 * of the condition.
 */
export function isSeenText(seen: readonly SeenRows[], key: () => readonly string[], before: number, dialect: Dialect): QueryText {
  if (seen.length === 0) return { sql: '1 = 0', params: [] };
  const write = () => {
    let next = before;
    const columns = key();
    const texts = seen.map(({ condition, from, keys }) => {
      const sql = numberedText(condition, dialect, next);
      next += condition.params.length;
      const isKey = keys.map((column, i) => `${column} = ${columns[i]}`).join(' and ');
      return `exists (select 1 from ${from} where ${isKey}${sql === '' ? '' : ` and ${sql}`})`;
    });
    return `(${texts.join(' or ')})`;
  };
  return new UnwrittenText(
    keyOfRows(seen),
    seen.flatMap(({ condition }) => condition.params),
    write,
  );
}

/** What stands for rows in keys of caches. */
function keyOfRows(seen: readonly SeenRows[]): string {
  let key = '';
  for (const { condition, from } of seen) key += `${from} ${condition.key},`;
  return key;
}

/** A row that a statement selects: its table, and its key columns in SQL. */
interface SelectedRow {
  readonly table: string;
  readonly keys: readonly string[];
}

/**
 * The condition that a caller sees the root row of a statement, whose alias is the one of {@link SeenRows}. `before` is the number
 * of parameters in front of those of the condition.
 */
export function rowIsSeenText(seen: readonly SeenRows[], row: SelectedRow, before: number, dialect: Dialect): QueryText {
  const params: unknown[] = [];
  const texts = seen.map((rows) => {
    const sql = numberedText(rows.condition, dialect, before + params.length);
    params.push(...rows.condition.params);
    if (rows.table !== row.table || !rows.isOfRowAlone) return isAmongText(rows, row.keys, sql);
    return sql === '' ? '1 = 1' : sql;
  });
  return { sql: texts.length === 0 ? '1 = 0' : `(${texts.join(' or ')})`, params };
}

/** The condition that a key, in SQL, is the one of a row that fulfils a condition. The names around it cannot be those within. */
function isAmongText({ from, keys }: SeenRows, key: readonly string[], condition: string): string {
  const own = key.map((column, part) => `${column} as _key_of_embedded${part}`).join(', ');
  const isKey = keys.map((column, part) => `${column} = _embedded._key_of_embedded${part}`).join(' and ');
  const where = condition === '' ? '' : ` where ${condition}`;
  return `exists (select 1 from (select ${own}) as _embedded inner join ${from} on ${isKey}${where})`;
}

/** The position in a result row of the key of an embedded row that can be hidden from the caller. */
export interface VisibilityPoint {
  /** The columns of the key. */
  readonly keys: readonly number[];
  /** The column and the value that tell whether the embedded row is of the class; null if it can have no other. */
  readonly discriminator: number | null;
  readonly type: string | null;
  /** The index of the class in {@link SeenClasses}. */
  readonly seen: number;
  /** The table and alias of the row, if the statement selects it and not only its key. */
  readonly from: RowObject['from'];
}

/** The points of an object itself, one for each of its limited classes. */
export function pointsOf({ discriminator, from, keys, variants }: RowObject): VisibilityPoint[] {
  return variants.flatMap(({ seen, type }) =>
    seen === undefined || keys === undefined
      ? []
      : [{ keys, discriminator: type === null ? null : discriminator, type, seen, from }],
  );
}

/** The points of all objects that are embedded in an object's own row. */
export function pointsWithin({ variants }: RowObject): VisibilityPoint[] {
  return variants.flatMap(({ fields }) =>
    fields.flatMap((field) =>
      field.kind === 'to-one' ? field.objects.flatMap((object) => [...pointsOf(object), ...pointsWithin(object)]) : [],
    ),
  );
}

/** Whether a row embeds an object of the class at the point. */
export function isAt(row: unknown[], { discriminator, keys, type }: VisibilityPoint): boolean {
  return row[keys[0] as number] !== null && (discriminator === null || String(row[discriminator]) === type);
}

/** The key of the embedded row at the point. */
export function keyAt(row: unknown[], { keys }: VisibilityPoint): unknown {
  return keyFrom(keys.map((column) => row[column]));
}

export function keyTextAt(row: unknown[], { keys }: VisibilityPoint): string {
  return keys.length === 1 ? String(row[keys[0] as number]) : keyText(keys.map((column) => row[column]));
}

/** The last columns of a statement, which tell for each point whether the caller sees the embedded row. */
export class VisibilityColumns {
  readonly #points: readonly VisibilityPoint[];
  readonly #keys: readonly (readonly string[])[];
  readonly #classes: readonly number[];
  readonly #dialect: Dialect;

  constructor(points: readonly VisibilityPoint[], columns: readonly string[], dialect: Dialect) {
    this.#points = points;
    this.#keys = points.map(({ keys }) => keys.map((key) => columns[key] as string));
    this.#classes = [...new Set(points.map(({ seen }) => seen))];
    this.#dialect = dialect;
  }

  /** The columns in SQL, with a comma before each. `before` is the number of parameters in front of theirs. */
  select(seen: SeenClasses, before: number): QueryText {
    if (this.#points.length === 0) return noText;
    const params: unknown[] = [];
    let key = '';
    for (const number of this.#classes) {
      const rows = seen[number] ?? [];
      key += seen[number] === null ? '*;' : `${keyOfRows(rows)};`;
      for (const { condition } of rows) params.push(...condition.params);
    }
    return new UnwrittenText(key, params, () => this.#written(seen, before));
  }

  #written(seen: SeenClasses, before: number): string {
    const positions = new Map<SeenRows, number>();
    let next = before;
    for (const number of this.#classes) {
      for (const rows of seen[number] ?? []) {
        positions.set(rows, next);
        next += rows.condition.params.length;
      }
    }
    const columns = this.#points.map(({ from, seen: number }, i) => {
      if (seen[number] === null) return ', 1';
      const keys = this.#keys[i] as readonly string[];
      const among = (seen[number] ?? []).map((rows) => {
        const position = positions.get(rows) as number;
        return (
          this.#joinedText(rows, position, keys, from) ??
          isAmongText(rows, keys, numberedText(rows.condition, this.#dialect, position))
        );
      });
      return among.length === 0 ? ', null' : `, case when ${among.join(' or ')} then 1 end`;
    });
    return columns.join('');
  }

  /** The condition on the embedded row itself, which the statement selects; null if it can't be written so. */
  #joinedText(
    { condition, table, under }: SeenRows,
    before: number,
    keys: readonly string[],
    from: RowObject['from'],
  ): string | null {
    const own = from?.table === table ? under(from.alias) : null;
    if (!own || !areSame(own.params, condition.params)) return null;
    const sql = numberedText(own, this.#dialect, before);
    // an outer join without a row makes each column null
    return `(${keys[0]} is not null${sql === '' ? '' : ` and ${sql}`})`;
  }

  /** Adds to `keys` the visible ones in rows of such a statement. */
  gather(rows: readonly unknown[][], keys: readonly Set<string>[]): void {
    const count = this.#points.length;
    for (const row of rows) {
      for (let i = 0; i < count; i++) {
        const point = this.#points[i] as VisibilityPoint;
        if (row[row.length - count + i] !== null && isAt(row, point)) keys[point.seen]?.add(keyTextAt(row, point));
      }
    }
  }
}

function areSame(some: readonly unknown[], others: readonly unknown[]): boolean {
  return some.length === others.length && some.every((value, i) => Object.is(value, others[i]));
}
