import type { Dialect } from '../../dialect/dialect.ts';
import type { RowObject } from '../../serialization/row-writer.ts';
import type { QueryText } from '../rows/bound-statement.ts';
import { type BindableText, numberedText } from '../rows/parametrized.ts';

/** Rows of a class that a caller sees: those of its table that fulfil a condition. */
export interface SeenRows {
  readonly table: string;
  /** The same, aliased as in the condition, */
  readonly from: string;
  /** and its key. */
  readonly key: string;
  readonly condition: BindableText;
  /** Whether the condition looks at nothing but the columns of a row itself. */
  readonly isOfRowAlone: boolean;
}

/** What a caller sees of each limited class of a plan: the rows of any of these, or all rows (null). */
export type SeenClasses = readonly (readonly SeenRows[] | null)[];

/** The condition that a parameter is the key of a row that a caller sees. `before` is the number of parameters in front of the condition's. */
export function isSeenText(seen: readonly SeenRows[], key: string, before: number, dialect: Dialect): QueryText {
  const params: unknown[] = [];
  const texts = seen.map(({ condition, from, key: column }) => {
    const sql = numberedText(condition, dialect, before + params.length);
    params.push(...condition.params);
    return `exists (select 1 from ${from} where ${column} = ${key}${sql === '' ? '' : ` and ${sql}`})`;
  });
  return { sql: texts.length === 0 ? '1 = 0' : `(${texts.join(' or ')})`, params };
}

/** Where in a row the key of something stands that is embedded only where it is seen. */
export interface VisibilityPoint {
  readonly key: number;
  /** The column and the value that tell whether the row is of the class in question. */
  readonly discriminator: number | null;
  readonly type: string | null;
  /** The number of the class. */
  readonly seen: number;
}

/** The point of an object itself, for each of its classes. */
export function pointsOf({ discriminator, key, variants }: RowObject): VisibilityPoint[] {
  return variants.flatMap(({ seen, type }) =>
    seen === undefined || key === undefined ? [] : [{ key, discriminator: type === null ? null : discriminator, type, seen }],
  );
}

/** Those of all that stands in an object's own row. */
export function pointsWithin({ variants }: RowObject): VisibilityPoint[] {
  return variants.flatMap(({ fields }) =>
    fields.flatMap((field) =>
      field.kind === 'to-one' ? field.objects.flatMap((object) => [...pointsOf(object), ...pointsWithin(object)]) : [],
    ),
  );
}

/** Whether something stands there in a row. */
export function isAt(row: unknown[], { discriminator, key, type }: VisibilityPoint): boolean {
  return row[key] !== null && (discriminator === null || row[discriminator] === type);
}

/** The columns, last in a statement, that tell of each point in a row whether the caller sees what stands there. */
export class VisibilityColumns {
  readonly #points: readonly VisibilityPoint[];
  readonly #keys: readonly string[];
  readonly #classes: readonly number[];
  readonly #dialect: Dialect;

  constructor(points: readonly VisibilityPoint[], columns: readonly string[], dialect: Dialect) {
    this.#points = points;
    this.#keys = points.map(({ key }) => columns[key] as string);
    this.#classes = [...new Set(points.map(({ seen }) => seen))];
    this.#dialect = dialect;
  }

  /** The columns in SQL, with a comma before each. `before` is the number of parameters that the statement has in front of theirs. */
  select(seen: SeenClasses, before: number): QueryText {
    const params: unknown[] = [];
    const conditions = new Map<number, readonly (SeenRows & { readonly sql: string })[]>();
    for (const number of this.#classes) {
      const numbered = (seen[number] ?? []).map((rows) => {
        const sql = numberedText(rows.condition, this.#dialect, before + params.length);
        params.push(...rows.condition.params);
        return { ...rows, sql };
      });
      conditions.set(number, numbered);
    }
    const columns = this.#points.map(({ seen: number }, i) => {
      if (seen[number] === null) return ', 1';
      const among = (conditions.get(number) ?? []).map(({ from, key, sql }) => {
        const own = `(select ${this.#keys[i]} as _key_of_embedded) as _embedded`;
        return `exists (select 1 from ${own} inner join ${from} on ${key} = _embedded._key_of_embedded${sql === '' ? '' : ` where ${sql}`})`;
      });
      return among.length === 0 ? ', null' : `, case when ${among.join(' or ')} then 1 end`;
    });
    return { sql: columns.join(''), params };
  }

  /** Adds the keys in rows of such a statement that the caller sees. */
  gather(rows: readonly unknown[][], keys: readonly Set<string>[]): void {
    const count = this.#points.length;
    for (const row of rows) {
      for (let i = 0; i < count; i++) {
        const point = this.#points[i] as VisibilityPoint;
        if (row[row.length - count + i] !== null && isAt(row, point)) keys[point.seen]?.add(String(row[point.key]));
      }
    }
  }
}
