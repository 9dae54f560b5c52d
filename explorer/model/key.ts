/** The paths of the parts of a key in a row, such as `course.id`; a key of one part has the name of its field. */
export type Key = readonly string[];

/** The id of a row; null if the row does not show it. The parts of a composite id are percent-encoded, with commas between them. */
export function idIn(row: unknown, key: Key): string | number | null {
  const values = key.map((path) => valueAt(row, path));
  if (!values.every((value) => typeof value === 'string' || typeof value === 'number')) return null;
  return values.length === 1 ? (values[0] as string | number) : compositeId(values);
}

export function compositeId(parts: readonly (string | number)[]): string {
  return parts.map((part) => encodeURIComponent(part)).join(',');
}

/** The fields of a row that have its key. */
export function keyFields(key: Key): readonly string[] {
  return [...new Set(key.map((path) => path.split('.')[0] as string))];
}

/** A part may be a field of an embedded row. */
function valueAt(row: unknown, path: string): unknown {
  const fieldOf = (value: unknown, name: string) =>
    typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
  return path.split('.').reduce(fieldOf, row);
}
