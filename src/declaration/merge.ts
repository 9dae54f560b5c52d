import { isContainer, type Shape } from './shape.ts';
import type { ReportedError } from './source.ts';
import type { Path } from './vocabulary.ts';
import { isEmpty, shapeUnder, type Written } from './written.ts';

/**
 * Merges `later` into `earlier`: mappings are merged recursively, lists and scalars replaced, lists of APIs appended.
 * An empty mapping or list changes nothing. A merged mapping or list has the place of the earlier one.
 */
export function merge(earlier: Written, later: Written, path: Path, shape: Shape | null, errors: ReportedError[]): Written {
  if (isEmpty(later) && shape && isContainer(shape) && !shape.nullable) return earlier;
  if (earlier.entries && later.entries) {
    const entries = new Map(earlier.entries);
    for (const [key, entry] of later.entries) {
      const known = entries.get(key);
      entries.set(key, known ? merge(known, entry, [...path, key], shapeUnder(shape, key), errors) : entry);
    }
    return { ...earlier, entries };
  }
  if (path.join('.') !== 'app_main.apis') return later;
  if (earlier.items && later.items) return { ...earlier, items: [...earlier.items, ...later.items] };
  const [here, there] = [later, earlier].map(({ entries, items }) => (entries ? 'mapping' : items ? 'list' : null));
  if (!here || !there) return later;
  const message = `"apis" is a ${here} here and a ${there} in ${earlier.place.file}:${earlier.place.line}; write a list or a mapping in both`;
  errors.push({ place: later.place, path, message });
  return earlier;
}
