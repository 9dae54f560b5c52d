import type { FoundColumn, WantedColumn } from '../../../database/schema/catalogue.ts';

type Affinity = 'integer' | 'text' | 'blob' | 'real' | 'numeric';

/** https://www.sqlite.org/datatype3.html#determination_of_column_affinity */
function affinityOf(type: string): Affinity {
  const name = type.toLowerCase();
  if (name.includes('int')) return 'integer';
  if (/char|clob|text/.test(name)) return 'text';
  if (name === '' || name.includes('blob')) return 'blob';
  return /real|floa|doub/.test(name) ? 'real' : 'numeric';
}

/** Types whose values are always or sometimes texts, whatever their affinity. */
const textual = /^(?:json|date|time|interval)\b/i;

/**
 * The type that a column needs to hold a property; null if the found column can hold it. SQLite converts values by the affinity
 * of a column.
 */
export function sqliteMisfit({ type }: WantedColumn, found: FoundColumn): string | null {
  const [wanted, is] = [affinityOf(type), affinityOf(found.base)];
  if (/ strict$/.test(found.base) && isRejected(type, wanted, is)) return type;
  if (wanted === is || wanted === 'blob' || is === 'blob') return null;
  if (textual.test(type) && (is === 'text' || is === 'numeric')) return null;
  // numbers would become texts, or texts numbers
  if (wanted === 'text' || is === 'text') return type;
  // 64 bits are more than a floating-point number holds
  return is === 'real' && /big/i.test(type) ? type : null;
}

/** Whether a column of a strict table rejects values that it cannot convert; other tables store them unconverted. */
function isRejected(type: string, wanted: Affinity, is: Affinity): boolean {
  if ((wanted === 'blob') !== (is === 'blob')) return true;
  return is === 'integer' && (wanted === 'real' || /^(?:numeric|decimal|json|date|time|interval)\b/i.test(type));
}
