import type { Field, FieldOf } from './form-model.ts';

/**
 * Whether rows have a field, at the end of a dotted path. A field that needs a role is only in the rows of callers with the role,
 * and the explorer knows nothing else about roles.
 */
export function isShown(rows: readonly unknown[], path: string): boolean {
  const [name = '', ...rest] = path.split('.');
  const having = rows.filter(
    (row): row is Record<string, unknown> => typeof row === 'object' && row !== null && Object.hasOwn(row, name),
  );
  if (rest.length === 0) return having.length > 0;
  const inside = having.flatMap((row) => [row[name]].flat());
  return isShown(inside, rest.join('.'));
}

/**
 * The form of an existing row: without fields that need a role and are not in the row, which the caller may not write, and without
 * the fields of other classes. Fields that the API accepts but does not show begin empty.
 */
export function formOfRow(form: FieldOf<'object'>, row: Readonly<Record<string, unknown>>, hidden: string): FieldOf<'object'> {
  const type = form.typeKey === null ? undefined : row[form.typeKey];
  const own = form.variants.filter((variant) => variant.type === String(type));
  const ofRow = (field: Field): Field[] => {
    if (Object.hasOwn(row, field.name)) return [{ ...field, required: !field.nullable }];
    if (field.role !== null) return [];
    const description = [field.description, hidden].filter((part) => part !== null && part !== '').join(' · ') || null;
    return [{ ...field, required: false, default: undefined, description }];
  };
  const variants = (own.length === 0 ? form.variants : own).map((variant) => ({
    ...variant,
    fields: variant.fields.flatMap(ofRow),
  }));
  return { ...form, variants };
}
