import { labelOf } from '../model/columns.ts';
import type { ReferenceDraft } from '../model/draft.ts';
import type { ReferenceTarget } from '../model/form-model.ts';
import { idIn } from '../model/key.ts';

type Row = Readonly<Record<string, unknown>>;

/** The body that names a row; null if the row does not show its key. */
export function referenceOf(targets: readonly ReferenceTarget[], value: unknown): Row | null {
  if (typeof value !== 'object' || value === null) return null;
  const row = value as Row;
  const target = targets.find(({ types }) => types.includes(String(row.type))) ?? targets[0];
  const id = target ? idIn(row, target.parts) : null;
  if (!target || id === null) return null;
  return { ...(target.typed && { type: typeOf(target, row) }), [target.key]: id };
}

/** A reference to a row that was picked from a list. */
export function pickedReference(target: ReferenceTarget, row: Row): ReferenceDraft | null {
  const id = idIn(row, target.parts);
  if (id === null) return null;
  return { model: target.model, type: target.typed ? typeOf(target, row) : null, id, label: labelOf(row, target.parts) };
}

function typeOf({ types }: ReferenceTarget, row: Row): string {
  return types.includes(String(row.type)) ? String(row.type) : (types[0] ?? String(row.type));
}
