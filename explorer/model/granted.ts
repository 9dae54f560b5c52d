import type { FieldOf } from './form-model.ts';

/**
 * Whether rows have a field, at the end of a dotted path. A field that needs a role is only in the rows of callers with the role,
 * and the explorer knows nothing else about roles.
 */
export function isShown(rows: readonly unknown[], path: string): boolean {
  const [name = '', ...rest] = path.split('.');
  const having = rows.filter((row): row is Record<string, unknown> => typeof row === 'object' && row !== null && name in row);
  if (rest.length === 0) return having.length > 0;
  const inside = having.flatMap((row) => [row[name]].flat());
  return isShown(inside, rest.join('.'));
}

/** The form without fields that need a role and are not in the row: the caller may not write them. */
export function withoutAbsent(form: FieldOf<'object'>, row: Readonly<Record<string, unknown>>): FieldOf<'object'> {
  const variants = form.variants.map((variant) => ({
    ...variant,
    fields: variant.fields.filter(({ name, role }) => role === null || name in row),
  }));
  return { ...form, variants };
}
