import type { RowObject, SeenKeys } from '../../serialization/row-writer.ts';

/** Where in a row the key of something stands that is embedded only where it is seen. */
export interface VisibilityPoint {
  readonly key: number;
  /** The column and the value that tell whether the row is of the class in question. */
  readonly discriminator: number | null;
  readonly type: string | null;
  /** The number of the class. */
  readonly seen: number;
}

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

export function gather(
  rows: readonly unknown[][],
  points: readonly VisibilityPoint[],
  keys: readonly Map<string, unknown>[],
): void {
  for (const row of rows) {
    for (const point of points) if (isAt(row, point)) keys[point.seen]?.set(String(row[point.key]), row[point.key]);
  }
}

function isAt(row: unknown[], { discriminator, key, type }: VisibilityPoint): boolean {
  return row[key] !== null && (discriminator === null || row[discriminator] === type);
}

export function isSeen(row: unknown[], point: VisibilityPoint, seen: readonly SeenKeys[]): boolean {
  return !isAt(row, point) || seen[point.seen]?.has(String(row[point.key])) === true;
}
