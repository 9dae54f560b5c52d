export type Value = string | number | boolean | Date | null;

/** The rows of one table, the same on both databases. */
export interface TableRows {
  readonly table: string;
  readonly columns: readonly string[];
  readonly rows: Iterable<readonly Value[]>;
}

const day = 86_400_000;

/** The date some days after another. */
export function daysAfter(start: string, days: number): string {
  return new Date(Date.parse(start) + days * day).toISOString().slice(0, 10);
}

/** One row for each number from 1 to `amount`. */
export function* numbered(amount: number, row: (n: number) => readonly Value[]): Generator<readonly Value[]> {
  for (let n = 1; n <= amount; n++) yield row(n);
}

/** Several rows for each number from 1 to `amount`. */
export function* several(amount: number, rows: (n: number) => readonly (readonly Value[])[]): Generator<readonly Value[]> {
  for (let n = 1; n <= amount; n++) yield* rows(n);
}

export function range(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}
